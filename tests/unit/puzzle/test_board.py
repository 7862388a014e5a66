"""Shapes, goals, and what is refused as an array of boards."""

from __future__ import annotations

import numpy as np
import pytest

from taquin import puzzle
from taquin.errors import BadBoard, BadGoal, BadInput, BadShape
from taquin.puzzle.shape import MAX_CELLS


@pytest.mark.parametrize("shape", ["4x5", " 4x5 ", (4, 5), [4, 5], puzzle.Shape(4, 5), (np.int64(4), np.uint8(5))])
def test_a_shape_is_text_or_a_pair(shape):
    assert puzzle.parse_shape(shape) == puzzle.Shape(4, 5)
    assert str(puzzle.parse_shape(shape)) == "4x5"
    assert puzzle.parse_shape(shape).cells == 20


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ("0x4", "not 0 and 4"),
        ((4, -1), "not 4 and -1"),
        ("4x", '"4x"'),
        ("x", '"x"'),
        ("4", '"4"'),
        ("4x4x4", '"4x4x4"'),
        ("4.0x4", '"4.0x4"'),
        ("٤x٤", "not"),
        ("9999x9999", "65,536"),
        ("1x65537", "65,536"),
        ((10**4000, 1), "4,001 digits"),
        ("1" * 5000 + "x1", "5,002 characters"),
        ((4, 4, 4), "a list"),
        ((4.0, 4), "a list"),
        ((True, 4), "a list"),
        (None, "null"),
        (4, "4"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else None,
)
def test_no_other_shape_is_taken_and_the_message_names_it(shape, named):
    with pytest.raises(BadShape, match=named):
        puzzle.parse_shape(shape)


def test_the_largest_shapes_are_taken():
    for shape in ((1, MAX_CELLS), (256, 256), (MAX_CELLS, 1)):
        assert puzzle.parse_shape(shape).cells == MAX_CELLS


