"""New boards from seeds: evenly drawn, by a random walk from the goal, or of a band.

The same seed gives the same boards on every machine, whatever is computed at a time: candidate ``k`` is made from its
own words of the random stream, counted from the first, and the boards are the first candidates that are kept. So
``shuffle(shape, 10, seed)`` begins with ``shuffle(shape, 5, seed)``.
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from taquin.errors import BadInput
from taquin.puzzle.bands import BANDS, Band
from taquin.puzzle.board import Array, Goal, GoalLike, resolve
from taquin.puzzle.columns import block_size, permute, unrank
from taquin.puzzle.difficulty import Limits, band_of, limits_of, measure
from taquin.puzzle.shape import Shape, ShapeLike, parse_shape
from taquin.puzzle.tables import depths, has_table, pattern
from taquin.puzzle.wording import shown

Seed: TypeAlias = int | np.random.SeedSequence
Method: TypeAlias = Literal["shuffle", "walk"]
Candidates: TypeAlias = tuple[Array, NDArray[np.bool_]]
"""Boards, (k, cells), and which of them are to be kept, (k,)."""
Make: TypeAlias = Callable[[int], Candidates]
"""Makes the next k candidates."""

METHODS: Final = ("shuffle", "walk")
EASY, MEDIUM, HARD, EXPERT = range(len(BANDS))

GENERATOR_VERSION: Final = "pcg64dxsm-1"
"""Names the generator (M. O'Neill's PCG64 DXSM, whose stream NumPy never changes) and the way from its words to boards.

