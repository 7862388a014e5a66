"""From whatever holds many boards to packed chunks, one at a time: a source may be endless."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from taquin.client.requests import plain
from taquin.errors import BadInput
from taquin.lines import board_lines
from taquin.puzzle.examine import examine
from taquin.puzzle.packed import MOST_IN_U4, MOST_IN_U8, pack
from taquin.puzzle.parity import check
from taquin.puzzle.problem import problem_names
from taquin.puzzle.shape import parse_shape
from taquin.puzzle.text import parse_board, parse_boards

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from numpy.typing import NDArray

    from taquin.messages import Form
    from taquin.puzzle.shape import Shape

CHUNK_CELLS: Final = 4_000_000
"""Cells in one chunk where the caller does not say: a task costs some milliseconds whatever it holds."""
CHUNK_MOST: Final = 250_000
"""Boards in one chunk where the caller does not say."""
ITEMS_MOST: Final = 20_000
"""The same for boards that come one by one, as lists of Python, which take ten times the memory of an array."""
LARGEST: Final[dict[str, int]] = {"u4": MOST_IN_U4, "u8": MOST_IN_U8, "u16": 65_535}
LOOKED_AT: Final = 100
"""Boards at the beginning of a source in which its shape is looked for."""
SAY_SHAPE: Final = "say it, such as --shape 3x3, in Python shape=(3, 3)"
NOTED_MOST: Final = 1_000
"""Lines of one chunk whose problems are noted by name; the others are invalid all the same."""


class Packed(NamedTuple):
    """One chunk: how many boards, packed, and notes on those that are no boards of the shape at all."""

    boards: int
    payload: bytes
    notes: bytes


def chunk_size(cells: int) -> int:
    """Return how many boards of so many cells make a chunk."""
    return max(1, min(CHUNK_MOST, CHUNK_CELLS // cells))


def packed_chunks(
    source: Any, shape: Shape, goal: Any, form: Form, size: int, *, exact: bool = True
) -> Iterator[Packed]:
    """Pack boards chunk by chunk, reading no further ahead than one chunk.

    Args:
        source: an (n, cells) or (n, rows, cols) array; an iterable of boards (rows, flat, arrays or text) or of
            (n, cells) arrays; or the path of a file of JSON lines or text.
        shape: of all boards.
        goal: of all boards; what is wrong with a board depends on it.
        form: how to pack.
        size: boards in a chunk.
        exact: otherwise chunks of boards that come one by one may be smaller, and take less memory.

    What is no board of the shape keeps its place, is packed as a board without a blank, and so answered ``invalid``.

    Raises:
        BadInput: the source is none of these, an array is not of whole numbers, or a file is no text.
    """
    packer = _Packer(shape, goal, form)
    few = size if exact else min(size, ITEMS_MOST)
    if isinstance(source, (str, Path)):
        return packer.pack_items(_path_boards(Path(source)), few)
    if isinstance(source, np.ndarray):
        return packer.pack_array(source, size)
    if not isinstance(source, Iterable):
        raise BadInput(f"boards are an array, an iterable or the path of a file, not a {type(source).__name__}")
    return packer.pack_iterable(iter(source), size, few)


def loaded(source: Any) -> Any:
    """Return the array of a path that ends with ``.npy``, and any other source as it is.

    Raises:
        BadInput: there is no such file, or it holds no array.
    """
    return _load(str(source)) if isinstance(source, (str, Path)) and str(source).endswith(".npy") else source


def infer_shape(source: Any) -> tuple[Shape, Any]:
    """Take the shape from the first board; returns it, and the source with that board in it again.

    Raises:
        BadInput: the source is flat, or none of its first boards has rows.
    """
    if isinstance(source, (str, Path)):
        return _first_shape(_path_boards(Path(source)))[0], source
    if isinstance(source, np.ndarray):
        _whole_numbers(source)
        if source.ndim == 2:  # noqa: PLR2004 - boards, cells
            raise BadInput(f"an array of flat boards needs their shape: {SAY_SHAPE}")
        if source.ndim != 3:  # noqa: PLR2004 - boards, rows, cols
            raise BadInput(f"boards come as an array of (n, cells) or (n, rows, cols), not {source.shape}")
        return parse_shape(source.shape[1:]), source
    if not isinstance(source, Iterable):
        raise BadInput(f"boards are an array, an iterable or the path of a file, not a {type(source).__name__}")
    items = iter(source)
    shape, looked_at = _first_shape(items)
    return shape, chain(looked_at, items)


def _first_shape(items: Iterator[Any]) -> tuple[Shape, list[Any]]:
    """Return the first shape that shows, and what was read for it."""
    looked_at = []
    for item in islice(items, LOOKED_AT):
        looked_at.append(item)
        board = _as_rows(item["board"] if isinstance(item, dict) and "board" in item else item)
        if isinstance(board, list) and board and all(isinstance(row, list) and row for row in board):
            return parse_shape((len(board), len(board[0]))), looked_at
    raise BadInput(f"the shape of the boards does not show in the first of them: {SAY_SHAPE}")


class _Packer:
    def __init__(self, shape: Shape, goal: Any, form: Form) -> None:
        self.shape = shape
        self.goal = goal
        self.form = form
        self.largest = LARGEST[form]

    def pack_array(self, boards: NDArray[Any], size: int) -> Iterator[Packed]:
        batch = self._batch(boards)
        for start in range(0, len(batch), size):
            yield self._pack(batch[start : start + size], {})

    def pack_iterable(self, items: Iterator[Any], size: int, few: int) -> Iterator[Packed]:
        for first in items:
            rest = chain([first], items)
            if isinstance(first, np.ndarray) and first.shape != tuple(self.shape) and first.ndim > 1:
                yield from self._pack_batches(rest, size)
            else:
                yield from self.pack_items(rest, few)

    def _pack_batches(self, batches: Iterator[Any], size: int) -> Iterator[Packed]:
        """Pack arrays of boards; a chunk never spans two of them, so that nothing is copied twice."""
        for batch in batches:
            yield from self.pack_array(np.asarray(batch), size)

    def pack_items(self, items: Iterator[Any], size: int) -> Iterator[Packed]:
        while chunk := list(islice(items, size)):
            yield self._pack_rows(chunk)

    def _pack_rows(self, items: list[Any]) -> Packed:
        try:
            # The usual chunk holds boards of the right shape alone, and NumPy reads it at once.
            batch = np.array(items)
            if batch.dtype.kind in "iu" and batch.shape in self._shapes(len(items)) and not _has_bool(items):
                return self._pack(batch.reshape(len(items), -1), {})
        except (ValueError, TypeError, OverflowError, RecursionError):
            pass
        notes: dict[int, tuple[str, ...]] = {}
        batch = np.empty((len(items), self.shape.cells), np.int64)
        for index, item in enumerate(items):
            row = self._row(item)
            if isinstance(row, tuple):
                notes[index], row = row, self._no_board()
            batch[index] = row
        return self._pack(batch, notes)

    def _row(self, item: Any) -> NDArray[Any] | tuple[str, ...]:
        """Return the board's cells, or the names of what is wrong with what is no board of the shape."""
        if isinstance(item, dict) and item.keys() != {"board"}:
            return ("bad_request",)  # a goal or a swap of its own would otherwise be passed over in silence
        board = _as_rows(item["board"] if isinstance(item, dict) else item)
        if isinstance(board, BadLine):
            return ("not_a_board",)
        if isinstance(board, list) and len(board) == self.shape.cells and not any(isinstance(c, list) for c in board):
            cols = self.shape.cols
            board = [board[start : start + cols] for start in range(0, len(board), cols)]
        cells = [cell for row in board for cell in row] if _is_rows(board, self.shape) else None
        if cells is not None and all(type(cell) is int and 0 <= cell <= self.largest for cell in cells):
            return np.array(cells, np.int64)
        seen = examine(board, self.goal, max_cells=65_536)
        found = tuple(dict.fromkeys(finding.problem for finding in seen.findings if finding.where.startswith("board")))
        return found or ("wrong_shape",)

    def _pack(self, batch: NDArray[Any], notes: dict[int, tuple[str, ...]]) -> Packed:
        if batch.size and (int(batch.min()) < 0 or int(batch.max()) > self.largest):
            beyond = np.flatnonzero(((batch < 0) | (batch > self.largest)).any(axis=1))
            problems = check(batch[beyond], self.shape, self.goal).problems
            notes |= {int(i): problem_names(int(flags)) for i, flags in zip(beyond, problems, strict=True)}
            batch = batch.copy()
            batch[beyond] = self._no_board()
        noted = dict(sorted(notes.items())[:NOTED_MOST])
        text = json.dumps(noted, separators=(",", ":")).encode() if noted else b""
        return Packed(len(batch), pack(batch, self.form), text)

    def _no_board(self) -> NDArray[Any]:
        # Without a blank it is invalid, whatever the goal.
        return np.full(self.shape.cells, self.largest, np.int64)

    def _batch(self, boards: NDArray[Any]) -> NDArray[Any]:
        _whole_numbers(boards)
        if boards.shape not in self._shapes(len(boards) if boards.ndim else 0) or boards.ndim < 2:  # noqa: PLR2004
            cells = self.shape.cells
            raise BadInput(
                f"boards of {self.shape} come as an array of (n, {cells}) or (n, {self.shape.rows}, "
                f"{self.shape.cols}), not {boards.shape}"
            )
        return boards.reshape(len(boards), self.shape.cells)

    def _shapes(self, n: int) -> set[tuple[int, ...]]:
        return {(n, self.shape.cells), (n, *self.shape)}