@pytest.mark.parametrize(
    ("goal", "shape", "rows"),
    [
        ("blank-last", "3x3", [[1, 2, 3], [4, 5, 6], [7, 8, 0]]),
        ("blank-first", "3x3", [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        ("snail", "3x3", [[1, 2, 3], [8, 0, 4], [7, 6, 5]]),
        ("snake", "3x3", [[1, 2, 3], [6, 5, 4], [7, 8, 0]]),
        ("snail", "2x4", [[1, 2, 3, 4], [0, 7, 6, 5]]),
        ("snail", "4x3", [[1, 2, 3], [10, 11, 4], [9, 0, 5], [8, 7, 6]]),
        ("snake", "4x2", [[1, 2], [4, 3], [5, 6], [0, 7]]),
        ("snail", "1x4", [[1, 2, 3, 0]]),
        ("snake", "4x1", [[1], [2], [3], [0]]),
        ("snail", "1x1", [[0]]),
        ("blank-first", "1x1", [[0]]),
    ],
)
def test_the_named_goals(goal, shape, rows):
    assert puzzle.goal_board(goal, shape).reshape(puzzle.parse_shape(shape)).tolist() == rows


@pytest.mark.parametrize("side", range(1, 12))
def test_the_snail_is_the_spiral_walked_step_by_step(side):
    grid = [[0] * side for _ in range(side)]
    row, col, down, right = 0, 0, 0, 1
    for label in range(1, side * side):
        grid[row][col] = label
        ahead_row, ahead_col = row + down, col + right
        if not (0 <= ahead_row < side and 0 <= ahead_col < side and not grid[ahead_row][ahead_col]):
            down, right = right, -down
        row, col = row + down, col + right
    assert puzzle.goal_board("snail", (side, side)).reshape(side, side).tolist() == grid


def test_a_goals_dtype_is_the_smallest_that_holds_its_labels():
    assert puzzle.goal_board("snail", (16, 16)).dtype == np.uint8
    assert puzzle.goal_board("snail", (1, 257)).dtype == np.uint16
    assert puzzle.goal_board([1, 255, 2, 0], "2x2").dtype == np.uint8
    assert puzzle.goal_board([[1, 256], [2, 0]], "2x2").dtype == np.uint16


def test_a_goal_that_was_given_out_can_be_written_to():
    puzzle.goal_board("snail", "3x3")[:] = 7
    assert puzzle.goal_board("snail", "3x3").tolist() == [1, 2, 3, 8, 0, 4, 7, 6, 5]


@pytest.mark.parametrize(
    ("goal", "named"),
    [
        ("spiral", '"spiral"'),
        ([[1, 2], [3]], "differ in length"),
        ([[1, 2, 3, 0]], "1x4"),
        ([1, 2, 0], "not 3"),
        (None, "single value"),
        ([1, 2, 3, 0.0], "float64"),
        (["1", "2", "3", "0"], "whole numbers"),
        ([True, False, True, True], "bool"),
        ([1, 2, 3, 10**400], "object"),
        ([1, 2, 3, -1], "-1"),
        ([1, 2, 0, 65_536], "65536"),
        ([1, 2, 3, 4], "0 blanks"),
        ([1, 0, 3, 0], "2 blanks"),
    ],
    ids=str,
)
def test_what_is_no_goal_is_refused_in_one_sentence(goal, named):
    with pytest.raises(BadGoal, match=named) as caught:
        puzzle.check([[1, 2, 3, 0]], "2x2", goal)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "boards",
    [
        [1, 2, 3, 0],
        [[[1, 2], [3, 0]]],
        [[1, 2, 3]],
        [[1, 2, 3, 0, 4]],
        [[1, 2, 3, 0], [1, 2]],
        [[1.0, 2, 3, 0]],
        [[True, False, True, True]],
        [["1", "2", "3", "0"]],
        [[1, 2, 3, None]],
        [[1, 2, 3, 10**400]],
        [],
        None,
    ],
    ids=str,
)
def test_what_is_no_batch_is_refused(boards):
    for call in (puzzle.check, puzzle.problems, puzzle.solvable, puzzle.repair):
        with pytest.raises(BadInput, match=r"Boards|boards"):
            call(boards, "2x2")


def test_a_bad_board_in_a_batch_is_named_by_its_place_and_problems():
    with pytest.raises(BadBoard, match=r"Board 2 .*duplicate_tiles, missing_tiles") as caught:
        puzzle.solvable([[1, 2, 3, 0], [2, 1, 3, 0], [1, 1, 3, 0], [9, 9, 9, 9]], "2x2")
    assert caught.value.index == 2
    assert caught.value.problems == ("duplicate_tiles", "missing_tiles")
    with pytest.raises(BadBoard, match="The board") as caught:
        puzzle.evidence([1, 1, 3, 0], "2x2")
    assert caught.value.index is None


def test_an_empty_batch_has_no_answers():
    empty = np.empty((0, 4), np.uint8)
    assert puzzle.check(empty, "2x2").problems.shape == (0,)
    assert puzzle.repair(empty, "2x2").cells.shape == (0, 2)


def test_the_names_of_problems_are_the_contracts():
    assert puzzle.problem_names(511) == (
        "out_of_range",
        "duplicate_tiles",
        "missing_tiles",
        "no_blank",
        "several_blanks",
        "goal_mismatch",
        "not_rectangular",
        "not_integers",
        "too_large",
    )
    assert puzzle.problem_names(0) == ()
    assert [int(problem) for problem in puzzle.Problem] == [1 << bit for bit in range(9)]


def test_a_board_that_fits_the_named_goal_may_not_fit_a_board():
    flags = puzzle.problems([[1, 2, 3, 0], [1, 2, 2, 0], [1, 2, 2, 3]], "2x2", [1, 2, 2, 0])
    assert [puzzle.problem_names(flag) for flag in flags.tolist()] == [
        ("missing_tiles", "goal_mismatch"),
        (),
        ("no_blank", "goal_mismatch"),
    ]