It is recorded beside a seed; a change in either gets another name.
"""

SEED_BITS: Final = 128
MAX_STEPS: Final = 100_000
MAX_TOTAL_CELLS: Final = 1 << 34

# A band is given up when fewer than one candidate in so many is of it.
MOST_REJECTED: Final = 20_000
# Up to so many cells inserting all cells at once is faster than exchanging two at a time.
MAX_INSERTED: Final = 64
# A word of 16 bits decides between so many cases with few rejections.
MAX_SHORT_BOUND: Final = 128
# Digits that are computed at a time, few enough to stay in the cache.
BLOCK_DIGITS: Final = 1 << 17
# 12 is a multiple of 1, 2, 3 and 4: a digit below 12 chooses evenly among any number of slides.
CHOICES: Final = 12
# How many walks to try in order to see how far they lead.
TRIED_WALKS: Final = 64
# How many candidates to draw at least once some were rejected.
LEAST_CANDIDATES: Final = 64


def new_seed() -> int:
    """Draw a fresh seed of 128 bits from the operating system."""
    return secrets.randbits(SEED_BITS)


def child_seed(seed: Seed, k: int) -> np.random.SeedSequence:
    """Give the seed of chunk ``k`` of a job; children are independent of each other and of their parent.

    Raises:
        BadInput: if the seed is no whole number from 0 to 2**128 - 1 or SeedSequence, or ``k`` is negative.
    """
    parent = _sequence(seed)
    index = _whole(k, "The number of a chunk", 0, 2**32 - 1)
    return np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, index), pool_size=parent.pool_size)


def shuffle(shape: ShapeLike, n: int, seed: Seed | None = None, goal: GoalLike = "blank-last") -> Array:
    """Draw ``n`` boards evenly from all that can be solved but the goal: (n, cells), ``uint8`` or ``uint16``.

    A permutation is drawn, and two fixed tiles are exchanged where its parity is wrong, which maps two permutations to
    each board that can be solved; in one row or column a place of the blank is drawn. Permutations come from evenly
    drawn digits (R. Durstenfeld, Algorithm 235, Communications of the ACM 7, 1964, or on small boards their
    Lehmer code), and those from multiplied random words, without bias, since the few words that would cause
    one are rejected (D. Lemire, "Fast random integer generation in an interval", ACM Transactions on Modeling and
    Computer Simulation 29, 2019).

    Args:
        shape: rows and columns, or text such as "4x4".
        n: how many boards; the same board may come more than once.
        seed: a whole number of up to 128 bits or a SeedSequence; None draws a fresh one.
        goal: a name or a board.

    Raises:
        BadInput: if ``n`` or ``seed`` is out of range, or the goal is the only board (1x1).
        BadShape, BadGoal: see ``goal_board``.
    """
    target, count, stream = _prepare(shape, n, seed, goal)
    return _collect(count, target, _shuffler(target, stream))


def walk(shape: ShapeLike, n: int, steps: int, seed: Seed | None = None, goal: GoalLike = "blank-last") -> Array:
    """Make ``n`` boards by random slides from the goal: (n, cells), ``uint8`` or ``uint16``; never the goal itself.

    No slide undoes the last one, except at the end of a single row or column. Half of the walks, at random, are one
    slide longer than ``steps``: those of one length end on cells of one colour and so reach half of the boards.

    Raises:
        BadInput: if ``steps`` is not from 1 to 100,000; else as ``shuffle`` does.
        BadShape, BadGoal: see ``goal_board``.
    """
    length = _whole(steps, "The number of steps", 1, MAX_STEPS)
    target, count, stream = _prepare(shape, n, seed, goal)
    return _collect(count, target, _walker(target, length, stream))


def in_band(
    shape: ShapeLike,
    n: int,
    band: Band,
    seed: Seed | None = None,
    method: Method | None = None,
    goal: GoalLike = "blank-last",
) -> Array:
    """Make ``n`` boards of one band (see ``band_limits``), never the goal itself: (n, cells), ``uint8`` or ``uint16``.

    Args:
        shape: rows and columns, or text such as "4x4", of up to 1,024 cells.
        n: how many boards; the same board may come more than once.
        band: ``easy``, ``medium``, ``hard`` or ``expert``.
        seed: a whole number of up to 128 bits or a SeedSequence; None draws a fresh one.
        method: ``"shuffle"`` draws evenly from the boards of the band, which takes long where shuffled boards are
            hardly ever of it; ``"walk"`` keeps random walks of a suitable length, which for ``easy`` are never longer
            than the band's limit. None walks to ``easy`` and ``medium`` and shuffles for the others. On boards of up
            to 9 cells, and of one row or column, all boards of a band are known and are drawn evenly by any method.
        goal: a name or a board.

    Raises:
        BadInput: if there is no such band or method, the shape has no board of it, or hardly one is found (fewer than
            one candidate in 20,000); else as ``shuffle`` does.
        BadShape, BadGoal: see ``goal_board``.
    """
    if band not in BANDS:
        raise BadInput(f"A band is one of {', '.join(BANDS)}, not {shown(band)}.")
    if method not in (None, *METHODS):
        raise BadInput(f"A method is one of {', '.join(METHODS)}, not {shown(method)}.")
    target, count, stream = _prepare(shape, n, seed, goal)
    code, limits = BANDS.index(band), limits_of(target)
    known = _known_in_band(target, code, limits)
    if known is not None and not known.size:
        raise BadInput(f"No board of {target.shape} is of the band {band}.")
    if known is not None:
        make = _chooser(target, known, stream)
    elif method == "walk" or (method is None and code <= MEDIUM):
        make = _walker(target, _steps_to_band(target, code, limits), stream)
    else:
        make = _shuffler(target, stream)

    def make_of_band(k: int) -> Candidates:
        boards, keep = make(k)
        keep &= band_of(measure(boards, target), limits) == code
        return boards, keep

    return _collect(count, target, make_of_band)


class _Stream:
    """The random words that a seed gives, in order."""

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._words = np.random.PCG64DXSM(seed)

    def draw(self, bounds: Array, digits: Array) -> NDArray[np.bool_]:
        """Draw digits for some candidates into ``digits``, (len(bounds), candidates), each below its bound.

        Every candidate takes the next words for itself, 16 or 32 of their bits for each digit, the lowest first.

        Returns:
            Which candidates are unbiased, (candidates,); the others are to be dropped.
        """
        count, candidates = digits.shape
        bits = 16 if bounds.max() <= MAX_SHORT_BOUND else 32
        narrow, wide = (np.uint16, np.uint32) if bits == 16 else (np.uint32, np.uint64)  # noqa: PLR2004
        bound: Array = bounds[:, np.newaxis].astype(wide)
        # A fraction of 2**bits times the bound: its whole part is the digit. Each digit has equally many fractions but
        # for 2**bits % bound of them, so as many are rejected: those that leave the least.
        few = (2**bits % bounds)[:, np.newaxis].astype(narrow)
        unbiased = np.empty(candidates, np.bool_)
        step = max(BLOCK_DIGITS // count, 1)
        for start in range(0, candidates, step):
            some = slice(start, min(start + step, candidates))
            words = self._words.random_raw((some.stop - start, -(-count * bits // 64)))
            fractions = words.astype("<u8", copy=False).view(f"<u{bits // 8}")[:, :count]
            fraction: Array = np.ascontiguousarray(fractions.T, narrow)
            unbiased[some] = (fraction * bound.astype(narrow) >= few).all(axis=0)
            np.right_shift(fraction * bound, wide(bits), out=digits[:, some], casting="unsafe")
        return unbiased


def _collect(n: int, goal: Goal, make: Make) -> Array:
    """Keep the first ``n`` candidates that are to be kept."""
    boards = np.empty((n, goal.shape.cells), goal.board.dtype)
    size = block_size(goal.shape.cells)
    have = tried = 0
    while have < n:
        if tried > MOST_REJECTED * (have + 1):
            raise BadInput(
                f"Of {tried:,} candidates of {goal.shape} only {have:,} were of the band. Ask for another, or"
                " for another method."
            )
        # More than are missing do no harm: what is not needed is at the end.
        drawn, keep = make(min(size, n - have if have == tried else 2 * (n - have) + LEAST_CANDIDATES))
        kept = np.compress(keep, drawn, axis=0)[: n - have]
        boards[have : have + len(kept)] = kept
        have += len(kept)
        tried += len(drawn)
    return boards


def _shuffler(goal: Goal, stream: _Stream) -> Make:
    """Make boards that are evenly drawn from all that can be solved."""
    cells = goal.shape.cells
    if goal.shape.is_line:
        return _chooser(goal, np.delete(np.arange(cells), goal.blank), stream)
    draw = _insert if cells <= MAX_INSERTED else _exchange
    usual = np.array_equal(goal.ordered, np.arange(cells))

    def make(k: int) -> Candidates:
        columns, odd, keep = draw(cells, k, stream)
        if goal.distinct:
            blank_is_dark = columns[goal.dark].min(axis=0) == 0
            wrong = odd ^ blank_is_dark != goal.invariant
            columns ^= (columns >> 1 == 1) & wrong  # exchange 2 and 3
        labels = columns if usual else goal.ordered.take(columns)
        keep &= (labels != goal.board[:, np.newaxis]).any(axis=0)
        return np.ascontiguousarray(labels.T), keep

    return make


def _insert(cells: int, k: int, stream: _Stream) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Draw permutations of few numbers by their Lehmer code: (cells, k), which are odd, and which to keep."""
    columns = np.zeros((cells, k), np.uint8)
    keep = stream.draw(np.arange(cells, 1, -1), columns[:-1])
    odd = (np.bitwise_xor.reduce(columns, axis=0) & 1).astype(np.bool_)  # a digit counts inversions
    permute(columns)
    return columns, odd, keep


