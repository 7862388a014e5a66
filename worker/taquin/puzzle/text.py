"""Boards as people write them.

A board is one line with ``/`` between its rows, or one line for each row; boards of several lines have a blank line
between them. Cells are separated by spaces or commas. The blank is ``0``, ``_``, ``.`` or ``x``. Lines that begin with
``#`` are comments::

    # two boards
    1 2 3 / 4 5 6 / 7 8 _

    1, 2
    3, .

Programming contests write the number of rows on a line of its own before the rows of a square board. A first row of
one number n is such a header if n is at least 2 and exactly n rows of n cells follow; else it is a row of one cell, as
in a board of one column. No rectangular board can be read in both ways.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from taquin.errors import BadInput
from taquin.puzzle.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Cell: TypeAlias = int | str

BLANKS: Final = ("0", "_", ".", "x")
ROW_SEPARATORS: Final = ("\n", "/", " / ")
CELL_SEPARATORS: Final = (" ", ",", ", ")

# Of one board, so that a file without an empty line is not held in memory: far more than the largest board has.
MOST_CELLS: Final = 1_000_000

# Python may be told to read no number of more digits than these; no label comes near.
MOST_DIGITS: Final = 640


class TextBoard(NamedTuple):
    """A board that was read, and where."""

    line: int
    """The number of the line on which it begins, the first line being 1."""
    rows: list[list[Cell]]
    """Its rows, which may still differ in length; a cell that is no whole number is the text that stood there."""


def parse_board(text: str) -> list[list[Cell]]:
    """Read the only board of a text, in any of the forms above.

    What it reads need not be a board yet: rows may differ in length, and cells that are no whole numbers stay texts;
    ``examine`` says what is wrong and where.

    Raises:
        BadInput: if the text holds no board, or more than one.
    """
    boards = parse_boards(text.splitlines())
    board = next(boards, None)
    if board is None:
        raise BadInput("The text holds no board.")
    second = next(boards, None)
    if second is not None:
        raise BadInput(f"The text holds more than one board; the second one begins on line {second.line}.")
    return board.rows


def parse_boards(lines: Iterable[str | tuple[int, str]]) -> Iterator[TextBoard]:
    """Read the boards of a text line by line, as they come; lines may bring their own numbers, (number, line).

    Raises:
        BadInput: if a board goes on for more cells than any board has.
    """
    rows: list[list[Cell]] = []
    begin = cells = 0
    for number, line in _numbered(lines):
        text = line.strip()
        if text.startswith("#"):
            continue
        one_line = "/" in text
        if rows and (one_line or not text):
            yield TextBoard(begin, _without_header(rows))
            rows, cells = [], 0
        if one_line:
            yield TextBoard(number, _without_header([_cells(part) for part in text.split("/")]))
        elif text:
            begin = begin if rows else number
            rows.append(_cells(text))
            cells += len(rows[-1])
            if cells > MOST_CELLS:
                raise BadInput(
                    f"The board that begins on line {begin} has more than {MOST_CELLS:,} cells: boards of several "
                    f"lines have an empty line between them."
                )
    if rows:
        yield TextBoard(begin, _without_header(rows))


def format_board(
    rows: Sequence[Sequence[Cell]],
    *,
    row_separator: str = "\n",
    cell_separator: str = " ",
    blank: str = "0",
    header: bool = False,
) -> str:
    r"""Write a board so that ``parse_board`` reads the same rows again.

    Args:
        rows: the board.
        row_separator: between rows: ``"\n"``, ``"/"`` or ``" / "``.
        cell_separator: between cells: ``" "``, ``","`` or ``", "``.
        blank: how to write the blank: ``"0"``, ``"_"``, ``"."`` or ``"x"``.
        header: whether to begin with the number of rows, for a square board of at least 2x2.

    Raises:
        BadInput: if a separator or the blank is none of these, or the board cannot have a header.
    """
    for what, value, choices in (
        ("The row separator", row_separator, ROW_SEPARATORS),
        ("The cell separator", cell_separator, CELL_SEPARATORS),
        ("The blank", blank, BLANKS),
    ):
        if value not in choices:
            raise BadInput(f"{what} is one of {', '.join(map(shown, choices))}, not {shown(value)}.")
    written = [cell_separator.join(blank if cell == 0 else str(cell) for cell in row) for row in rows]
    if header:
        if len(rows) < 2 or any(len(row) != len(rows) for row in rows):  # noqa: PLR2004 - 1x1 would be ambiguous
            raise BadInput("Only a square board of at least 2x2 can begin with its number of rows.")
        written.insert(0, str(len(rows)))
    return row_separator.join(written)


def _numbered(lines: Iterable[str | tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for count, line in enumerate(lines, start=1):
        yield (count, line) if isinstance(line, str) else line


def _cells(text: str) -> list[Cell]:
    text = text.strip()
    # Two commas with nothing between them enclose an empty cell; spaces around a comma belong to it.
    return [_cell(token) for token in re.split(r"\s*,\s*|\s+", text)] if text else []


def _cell(token: str) -> Cell:
    if token in BLANKS:
        return 0
    if len(token) <= MOST_DIGITS and re.fullmatch(r"[+-]?[0-9]+", token):
        return int(token)
    return token


def _without_header(rows: list[list[Cell]]) -> list[list[Cell]]:
    match rows:
        case [[int(size)], *rest] if len(rest) == size >= 2 and all(len(row) == size for row in rest):  # noqa: PLR2004
            return rest
    return rows
