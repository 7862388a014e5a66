"""The forms in which boards are written, one by one."""

from __future__ import annotations

import pytest

from taquin import puzzle
from taquin.errors import BadInput

ROWS = [[1, 2, 3], [4, 5, 6], [7, 8, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\n4 5 6\n7 8 0\n",
        "1 2 3/4 5 6/7 8 _",
        "1,2,3 / 4,5,6 / 7,8,.",
        "  1  2 3\r\n  4, 5 ,6\r\n\t7 8\tx\r\n",
        "3\n1 2 3\n4 5 6\n7 8 0",
        "3/1 2 3/4 5 6/7 8 0",
        "# a comment\n\n1 2 3\n# another\n4 5 6\n7 8 0\n\n\n# the end",
        "01 +2 3\n4 5 6\n7 8 -0",
    ],
)
def test_all_these_are_the_same_board(text):
    assert puzzle.parse_board(text) == ROWS


def test_a_first_line_of_one_number_is_a_header_only_if_so_many_rows_of_so_many_cells_follow():
    assert puzzle.parse_board("2\n1 2\n3 0") == [[1, 2], [3, 0]]
    assert puzzle.parse_board("3\n1\n2\n0") == [[3], [1], [2], [0]]
    assert puzzle.parse_board("1\n0") == [[1], [0]]
    assert puzzle.parse_board("99999999999\n1 2") == [[99_999_999_999], [1, 2]]  # no list of that size is made
    assert puzzle.parse_board("3\n1 2 3\n4 5 0") == [[3], [1, 2, 3], [4, 5, 0]]


def test_what_is_no_number_stays_as_it_is_so_that_it_can_be_named():
    rows = puzzle.parse_board("1 two 3.0\n4,,6\n7 8 ٣\n" + "9" * 5000)
    assert rows == [[1, "two", "3.0"], [4, "", 6], [7, 8, "٣"], ["9" * 5000]]
    assert puzzle.examine(rows).findings


def test_boards_come_with_the_line_on_which_they_begin():
    text = "# many\n1 2\n3 0\n\n\n2 1/3 0\n0 1/2 3\n# one more\n4 5\n"
    assert list(puzzle.parse_boards(text.splitlines())) == [
        (2, [[1, 2], [3, 0]]),
        (6, [[2, 1], [3, 0]]),
        (7, [[0, 1], [2, 3]]),
        (9, [[4, 5]]),
    ]


def test_boards_are_read_as_the_lines_come():
    def endless():
        while True:
            yield "1 2/3 0"

    boards = puzzle.parse_boards(endless())
    assert [next(boards).line for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("text", ["", "\n \n", "# nothing"])
def test_a_text_without_a_board_is_refused(text):
    with pytest.raises(BadInput, match="no board"):
        puzzle.parse_board(text)


def test_a_text_with_two_boards_is_refused_and_says_where_the_second_is():
    with pytest.raises(BadInput, match="line 4"):
        puzzle.parse_board("1 2\n3 0\n\n2 1\n3 0")


def test_a_board_is_written_as_asked():
    assert puzzle.format_board(ROWS) == "1 2 3\n4 5 6\n7 8 0"
    assert puzzle.format_board(ROWS, row_separator=" / ", cell_separator=",", blank="_") == "1,2,3 / 4,5,6 / 7,8,_"
    assert puzzle.format_board(ROWS, header=True).startswith("3\n1 2 3\n")


@pytest.mark.parametrize("form", [{"row_separator": ";"}, {"cell_separator": ""}, {"blank": "16"}, {"blank": ""}])
def test_a_form_that_could_not_be_read_is_refused(form):
    with pytest.raises(BadInput, match="is one of"):
        puzzle.format_board(ROWS, **form)


@pytest.mark.parametrize("rows", [[[0]], [[1, 2, 0]], [[1, 2], [0]], []])
def test_only_a_square_board_has_a_header(rows):
    with pytest.raises(BadInput, match="square"):
        puzzle.format_board(rows, header=True)
