"""Boards and statuses as bytes: what travels beside the queue in jobs.

Boards follow each other without header or separator, row-major, in one of three forms:

- ``u4``: two cells a byte, the first in the high half; boards of up to 16 cells. A board with an odd number of cells
  ends with half a byte of zero, so every board begins with a byte of its own.
- ``u8``: one byte a cell; labels up to 255.
- ``u16``: two bytes a cell, the low one first; labels up to 65,535.

A chunk's answer is one status byte a board: 0 solvable, 1 unsolvable, 2 repaired, or 128 and flags for what is wrong
with the board: the six flags of ``Problem`` that an array can have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from taquin.errors import BadInput
from taquin.puzzle.shape import MAX_CELLS
from taquin.puzzle.wording import count, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from taquin.puzzle.board import Array

Form: TypeAlias = Literal["u4", "u8", "u16"]
Buffer: TypeAlias = bytes | bytearray | memoryview

# Status bytes.
SOLVABLE: Final = 0
UNSOLVABLE: Final = 1
REPAIRED: Final = 2
INVALID: Final = 128

FORMS: Final[tuple[Form, ...]] = get_args(Form)
MOST_IN_U4: Final = 15
MOST_IN_U8: Final = 255

# A block of cells small enough to stay in the cache between the steps of packing.
BLOCK_CELLS: Final = 1 << 16


def form_for(cells: int, largest_label: int | None = None) -> Form:
    """Choose the smallest form for boards of so many cells with labels 0..cells-1, or up to ``largest_label``.

    Raises:
        BadInput: if there is no form for such boards.
    """
    top = cells - 1 if largest_label is None else largest_label
    if not 1 <= cells <= MAX_CELLS or not 0 <= top < MAX_CELLS:
        raise BadInput(f"There is no packed form for boards of {shown(cells)} cells with labels up to {shown(top)}.")
    if top <= MOST_IN_U4 and cells <= MOST_IN_U4 + 1:
        return "u4"
    return "u8" if top <= MOST_IN_U8 else "u16"


def packed_size(cells: int, form: Form) -> int:
    """Tell how many bytes one board of so many cells takes.

    Raises:
        BadInput: if there is no such form, or it does not hold boards of so many cells.
    """
    if form not in FORMS:
        raise BadInput(f"A packed form is one of {', '.join(FORMS)}, not {shown(form)}.")
    if not 1 <= cells <= MAX_CELLS:
        raise BadInput(f"A board has from 1 to {MAX_CELLS:,} cells, not {shown(cells)}.")
    if form == "u4":
        if cells > MOST_IN_U4 + 1:
            raise BadInput(f"The form u4 is for boards of up to 16 cells, not {cells:,}.")
        return (cells + 1) // 2
    return cells if form == "u8" else 2 * cells


def pack(boards: ArrayLike, form: Form) -> bytes:
    """Pack boards, (n, cells) of any integer dtype.

    Raises:
        BadInput: if they are no such array, or have more cells or greater or smaller labels than the form holds.
    """
    batch = np.asarray(boards)
    if batch.ndim != 2 or not np.issubdtype(batch.dtype, np.integer):  # noqa: PLR2004 - boards by cells
        raise BadInput(f"Boards to pack are an (n, cells) array of whole numbers, not {batch.shape} of {batch.dtype}.")
    cells = batch.shape[1]
    size = packed_size(cells, form)
    most = {"u4": MOST_IN_U4, "u8": MOST_IN_U8, "u16": MAX_CELLS - 1}[form]
    if batch.size and np.iinfo(batch.dtype).max > most and batch.max() > most:
        raise BadInput(f"The form {form} holds labels up to {most:,}, not {shown(int(batch.max()))}.")
    if batch.size and np.iinfo(batch.dtype).min < 0 and batch.min() < 0:
        raise BadInput(f"Labels are not negative; {shown(int(batch.min()))} is.")
    if form != "u4":
        return batch.astype(np.uint8 if form == "u8" else "<u2", order="C", copy=False).tobytes()
    packed = np.empty((len(batch), size), np.uint8)
    for block in _blocks(len(batch), cells):
        pairs = _pairs(batch[block])
        # The first cell is the low byte of a pair and goes to the high half.
        np.bitwise_or(pairs << 4, pairs >> 8, out=packed[block], casting="unsafe")
    return packed.tobytes()


def unpack(data: Buffer, cells: int, form: Form) -> Array:
    """Undo ``pack`` for boards of so many cells: (n, cells), ``uint8`` or (``u16``) ``uint16``.

    The result of ``u8`` and ``u16`` may be a view of ``data``, and is then not to be written to.

    Raises:
        BadInput: if the data is no whole number of boards, or half a byte that must be zero is not.
    """
    size = packed_size(cells, form)
    length = memoryview(data).nbytes
    if length % size:
        raise BadInput(
            f"{count(length, 'byte')} are no whole number of boards: one of {cells:,} cells takes {size:,} in {form}."
        )
    if form != "u4":
        wide = np.frombuffer(data, np.uint8 if form == "u8" else "<u2")
        return wide.astype(wide.dtype.newbyteorder("="), copy=False).reshape(-1, cells)
    packed = np.frombuffer(data, np.uint8).reshape(-1, size)
    boards = np.empty((len(packed), 2 * size), np.uint8)
    pairs = boards.view("<u2")
    for block in _blocks(len(packed), cells):
        both = packed[block].astype(np.uint16)
        np.bitwise_or(both >> 4, (both & MOST_IN_U4) << 8, out=pairs[block])
    if cells % 2:
        if boards[:, -1].any():
            raise BadInput(f"A board of {cells} cells in u4 ends with half a byte of zero; here one does not.")
        return np.ascontiguousarray(boards[:, :-1])
    return boards


def _blocks(boards: int, cells: int) -> list[slice]:
    size = BLOCK_CELLS // cells
    return [slice(start, start + size) for start in range(0, boards, size)]


def _pairs(batch: Array) -> Array:
    """View boards as pairs of cells, (n, cells / 2), the first in the low byte; a missing last cell is zero."""
    cells = batch.shape[1]
    if cells % 2 == 0:
        return np.ascontiguousarray(batch, np.uint8).view("<u2")
    even = np.zeros((len(batch), cells + 1), np.uint8)
    even[:, :-1] = batch
    return even.view("<u2")
