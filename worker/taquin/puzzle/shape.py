"""Shapes, and the names of the goals: what can be said of a puzzle without its boards."""

from __future__ import annotations

import operator
import re
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from taquin.errors import BadShape
from taquin.puzzle.wording import shown

GoalName: TypeAlias = Literal["blank-last", "blank-first", "snail", "snake"]

GOALS: Final[tuple[str, ...]] = get_args(GoalName)
"""The goals that have a name; any board is a goal as well."""

MAX_CELLS: Final = 65_536
"""The most cells a board can have: every label then fits into 16 bits."""


class Shape(NamedTuple):
    """Rows and columns of a board, both at least 1."""

    rows: int
    cols: int

    @property
    def cells(self) -> int:
        """How many cells a board of this shape has, the blank one included."""
        return self.rows * self.cols

    @property
    def is_line(self) -> bool:
        """Whether this is one row or one column, where no tile can pass another."""
        return self.rows == 1 or self.cols == 1

    def __str__(self) -> str:
        """Write the shape as ``parse_shape`` reads it: rows, x, columns."""
        return f"{self.rows}x{self.cols}"


ShapeLike: TypeAlias = Shape | tuple[int, int] | str


def parse_shape(shape: ShapeLike) -> Shape:
    """Read a shape: text such as ``"4x4"`` (rows first), or a pair of whole numbers.

    Raises:
        BadShape: if it is neither, has no rows or no columns, or more than 65,536 cells.
    """
    rows, cols = _sides(shape)
    if rows < 1 or cols < 1:
        raise BadShape(f"A board needs at least one row and one column, not {shown(rows)} and {shown(cols)}.")
    if rows * cols > MAX_CELLS:
        raise BadShape(f"{shown(rows)} rows of {shown(cols)} columns are too many: {MAX_CELLS:,} cells at most.")
    return Shape(rows, cols)


def _sides(shape: object) -> tuple[int, int]:
    if isinstance(shape, str):
        # Nine digits are too many cells already, and keep int() far from its own limit.
        match = re.fullmatch(r"(\d{1,9})x(\d{1,9})", shape.strip(), re.ASCII)
        if match:
            return int(match[1]), int(match[2])
    elif isinstance(shape, tuple | list) and len(shape) == len(Shape._fields):
        try:
            rows, cols = (operator.index(side) for side in shape)
        except TypeError:
            pass
        else:
            if not any(isinstance(side, bool) for side in shape):
                return rows, cols
    raise BadShape(f'A shape is rows and columns, such as "4x4" or (4, 4), not {shown(shape)}.')