def _exchange(cells: int, k: int, stream: _Stream) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Draw permutations of many numbers by exchanges: (cells, k), which are odd, and which to keep."""
    label = np.uint8 if cells <= 256 else np.uint16  # noqa: PLR2004 - a byte's values
    places = np.empty((cells - 1, k), label)
    keep = stream.draw(np.arange(2, cells + 1), places)
    odd = np.bitwise_xor.reduce(places != np.arange(1, cells, dtype=label)[:, np.newaxis], axis=0)
    boards = np.zeros((k, cells), label)
    flat, first = boards.reshape(-1), np.arange(0, k * cells, cells)
    for cell in range(1, cells):
        # The next number goes to a place among all so far, and what was there to the end.
        place = first + places[cell - 1]
        boards[:, cell] = flat[place]
        flat[place] = cell
    return boards.T, odd, keep


def _walker(goal: Goal, steps: int, stream: _Stream) -> Make:
    """Make boards by walks of so many slides, or one more."""
    cells = goal.shape.cells
    slides = _slides(goal.shape)
    bounds = np.append(np.full(steps + 1, CHOICES), 2)

    def make_block(k: int) -> Candidates:
        digits = np.empty((steps + 2, k), np.uint8)
        keep = stream.draw(bounds, digits)
        boards = np.tile(goal.board, (k, 1))
        flat = boards.reshape(-1)
        first = np.arange(k) * cells
        blank = first + goal.blank
        state = np.full(k, (goal.blank * 5 + 4) * CHOICES)
        for step, choice in enumerate(digits[:-1]):
            state = slides.take(state + choice)
            there = first + state // (5 * CHOICES)
            if step == steps:
                there = np.where(digits[-1], there, blank)
            flat[blank] = flat[there]
            flat[there] = 0
            blank = there
        return boards, keep & (boards != goal.board).any(axis=1)

    def make(k: int) -> Candidates:
        # Long walks take many words, so fewer boards are walked at a time.
        most = max(block_size(steps), LEAST_CANDIDATES)
        blocks = [make_block(min(most, k - done)) for done in range(0, k, most)]
        return np.concatenate([boards for boards, _ in blocks]), np.concatenate([keep for _, keep in blocks])

    return make


@lru_cache(maxsize=4)
def _slides(shape: Shape) -> NDArray[np.int64]:
    """Tabulate the slides of a walk: (cells * 5 * 12,).

    A state is the blank's cell and from which of the four ways it came (4 at the start), times 12; to it is added one
    of 12 choices, and the entry is the next state.
    """
    row, col = np.divmod(np.arange(shape.cells), shape.cols)
    open_ = np.stack([row > 0, row < shape.rows - 1, col > 0, col < shape.cols - 1], axis=1)
    allowed = np.repeat(open_[:, np.newaxis], 5, axis=1)  # (cells, came from, go)
    allowed[:, range(4), range(4)] = False
    # At the end of a line there is no other way than back.
    allowed |= open_[:, np.newaxis] & ~allowed.any(axis=2, keepdims=True)
    # The k-th of 12 choices takes one of the allowed ways, each equally often.
    number = np.arange(CHOICES) * allowed.sum(axis=2, keepdims=True) // CHOICES
    way = np.take_along_axis(np.argsort(~allowed, axis=2, kind="stable"), number, axis=2)
    there = np.arange(shape.cells)[:, np.newaxis, np.newaxis] + np.array([-shape.cols, shape.cols, -1, 1])[way]
    states: NDArray[np.int64] = (there * 5 + (way ^ 1)) * CHOICES
    return states.ravel()


def _chooser(goal: Goal, known: Array, stream: _Stream) -> Make:
    """Make boards that are evenly drawn from a list: of places of the blank in a line, else of ranks."""
    if not known.size:
        raise BadInput(f"The goal is the only board of {goal.shape}.")

    def make(k: int) -> Candidates:
        digits = np.empty((1, k), np.intp)
        keep = stream.draw(np.array([known.size]), digits)
        drawn = known[digits[0]]
        if not goal.shape.is_line:
            return goal.ordered[unrank(drawn, goal.shape.cells).T], keep
        blank, cell = drawn[:, np.newaxis], np.arange(goal.shape.cells)
        boards = np.append(goal.tiles, 0).astype(goal.board.dtype)[cell - (cell > blank)]
        boards[cell == blank] = 0
        return boards, keep

    return make


def _known_in_band(goal: Goal, code: int, limits: Limits) -> Array | None:
    """List all boards of a band but the goal, as ``_chooser`` takes them, where that is possible."""
    if goal.shape.is_line:
        distances: Array = np.abs(np.arange(goal.shape.cells) - goal.blank)
    elif has_table(goal.shape):
        distances = depths(goal)
    else:
        return None
    return np.flatnonzero((distances > 0) & (band_of(distances, limits) == code))


def _steps_to_band(goal: Goal, code: int, limits: Limits) -> int:
    """Choose how long walks are to be that end in a band often."""
    if code == EASY:
        return max(limits.easy - 1, 1)
    if code == EXPERT:
        return min(4 * _steps_to_band(goal, HARD, limits), MAX_STEPS)  # long enough to forget the goal
    return _steps_to_distance(goal.shape, pattern(goal), (limits[code - 1] + limits[code]) / 2)


@lru_cache(maxsize=64)
def _steps_to_distance(shape: Shape, kinds: bytes, distance: float) -> int:
    """Find how long walks are of which half end beyond a distance, by trying a few of ever greater length."""
    goal = Goal(shape, np.frombuffer(kinds, np.uint16), named=False)
    steps = max(int(distance), 1)
    while steps < MAX_STEPS:
        boards, _ = _walker(goal, steps, _Stream(np.random.SeedSequence(0)))(TRIED_WALKS)
        if np.median(measure(boards, goal)) >= distance:
            return steps
        steps += steps // 4 + 1
    return MAX_STEPS


def _prepare(shape: ShapeLike, n: int, seed: Seed | None, goal: GoalLike) -> tuple[Goal, int, _Stream]:
    """Put the arguments in order; raises BadInput and its like."""
    target = resolve(goal, parse_shape(shape))
    if target.shape.cells == 1:
        raise BadInput(f"The goal is the only board of {target.shape}.")
    count = _whole(n, "The number of boards", 0, MAX_TOTAL_CELLS // target.shape.cells)
    return target, count, _Stream(_sequence(new_seed() if seed is None else seed))


def _sequence(seed: Seed) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    return np.random.SeedSequence(_whole(seed, "A seed", 0, 2**SEED_BITS - 1))


def _whole(value: object, what: str, least: int, most: int) -> int:
    """Read a whole number within limits; raises BadInput."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # what is no whole number is caught below
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise BadInput(f"{what} must be a whole number from {least} to {most:,}, not {shown(value)}.")
    return number
