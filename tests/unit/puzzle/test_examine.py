"""What is said of things that are no boards."""

from __future__ import annotations

import pytest

from taquin import puzzle

GOOD = [[1, 2, 3], [4, 5, 6], [7, 8, 0]]


def found(value, goal="blank-last", **how):
    return [(finding.problem, finding.where) for finding in puzzle.examine(value, goal, **how).findings]


def cell(value):
    return [[1, 2, value], [4, 5, 6], [7, 8, 0]]


def test_a_good_board_has_no_findings():
    seen = puzzle.examine(GOOD, "snail")
    assert seen.findings == ()
    assert seen.shape == (3, 3)
    assert seen.board.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]
    assert seen.goal.tolist() == [1, 2, 3, 8, 0, 4, 7, 6, 5]


@pytest.mark.parametrize(
    "value", [True, False, 1.0, 3.0, float("nan"), float("inf"), "3", "", None, [], [3], {}, {"a": 1}, "x" * 10**6]
)
def test_what_is_no_whole_number_is_found_where_it_is(value):
    findings = puzzle.examine(cell(value)).findings
    assert (findings[0].problem, findings[0].where) == ("not_integers", "board[0][2]")
    assert len(findings[0].message) < 120


@pytest.mark.parametrize("value", [-1, 9, 16, 2**31, -(2**63), 2**64 + 3, 10**400, -(10**4000)])
def test_what_is_no_tile_is_found_where_it_is_and_not_written_out(value):
    findings = puzzle.examine(cell(value)).findings
    assert [(finding.problem, finding.where) for finding in findings] == [
        ("out_of_range", "board[0][2]"),
        ("missing_tiles", "board"),
    ]
    assert len(findings[0].message) < 120


@pytest.mark.parametrize(
    "value", [None, True, 3, 1.5, "123", "", {}, {"board": GOOD}, [], [1, 2, 3, 0], [None], 10**4000]
)
def test_what_is_no_list_of_rows_is_said_to_be_none(value):
    assert found(value) == [("not_rectangular", "board")]


def test_each_row_that_does_not_fit_is_named():
    assert found([[1, 2, 3], [4, 5], "row", [], [7, 8, 0]]) == [
        ("not_rectangular", "board[1]"),
        ("not_rectangular", "board[2]"),
        ("not_rectangular", "board[3]"),
    ]
    assert found([[]]) == [("not_rectangular", "board[0]"), ("no_blank", "board")]


def test_everything_is_listed_not_only_the_first_thing():
    board = [[1, 1, True], [4, -4, 6], [0, "8", 0]]
    assert found(board) == [
        ("not_integers", "board[0][2]"),
        ("not_integers", "board[2][1]"),
        ("out_of_range", "board[1][1]"),
        ("several_blanks", "board[2][2]"),
        ("missing_tiles", "board"),
        ("duplicate_tiles", "board[0][1]"),
    ]


def test_of_each_kind_twenty_are_listed_and_the_rest_counted():
    findings = puzzle.examine([[7] * 10] * 10).findings
    twice = [finding for finding in findings if finding.problem == "duplicate_tiles"]
    assert len(twice) == 20
    assert twice[0].message == "Tile 7 is here once more; it is at board[0][0] already."
    assert twice[-1].message.endswith("There are 79 more like this.")
    missing = [finding.message for finding in findings if finding.problem == "missing_tiles"]
    assert missing == ["Tiles 1, 2, 3, 4, 5, 6, 8, 9, 10, 11 and 88 more are missing."]


@pytest.mark.parametrize(
    "value",
    [[[0] * 33] * 32, [[0]] * 1025, [[0] * 10**6], [0] * 10**7, [[1, 2], [0] * 2000]],
    ids=["just too large", "too many rows", "a long row", "a long list", "ragged"],
)
def test_what_is_too_large_is_not_looked_at_any_further(value):
    assert found(value) == [("too_large", "board")]
    assert found(GOOD, value) == [("too_large", "goal")]


