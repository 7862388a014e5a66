"""Goals and batches of boards as arrays.

A batch is an ``(n, rows * cols)`` array, row-major, 0 for the blank; labels are ``uint8`` on boards of up to 256 cells
and ``uint16`` above, or where a goal has labels above 255.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taquin.errors import BadGoal, BadInput
from taquin.puzzle.shape import GOALS, Shape, ShapeLike, parse_shape
from taquin.puzzle.wording import count, shown

Array: TypeAlias = NDArray[Any]
GoalLike: TypeAlias = str | ArrayLike

MAX_LABEL: Final = 65_535


def goal_board(goal: GoalLike, shape: ShapeLike) -> Array:
    """Give the board that a goal stands for: (cells,), ``uint8`` or ``uint16``.

    ``blank-last`` is 1 2 3 / 4 5 6 / 7 8 0; ``blank-first`` is 0 1 2 / 3 4 5 / 6 7 8; ``snail`` winds inwards
    clockwise, 1 2 3 / 8 0 4 / 7 6 5; ``snake`` turns at the end of each row, 1 2 3 / 6 5 4 / 7 8 0. Any board is a
    goal as well, as rows or flat: labels from 0 to 65,535, of which tiles may repeat, and one 0.

    Raises:
        BadShape: see ``parse_shape``.
        BadGoal: if there is no goal of that name, or the board is not one of that shape with one blank.
    """
    return resolve(goal, parse_shape(shape)).board.copy()


@dataclass(frozen=True, eq=False)
class Goal:
    """A goal and what is known of it; ``board`` is (cells,), and not to be written to."""

    shape: Shape
    board: Array
    named: bool

    @cached_property
    def ordered(self) -> Array:
        """The labels in ascending order, the blank first: (cells,)."""
        return np.sort(self.board)

    @cached_property
    def distinct(self) -> bool:
        """Whether no two tiles are equal."""
        return bool((self.ordered[1:] != self.ordered[:-1]).all())

    @cached_property
    def usual(self) -> bool:
        """Whether the labels are 0..cells-1, each once."""
        return np.array_equal(self.ordered, np.arange(self.shape.cells))

    @cached_property
    def largest_label(self) -> int:
        """The largest number that is a label at all: cells - 1 on a usual board, else 65,535."""
        return self.shape.cells - 1 if self.usual else MAX_LABEL

    @cached_property
    def blank(self) -> int:
        """The cell in which the blank is."""
        return int(np.flatnonzero(self.board == 0)[0])

    @cached_property
    def tiles(self) -> Array:
        """The tiles in reading order: (cells - 1,)."""
        tiles: Array = self.board[self.board != 0]
        return tiles

    @cached_property
    def dark(self) -> NDArray[np.intp]:
        """The dark cells, coloured as on a chessboard whose first cell is light."""
        row, col = np.divmod(np.arange(self.shape.cells), self.shape.cols)
        return np.flatnonzero((row + col) & 1)

    @cached_property
    def invariant(self) -> bool:
        """What no slide changes, of a goal without equal tiles; see ``parity.check``."""
        return permutation_is_odd(np.argsort(self.board)) != bool((self.dark == self.blank).any())


def permutation_is_odd(permutation: Array) -> bool:
    """Tell the parity of a permutation of 0..n-1, (n,), by its cycles: one of length k is k - 1 exchanges."""
    to = permutation.tolist()
    exchanges = 0
    for start in range(len(to)):
        at = start
        while (after := to[at]) != start and after >= 0:
            to[at], at = -1, after
            exchanges += 1
        to[at] = -1
    return bool(exchanges & 1)


def resolve(goal: GoalLike, shape: Shape) -> Goal:
    """Look a goal up by its name, or read it as a board; raises BadGoal."""
    if isinstance(goal, str):
        return _named_goal(goal, shape)
    return Goal(shape, _frozen(_explicit_goal(goal, shape)), named=False)


@lru_cache(maxsize=64)
def _named_goal(name: str, shape: Shape) -> Goal:
    if name not in GOALS:
        raise BadGoal(f"A goal is {', '.join(GOALS)}, or a board, not {shown(name)}.")
    labels = np.arange(1, shape.cells + 1) % shape.cells
    board = np.empty(shape.cells, np.uint8 if shape.cells <= 256 else np.uint16)  # noqa: PLR2004 - a byte's values
    board[_path(name, shape)] = np.roll(labels, 1) if name == "blank-first" else labels
    return Goal(shape, _frozen(board), named=True)


def _path(name: str, shape: Shape) -> Array:
    """List the cells in the order in which the labels of the goal follow each other."""
    grid: Array = np.arange(shape.cells).reshape(shape)
    if name == "snake":
        grid[1::2] = grid[1::2, ::-1].copy()
    if name != "snail":
        return grid.ravel()
    turns = []
    while grid.size:
        turns.append(grid[0])
        grid = np.rot90(grid[1:])  # what is left, turned so that the spiral goes on along its first row
    return np.concatenate(turns)


def _explicit_goal(goal: ArrayLike, shape: Shape) -> Array:
    try:
        board = np.asarray(goal)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadGoal("The goal is not a board: its rows differ in length, or its cells are no numbers.") from error
    if board.shape not in (tuple(shape), (shape.cells,)):
        size = "x".join(map(str, board.shape)) or "a single value"
        raise BadGoal(f"The goal must have the shape {shape} of the board (or {shape.cells} cells), not {size}.")
    if not np.issubdtype(board.dtype, np.integer):
        raise BadGoal(f"The goal must hold whole numbers only, not values of type {board.dtype}.")
    if board.min() < 0 or board.max() > MAX_LABEL:
        raise BadGoal(f"The labels of the goal must be from 0 to {MAX_LABEL:,}; {_outlier(board)} is not.")
    blanks = int((board == 0).sum())
    if blanks != 1:
        raise BadGoal(f"The goal must have exactly one blank (0), not {count(blanks, 'blank')}.")
    wide = shape.cells > 256 or board.max() > 255  # noqa: PLR2004 - a byte's values
    return board.ravel().astype(np.uint16 if wide else np.uint8)


def _outlier(board: Array) -> str:
    return shown(int(board.min() if board.min() < 0 else board.max()))


def _frozen(board: Array) -> Array:
    board.flags.writeable = False
    return board


def as_batch(boards: ArrayLike, shape: Shape) -> Array:
    """View boards as an (n, cells) array of whole numbers; raises BadInput."""
    try:
        batch = np.asarray(boards)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadInput(
            "The boards are no array: their rows differ in length, or their cells are no numbers."
        ) from error
    if batch.ndim != 2 or batch.shape[1] != shape.cells:  # noqa: PLR2004 - boards by cells
        raise BadInput(f"Boards of {shape} must come as an (n, {shape.cells}) array, not {batch.shape}.")
    if not np.issubdtype(batch.dtype, np.integer):
        raise BadInput(f"Boards must be an array of whole numbers, not of type {batch.dtype}.")
    return batch


def as_board(board: ArrayLike, shape: Shape) -> Array:
    """View one board, as rows or flat, as a batch of one: (1, cells); raises BadInput."""
    try:
        cells = np.asarray(board)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadInput("The board is no array: its rows differ in length, or its cells are no numbers.") from error
    if cells.shape not in (tuple(shape), (shape.cells,)):
        raise BadInput(f"A board of {shape} must have that shape or {shape.cells} cells, not {cells.shape}.")
    return as_batch(cells.reshape(1, -1), shape)