def _whole_numbers(boards: NDArray[Any]) -> None:
    if boards.dtype.kind not in "iu":
        kind = f"text ({boards.dtype})" if boards.dtype.kind in "SUT" else boards.dtype
        raise BadInput(f"boards come as an array of whole numbers, not of {kind}")


class BadLine:
    """A line of a file that is not JSON, or a text that holds no board."""


def file_boards(name: str, file: TextIO) -> Iterator[Any]:
    """Read the boards of a file that begins with ``[`` or ``{`` as JSON lines, those of any other one as text.

    A line that is no JSON is a ``BadLine``, which keeps its place among the boards.

    Raises:
        BadInput: the file holds no board, or a line that is longer than any board.
    """
    is_json, lines = board_lines(name, file)
    boards: Iterator[Any]
    if is_json:
        boards = (_json_value(line) for _, line in lines if line.strip())
    else:
        boards = (board for _, board in parse_boards(lines))
    empty = True
    for board in boards:
        empty = False
        yield board
    if empty:
        raise BadInput(f"{name} holds no board")


def _json_value(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return BadLine()


def _path_boards(path: Path) -> Iterator[Any]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file_boards(str(path), file)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is no text: {error.reason} at byte {error.start}; UTF-8 is expected") from None


def _load(path: str) -> NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise BadInput(f"{path} is no array that can be read: {error}") from None
    if not isinstance(array, np.ndarray):
        raise BadInput(f"{path} holds several arrays: one of boards is expected")
    return array["board"] if array.dtype.names and "board" in array.dtype.names else array


def _as_rows(board: Any) -> Any:
    """Read a board that is text, make lists of arrays, and leave anything else as it is."""
    try:
        return parse_board(board) if isinstance(board, str) else plain(board)
    except BadInput:
        return BadLine()


def _is_rows(board: Any, shape: Shape) -> bool:
    return (
        isinstance(board, list)
        and len(board) == shape.rows
        and all(isinstance(row, list) and len(row) == shape.cols for row in board)
    )


def _has_bool(items: list[Any]) -> bool:
    """Whether a board holds ``true``, which NumPy would take for 1."""
    return any(
        isinstance(cell, bool)
        for item in items
        if isinstance(item, (list, tuple))
        for row in item
        for cell in (row if isinstance(row, (list, tuple)) else (row,))
    )
