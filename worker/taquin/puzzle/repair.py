"""Repair: which two tiles to exchange so that an unsolvable board can be solved.

Exchanging two different tiles flips the parity of the permutation and leaves the blank where it is, so on two or more
rows and columns any such exchange makes an unsolvable board solvable. There an unsolvable board has no equal tiles
(see ``parity``), so no exchange goes unseen. Boards of one row or column are not repaired: their order is not a matter
of parity.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from taquin.errors import BadInput, TaquinError
from taquin.puzzle.board import Array, Goal, GoalLike, as_batch, as_board, resolve
from taquin.puzzle.parity import blocks, check_batch, check_block, refuse_bad
from taquin.puzzle.shape import ShapeLike, parse_shape
from taquin.puzzle.wording import listed, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

Swap: TypeAlias = Literal["last", "gentle", "random"] | tuple[int, int]
Cells: TypeAlias = NDArray[np.int32]

SWAPS: Final = ("last", "gentle", "random")

NOT_NEEDED: Final = -1
IMPOSSIBLE: Final = -2
BAD: Final = -3

# A block of boards for which all exchanges with one cell are weighed at once stays in the cache.
GENTLE_CELLS: Final = 1 << 17


class Repaired(NamedTuple):
    """What ``repair`` made of a batch."""

    boards: Array
    """The boards to serve, a new array of the dtype that came in: (n, cells)."""
    cells: Cells
    """The two cells that were exchanged, ascending; -1 where none needed to be, -2 where no exchange is possible,
    -3 where the board has problems: (n, 2)."""


class Plan(NamedTuple):
    """How to choose the exchange: the kind, the tiles for it, and the tiles that may move at all, ascending."""

    kind: str
    pair: tuple[int, int]
    free: Array


def repair(
    boards: ArrayLike,
    shape: ShapeLike,
    goal: GoalLike = "blank-last",
    swap: Swap = "last",
    pinned: Iterable[int] = (),
    bad: Literal["raise", "keep"] = "raise",
) -> Repaired:
    """Make the unsolvable boards of a batch, (n, cells), solvable by exchanging two tiles of each.

    Never the blank, never a pinned tile, and never so that the goal itself results, which would be no puzzle. Of the
    exchanges that remain, ``swap`` chooses one:

    - ``"last"``: the last two tiles in reading order; where that is not possible, the last and the third last.
    - ``"gentle"``: the exchange that changes the Manhattan distance to the goal least, up or down; among equals the
      one whose later cell is last, then the one whose earlier cell is last.
    - ``"random"``: drawn evenly by ``fingerprint`` of the board, so the same board is always repaired in the same way.
    - two tiles: these.

    The repaired boards are checked again before they are returned.

    Raises:
        BadBoard: if a board has problems and ``bad`` is ``"raise"``; with ``"keep"`` it is passed through.
        BadInput: if the boards are no such array, the swap is none of these, or a tile is not one of the goal's.
        BadShape, BadGoal: as ``check`` does.
    """
    target = resolve(goal, parse_shape(shape))
    plan = _plan(target, swap, pinned)
    if bad not in ("raise", "keep"):
        raise BadInput(f'bad must be "raise" or "keep", not {shown(bad)}.')
    batch = as_batch(boards, target.shape)
    checked = check_batch(batch, target)
    if bad == "raise":
        refuse_bad(checked)
    result = Repaired(batch.copy(order="C"), np.full((len(batch), 2), NOT_NEEDED, np.int32))
    broken = checked.problems != 0
    result.cells[broken] = BAD
    unsolvable = np.flatnonzero(~(checked.solvable | broken))
    # All in one pass over blocks that fit the cache: choose, exchange, and check what is served once more.
    for block, sorter in blocks(len(unsolvable), target):
        which = unsolvable[block]
        rows = result.boards.take(which, axis=0)
        at_home = _with_blank_at_home(rows, target)
        cells = _choose(rows, at_home, target, plan)
        for side in (0, 1):
            result.cells[:, side][which] = cells[side]
        possible = cells[0] != IMPOSSIBLE
        _exchange(result.boards, which, cells, possible)
        rows = result.boards.take(which, axis=0)
        _, can = check_block(rows, target, sorter)
        if (can != possible).any() or _goals(rows, at_home, target).size:
            raise TaquinError("A repaired board failed its second check. None was returned; please report this bug.")
    return result


def why_unrepairable(
    board: ArrayLike,
    shape: ShapeLike,
    goal: GoalLike = "blank-last",
    swap: Swap = "last",
    pinned: Iterable[int] = (),
) -> str:
    """Say in one sentence why ``repair`` cannot mend a board, as rows or flat, that cannot be solved.

    Raises:
        BadInput: if it can be solved or repaired; else as ``repair`` does.
    """
    target = resolve(goal, parse_shape(shape))
    plan = _plan(target, swap, pinned)
    batch = as_board(board, target.shape)
    checked = check_batch(batch, target)
    refuse_bad(checked, single=True)
    if checked.solvable[0]:
        raise BadInput("The board can be solved; there is nothing to repair.")
    if _choose(batch, np.arange(1), target, plan)[0, 0] != IMPOSSIBLE:
        raise BadInput("The board can be repaired.")
    if target.shape.is_line:
        return "Tiles in one row or one column can never pass each other, so boards of that shape are not repaired."
    fixed = [tile for tile in plan.pair if plan.kind == "pair" and tile not in plan.free]
    if fixed:
        return f"The tiles to exchange are {listed(list(plan.pair))}, but {listed(fixed)} must stay in place."
    if plan.free.size < 2:  # noqa: PLR2004 - it takes two
        return f"Two tiles must change places, but only {plan.free.size} of {target.tiles.size} may move."
    tiles = plan.pair if plan.kind == "pair" else tuple(plan.free.tolist())
    only = "" if plan.kind == "pair" else ", the only tiles that may move,"
    return f"Exchanging {listed(list(tiles))}{only} would give the solved board, which is no puzzle."


def _plan(goal: Goal, swap: Swap, pinned: Iterable[int]) -> Plan:
    """Put the caller's wishes in order; raises BadInput."""
    fixed = {_label(tile, goal, "pinned") for tile in pinned}
    free = np.array([tile for tile in goal.ordered[1:].tolist() if tile not in fixed], goal.board.dtype)
    if isinstance(swap, str):
        if swap not in SWAPS:
            raise BadInput(f"A swap is one of {', '.join(SWAPS)}, or two tiles, not {shown(swap)}.")
        return Plan(swap, (0, 0), free)
    if not isinstance(swap, tuple | list) or len(swap) != 2:  # noqa: PLR2004 - it takes two
        raise BadInput(f"A swap is one of {', '.join(SWAPS)}, or two tiles, not {shown(swap)}.")
    first, second = (_label(tile, goal, "to be exchanged") for tile in swap)
    if 0 in (first, second) or first == second:
        raise BadInput(f"A swap takes two different tiles and never the blank, not {first} and {second}.")
    return Plan("pair", (first, second), free)