def test_the_limit_can_be_raised_and_lowered():
    board = [[*range(1 + 100 * row, 101 + 100 * row)] for row in range(100)]
    board[-1][-1] = 0
    assert found(board) == [("too_large", "board")]
    assert found(board, max_cells=10_000) == []
    assert found(GOOD, max_cells=8) == [("too_large", "board")]
    assert found([[0] * 65_537], max_cells=10**9) == [("too_large", "board")]


@pytest.mark.parametrize("blank", [None, "", 9, -1, 10**400])
def test_the_blank_can_be_written_otherwise_in_board_and_goal(blank):
    written = [[1, 2, 3], [4, 5, 6], [7, 8, blank]]
    seen = puzzle.examine(written, written, blank=blank)
    assert seen.findings == ()
    assert seen.board.tolist() == seen.goal.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]
    assert puzzle.examine(written, blank=blank).findings == ()
    zero = puzzle.examine([[1, 2, 3], [4, 5, 0], [7, 8, blank]], blank=blank).findings
    assert [(finding.problem, finding.where) for finding in zero] == [
        ("out_of_range", "board[1][2]"),
        ("missing_tiles", "board"),
    ]
    assert "the blank is written" in zero[0].message


@pytest.mark.parametrize("blank", [True, 1.0, "_", [], {}, float("nan")])
def test_a_blank_that_can_be_nothing_is_a_finding(blank):
    assert found(GOOD, blank=blank) == [("not_integers", "blank")]


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("spiral", [("goal_mismatch", "goal")]),
        ("x" * 10**6, [("goal_mismatch", "goal")]),
        (None, [("not_rectangular", "goal")]),
        (7, [("not_rectangular", "goal")]),
        ({}, [("not_rectangular", "goal")]),
        ([], [("not_rectangular", "goal")]),
        ([[1, 2], [3]], [("not_rectangular", "goal[1]"), ("no_blank", "goal")]),
        ([[1, 2], [3, 0]], [("goal_mismatch", "goal")]),
        ([1, 2, 3, 0], [("goal_mismatch", "goal")]),
        ([1, 2, 3, 4, 5, 6, 7, True, 0], [("not_integers", "goal[7]")]),
        ([[1, 2, 3], [4, 5, 65_536], [7, 8, 0]], [("out_of_range", "goal[1][2]")]),
        ([[1, 2, 3], [4, 0, 6], [7, 8, 0]], [("several_blanks", "goal[2][2]")]),
        ([[1, 2, 3], [4, 5, 9], [7, 8, 0]], [("missing_tiles", "board"), ("goal_mismatch", "board[1][2]")]),
        ([[1, 2, 3], [4, 5, 5], [7, 8, 0]], [("missing_tiles", "board"), ("goal_mismatch", "board[1][2]")]),
        ([8, 7, 6, 5, 4, 3, 2, 1, 0], []),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_goal_is_examined_as_well(goal, expected):
    assert found(GOOD, goal) == expected


def test_a_bad_goal_does_not_hide_what_is_wrong_with_the_board():
    assert found(cell("3"), "spiral") == [
        ("goal_mismatch", "goal"),
        ("not_integers", "board[0][2]"),
        ("missing_tiles", "board"),
    ]
    assert set(found(cell("3"), [[True]])) == {
        ("goal_mismatch", "goal"),
        ("not_integers", "goal[0][0]"),
        ("no_blank", "goal"),
        ("not_integers", "board[0][2]"),
    }


def test_numbers_that_python_itself_refuses_to_write_are_no_trouble():
    huge = -(10**5000)
    assert puzzle.examine(huge).findings[0].message.endswith("not a negative number of about 5,001 digits.")
    written = [[1, 2, 3], [4, 5, 6], [7, 8, huge]]
    assert found(written, written, blank=huge) == []
