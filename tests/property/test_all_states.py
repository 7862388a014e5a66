"""The product against a breadth-first search, on every state of the small puzzles."""

from __future__ import annotations

import numpy as np
import pytest

from taquin import puzzle
from tests.property import oracles

SHAPES = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (1, 5), (2, 3), (3, 2), (2, 4), (3, 3)]
GOALS = ["blank-last", "blank-first", "snail", "snake"]
REPEATED = [
    ((2, 2), (1, 1, 2, 0)),
    ((2, 2), (0, 7, 7, 7)),
    ((2, 3), (1, 1, 2, 3, 4, 0)),
    ((3, 2), (5, 0, 5, 9, 9, 2)),
    ((2, 4), (1, 1, 1, 0, 2, 2, 2, 2)),
    ((1, 4), (1, 2, 1, 0)),
    ((5, 1), (3, 3, 0, 1, 3)),
]


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_solvable_boards_are_those_that_a_search_reaches(shape, goal):
    reached = oracles.reachable(puzzle.goal_board(goal, shape).tolist(), *shape)
    boards = oracles.all_boards(shape[0] * shape[1])
    expected = [board in reached for board in boards]
    checked = puzzle.check(np.array(boards, np.uint8), shape, goal)
    assert checked.problems.tolist() == [0] * len(boards)
    assert checked.solvable.tolist() == expected


@pytest.mark.parametrize(("shape", "goal"), REPEATED, ids=str)
def test_with_equal_tiles_too(shape, goal):
    reached = oracles.reachable(goal, *shape)
    boards = oracles.arrangements(goal)
    expected = [board in reached for board in boards]
    assert puzzle.solvable(boards, shape, goal).tolist() == expected
    assert [puzzle.evidence(board, shape, goal).solvable for board in boards] == expected


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (1, 4), (4, 1)], ids=str)
def test_an_unusual_goal_is_reached_from_the_boards_that_a_search_finds(shape):
    """The labels are not 0..n-1, so they take another way through the kernel."""
    labels = [0, 300, 5, 65_535, 17, 9][: shape[0] * shape[1]]
    reached = oracles.reachable(labels, *shape)
    boards = oracles.arrangements(labels)
    assert puzzle.solvable(boards, shape, labels).tolist() == [board in reached for board in boards]


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (2, 3), (3, 2)], ids=str)
def test_the_evidence_of_every_state_gives_the_verdict_that_the_search_gives(shape, goal):
    reached = oracles.reachable(puzzle.goal_board(goal, shape).tolist(), *shape)
    for board in oracles.all_boards(shape[0] * shape[1]):
        evidence = puzzle.evidence(board, shape, goal)
        assert evidence.solvable == (board in reached)
        assert evidence.sentence.endswith(": solvable." if board in reached else ": unsolvable.")


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("swap", ["last", "gentle", "random"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)], ids=str)
def test_every_unsolvable_state_is_repaired_by_one_exchange_into_a_state_that_the_search_reaches(shape, swap, goal):
    target = tuple(puzzle.goal_board(goal, shape).tolist())
    states = np.array(oracles.all_boards(shape[0] * shape[1]), np.uint8)
    if len(states) > 100_000 and (swap != "last" or goal in ("blank-first", "snake")):
        states = states[::101]
    solvable = puzzle.solvable(states, shape, goal)
    repaired = puzzle.repair(states, shape, goal, swap)
    assert puzzle.solvable(repaired.boards, shape, goal).all()
    assert (repaired.boards[solvable] == states[solvable]).all()
    assert (repaired.cells[solvable] == -1).all()
    before, after = states[~solvable], repaired.boards[~solvable]
    first, second = repaired.cells[~solvable].T
    each = np.arange(len(before))
    assert (first < second).all()
    assert ((before != after).sum(axis=1) == 2).all()
    assert (before[each, first] == after[each, second]).all()
    assert (before[each, second] == after[each, first]).all()
    assert before[each, first].all()
    assert before[each, second].all()
    assert not (after == target).all(axis=1).any()