def _label(tile: object, goal: Goal, why: str) -> int:
    try:
        label = operator.index(tile)  # type: ignore[arg-type]  # what is no whole number is caught below
    except TypeError:
        label = -1
    if isinstance(tile, bool) or not 0 <= label <= goal.ordered[-1] or label not in goal.ordered:
        raise BadInput(f"The tile {shown(tile)} is {why}, but the goal has none of that number.")
    return label


def _choose(rows: Array, at_home: NDArray[np.intp], goal: Goal, plan: Plan) -> Cells:
    """Choose the two cells, ascending, to exchange in each unsolvable board: (2, k), -2 where there are none."""
    if goal.shape.is_line or plan.free.size < 2:  # noqa: PLR2004 - it takes two
        return np.full((2, len(rows)), IMPOSSIBLE, np.int32)
    choose = _METHODS[plan.kind]
    cells = choose(rows, goal, plan, None)
    clash = _goals_after(rows, cells, at_home, goal)
    if clash.size:
        cells[:, clash] = choose(rows[clash], goal, plan, cells[:, clash])
    return cells


def _with_blank_at_home(rows: Array, goal: Goal) -> NDArray[np.intp]:
    """List the boards whose blank is where it is in the goal. No others can be the goal, and exchanges keep it."""
    return np.flatnonzero(rows[:, goal.blank] == 0)


