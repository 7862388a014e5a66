"""Reading boards from files: text, or JSON lines; one at a time, however long the file is."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from taquin.errors import BadInput
from taquin.lines import board_lines
from taquin.puzzle.text import parse_boards

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO


@dataclass(frozen=True, slots=True)
class Entry:
    """One board of a file: where it begins, and the request it makes; ``error`` instead if it cannot be read."""

    source: str
    line: int
    request: Any
    error: str = ""


def read_entries(paths: Iterable[str], defaults: dict[str, Any]) -> Iterator[Entry]:
    """Read the boards of the files, ``-`` for standard input.

    Args:
        paths: of the files. One that begins with ``[`` or ``{`` holds JSON lines, any other one text.
        defaults: fields of the request that a board, or a request object, does not name itself.

    Raises:
        BadInput: a file cannot be read, is no text, or holds no board.
    """
    for path in paths:
        count = 0
        with _opened(path) as (name, file):
            for entry in _entries(name, file, defaults):
                count += 1
                yield entry
        if count == 0:
            raise BadInput(f"{name} holds no board")


class Source:
    """The boards of one file, for a job: read lazily, whatever is no board left to be answered ``invalid``."""

    def __init__(self, path: str) -> None:
        """Open nothing yet; ``-`` is standard input."""
        self._path = path
        self._file: TextIO | None = None
        self.read = 0
        """How many boards were read so far."""

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the boards, as ``Client.submit`` takes them.

        Raises:
            BadInput: the file cannot be read, is no text, or holds no board.
        """
        from taquin.client.packing import file_boards  # noqa: PLC0415  NumPy, which `taquin --help` does without

        with _opened(self._path) as (name, self._file):
            for board in file_boards(name, self._file):
                self.read += 1
                yield board

    def estimate(self) -> float | None:
        """Estimate how many boards the file holds, from how many its part held that was read so far."""
        try:
            position = os.lseek(self._file.fileno(), 0, os.SEEK_CUR) if self._file else 0
            return self.read * os.fstat(self._file.fileno()).st_size / position if self._file and position else None
        except (OSError, ValueError):  # a pipe, or no file at all
            return None


@contextmanager
def _opened(path: str) -> Iterator[tuple[str, TextIO]]:
    name = "standard input" if path == "-" else path
    if path == "-" and sys.stdin is None:
        raise BadInput("standard input is closed: pipe the boards in, or name a file")
    # Opened again by its number, standard input is read as any file is, whatever the locale.
    file: str | int = sys.stdin.fileno() if path == "-" else path
    try:
        with open(file, encoding="utf-8-sig", closefd=path != "-") as opened:
            yield name, opened
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is no text: {error.reason} at byte {error.start}; UTF-8 is expected") from None


def _entries(name: str, file: TextIO, defaults: dict[str, Any]) -> Iterator[Entry]:
    is_json, lines = board_lines(name, file)
    if is_json:
        yield from _json_entries(name, lines, defaults)
    else:
        for number, board in parse_boards(lines):
            yield Entry(name, number, defaults | {"board": board})


def _json_entries(name: str, lines: Iterator[tuple[int, str]], defaults: dict[str, Any]) -> Iterator[Entry]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            what = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply, or too long a number"
            yield Entry(name, number, None, f"the line is not JSON: {what}")
            continue
        # A board that is no list goes on as it is, to be answered `invalid` with the reason.
        yield Entry(name, number, defaults | value if isinstance(value, dict) else defaults | {"board": value})
