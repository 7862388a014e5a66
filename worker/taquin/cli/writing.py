"""Writing boards and answers to files: JSON lines, CSV or NumPy's arrays, chunk by chunk and whole or not at all."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from taquin.errors import BadInput, TaquinError
from taquin.puzzle.packed import INVALID, REPAIRED, SOLVABLE
from taquin.puzzle.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

    from taquin.client import Chunk
    from taquin.messages import JobRequest

ENDINGS: Final = (".jsonl", ".ndjson", ".json", ".csv", ".npy")


class Table(Protocol):
    """What is written, batch by batch."""

    length: int
    dtype: np.dtype[Any]
    """Of a row of an array."""
    head: str
    """The first line of a CSV file."""

    def array(self, batch: Any) -> NDArray[Any]:
        """Return the rows of a batch."""

    def json(self, batch: Any) -> Iterator[str]:
        """Return the lines of a batch as JSON."""

    def csv(self, batch: Any) -> Iterator[str]:
        """Return the lines of a batch as CSV."""


Begin: TypeAlias = "Callable[[Table], Callable[[Any], None]]"
"""Takes a table, once, and returns what writes one of its batches by each call."""


@contextmanager
def opened(out: str) -> Iterator[Begin]:
    """Within this context a file is open that appears, whole, when it ends well; ``-`` is standard output.

    Raises:
        BadInput: the ending does not say how to write it, or it cannot be written.
    """
    if out == "-":
        if sys.stdout is None:
            raise BadInput("standard output is closed: name a file by --out")
        sys.stdout.flush()
        yield lambda table: lambda batch: sys.stdout.writelines(table.json(batch))
        return
    if Path(out).suffix not in ENDINGS:
        raise BadInput(f"--out: {out} ends with none of {', '.join(ENDINGS)}, which say how it is to be written")
    path = Path(out)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # beside the file, so that the renaming is one step
    try:
        with part.open("xb") as file:
            yield lambda table: _write_to(file, path.suffix, table)
        part.replace(path)
    except OSError as error:
        if isinstance(error, TaquinError):  # what was read from Redis meanwhile
            raise
        raise BadInput(f"--out: {out} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):  # where it could not be opened it is not there
            part.unlink()


def _write_to(file: BinaryIO, suffix: str, table: Table) -> Callable[[Any], None]:
    if suffix == ".npy":
        head = {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": False, "shape": (table.length,)}
        if table.dtype.subdtype is not None:
            base, more = table.dtype.subdtype
            head |= {"descr": np.lib.format.dtype_to_descr(base), "shape": (table.length, *more)}
        np.lib.format.write_array_header_1_0(file, head)
        return lambda batch: file.writelines([table.array(batch).tobytes()])
    if suffix == ".csv":
        file.write(table.head.encode())
        return lambda batch: file.writelines(line.encode() for line in table.csv(batch))
    return lambda batch: file.writelines(line.encode() for line in table.json(batch))


class Boards:
    """Boards alone, (n, cells) a batch: as rows in JSON, cells in CSV, and an (n, rows, cols) array."""

    def __init__(self, request: JobRequest, length: int) -> None:
        """Know what was asked, and how many there will be."""
        shape = Shape(request.rows, request.cols)
        self.length = length
        self.dtype = np.dtype((_cell(request), tuple(shape)))
        self.head = ",".join(f"r{row}c{col}" for row in range(shape.rows) for col in range(shape.cols)) + "\n"
        self._json = f"{board_template(shape)}\n"
        self._csv = ",".join(["%d"] * shape.cells) + "\n"

    def array(self, batch: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of a batch."""
        return batch.astype(self.dtype.base, copy=False)

    def json(self, batch: NDArray[Any]) -> Iterator[str]:
        """Return the lines of a batch as JSON."""
        return (self._json % tuple(cells) for cells in batch.tolist())

    def csv(self, batch: NDArray[Any]) -> Iterator[str]:
        """Return the lines of a batch as CSV."""
        return (self._csv % tuple(cells) for cells in batch.tolist())


class Answers:
    """The answers of a job, a ``Chunk`` a batch."""

    def __init__(self, request: JobRequest, length: int) -> None:
        """Know what was asked, and how many there will be."""
        self.shape = Shape(request.rows, request.cols)
        self.length = length
        self.with_boards = request.kind == "repair" or (request.kind == "generate" and not request.pool)
        board = [("board", _cell(request), tuple(self.shape))] if self.with_boards else []
        self.dtype = np.dtype([("status", "u1"), *board])
        self.head = "index,status,problems,board\n"
        self._json = board_template(self.shape)
        self._text = "/".join([" ".join(["%d"] * self.shape.cols)] * self.shape.rows)

    def array(self, batch: Chunk) -> NDArray[Any]:
        """Return the rows of a batch."""
        rows = np.zeros(len(batch), self.dtype)
        rows["status"] = batch.statuses
        if self.with_boards and batch.boards is not None:
            rows["board"] = batch.boards.reshape(-1, *self.shape)
        return rows

    def json(self, batch: Chunk) -> Iterator[str]:
        """Return the lines of a batch as JSON."""
        for index, status, problems, cells in _rows(batch):
            named = ",".join(f'"{name}"' for name in problems)
            board = self._json % tuple(cells) if cells else "null"
            yield f'{{"index":{index},"status":"{status}","problems":[{named}],"board":{board}}}\n'

    def csv(self, batch: Chunk) -> Iterator[str]:
        """Return the lines of a batch as CSV."""
        for index, status, problems, cells in _rows(batch):
            board = self._text % tuple(cells) if cells else ""
            yield f"{index},{status},{' '.join(problems)},{board}\n"


def board_template(shape: Shape) -> str:
    """Return a board as JSON, to be filled with its cells by ``%``."""
    row = f"[{','.join(['%d'] * shape.cols)}]"
    return f"[{','.join([row] * shape.rows)}]"


def _rows(chunk: Chunk) -> Iterator[tuple[int, str, tuple[str, ...], list[int]]]:
    """Give index, status, problems and cells (none where there is no board to serve) of each board of a chunk."""
    served: list[list[int]] = chunk.boards.tolist() if chunk.boards is not None else [[]] * len(chunk)
    for number, (code, cells) in enumerate(zip(chunk.statuses.tolist(), served, strict=True)):
        problems = chunk.problems(number) if code & INVALID else ()
        yield chunk.start + number, chunk.status(number), problems, cells if code in (SOLVABLE, REPAIRED) else []


def _cell(request: JobRequest) -> str:
    return "<u2" if request.form == "u16" else "u1"
