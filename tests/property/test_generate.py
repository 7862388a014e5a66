"""Boards are drawn evenly from all that can be solved but the goal; walks and bands keep their word."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest

from taquin import puzzle
from taquin.puzzle import generate
from tests.property import oracles

SEED = 2**127 + 12_345
SMALL = [(2, 2), (2, 3), (3, 2), (1, 5), (4, 1)]
GOALS = ["blank-last", "blank-first", "snail", "snake"]
REPEATED = [((2, 2), (1, 1, 2, 0)), ((2, 3), (1, 1, 2, 3, 3, 0)), ((2, 2), (0, 300, 5, 17)), ((1, 4), (3, 3, 0, 1))]


@cache
def reachable(shape, goal):
    return frozenset(oracles.reachable(puzzle.goal_board(goal, shape).tolist(), *shape))


def tally(boards):
    """Count equal boards: (their rows, how often each)."""
    found, counts = np.unique(boards, axis=0, return_counts=True)
    return list(map(tuple, found.tolist())), counts


def is_plausible(statistic, freedom):
    """Tell whether chi-square is within 4.5 standard deviations: neither too uneven nor too even to be random.

    By the cube root of Wilson and Hilferty (PNAS 17, 1931) it is nearly normal.
    """
    spread = 2 / (9 * freedom)
    return abs((statistic / freedom) ** (1 / 3) - (1 - spread)) / sqrt(spread) < 4.5


def assert_even(boards, expected_boards):
    """Hold that exactly these boards were drawn, all about equally often."""
    found, counts = tally(boards)
    assert set(found) == set(expected_boards)
    mean = len(boards) / len(found)
    assert is_plausible(float(((counts - mean) ** 2).sum()) / mean, len(found) - 1)


@pytest.fixture(params=["as it is", "by exchanges", "by long words"])
def way(request, monkeypatch):
    """All ways through the generator, on small boards as well."""
    if request.param == "by exchanges":
        monkeypatch.setattr(generate, "MAX_INSERTED", 0)
    if request.param == "by long words":
        monkeypatch.setattr(generate, "MAX_SHORT_BOUND", 0)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("shape", SMALL, ids=str)
@pytest.mark.usefixtures("way")
def test_every_solvable_board_but_the_goal_is_drawn_equally_often(shape, goal):
    wanted = reachable(shape, goal) - {tuple(puzzle.goal_board(goal, shape).tolist())}
    assert_even(puzzle.shuffle(shape, 50 * len(wanted), SEED, goal), wanted)


@pytest.mark.parametrize(("shape", "goal"), REPEATED, ids=str)
@pytest.mark.usefixtures("way")
def test_so_it_is_where_tiles_are_equal_or_unusual(shape, goal):
    wanted = reachable(shape, goal) - {goal}
    assert_even(puzzle.shuffle(shape, 100 * len(wanted), SEED, goal), wanted)


@pytest.mark.parametrize(("goal", "draws"), [("blank-last", 20), ("snail", 5)])
@pytest.mark.usefixtures("way")
def test_so_it_is_on_all_states_of_the_8_puzzle(goal, draws):
    boards = puzzle.shuffle("3x3", draws * 181_439, SEED, goal)
    codes = boards.astype(np.uint32) @ (9 ** np.arange(9, dtype=np.uint32))
    counts = np.unique_counts(codes).counts
    missing = 181_439 - len(counts)
    assert 0 <= missing <= (0 if draws == 20 else 2000)
    assert puzzle.solvable(boards, "3x3", goal).all()
    assert not (boards == puzzle.goal_board(goal, "3x3")).all(axis=1).any()
    assert is_plausible(float(((counts - draws) ** 2).sum()) / draws + missing * draws, 181_438)


@pytest.mark.parametrize(
    ("shape", "goal"), [("4x4", "blank-last"), ("5x5", "snail"), ("8x9", "snake"), ("12x12", "snail")]
)
def test_on_large_boards_each_tile_is_in_each_cell_equally_often(shape, goal):
    n = 20_000
    boards = puzzle.shuffle(shape, n, SEED, goal)
    cells = boards.shape[1]
    assert puzzle.solvable(boards, shape, goal).all()
    counts = np.array([np.bincount(column, minlength=cells) for column in boards.T])
    mean = n / cells
    # Rows and columns of the counts have fixed sums, which takes their share of the variance.
    statistic = float(((counts - mean) ** 2).sum()) / mean * (cells - 1) / cells
    assert is_plausible(statistic, (cells - 1) ** 2)


@pytest.mark.parametrize("bits", [16, 32])
def test_a_digit_is_unbiased_over_all_random_words(bits, monkeypatch):
    """Each value of a digit is kept equally often, counted over all fractions (of 32 bits: around every edge)."""
    if bits == 32:
        monkeypatch.setattr(generate, "MAX_SHORT_BOUND", 0)
    for bound in (2, 3, 7, 12, 100):
        edges = [-(-digit * 2**bits // bound) for digit in range(bound + 1)]
        near = range(2**bits) if bits == 16 else {edge + step for edge in edges for step in range(-200, 200)}
        fractions = np.array(sorted(fraction for fraction in near if 0 <= fraction < 2**bits), np.uint64)
        stream = generate._Stream(np.random.SeedSequence(0))
        stream._words = Words(fractions)
        digits = np.empty((1, len(fractions)), np.uint8)
        kept = stream.draw(np.array([bound]), digits)
        assert digits[0].tolist() == (fractions * np.uint64(bound) >> np.uint64(bits)).tolist()
        # How many fractions give each digit, less those that are rejected, is the same for all digits.
        rejected = np.bincount(digits[0][~kept], minlength=bound)
        assert len(set((np.diff(edges) - rejected).tolist())) == 1
        assert rejected.max() <= 1


class Words:
    """Stands in for the generator: words of our choice, each for one candidate."""

    def __init__(self, words):
        self.words = words

    def random_raw(self, size):
        taken, self.words = np.split(self.words, [size[0]])
        return taken.reshape(size)


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize("goal", GOALS)
def test_a_short_walk_never_undoes_a_slide_and_varies_by_one(steps, goal):
    """The shortest circle has 12 slides, so up to 6 lead as far away as they are, if none is undone."""
    boards = puzzle.walk("3x3", 4000, steps, SEED, goal)
    lengths, counts = np.unique(puzzle.moves(boards, "3x3", goal), return_counts=True)
    assert lengths.tolist() == [steps, steps + 1]
    assert abs(counts[0] - 2000) < 4.5 * sqrt(1000)


def test_a_walk_takes_all_slides_equally_often():
    """From the centre there are four first slides, and two ways on from each."""
    boards = puzzle.walk("3x3", 16_000, 1, SEED, "snail")
    found, counts = tally(boards)
    lengths = puzzle.moves(np.array(found), "3x3", "snail")
    assert sorted(lengths.tolist()) == [1] * 4 + [2] * 8
    expected = np.where(lengths == 1, 2000, 1000)
    assert is_plausible(float(((counts - expected) ** 2 / expected).sum()), 11)


@pytest.mark.parametrize("steps", [1, 6, 11, 12, 13, 40])
@pytest.mark.parametrize(
    ("shape", "goal"), [((2, 2), "blank-last"), ((1, 2), "blank-first"), ((5, 1), "snail"), *REPEATED]
)
def test_a_walk_never_ends_on_the_goal(shape, goal, steps):
    boards = puzzle.walk(shape, 500, steps, SEED, goal)
    assert len(boards) == 500
    assert set(tally(boards)[0]) <= reachable(shape, goal) - {tuple(puzzle.goal_board(goal, shape).tolist())}


@pytest.mark.parametrize("shape", ["3x3", "4x4", "5x6"])
def test_long_walks_can_be_solved_and_end_on_both_colours(shape):
    boards = puzzle.walk(shape, 1000, 300, SEED)
    assert puzzle.solvable(boards, shape).all()
    distance = puzzle.manhattan(boards, shape) % 2  # its parity is that of the number of moves
    assert 400 < distance.sum() < 600


@pytest.mark.parametrize("band", puzzle.BANDS)
def test_a_band_of_the_8_puzzle_is_drawn_evenly_from_all_its_boards(band):
    known = np.array(oracles.all_boards(9), np.uint8)
    moves = puzzle.moves(known, "3x3", "snail")
    known = known[moves > 0]
    known = known[puzzle.band(known, "3x3", "snail") == puzzle.BANDS.index(band)]
    boards = puzzle.in_band("3x3", 20_000, band, SEED, goal="snail")
    if band == "easy":
        assert_even(boards, map(tuple, known.tolist()))
    # As many at each number of moves as there are boards.
    there, drawn = (np.bincount(puzzle.moves(some, "3x3", "snail"), minlength=32) for some in (known, boards))
    expected = there[there > 0] / len(known) * 20_000
    assert not drawn[there == 0].any()
    assert is_plausible(float(((drawn[there > 0] - expected) ** 2 / expected).sum()), len(expected) - 1)


@pytest.mark.parametrize("method", [None, "walk"])
@pytest.mark.parametrize("band", puzzle.BANDS)
@pytest.mark.parametrize(
    ("shape", "goal"), [("2x2", "blank-last"), ("3x3", "snail"), ("4x4", "blank-last"), ("5x5", "snake")]
)
def test_every_board_is_of_the_band_asked_for(shape, goal, band, method):
    boards = puzzle.in_band(shape, 300, band, SEED, method, goal)
    assert boards.shape[0] == 300
    assert (puzzle.band(boards, shape, goal) == puzzle.BANDS.index(band)).all()
    assert not (boards == puzzle.goal_board(goal, shape)).all(axis=1).any()
