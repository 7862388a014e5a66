"""Which boards can be solved, what is wrong with those that are none, and the evidence for a verdict.

Colour the cells as on a chessboard. A slide exchanges the blank with a tile, which flips the parity of the board's
permutation, and moves the blank to a cell of the other colour: parity xor colour never changes. So a board is solvable
only if it has the goal's value of this invariant, and on two or more rows and columns that is enough (W. E. Story,
"Notes on the 15 puzzle", American Journal of Mathematics 2, 1879; A. F. Archer, "A modern treatment of the 15 puzzle",
American Mathematical Monthly 106, 1999). This is one rule for odd and even widths and for any goal. Two cases differ:

- equal tiles on two or more rows and columns: exchanging them in thought flips the parity, so every board is solvable;
- one row or one column: no tile ever passes another, so the tiles must stand in the goal's order.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from taquin.errors import BadBoard
from taquin.puzzle.board import Array, Goal, GoalLike, as_batch, as_board, permutation_is_odd, resolve
from taquin.puzzle.evidence import Evidence
from taquin.puzzle.network import sorter_of_size
from taquin.puzzle.problem import Problem, problem_names
from taquin.puzzle.shape import ShapeLike, parse_shape
from taquin.puzzle.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from taquin.puzzle.network import Sorter

SHORT: Final = 256
"""Elements up to which inversions are counted by insertion."""

# A block's boards stay in the cache of one core, and are enough to make the cost of calling NumPy small.
BLOCK_BYTES: Final = 1 << 19
BLOCK_BOARDS: Final = range(16, 32_768 + 1)


class Checked(NamedTuple):
    """What ``check`` tells of each board of a batch."""

    problems: NDArray[np.uint16]
    """Flags of ``Problem``, 0 where the board is good: (n,)."""
    solvable: NDArray[np.bool_]
    """Whether legal slides lead to the goal; False where there are problems: (n,)."""


def check(boards: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> Checked:
    """Validate and judge a batch in one pass: (n, cells) of any integer dtype, row-major, 0 for the blank.

    Bad boards raise nothing: they have problems, and are not solvable.

    Raises:
        BadShape: see ``parse_shape``.
        BadGoal: see ``goal_board``.
        BadInput: if the boards are not such an array.
    """
    target = resolve(goal, parse_shape(shape))
    batch = as_batch(boards, target.shape)
    return check_batch(batch, target)


def problems(boards: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> NDArray[np.uint16]:
    """List what is wrong with each board as flags of ``Problem``, 0 where it is good: (n,); see ``check``."""
    return check(boards, shape, goal).problems


def solvable(boards: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last") -> NDArray[np.bool_]:
    """Tell which boards can be solved: (n,); see ``check``.

    Raises:
        BadBoard: if any board has problems; ``index`` and ``problems`` tell of the first one.
        BadShape, BadGoal, BadInput: as ``check`` does.
    """
    checked = check(boards, shape, goal)
    refuse_bad(checked)
    return checked.solvable


def refuse_bad(checked: Checked, *, single: bool = False) -> None:
    """Raise BadBoard for the first board with problems, if there is one."""
    if checked.problems.any():
        index = int(np.flatnonzero(checked.problems)[0])
        names = problem_names(int(checked.problems[index]))
        which = "The board" if single else f"Board {index} of the batch (counted from 0)"
        raise BadBoard(
            f"{which} is no arrangement of the goal's tiles: {', '.join(names)}.", names, None if single else index
        )


def check_batch(batch: Array, goal: Goal) -> Checked:
    """Do the work of ``check`` on arguments that are in order."""
    fits = np.empty(len(batch), np.bool_)
    can = np.empty(len(batch), np.bool_)
    for block, sorter in blocks(len(batch), goal):
        fits[block], can[block] = check_block(batch[block], goal, sorter)
    flags = np.zeros(len(batch), np.uint16)
    bad = np.flatnonzero(~fits)
    step = max(BLOCK_BYTES // goal.shape.cells, 1)
    for start in range(0, len(bad), step):
        some = bad[start : start + step]
        flags[some] = _diagnose(batch[some], goal)
    return Checked(flags, can)


def blocks(boards: int, goal: Goal) -> Iterator[tuple[slice, Sorter]]:
    """Cut so many boards into equal blocks (the last may be smaller), each with the arrays to sort it in."""
    most = BLOCK_BYTES // (goal.shape.cells * goal.board.itemsize)
    most = min(max(most, BLOCK_BOARDS.start), BLOCK_BOARDS.stop - 1)
    size = math.ceil(boards / math.ceil(boards / most)) if boards else 1
    for start in range(0, boards, size):
        length = min(size, boards - start)
        sorter = sorter_of_size(goal.shape.cells, length, goal.board.dtype, usual=goal.usual)
        yield slice(start, start + length), sorter


def check_block(boards: Array, goal: Goal, sorter: Sorter) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which boards are arrangements of the goal's labels, and which of those can be solved."""
    by_parity = goal.distinct and not goal.shape.is_line
    sorter.load(boards)
    if by_parity:
        blank_is_dark = sorter.columns[goal.dark].min(axis=0) == 0
    odd = sorter.sort()
    fits: NDArray[np.bool_] = np.logical_and.reduce(sorter.columns == goal.ordered[:, np.newaxis], axis=0)
    if boards.dtype != goal.board.dtype:
        fits &= _representable(boards, goal.board.dtype)
    can = fits.copy()
    if by_parity:
        can &= odd ^ blank_is_dark == goal.invariant
    elif goal.shape.is_line:
        good = boards[fits]
        tiles = good[good != 0].reshape(len(good), goal.tiles.size)
        can[fits] = (tiles == goal.tiles).all(axis=1)
    return fits, can


