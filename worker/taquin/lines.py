"""The lines of a file of boards: none longer than any board, and whether they are JSON or text."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from taquin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

LINE_MOST: Final = 2_000_000
"""Characters of the longest line that is read: more than the largest board takes."""


def board_lines(name: str, file: TextIO) -> tuple[bool, Iterator[tuple[int, str]]]:
    """Return whether a file holds JSON lines, and its numbered lines from the first one on that is not blank.

    A file that begins with ``[`` or ``{`` holds JSON lines, any other one text.

    Raises:
        BadInput: a line is longer than any board.
    """
    lines = _lines(name, file)
    first = next(((number, line) for number, line in lines if line.strip()), (0, ""))
    return first[1].lstrip().startswith(("[", "{")), chain([first], lines)


def _lines(name: str, file: TextIO) -> Iterator[tuple[int, str]]:
    number = 0
    while line := file.readline(LINE_MOST):
        number += 1
        if len(line) == LINE_MOST and not line.endswith("\n"):
            raise BadInput(f"{name}:{number} is longer than {LINE_MOST:,} characters: no board is")
        yield number, line
