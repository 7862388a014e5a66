"""Repairs against all exchanges that there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from taquin import puzzle
from tests.property import oracles

SIDES = st.tuples(st.integers(2, 5), st.integers(2, 5))
GOALS = ["blank-last", "blank-first", "snail", "snake", "any"]


@st.composite
def cases(draw):
    """Draw an unsolvable board, often one that is a single exchange from its goal, and tiles to pin."""
    shape = draw(SIDES)
    cells = shape[0] * shape[1]
    name = draw(st.sampled_from(GOALS))
    goal = draw(st.permutations(range(cells))) if name == "any" else name
    target = tuple(puzzle.goal_board(goal, shape).tolist())
    if draw(st.booleans()):
        pairs = oracles.legal_exchanges(target, ())
        board = oracles.exchanged(target, *draw(st.sampled_from(pairs)))
    else:
        board = tuple(draw(st.permutations(range(cells))))
        if puzzle.solvable([board], shape, goal)[0]:
            board = oracles.exchanged(board, *oracles.legal_exchanges(board, ())[-1])
    pinned = draw(st.one_of(st.just(()), st.sets(st.integers(1, cells - 1)), st.just(set(range(3, cells)))))
    return shape, goal, target, board, tuple(pinned)


def repaired(board, shape, goal, **how):
    result = puzzle.repair([board], shape, goal, **how)
    return tuple(result.boards[0].tolist()), tuple(result.cells[0].tolist())


@given(cases(), st.sampled_from(["last", "gentle", "random"]))
@settings(max_examples=400)
def test_a_repair_is_one_of_the_exchanges_allowed_and_fails_only_if_there_is_none(case, swap):
    shape, goal, target, board, pinned = case
    allowed = oracles.legal_exchanges(board, target, pinned)
    after, cells = repaired(board, shape, goal, swap=swap, pinned=pinned)
    if not allowed:
        assert cells == (-2, -2)
        assert after == board
        assert puzzle.why_unrepairable(board, shape, goal, swap, pinned).endswith(".")
        return
    assert cells in allowed
    assert after == oracles.exchanged(board, *cells)
    assert after != target
    assert puzzle.solvable([after], shape, goal).all()
    if swap == "last":
        assert cells == allowed[0]
    if swap == "gentle":
        changes = [
            abs(oracles.manhattan(oracles.exchanged(board, *pair), target, shape[1]) - distance)
            for pair in allowed
            for distance in [oracles.manhattan(board, target, shape[1])]
        ]
        assert cells == allowed[changes.index(min(changes))]


@given(cases(), st.data())
def test_a_given_pair_is_exchanged_or_nothing_is(case, data):
    shape, goal, target, board, pinned = case
    pair = data.draw(st.permutations(range(1, len(board))))[:2]
    expected = tuple(sorted(board.index(tile) for tile in pair))
    after, cells = repaired(board, shape, goal, swap=tuple(pair), pinned=pinned)
    if expected in oracles.legal_exchanges(board, target, pinned):
        assert cells == expected
        assert after == oracles.exchanged(board, *expected)
    else:
        assert cells == (-2, -2)
        assert after == board
        assert puzzle.why_unrepairable(board, shape, goal, tuple(pair), pinned)


@given(cases(), st.integers(0, 5))
def test_random_depends_on_nothing_but_the_board(case, place):
    shape, goal, _, board, pinned = case
    alone = repaired(board, shape, goal, swap="random", pinned=pinned)
    others = np.random.default_rng(place).permuted(np.tile(np.arange(len(board)), (6, 1)), axis=1)
    others[place] = board
    batch = puzzle.repair(others, shape, goal, "random", pinned)
    assert (tuple(batch.boards[place].tolist()), tuple(batch.cells[place].tolist())) == alone


def test_random_draws_every_pair_about_as_often():
    batch = np.random.default_rng(3).permuted(np.tile(np.arange(6), (30_000, 1)), axis=1)
    batch = batch[~puzzle.solvable(batch, (2, 3))]
    cells = puzzle.repair(batch, (2, 3), swap="random").cells
    tiles = np.sort(np.take_along_axis(batch, cells, axis=1), axis=1)
    pairs, counts = np.unique(tiles, axis=0, return_counts=True)
    assert len(pairs) == 10
    # 360 boards of 2x3 are unsolvable, 36 for each pair; the draw is by board, so it can be that uneven.
    assert counts.min() > len(batch) / 20
    assert counts.max() < len(batch) / 5


@given(st.integers(1, 6), st.booleans(), st.data())
def test_lines_are_never_repaired(cells, upright, data):
    shape = (cells, 1) if upright else (1, cells)
    board = data.draw(st.permutations(range(cells)))
    assume(not puzzle.solvable([board], shape)[0])
    after, exchanged = repaired(board, shape, "blank-last")
    assert exchanged == (-2, -2)
    assert after == tuple(board)
    assert "never pass each other" in puzzle.why_unrepairable(board, shape)


@pytest.mark.parametrize("swap", ["last", "gentle", "random", (500, 9)])
@pytest.mark.parametrize("shape", [(32, 32), (3, 200), (26, 30)], ids=str)
def test_large_boards_are_repaired(shape, swap):
    cells = shape[0] * shape[1]
    random = np.random.default_rng(cells)
    batch = random.permuted(np.tile(np.arange(cells), (8, 1)), axis=1)
    goal = puzzle.goal_board("snail", shape).astype(int)
    near = goal.copy()
    near[[5, 6]] = near[[6, 5]]
    batch = np.vstack([batch, near])
    solvable = puzzle.solvable(batch, shape, "snail")
    repaired = puzzle.repair(batch, shape, "snail", swap)
    assert puzzle.solvable(repaired.boards, shape, "snail").all()
    assert (((batch != repaired.boards).sum(axis=1) == 2) == ~solvable).all()
    assert not (repaired.boards == goal).all(axis=1).any()
    distances = [
        [oracles.manhattan(b.tolist(), goal.tolist(), shape[1]) for b in some] for some in (batch, repaired.boards)
    ]
    if swap == "gentle":
        assert distances[0][:8] == distances[1][:8]
