"""Seeds, golden boards, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from taquin import puzzle
from taquin.errors import BadGoal, BadInput, BadShape
from taquin.puzzle import generate
from tests.property import oracles

SEED = 2**127 + 12_345

# If one of these changes, so must GENERATOR_VERSION: a recorded seed no longer gives the boards that it gave.
GOLDEN = {
    "shuffle 3x3": lambda: puzzle.shuffle("3x3", 3, SEED),
    "shuffle 4x4 snail": lambda: puzzle.shuffle("4x4", 2, SEED, "snail"),
    "shuffle 9x9": lambda: puzzle.shuffle("9x9", 1, SEED)[:, :20],
    "shuffle 12x12": lambda: puzzle.shuffle("12x12", 1, SEED)[:, :20],
    "shuffle 1x6": lambda: puzzle.shuffle("1x6", 2, SEED),
    "walk 4x4": lambda: puzzle.walk("4x4", 2, 30, SEED),
    "easy 3x3": lambda: puzzle.in_band("3x3", 2, "easy", SEED),
    "medium 4x4": lambda: puzzle.in_band("4x4", 2, "medium", SEED),
    "child 4x4": lambda: puzzle.shuffle("4x4", 1, puzzle.child_seed(SEED, 7)),
}
BOARDS = {
    "shuffle 3x3": [[3, 5, 1, 4, 8, 2, 0, 7, 6], [3, 2, 6, 4, 7, 1, 8, 0, 5], [6, 8, 5, 1, 7, 4, 2, 3, 0]],
    "shuffle 4x4 snail": [
        [4, 9, 2, 7, 15, 6, 1, 10, 8, 5, 13, 11, 12, 0, 14, 3],
        [10, 15, 11, 2, 13, 9, 5, 14, 12, 3, 0, 7, 1, 6, 4, 8],
    ],
    "shuffle 9x9": [[7, 64, 6, 53, 41, 12, 52, 44, 66, 1, 26, 72, 17, 35, 61, 36, 55, 34, 58, 40]],
    "shuffle 12x12": [[48, 143, 71, 126, 105, 19, 106, 102, 52, 29, 53, 14, 9, 16, 12, 90, 111, 114, 24, 124]],
    "shuffle 1x6": [[1, 0, 2, 3, 4, 5], [1, 2, 3, 4, 0, 5]],
    "walk 4x4": [
        [3, 6, 7, 4, 5, 1, 0, 8, 2, 10, 12, 15, 9, 13, 14, 11],
        [1, 2, 7, 8, 9, 4, 6, 12, 5, 11, 0, 3, 13, 10, 14, 15],
    ],
    "easy 3x3": [[1, 3, 6, 4, 2, 0, 7, 5, 8], [1, 2, 3, 7, 4, 0, 8, 6, 5]],
    "medium 4x4": [
        [3, 0, 6, 4, 5, 1, 7, 8, 2, 10, 12, 15, 9, 13, 14, 11],
        [1, 2, 7, 8, 9, 4, 6, 12, 5, 11, 3, 0, 13, 10, 14, 15],
    ],
    "child 4x4": [[15, 9, 10, 13, 6, 8, 1, 5, 2, 7, 11, 4, 14, 0, 12, 3]],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_seed_gives_the_boards_that_it_always_gave(name):
    assert puzzle.GENERATOR_VERSION == "pcg64dxsm-1"
    assert GOLDEN[name]().tolist() == BOARDS[name]


MAKERS = [
    lambda n: puzzle.shuffle("2x2", n, 5),
    lambda n: puzzle.shuffle("4x4", n, 5),
    lambda n: puzzle.shuffle("9x9", n, 5),
    lambda n: puzzle.shuffle("12x12", n, 5),
    lambda n: puzzle.shuffle("7x1", n, 5),
    lambda n: puzzle.walk("2x2", n, 12, 5),
    lambda n: puzzle.walk("4x4", n, 25, 5),
    lambda n: puzzle.in_band("3x3", n, "hard", 5),
    lambda n: puzzle.in_band("4x4", n, "medium", 5),
    lambda n: puzzle.in_band("4x4", n, "expert", 5),
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_boards_do_not_depend_on_how_many_are_made_at_a_time(make, monkeypatch):
    boards = make(200)
    assert make(31).tolist() == boards[:31].tolist()
    monkeypatch.setattr(generate, "block_size", lambda _: 7)
    monkeypatch.setattr(generate, "BLOCK_DIGITS", 100)
    monkeypatch.setattr(generate, "LEAST_CANDIDATES", 3)
    generate._steps_to_distance.cache_clear()
    assert make(200).tolist() == boards.tolist()


def test_seeds_are_numbers_sequences_or_fresh():
    boards = puzzle.shuffle("4x4", 5, 42).tolist()
    assert puzzle.shuffle("4x4", 5, np.int64(42)).tolist() == boards
    assert puzzle.shuffle("4x4", 5, np.random.SeedSequence(42)).tolist() == boards
    assert puzzle.shuffle("4x4", 5, 43).tolist() != boards
    assert puzzle.shuffle("4x4", 5).tolist() != puzzle.shuffle("4x4", 5).tolist()


def test_all_128_bits_of_a_seed_count():
    first = [tuple(puzzle.shuffle("4x4", 1, 1 << bit)[0].tolist()) for bit in range(128)]
    assert len(set(first)) == 128


def test_new_seeds_have_128_bits():
    seeds = [puzzle.new_seed() for _ in range(200)]
    assert len(set(seeds)) == 200
    assert 2**125 < max(seeds) < 2**128


def test_children_are_no_relatives():
    seeds = [7, *(puzzle.child_seed(7, k) for k in range(50)), puzzle.child_seed(8, 0)]
    seeds += [puzzle.child_seed(puzzle.child_seed(7, 0), 0), puzzle.child_seed(puzzle.child_seed(7, 0), 1)]
    boards = [puzzle.shuffle("5x5", 2, seed) for seed in seeds]
    assert len(np.unique(np.concatenate(boards), axis=0)) == 2 * len(seeds)
    again = puzzle.child_seed(7, 3)
    assert puzzle.shuffle("5x5", 2, again).tolist() == boards[4].tolist()


@pytest.mark.parametrize(("shape", "dtype"), [("4x4", np.uint8), ("16x16", np.uint8), ("16x17", np.uint16)])
def test_labels_take_as_little_room_as_they_can(shape, dtype):
    for boards in (puzzle.shuffle(shape, 2, 1), puzzle.walk(shape, 2, 9, 1)):
        assert boards.dtype == dtype
        assert boards.flags.c_contiguous
        assert puzzle.solvable(boards, shape).all()


def test_no_boards_are_an_empty_array():
    assert puzzle.shuffle("4x4", 0, 1).shape == (0, 16)
    assert puzzle.walk("4x4", 0, 5, 1).shape == (0, 16)
    assert puzzle.in_band("4x4", 0, "hard", 1).shape == (0, 16)


def test_a_goal_with_unusual_labels_keeps_them():
    goal = [[300, 5], [0, 17]]
    assert {tuple(sorted(board)) for board in puzzle.shuffle("2x2", 50, 1, goal).tolist()} == {(0, 5, 17, 300)}


def test_easy_boards_take_few_moves_indeed():
    """The bands of large boards go by an estimate, but nobody needs more slides back than the walk took."""
    limit = puzzle.band_limits("4x4")["easy"]
    near = edge = {(*range(1, 16), 0)}
    for _ in range(limit):
        edge = {after for board in edge for after in oracles.slides(board, 4, 4)} - near
        near = near | edge
    boards = puzzle.in_band("4x4", 500, "easy", 3)
    assert set(map(tuple, boards.tolist())) <= near
    assert len(np.unique(boards, axis=0)) > 400


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: puzzle.shuffle("1x1", 1), "The goal is the only board of 1x1."),
        (lambda: puzzle.walk("1x1", 1, 5), "The goal is the only board of 1x1."),
        (lambda: puzzle.shuffle("4x4", -1), "The number of boards must be a whole number from 0 to .*, not -1."),
        (lambda: puzzle.shuffle("4x4", 1.5), "The number of boards must be a whole number .* not 1.5."),
        (lambda: puzzle.shuffle("4x4", n=True), "The number of boards must be a whole number .* not true."),
        (lambda: puzzle.shuffle("4x4", 10**30), "The number of boards must be a whole number"),
        (lambda: puzzle.shuffle("4x4", 1, -1), "A seed must be a whole number from 0 to .*, not -1."),
        (lambda: puzzle.shuffle("4x4", 1, 2**128), "A seed must be a whole number"),
        (lambda: puzzle.shuffle("4x4", 1, "7"), 'A seed must be a whole number .* not "7".'),
        (lambda: puzzle.child_seed(1, -1), "The number of a chunk must be a whole number"),
        (lambda: puzzle.walk("4x4", 1, 0), "The number of steps must be a whole number from 1 to 100,000, not 0."),
        (lambda: puzzle.in_band("4x4", 1, "hardest"), 'A band is one of easy, medium, hard, expert, not "hardest".'),
        (lambda: puzzle.in_band("4x4", 1, "easy", 1, "magic"), 'A method is one of shuffle, walk, not "magic".'),
        (lambda: puzzle.in_band("1x2", 1, "expert"), "No board of 1x2 is of the band expert."),
        (lambda: puzzle.in_band("1x3", 1, "easy", 1, "walk"), "No board of 1x3 is of the band easy."),
        (lambda: puzzle.in_band("33x33", 1, "easy"), "Bands are for boards of up to 1,024 cells; 33x33 has 1,089."),
        (lambda: puzzle.in_band("5x5", 1, "easy", 1, "shuffle"), "candidates of 5x5 only 0 were of the band"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_shapes_and_goals_are_refused_as_everywhere():
    with pytest.raises(BadShape):
        puzzle.shuffle("0x4", 1)
    with pytest.raises(BadGoal):
        puzzle.walk("2x2", 1, 1, 1, "spiral")


def test_a_goal_of_equal_tiles_may_lack_a_band():
    """With tiles that are nearly all equal hardly anything is out of place, so the search for a band must end."""
    with pytest.raises(BadInput, match="were of the band"):
        puzzle.in_band("4x4", 1, "expert", 1, goal=[1] * 15 + [0])
