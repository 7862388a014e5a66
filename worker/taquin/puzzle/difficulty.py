"""How far boards are from the goal: two lower bounds, the exact number of moves of small boards, and bands.

Distances are those of the goal from the board as it stands: whether it can be solved at all is another question, which
``moves`` answers with -1 and ``band`` with an error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from taquin.errors import BadBoard, BadInput
from taquin.puzzle.bands import BANDS, Difficulty
from taquin.puzzle.board import Array, Goal, GoalLike, as_batch, as_board, resolve
from taquin.puzzle.columns import blocks
from taquin.puzzle.parity import check_batch, refuse_bad
from taquin.puzzle.shape import Shape, ShapeLike, parse_shape
from taquin.puzzle.tables import MOVES_CELLS, depths, has_table, look_up, pattern

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BAND_CELLS: Final = 1024
"""The most cells of a board that has a band."""

# Up to this side, the differences of rows and of columns fit into a signed byte.
MAX_BYTE_SIDE: Final = 128
# Conflicts are counted in lines whose cells are no more than the bits of a number.
MAX_CONFLICT_SIDE: Final = 64


def manhattan(boards: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> NDArray[np.int32]:
    """Sum the steps, in rows and columns, that the tiles of each board, (n, cells), are from their places: (n,).

    Every move takes one tile one step, so it never exceeds the number of moves. Of equal tiles each is taken to be on
    its way to the nearest of their places, which keeps that true.

    Raises:
        BadBoard: if a board has problems; ``index`` and ``problems`` tell of the first one.
        BadShape, BadGoal, BadInput: as ``check`` does.
    """
    batch, target, _ = _good(boards, shape, goal)
    return _distances(batch, target, conflicts=False)


def linear_conflict(boards: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> NDArray[np.int32]:
    """Add to the Manhattan distance two moves for each tile that must leave its line to let others pass: (n,).

    In each row and column these are the tiles that belong to it, less the longest increasing subsequence of their
    places (O. Hansson, A. Mayer, M. Yung, "Criticizing solutions to relaxed models yields powerful admissible
    heuristics", Information Sciences 63, 1992). It never exceeds the number of moves. For goals with equal tiles, and
    on boards of more than 64 rows or columns, it is the Manhattan distance.

    Raises:
        BadBoard, BadShape, BadGoal, BadInput: as ``manhattan`` does.
    """
    batch, target, _ = _good(boards, shape, goal)
    return _distances(batch, target, conflicts=True)


def moves(boards: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> NDArray[np.int8]:
    """Give the least number of moves that solve each board, (n, cells) of up to 9 cells, -1 if none do: (n,).

    For any goal; each has a table, which the first call for it builds in tens of milliseconds.

    Raises:
        BadInput: if the shape has more than 9 cells.
        BadBoard, BadShape, BadGoal: as ``manhattan`` does.
    """
    size = parse_shape(shape)
    if not has_table(size):
        raise BadInput(
            f"The exact number of moves is known for boards of up to {MOVES_CELLS} cells; {size} has {size.cells}."
            " Use linear_conflict, which never exceeds it."
        )
    batch, target, _ = _good(boards, size, goal)
    return look_up(batch, target)


def band(boards: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> NDArray[np.uint8]:
    """Classify each board, (n, cells) of up to 1,024 cells: (n,) indices into ``BANDS``; see ``band_limits``.

    Raises:
        BadInput: if the shape has more than 1,024 cells.
        BadBoard: if a board has problems or cannot be solved; ``index`` tells of the first one.
        BadShape, BadGoal: as ``manhattan`` does.
    """
    batch, target, solvable = _good(boards, shape, goal)
    limits = limits_of(target)
    if not solvable.all():
        index = int(np.flatnonzero(~solvable)[0])
        raise BadBoard(f"Board {index} of the batch (counted from 0) cannot be solved and has no band.", index=index)
    return band_of(measure(batch, target), limits)


def band_limits(shape: ShapeLike, goal: GoalLike = "blank-last") -> dict[str, int | None]:
    """Give the greatest distance that each band includes, None for the last.

    The distance is the number of moves on boards of up to 9 cells, and above that the linear conflict distance. Its
    mean over all boards that can be solved is what a well shuffled board has, and the bands are parts of that:

    - ``easy``: up to a third of the mean;
    - ``medium``: up to two thirds of the mean;
    - ``hard``: up to one standard deviation above the mean, as most shuffled boards are;
    - ``expert``: beyond: 14 % of all 3x3 boards, 30 % of 4x4, 26 % of 5x5, 21 % of 10x10.

    Mean and deviation are those of the number of moves where it is known, and else of the Manhattan distance; both are
    exact. ``docs/why/difficulty.md`` shows which part of all boards is in which band.

    Raises:
        BadInput: if the shape has more than 1,024 cells.
        BadShape, BadGoal: as ``manhattan`` does.
    """
    limits = limits_of(resolve(goal, parse_shape(shape)))
    return dict(zip(BANDS, (*limits, None), strict=True))


def difficulty(board: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> Difficulty:
    """Tell how difficult one board, as rows or flat, is; what a shape has no table or bands for is None.

    Raises:
        BadBoard: if the board has problems or cannot be solved.
        BadShape, BadGoal, BadInput: as ``check`` does.
    """
    target = resolve(goal, parse_shape(shape))
    batch = as_board(board, target.shape)
    checked = check_batch(batch, target)
    refuse_bad(checked, single=True)
    if not checked.solvable[0]:
        raise BadBoard("The board cannot be solved and has no difficulty.")
    conflict = int(_distances(batch, target, conflicts=True)[0])
    exact = int(look_up(batch, target)[0]) if has_table(target.shape) else None
    code = None
    if target.shape.cells <= BAND_CELLS:
        code = int(band_of(np.array([conflict if exact is None else exact]), limits_of(target))[0])
    return Difficulty(
        manhattan=int(_distances(batch, target, conflicts=False)[0]),
        linear_conflict=conflict,
        moves=exact,
        band=None if code is None else BANDS[code],
    )


class Limits(NamedTuple):
    """The greatest distance that each band but the last includes."""

    easy: int
    medium: int
    hard: int


def limits_of(goal: Goal) -> Limits:
    """Do the work of ``band_limits``."""
    if goal.shape.cells > BAND_CELLS:
        raise BadInput(f"Bands are for boards of up to {BAND_CELLS:,} cells; {goal.shape} has {goal.shape.cells:,}.")
    return _limits(goal.shape, pattern(goal))


def measure(batch: Array, goal: Goal) -> Array:
    """Give the distance that bands are parts of, for boards that can be solved: (n,)."""
    return look_up(batch, goal) if has_table(goal.shape) else _distances(batch, goal, conflicts=True)


def band_of(distances: Array, limits: Limits) -> NDArray[np.uint8]:
    """Tell in which band each distance, (n,), lies: (n,) indices into ``BANDS``."""
    codes = np.zeros(len(distances), np.uint8)
    for limit in limits:
        codes += distances > limit
    return codes


@lru_cache(maxsize=64)
def _limits(shape: Shape, kinds: bytes) -> Limits:
    goal = Goal(shape, np.frombuffer(kinds, np.uint16), named=False)
    if has_table(shape):
        table = depths(goal)
        mean, deviation = _mean_and_deviation(table[table >= 0])
    elif shape.is_line:
        # The only boards are those where the blank was moved along.
        mean, deviation = _mean_and_deviation(np.abs(np.arange(shape.cells) - goal.blank))
    else:
        mean, deviation = _shuffled_manhattan(goal)
    return Limits(int(mean / 3), int(2 * mean / 3), int(mean + deviation))


def _mean_and_deviation(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std())


def _shuffled_manhattan(goal: Goal) -> tuple[float, float]:
    """Compute mean and standard deviation of the Manhattan distance over all boards that can be solved.

    It is a sum of one cost per tile, that of the cell in which it stands. Over all permutations the mean is that of
    the costs, and the variance follows from the costs less the means of their rows and columns (W. Hoeffding, "A
    combinatorial central limit theorem", Annals of Mathematical Statistics 22, 1951, theorem 2). Half of the
    permutations are enough: any two tiles stand in any two cells equally often in the boards that can be solved.
    """
    row, col = np.divmod(np.arange(goal.shape.cells), goal.shape.cols)
    apart = np.abs(row[:, np.newaxis] - row) + np.abs(col[:, np.newaxis] - col)
    cost = np.array([apart[goal.board == tile].min(axis=0) for tile in goal.board], np.float64)
    cost[goal.blank] = 0
    spread = cost - cost.mean(axis=0) - cost.mean(axis=1, keepdims=True) + cost.mean()
    return float(cost.mean() * len(cost)), float(np.sqrt((spread**2).sum() / (len(cost) - 1)))


def _good(boards: ArrayLike, shape: ShapeLike, goal: GoalLike) -> tuple[Array, Goal, NDArray[np.bool_]]:
    """Put the arguments in order, and tell which boards can be solved; raises BadBoard and its like."""
    target = resolve(goal, parse_shape(shape))
    batch = as_batch(boards, target.shape)
    checked = check_batch(batch, target)
    refuse_bad(checked)
    return batch, target, checked.solvable


def _distances(batch: Array, goal: Goal, *, conflicts: bool) -> NDArray[np.int32]:
    """Compute distances of good boards, (n, cells): (n,)."""
    rows, cols = goal.shape
    places = _places(goal)
    row, col = _row_and_col(np.arange(rows * cols, dtype=places.dtype)[:, np.newaxis], cols)
    conflicts = conflicts and goal.distinct and max(rows, cols) <= MAX_CONFLICT_SIDE
    found = np.empty(len(batch), np.int32)
    for block in blocks(len(batch), goal.shape.cells):
        columns = np.ascontiguousarray(batch[block].T)
        is_tile = columns != 0
        nearest: Any = None
        for place in places:
            goal_row, goal_col = _row_and_col(place.take(columns, mode="clip"), cols)
            steps = _apart(goal_row, row)
            steps += _apart(goal_col, col)
            nearest = steps if nearest is None else np.minimum(nearest, steps)
        nearest *= _ones(is_tile)
        total = nearest.sum(axis=0, dtype=np.uint16 if nearest.itemsize == 1 else np.int32)
        if conflicts:
            grid = (rows, cols, -1)
            in_row, in_col = goal_row == row, goal_col == col
            in_row &= is_tile
            in_col &= is_tile
            total += _leavers(goal_col.reshape(grid), in_row.reshape(grid))
            total += _leavers(goal_row.reshape(grid).swapaxes(0, 1), in_col.reshape(grid).swapaxes(0, 1))
        found[block] = total
    return found


def _places(goal: Goal) -> Array:
    """Tabulate the places of each label in the goal, (copies, labels): where it has fewer, the last is repeated."""
    order = np.argsort(goal.board, kind="stable")
    labels, first, copies = np.unique(goal.ordered, return_index=True, return_counts=True)
    narrow = goal.shape.cells <= 256 and max(goal.shape) <= MAX_BYTE_SIDE  # noqa: PLR2004 - a byte's values
    places = np.zeros((copies.max(), int(labels[-1]) + 1), np.uint8 if narrow else np.uint32)
    for copy, place in enumerate(places):
        place[labels] = order[first + np.minimum(copy, copies - 1)]
    return places


def _row_and_col(places: Array, cols: int) -> tuple[Array, Array]:
    """Give the rows and columns of cells, which NumPy's own ``divmod`` does more slowly."""
    width = places.dtype.type(cols)
    row = places // width
    return row, places - row * width


def _apart(ones: Array, others: Array) -> Array:
    """Tell how far unsigned numbers are apart, which are so small that their differences can be read as signed."""
    difference: Array = (ones - others).view(f"i{ones.itemsize}")
    np.abs(difference, out=difference)
    return difference.view(ones.dtype)


def _ones(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Read flags as numbers; NumPy would convert them in every operation with numbers, which takes longer than it."""
    return flags.view(np.uint8)


def _leavers(places: Array, at_home: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Count two moves for each tile that must leave its line: (boards,).

    Along a line, keep the set of the least ends that increasing subsequences of each length can have. A tile whose
    place comes next joins it and drives out the next higher end, if there is one; so the set grows as the longest
    subsequence does (C. Schensted, "Longest increasing and decreasing subsequences", Canadian Journal of Mathematics
    13, 1961), and those driven out are as many as must leave. Sets are bits, one for each place.

    Args:
        places: where along the line the tile in each cell belongs, (lines, length, boards).
        at_home: whether it belongs to this line at all, (lines, length, boards).
    """
    bits = np.min_scalar_type((1 << places.shape[1]) - 1)
    tiles = (_ones(at_home).astype(bits, copy=False) << places.astype(bits, copy=False)).swapaxes(0, 1)
    ends = tiles[0].copy()
    left = np.zeros_like(ends)
    for tile in tiles[1:]:
        driven_out = tile + tile
        np.negative(driven_out, out=driven_out)  # all bits above that of the tile, or none where there is no tile
        driven_out &= ends
        driven_out &= -driven_out  # the lowest of these
        left |= driven_out
        ends ^= driven_out
        ends |= tile
    moves_away: NDArray[np.uint16] = np.bitwise_count(left).sum(axis=0, dtype=np.uint16)
    moves_away *= 2
    return moves_away