def _goals(rows: Array, at_home: NDArray[np.intp], goal: Goal) -> NDArray[np.intp]:
    """List the boards that are the goal, of those whose blank is at home."""
    another = (goal.blank + 1) % goal.shape.cells
    likely = at_home[rows[at_home, another] == goal.board[another]]
    goals: NDArray[np.intp] = likely[(rows[likely] == goal.board).all(axis=1)]
    return goals


def _goals_after(rows: Array, cells: Cells, at_home: NDArray[np.intp], goal: Goal) -> NDArray[np.intp]:
    """List the boards that become the goal when two cells of each, (2, k), are exchanged, of those at home."""
    first, second = cells.take(at_home, axis=1)
    crossed = (rows[at_home, first] == goal.board[second]) & (rows[at_home, second] == goal.board[first])
    likely = at_home[crossed & (first >= 0)]
    # All other cells must be right, and these two are known to be wrong.
    goals: NDArray[np.intp] = likely[(rows[likely] != goal.board).sum(axis=1) == 2]  # noqa: PLR2004
    return goals


def _pair(rows: Array, goal: Goal, plan: Plan, barred: Cells | None) -> Cells:  # noqa: ARG001 - as the others
    """Choose the caller's pair."""
    if barred is not None or not np.isin(plan.pair, plan.free).all():
        return np.full((2, len(rows)), IMPOSSIBLE, np.int32)
    return _find(rows, np.array(plan.pair)[:, np.newaxis])


def _find(rows: Array, tiles: Array) -> Cells:
    """Find the two cells, ascending, of two tiles, (2, k) or (2, 1): (2, k)."""
    places = [(rows == tile[:, np.newaxis]).argmax(axis=1) for tile in tiles]
    return np.sort(places, axis=0).astype(np.int32)


def _last(rows: Array, goal: Goal, plan: Plan, barred: Cells | None) -> Cells:
    """Choose the last two free tiles, or the last and the third last."""
    if barred is None:
        last, second = _from_the_end(rows, goal, plan.free, 2)
        return np.stack([second, last])
    if plan.free.size < 3:  # noqa: PLR2004 - there is no third
        return np.full((2, len(rows)), IMPOSSIBLE, np.int32)
    last, _, third = _from_the_end(rows, goal, plan.free, 3)
    return np.stack([third, last])


def _from_the_end(rows: Array, goal: Goal, free: Array, ranks: int) -> Cells:
    """Find the cells of the last free tiles, the last one first: (ranks, k)."""
    cells = goal.shape.cells
    # So many cells at the end hold that many free tiles even if the blank and all pinned tiles are among them.
    fixed = cells - free.size
    window = np.ascontiguousarray(rows[:, cells - fixed - ranks :].T)
    if fixed == 1:
        movable = window != 0
    else:
        may_move = np.zeros(int(goal.ordered[-1]) + 1, np.bool_)
        may_move[free] = True
        movable = may_move[window]
    # Walking backwards, the r-th free tile is as many cells before the last as there were with fewer than r so far.
    seen = np.zeros(len(rows), goal.board.dtype)
    before = np.zeros((ranks, len(rows)), goal.board.dtype)
    for column in movable[::-1]:
        seen += column
        for rank in range(ranks):
            before[rank] += seen <= rank
    return cells - 1 - before.astype(np.int32)