def _representable(boards: Array, dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Tell of which boards all values survive the conversion to the goal's dtype."""
    inside: NDArray[np.bool_] = np.logical_and.reduce((boards >= 0) & (boards <= np.iinfo(dtype).max), axis=1)
    return inside


def _diagnose(boards: Array, goal: Goal) -> NDArray[np.uint16]:
    """Name all problems of boards of which it is known that they have some: (k,) flags."""
    labels, wanted = np.unique(goal.board, return_counts=True)
    is_label = (boards >= 0) & (boards <= goal.largest_label)
    values = np.where(is_label, boards, 0).astype(np.int64)
    kinds = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
    known = is_label & (labels[kinds] == values)
    # Count all boards at once: each has its own range of bins, one bin for each label.
    bins = kinds + len(labels) * np.arange(len(boards))[:, np.newaxis]
    there = np.bincount(bins[known], minlength=len(boards) * len(labels)).reshape(len(boards), -1)
    blanks, tiles, wanted = there[:, 0], there[:, 1:], wanted[1:]
    found = [
        (Problem.OUT_OF_RANGE, ~is_label.all(axis=1)),
        (Problem.DUPLICATE_TILES, (tiles > wanted).any(axis=1)),
        (Problem.MISSING_TILES, (tiles < wanted).any(axis=1)),
        (Problem.NO_BLANK, blanks == 0),
        (Problem.SEVERAL_BLANKS, blanks > 1),
        (Problem.GOAL_MISMATCH, np.full(len(boards), not goal.named)),
    ]
    flags = np.zeros(len(boards), np.uint16)
    for problem, where in found:
        flags[where] |= np.uint16(problem)
    return flags


def evidence(
    board: ArrayLike, shape: ShapeLike, goal: GoalLike = "blank-last", *, known_good: bool = False
) -> Evidence:
    """Give the numbers that the verdict on one board, as rows or flat, rests on, and a sentence about them.

    For the goal ``blank-last`` these are the textbook's: inversions N and the blank's row K from the bottom. With an
    even width the board is solvable if N + K is odd, with an odd width if N is even. For other goals they are the
    parity of the permutation that takes the board to the goal, the blank included, and the distance between the two
    blanks, which must agree. ``known_good`` leaves out the search for problems, on a board that ``examine`` has passed.

    Raises:
        BadBoard: if the board has problems.
        BadShape, BadGoal, BadInput: as ``check`` does.
    """
    target = resolve(goal, parse_shape(shape))
    batch = as_board(board, target.shape)
    if not known_good:
        refuse_bad(check_batch(batch, target), single=True)
    return _evidence_of(batch[0], target)


def _evidence_of(board: Array, goal: Goal) -> Evidence:
    shape = goal.shape
    row, col = divmod(int(board.argmin()), shape.cols)
    goal_row, goal_col = divmod(goal.blank, shape.cols)
    distance = abs(row - goal_row) + abs(col - goal_col)
    odd = False
    if shape.is_line:
        solvable = np.array_equal(board[board != 0], goal.tiles)
    elif goal.distinct:
        odd = permutation_is_odd(np.argsort(goal.board)[np.searchsorted(goal.ordered, board)])
        solvable = odd == bool(distance & 1)
    else:
        solvable = True
    facts: dict[str, Any] = {
        "solvable": solvable,
        "blank": (row, col),
        "blank_row_from_top": row + 1,
        "blank_row_from_bottom": shape.rows - row,
        "width": _parity(shape.cols),
    }
    verdict = "solvable" if solvable else "unsolvable"
    if shape.is_line:
        kept = "they do" if solvable else "they do not"
        line = "row" if shape.rows == 1 else "column"
        why = f"In one {line} the tiles must stand in the goal's order, and {kept}"
        return Evidence(rule="order", sentence=f"{why}: {verdict}.", **facts)
    if not goal.distinct:
        why = "The goal has equal tiles, and exchanging two of them goes unseen"
        return Evidence(rule="repeated", sentence=f"{why}: {verdict}.", **facts)
    permutation = _parity(odd)
    facts |= {"permutation": permutation, "blank_distance": distance}
    if not np.array_equal(goal.tiles, np.arange(1, shape.cells)) or goal.blank != shape.cells - 1:
        relation = "they agree" if permutation == _parity(distance) else "they differ"
        why = (
            f"The permutation from board to goal is {permutation}; the blank is {count(distance, 'step')} from its"
            f" place, which is {_parity(distance)}; {relation}"
        )
        return Evidence(rule="permutation", sentence=f"{why}: {verdict}.", **facts)
    inversions = count_inversions(board[board != 0])
    why = f"The width is {_parity(shape.cols)}; {count(inversions, 'inversion')}"
    if shape.cols % 2 == 0:
        total = inversions + shape.rows - row
        why += f" + row {shape.rows - row} from the bottom = {total:,}, which is {_parity(total)}"
    else:
        why += f", which is {_parity(inversions)}"
    return Evidence(rule="inversions", inversions=inversions, sentence=f"{why}: {verdict}.", **facts)


def _parity(number: int) -> Literal["even", "odd"]:
    return "odd" if number % 2 else "even"


def count_inversions(sequence: Array) -> int:
    """Count the pairs of which the larger comes first in a sequence, (n,).

    The elements of a short one are inserted into a sorted list, each of them before those that are larger. That takes
    quadratic time, so of a long one ever longer sorted runs are merged: each element of the first run moves back by as
    many places as there are smaller elements in the second, and the places where the first run ends up count the
    inversions between the two (Knuth, volume 3, 5.2.4). All pairs of runs are merged by one call.
    """
    if len(sequence) <= SHORT:
        inserted: list[int] = []
        larger = 0
        for behind, element in enumerate(sequence.tolist()):
            place = bisect_right(inserted, element)
            larger += behind - place
            inserted.insert(place, element)
        return larger
    size = 1 << max(len(sequence) - 1, 0).bit_length()
    runs = np.full(size, np.iinfo(np.int64).max)  # what fills it up is at its end, and takes part in no inversion
    runs[: len(sequence)] = sequence
    total = 0
    width = 1
    while width < size:
        pairs = runs.reshape(-1, 2 * width)
        order = pairs.argsort(axis=1, kind="stable")
        places = np.nonzero(order < width)[1]
        total += int(places.sum()) - len(pairs) * width * (width - 1) // 2
        runs = np.take_along_axis(pairs, order, axis=1)
        width *= 2
    return total
