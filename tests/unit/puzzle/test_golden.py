"""Boards on which published checkers, generators or repairs went wrong, and the worked examples of two articles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from taquin import puzzle

DATA = json.loads((Path(__file__).parents[2] / "data" / "boards.json").read_text())
CASES = [pytest.param(case, id=case["id"]) for case in DATA["cases"]]


def test_there_are_as_many_cases_as_there_were():
    assert len(CASES) == 48


@pytest.mark.parametrize("case", CASES)
def test_a_published_fault_is_not_ours(case):
    seen = puzzle.examine(case["board"], case["goal"])
    assert seen.findings == ()
    verdict = puzzle.solvable(seen.board[np.newaxis], seen.shape, case["goal"])
    assert verdict.tolist() == [case["solvable"]]
    assert puzzle.evidence(case["board"], seen.shape, case["goal"]).solvable == case["solvable"]
    is_goal = seen.board.tolist() == seen.goal.tolist()
    if case["optimal_moves"] is not None:
        assert is_goal == (case["optimal_moves"] == 0)
    else:
        assert not is_goal


@pytest.mark.parametrize("swap", ["last", "gentle", "random"])
@pytest.mark.parametrize("case", CASES)
def test_a_published_fault_is_repaired(case, swap):
    seen = puzzle.examine(case["board"], case["goal"])
    repaired = puzzle.repair(seen.board[np.newaxis], seen.shape, case["goal"], swap)
    changed = np.flatnonzero(repaired.boards[0] != seen.board)
    if case["solvable"]:
        assert changed.tolist() == []
        assert repaired.cells.tolist() == [[-1, -1]]
    elif seen.shape.is_line:
        assert repaired.cells.tolist() == [[-2, -2]]
    else:
        assert changed.tolist() == repaired.cells[0].tolist()
        assert puzzle.solvable(repaired.boards, seen.shape, case["goal"]).all()
        assert repaired.boards[0].tolist() != seen.goal.tolist()


def test_the_first_worked_example():
    evidence = puzzle.evidence([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]], "4x4")
    assert (evidence.inversions, evidence.blank_row_from_bottom, evidence.width) == (1, 1, "even")
    assert not evidence.solvable
    assert evidence.sentence == (
        "The width is even; 1 inversion + row 1 from the bottom = 2, which is even: unsolvable."
    )


def test_the_second_worked_example():
    evidence = puzzle.evidence([[5, 1, 3, 4], [2, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 0]], "4x4")
    assert (evidence.inversions, evidence.blank_row_from_bottom) == (6, 1)
    assert evidence.solvable
    assert evidence.sentence == ("The width is even; 6 inversions + row 1 from the bottom = 7, which is odd: solvable.")


def test_with_the_row_from_the_top_the_sum_is_even_for_the_solvable():
    """The second article counts rows from the top; on 4x4 boards both come to the same."""
    batch = np.random.default_rng(5).permuted(np.tile(np.arange(16), (300, 1)), axis=1)
    for board in batch:
        evidence = puzzle.evidence(board, (4, 4))
        assert ((evidence.inversions + evidence.blank_row_from_top) % 2 == 0) == evidence.solvable


def test_the_14_15_board_is_not_repaired_into_the_solved_one():
    board = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14, 0]
    repaired = puzzle.repair([board], "4x4")
    assert repaired.cells.tolist() == [[12, 14]]
    assert repaired.boards.tolist() == [[*board[:12], 14, 15, 13, 0]]
