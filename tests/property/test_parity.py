"""Verdicts, evidence and problems on random boards of all shapes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taquin import puzzle
from taquin.puzzle.board import permutation_is_odd
from taquin.puzzle.network import Sorter, sorter_of_size
from taquin.puzzle.parity import count_inversions
from tests.property import oracles

SIDES = st.tuples(st.integers(2, 9), st.integers(2, 9))
GOALS = ["blank-last", "blank-first", "snail", "snake"]
# On both sides of every limit: powers of two in the network, a byte's labels, blocks of boards.
CELLS = [
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    25,
    31,
    32,
    33,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    255,
    256,
    257,
    300,
    1024,
    1025,
]


@st.composite
def boards(draw, sides=SIDES):
    shape = draw(sides)
    return shape, tuple(draw(st.permutations(range(shape[0] * shape[1]))))


@given(boards())
def test_the_verdict_is_the_textbooks(case):
    shape, board = case
    assert puzzle.solvable([board], shape).tolist() == [oracles.textbook(board, *shape)]


@given(boards())
def test_evidence_counts_as_the_textbook_does_and_both_rules_agree(case):
    (rows, cols), board = case
    evidence = puzzle.evidence(board, (rows, cols))
    assert evidence.rule == "inversions"
    assert evidence.inversions == oracles.inversions(board)
    assert evidence.blank == divmod(board.index(0), cols)
    assert evidence.blank_row_from_top + evidence.blank_row_from_bottom == rows + 1
    by_inversions = evidence.inversions + (evidence.blank_row_from_bottom + 1) * (evidence.width == "even")
    assert (by_inversions % 2 == 0) == evidence.solvable
    distance_is_odd = evidence.blank_distance % 2 == 1
    assert (distance_is_odd == (evidence.permutation == "odd")) == evidence.solvable


@given(boards(), st.data(), st.sampled_from(GOALS), st.integers(0, 60))
def test_slides_never_change_a_verdict_and_an_exchange_of_two_tiles_always_does(case, data, goal, steps):
    shape, board = case
    verdict = puzzle.solvable([board], shape, goal)[0]
    slid = oracles.walk(board, *shape, steps, data.draw(st.integers()))
    first, second = data.draw(st.sampled_from(oracles.legal_exchanges(board, ())))
    swapped = oracles.exchanged(board, first, second)
    assert puzzle.solvable([slid, swapped], shape, goal).tolist() == [verdict, not verdict]


@given(boards(), st.integers(), st.integers(0, 80))
def test_a_board_that_slid_away_from_any_goal_can_be_solved(case, seed, steps):
    shape, goal = case
    labels = dict(enumerate(np.random.default_rng(abs(seed)).permutation(65_535)[: len(goal)] + 1)) | {0: 0}
    goal = tuple(int(labels[label]) for label in goal)
    board = oracles.walk(goal, *shape, steps, seed)
    swapped = oracles.exchanged(board, *oracles.legal_exchanges(board, ())[0])
    assert puzzle.solvable([board, swapped], shape, goal).tolist() == [True, False]
    assert puzzle.evidence(board, shape, goal).solvable
    assert not puzzle.evidence(swapped, shape, goal).solvable


@given(st.integers(1, 40), st.booleans(), st.data())
def test_a_line_is_solvable_if_its_tiles_are_in_order(cells, upright, data):
    shape = (cells, 1) if upright else (1, cells)
    goal = data.draw(st.permutations(range(cells)))
    tiles = [tile for tile in goal if tile]
    blank = data.draw(st.integers(0, cells - 1))
    in_order = [*tiles[:blank], 0, *tiles[blank:]]
    board = data.draw(st.permutations(in_order))
    assert puzzle.solvable([in_order], shape, goal)[0]
    assert puzzle.solvable([board], shape, goal)[0] == ([tile for tile in board if tile] == tiles)


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 4)),
    st.sampled_from(["blank-last", "snail", "unusual", "repeated", "shuffled"]),
    st.data(),
)
@settings(max_examples=300)
def test_all_problems_are_found_and_named(shape, kind, data):
    cells = shape[0] * shape[1]
    goal = {
        "unusual": [0, 5, 300, 17, 65_535, 9, 8, 6, 4, 3, 2, 1][:cells],
        "repeated": [2, 2, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1][:cells] if cells > 3 else [0, 1, 1][:cells],
        "shuffled": list(range(cells))[::-1],
    }.get(kind, kind)
    labels = puzzle.goal_board(goal, shape).tolist()
    value = st.one_of(st.sampled_from(labels), st.integers(-2, cells + 1), st.sampled_from([-(2**40), 65_536, 2**40]))
    batch = [data.draw(st.permutations(labels))]
    batch += data.draw(st.lists(st.lists(value, min_size=cells, max_size=cells), min_size=1, max_size=8))
    found = puzzle.problems(batch, shape, goal)
    assert found.dtype == np.uint16
    names = [puzzle.problem_names(flags) for flags in found.tolist()]
    assert names == [oracles.problem_names(board, labels, explicit=not isinstance(goal, str)) for board in batch]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">u2", "i4", ">i4", "u4", "i8", "u8"])
def test_every_integer_dtype_and_layout_gives_the_same_answer_and_nothing_wraps(dtype):
    top = np.iinfo(dtype).max
    good = [1, 2, 3, 4, 5, 6, 8, 7, 0]
    wrong = [[top, *good[1:]], [*good[:8], min(256, top)], [*good[:8], min(65_536, top)]]
    batch = np.array([good, *wrong], dtype)
    strided = np.zeros((8, 18), dtype)
    strided[::2, ::2] = batch
    for layout in (batch, np.asfortranarray(batch), strided[::2, ::2]):
        checked = puzzle.check(layout, (3, 3))
        assert not checked.solvable.any()
        assert checked.problems[0] == 0
        assert (checked.problems[1:] & puzzle.Problem.OUT_OF_RANGE).all()


def test_no_value_wraps_on_the_largest_board_of_bytes():
    """All values of a byte are labels there, so a wrapped number would look like one."""
    board = np.roll(np.arange(256), -1)
    for offset in (256, -256, 65_536):
        wrapped = board.copy()
        wrapped[7] += offset
        assert puzzle.problems([board, wrapped], (16, 16)).tolist()[1] & puzzle.Problem.OUT_OF_RANGE
    assert puzzle.solvable([board], (16, 16)).all()


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("cells", CELLS)
def test_the_network_sorts_and_knows_the_parity_at_every_size(cells, usual):
    random = np.random.default_rng(cells)
    batch = random.permuted(np.tile(np.arange(cells), (9, 1)), axis=1)
    sorter = Sorter(cells, 9, np.dtype(np.uint16), usual=usual)
    sorter.load(batch)
    odd = sorter.sort()
    assert sorter.columns.T.tolist() == [list(range(cells))] * 9
    assert odd.tolist() == [permutation_is_odd(board) for board in batch]


@given(st.lists(st.integers(0, 9), max_size=40))
def test_the_network_sorts_what_repeats(values):
    if values:
        sorter = Sorter(len(values), 1, np.dtype(np.uint8), usual=False)
        sorter.load(np.array([values]))
        sorter.sort()
        assert sorter.columns[:, 0].tolist() == sorted(values)


@given(st.lists(st.integers(0, 300), max_size=70))
def test_inversions_are_counted_as_by_the_double_loop(values):
    expected = sum(a > b for i, a in enumerate(values) for b in values[i + 1 :])
    assert count_inversions(np.array(values, np.uint16)) == expected


@given(st.integers(1, 30), st.randoms())
def test_the_parity_of_a_permutation_is_that_of_its_inversions(size, random):
    permutation = random.sample(range(size), size)
    expected = sum(a > b for i, a in enumerate(permutation) for b in permutation[i + 1 :]) % 2 == 1
    assert permutation_is_odd(np.array(permutation)) == expected


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 3), (4, 4), (8, 8), (16, 16), (13, 20), (1, 300)], ids=str)
def test_a_batch_answers_as_its_boards_do_one_by_one(shape):
    cells = shape[0] * shape[1]
    random = np.random.default_rng(cells)
    batch = random.permuted(np.tile(np.arange(cells), (50, 1)), axis=1)
    batch[::7, 0] = random.integers(-1, cells + 1, len(batch[::7]))
    together = puzzle.check(batch, shape)
    alone = [puzzle.check(board[np.newaxis], shape) for board in batch]
    assert together.problems.tolist() == [int(one.problems[0]) for one in alone]
    assert together.solvable.tolist() == [bool(one.solvable[0]) for one in alone]


@pytest.mark.parametrize("count", [0, 1, 2, 32_767, 32_768, 32_769, 70_001])
def test_blocks_of_boards_join_without_a_seam(count):
    random = np.random.default_rng(count)
    pattern = random.permuted(np.tile(np.arange(9, dtype=np.uint8), (997, 1)), axis=1)
    pattern[::13, 4] = 9
    batch = np.resize(pattern, (count, 9))
    checked, once = puzzle.check(batch, (3, 3)), puzzle.check(pattern, (3, 3))
    assert (checked.problems == np.resize(once.problems, count)).all()
    assert (checked.solvable == np.resize(once.solvable, count)).all()
    repaired, once = puzzle.repair(batch, (3, 3), bad="keep"), puzzle.repair(pattern, (3, 3), bad="keep")
    assert (repaired.boards == np.resize(once.boards, (count, 9))).all()
    assert (repaired.cells == np.resize(once.cells, (count, 2))).all()


def test_no_two_threads_are_given_the_same_sorter():
    wanted = (4, 3, np.dtype(np.uint8))
    mine = sorter_of_size(*wanted, usual=True)
    assert sorter_of_size(*wanted, usual=True) is mine
    assert sorter_of_size(*wanted, usual=False) is not mine
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(sorter_of_size, *wanted, usual=True).result() is not mine


def test_threads_do_not_disturb_each_other():
    shapes = [(3, 3), (4, 4), (5, 5), (2, 6), (8, 8)] * 6
    batches = [
        np.random.default_rng(seed).permuted(np.tile(np.arange(rows * cols), (3000, 1)), axis=1)
        for seed, (rows, cols) in enumerate(shapes)
    ]

    def work(index):
        return puzzle.check(batches[index], shapes[index]), puzzle.repair(batches[index], shapes[index])

    alone = [work(index) for index in range(len(shapes))]
    with ThreadPoolExecutor(8) as threads:
        for (checked, repaired), (checked_alone, repaired_alone) in zip(
            threads.map(work, range(len(shapes))), alone, strict=True
        ):
            assert (checked.solvable == checked_alone.solvable).all()
            assert (repaired.boards == repaired_alone.boards).all()
