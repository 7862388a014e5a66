"""Worked examples of distances and bands, and what is refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from taquin import puzzle
from taquin.errors import BadBoard, BadInput
from taquin.puzzle import tables

CASES = json.loads((Path(__file__).parents[2] / "data" / "boards.json").read_text())["cases"]
SMALL = [case for case in CASES if sum(map(len, case["board"])) <= 9]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case["id"])
def test_moves_of_the_published_boards(case):
    shape = (len(case["board"]), len(case["board"][0]))
    found = puzzle.moves([[tile for row in case["board"] for tile in row]], shape, case["goal"])[0]
    assert found == (-1 if case["optimal_moves"] is None else case["optimal_moves"])


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["optimal_moves"] is not None], ids=lambda case: case["id"]
)
def test_no_bound_exceeds_the_moves_of_the_published_boards(case):
    shape = (len(case["board"]), len(case["board"][0]))
    board = [[tile for row in case["board"] for tile in row]]
    conflict = puzzle.linear_conflict(board, shape, case["goal"])[0]
    assert puzzle.manhattan(board, shape, case["goal"])[0] <= conflict <= case["optimal_moves"]


@pytest.mark.parametrize(
    ("board", "manhattan", "conflict"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8, 0], 0, 0),
        ([1, 2, 3, 4, 5, 6, 7, 0, 8], 1, 1),
        ([2, 1, 3, 4, 5, 6, 7, 8, 0], 2, 4),  # one of two must leave the row
        ([3, 2, 1, 4, 5, 6, 7, 8, 0], 4, 8),  # two of three must leave, though three pairs are in conflict
        ([2, 3, 1, 4, 5, 6, 7, 8, 0], 4, 6),  # one of three must leave, though two pairs are in conflict
        ([4, 2, 3, 1, 5, 6, 7, 8, 0], 2, 4),  # so it is in a column
        ([4, 5, 6, 1, 2, 3, 7, 8, 0], 6, 12),
    ],
)
def test_conflicts_are_counted_by_those_that_must_leave(board, manhattan, conflict):
    assert puzzle.manhattan([board], "3x3").tolist() == [manhattan]
    assert puzzle.linear_conflict([board], "3x3").tolist() == [conflict]


def test_of_equal_tiles_each_goes_to_its_nearest_place():
    goal = [[1, 1, 2], [3, 3, 0]]
    assert puzzle.manhattan([[1, 2, 1, 0, 3, 3]], "2x3", goal).tolist() == [1 + 1 + 1]


def test_answers_have_documented_types():
    boards = puzzle.shuffle("3x3", 4, 1)
    assert puzzle.manhattan(boards, "3x3").dtype == np.int32
    assert puzzle.linear_conflict(boards, "3x3").dtype == np.int32
    assert puzzle.moves(boards, "3x3").dtype == np.int8
    assert puzzle.band(boards, "3x3").dtype == np.uint8
    empty = np.empty((0, 9), np.uint8)
    for verb in (puzzle.manhattan, puzzle.linear_conflict, puzzle.moves, puzzle.band):
        assert verb(empty, "3x3").shape == (0,)


@pytest.mark.parametrize(
    ("shape", "limits"),
    [
        ("2x2", (1, 2, 4)),
        ("3x3", (7, 14, 25)),
        ("4x4", (12, 24, 41)),
        ("5x5", (25, 50, 83)),
        ("10x10", (217, 434, 681)),
        ("1x4", (0, 1, 2)),
        ("1x12", (1, 3, 8)),
    ],
)
def test_limits_of_the_bands(shape, limits):
    """Anyone who changes these changes what players are given."""
    assert puzzle.band_limits(shape) == dict(zip(puzzle.BANDS, (*limits, None), strict=True))


def test_a_band_includes_its_limit():
    boards = puzzle.shuffle("3x3", 2000, 1)
    for moves, band in zip(puzzle.moves(boards, "3x3"), puzzle.band(boards, "3x3"), strict=True):
        assert band == (0 if moves <= 7 else 1 if moves <= 14 else 2 if moves <= 25 else 3)
    boards = puzzle.shuffle("4x4", 2000, 1)
    for distance, band in zip(puzzle.linear_conflict(boards, "4x4"), puzzle.band(boards, "4x4"), strict=True):
        assert band == (0 if distance <= 12 else 1 if distance <= 24 else 2 if distance <= 41 else 3)


@pytest.mark.parametrize("shape", ["3x3", "4x4", "5x5", "6x6", "4x6"])
def test_a_shuffled_board_is_mostly_hard_and_sometimes_expert(shape):
    share = np.bincount(puzzle.band(puzzle.shuffle(shape, 5000, 1), shape), minlength=4) / 5000
    assert share[:2].sum() < 0.05
    assert 0.6 < share[2] < 0.87
    assert 0.1 < share[3] < 0.35


def test_the_difficulty_of_one_board_is_plain_json():
    found = puzzle.difficulty([[8, 6, 7], [2, 5, 4], [3, 0, 1]], "3x3")
    assert found == puzzle.Difficulty(manhattan=21, linear_conflict=23, moves=31, band="expert")
    assert json.loads(json.dumps(asdict(found)))["moves"] == 31
    found = puzzle.difficulty(puzzle.walk("4x4", 1, 3, 1)[0], "4x4")
    assert (found.moves, found.band) == (None, "easy")
    assert puzzle.difficulty(puzzle.walk("33x33", 1, 3, 1)[0], "33x33").band is None


UNSOLVABLE = [1, 2, 3, 4, 5, 6, 8, 7, 0]


def test_an_unsolvable_board_has_no_moves_and_no_band():
    assert puzzle.moves([UNSOLVABLE], "3x3").tolist() == [-1]
    with pytest.raises(BadBoard, match=r"Board 1 of the batch .* cannot be solved and has no band.") as caught:
        puzzle.band([[1, 2, 3, 4, 5, 6, 7, 8, 0], UNSOLVABLE], "3x3")
    assert caught.value.index == 1
    with pytest.raises(BadBoard, match="cannot be solved and has no difficulty"):
        puzzle.difficulty(UNSOLVABLE, "3x3")
    with pytest.raises(BadBoard, match="cannot be solved and has no band"):
        puzzle.band([[*range(1, 14), 15, 14, 0]], "4x4")


@pytest.mark.parametrize("verb", [puzzle.manhattan, puzzle.linear_conflict, puzzle.moves, puzzle.band])
@pytest.mark.parametrize(
    "board", [[1, 1, 3, 4, 5, 6, 7, 8, 0], [1, 2, 3, 4, 5, 6, 7, 8, 9], [-1, 2, 3, 4, 5, 6, 7, 8, 0]]
)
def test_a_bad_board_has_no_distance(verb, board):
    with pytest.raises(BadBoard) as caught:
        verb([[1, 2, 3, 4, 5, 6, 7, 8, 0], board], "3x3")
    assert caught.value.index == 1


def test_what_is_too_large_is_refused_with_the_limit():
    with pytest.raises(BadInput, match=r"for boards of up to 9 cells; 4x4 has 16. Use linear_conflict"):
        puzzle.moves(puzzle.shuffle("4x4", 1, 1), "4x4")
    with pytest.raises(BadInput, match=r"Bands are for boards of up to 1,024 cells; 33x33 has 1,089."):
        puzzle.band(puzzle.shuffle("33x33", 1, 1), "33x33")


def test_tables_are_kept_but_not_without_end():
    tables._depths.cache_clear()
    for goal in ("blank-last", "snail", "blank-last"):
        puzzle.moves(puzzle.shuffle("3x3", 1, 1), "3x3", goal)
    assert tables._depths.cache_info().misses == 2
    assert tables._depths.cache_info().maxsize == 32
