"""The evidence of each rule, in words that a person can check."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from taquin import puzzle
from taquin.errors import BadInput

CASES = [
    ([1, 2, 3, 4, 5, 6, 8, 7, 0], "3x3", "blank-last", "inversions"),
    ([1, 2, 3, 4, 5, 6, 0, 7, 8], "3x3", "blank-last", "inversions"),
    ([0, 1, 3, 2], "2x2", "blank-last", "inversions"),
    ([1, 2, 3, 4, 5, 6, 8, 7, 0], "3x3", "snail", "permutation"),
    ([1, 2, 3, 4, 5, 6, 7, 0, 8], "3x3", "snail", "permutation"),
    ([1, 0, 2, 3], "1x4", "blank-last", "order"),
    ([1, 0, 3, 2], "4x1", "blank-last", "order"),
    ([1, 2, 1, 0], "2x2", [1, 1, 2, 0], "repeated"),
]
SENTENCES = [
    "The width is odd; 1 inversion, which is odd: unsolvable.",
    "The width is odd; 0 inversions, which is even: solvable.",
    "The width is even; 1 inversion + row 2 from the bottom = 3, which is odd: solvable.",
    (
        "The permutation from board to goal is even; the blank is 2 steps from its place, which is even;"
        " they agree: solvable."
    ),
    (
        "The permutation from board to goal is even; the blank is 1 step from its place, which is odd;"
        " they differ: unsolvable."
    ),
    "In one row the tiles must stand in the goal's order, and they do: solvable.",
    "In one column the tiles must stand in the goal's order, and they do not: unsolvable.",
    "The goal has equal tiles, and exchanging two of them goes unseen: solvable.",
]


@pytest.mark.parametrize(("case", "sentence"), list(zip(CASES, SENTENCES, strict=True)))
def test_each_rule_says_what_decides(case, sentence):
    board, shape, goal, rule = case
    evidence = puzzle.evidence(board, shape, goal)
    assert (evidence.rule, evidence.sentence) == (rule, sentence)
    assert (evidence.inversions is not None) == (rule == "inversions")
    assert (evidence.permutation is not None) == (rule in ("inversions", "permutation"))
    assert (evidence.blank_distance is None) == (evidence.permutation is None)


def test_a_goal_given_as_a_board_is_judged_as_the_goal_of_that_name():
    board = [1, 2, 3, 4, 5, 6, 8, 7, 0]
    assert puzzle.evidence(board, "3x3", [1, 2, 3, 4, 5, 6, 7, 8, 0]) == puzzle.evidence(board, "3x3")


def test_rows_and_flat_boards_give_the_same_evidence_and_other_shapes_none():
    assert puzzle.evidence([[1, 2], [3, 0]], "2x2") == puzzle.evidence([1, 2, 3, 0], "2x2")
    for board in ([[1, 2, 3, 0]], [1, 2, 3], [[1, 2], [3]], 7):
        with pytest.raises(BadInput):
            puzzle.evidence(board, "2x2")


def test_evidence_is_plain_enough_for_json():
    for board, shape, goal in (
        ([1, 2, 3, 0], "2x2", "snail"),
        ([1, 2, 3, 0], "1x4", "snail"),
        ([1, 2, 3, 0], "2x2", "blank-last"),
    ):
        fields = asdict(puzzle.evidence(np.array(board, np.uint8), shape, goal))
        assert {type(value) for value in fields.values()} <= {str, int, bool, tuple, type(None)}
        assert json.loads(json.dumps(fields))["blank"] == list(fields["blank"])


@pytest.mark.parametrize("shape", [(100, 100), (256, 256), (1, 10_000), (2, 5_000)], ids=str)
def test_the_largest_boards_are_judged_by_sorting_not_by_pairs(shape):
    """Nothing here is quadratic in the cells: by pairs these would take minutes."""
    cells = shape[0] * shape[1]
    board = np.random.default_rng(1).permutation(cells)
    evidence = puzzle.evidence(board, shape)
    assert evidence.solvable == puzzle.solvable([board], shape)[0]
    if shape[0] > 1:
        assert not puzzle.evidence(*_exchanged(board, evidence.solvable, shape)).solvable


def _exchanged(board, solvable, shape):
    after = board.copy()
    if solvable:
        first, second = np.flatnonzero(board)[:2]
        after[[first, second]] = after[[second, first]]
    return after, shape