def _gentle(rows: Array, goal: Goal, plan: Plan, barred: Cells | None) -> Cells:
    """Choose the exchange that changes the Manhattan distance least."""
    if barred is None:
        barred = np.full((2, len(rows)), NOT_NEEDED, np.int32)
    chosen = np.empty((2, len(rows)), np.int32)
    step = max(GENTLE_CELLS // goal.shape.cells, 1)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        chosen[:, block] = _gentle_block(rows[block], goal, plan.free, barred[:, block])
    return chosen


def _gentle_block(rows: Array, goal: Goal, free: Array, barred: Cells) -> Cells:
    """Choose the exchange that changes the Manhattan distance least, of up to as many boards as fit the cache.

    The later cell goes from the last backwards, and boards leave as soon as they have an exchange that changes
    nothing, which most have within the first few cells: the work is far from quadratic in cells for all but a few.
    """
    cells, cols = goal.shape.cells, goal.shape.cols
    row, col = np.divmod(np.arange(cells, dtype=np.int32), cols)
    homes = np.argsort(goal.board)[np.searchsorted(goal.ordered, rows)].astype(np.int32)
    home_row, home_col = np.divmod(homes, cols)
    distance = abs(home_row - row) + abs(home_col - col)
    never = np.iinfo(np.int32).max
    movable = np.isin(rows, free)
    chosen = np.full((2, len(rows)), IMPOSSIBLE, np.int32)
    best = np.full(len(rows), never, np.int32)
    left = np.arange(len(rows))
    for later in range(cells - 1, 0, -1):
        left = left[best[left] > 0]
        if not left.size:
            break
        mine, other = (left, slice(later, later + 1)), (left, slice(later))
        after = (
            *(abs(home_row[mine] - row[:later]), abs(home_col[mine] - col[:later])),
            *(abs(home_row[other] - row[later]), abs(home_col[other] - col[later])),
        )
        change = abs(sum(after) - distance[mine] - distance[other])
        change[~(movable[mine] & movable[other])] = never
        held = np.flatnonzero(barred[1, left] == later)
        change[held, barred[0, left[held]]] = never
        earlier = later - 1 - change[:, ::-1].argmin(axis=1)
        least = change[np.arange(left.size), earlier]
        better = least < best[left]
        chosen[0, left[better]] = earlier[better]
        chosen[1, left[better]] = later
        best[left[better]] = least[better]
    return chosen


def fingerprint(rows: Array) -> NDArray[np.uint64]:
    """Give each board, (k, cells), a number that depends on its cells alone: (k,).

    This is the 64-bit FNV-1a hash, taking a whole label where FNV takes a byte, with the finaliser of SplitMix64 (G. L.
    Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", 2014), as FNV's low bits are weak.
    """
    numbers = np.full(len(rows), 0xCBF29CE484222325, np.uint64)
    for column in rows.T:
        numbers ^= column.astype(np.uint64)
        numbers *= np.uint64(0x100000001B3)
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    numbers *= np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _random(rows: Array, goal: Goal, plan: Plan, barred: Cells | None) -> Cells:  # noqa: ARG001 - as the others
    """Draw a pair of free tiles, or take the next one in order.

    The pairs of free tiles, ascending, are numbered (0, 1), (0, 2), (1, 2), (0, 3) and so on, and the number is the
    fingerprint modulo their number.
    """
    pairs = plan.free.size * (plan.free.size - 1) // 2
    drawn = (fingerprint(rows) % np.uint64(pairs)).astype(np.int64)
    if barred is not None:
        if pairs == 1:
            return np.full((2, len(rows)), IMPOSSIBLE, np.int32)
        drawn = (drawn + 1) % pairs
    larger = ((1 + np.sqrt(1 + 8 * drawn)) // 2).astype(np.int64)  # exact: far fewer bits than a float's 53
    return _find(rows, plan.free[np.stack([drawn - larger * (larger - 1) // 2, larger])])


_METHODS: Final[dict[str, Callable[[Array, Goal, Plan, Cells | None], Cells]]] = {
    "last": _last,
    "gentle": _gentle,
    "random": _random,
    "pair": _pair,
}
"""Each chooses the cells to exchange, (2, k); given the first choice, which would give the goal, the second one."""


def _exchange(boards: Array, which: NDArray[np.intp], cells: Cells, possible: NDArray[np.bool_]) -> None:
    """Exchange two cells, (2, k), of k boards of a contiguous batch in place, where that is possible."""
    if not possible.all():
        which, cells = which[possible], cells[:, possible]
    flat = boards.reshape(-1)
    first, second = which * boards.shape[1] + cells
    kept = flat.take(first)
    flat[first] = flat.take(second)
    flat[second] = kept
