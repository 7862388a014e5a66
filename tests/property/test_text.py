"""Every form in which a board is written reads back as the same board."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from taquin import puzzle
from taquin.puzzle.text import BLANKS, CELL_SEPARATORS, ROW_SEPARATORS

LABELS = st.one_of(st.integers(0, 20), st.integers(-(10**30), 10**30))
FORMS = st.fixed_dictionaries(
    {
        "row_separator": st.sampled_from(ROW_SEPARATORS),
        "cell_separator": st.sampled_from(CELL_SEPARATORS),
        "blank": st.sampled_from(BLANKS),
    }
)


@st.composite
def grids(draw, square=False):
    rows = draw(st.integers(2 if square else 1, 6))
    cols = rows if square else draw(st.integers(1, 6))
    return draw(st.lists(st.lists(LABELS, min_size=cols, max_size=cols), min_size=rows, max_size=rows))


@given(grids(), FORMS)
def test_every_form_reads_back(rows, form):
    assert puzzle.parse_board(puzzle.format_board(rows, **form)) == rows


@given(grids(square=True), FORMS)
def test_every_form_with_its_number_of_rows_first_reads_back(rows, form):
    assert puzzle.parse_board(puzzle.format_board(rows, **form, header=True)) == rows


@given(st.lists(st.tuples(grids(), FORMS), max_size=5), st.integers(1, 3))
def test_many_boards_read_back_in_order_with_their_lines(boards, gap):
    texts = [puzzle.format_board(rows, **form) for rows, form in boards]
    expected, line = [], 2
    for (rows, _), text in zip(boards, texts, strict=True):
        expected.append((line, rows))
        line += text.count("\n") + 1 + gap
    lines = ["# boards", *("\n" * (gap + 1)).join(texts).split("\n")]
    assert list(puzzle.parse_boards(lines)) == expected
    assert list(puzzle.parse_boards([(at + 10, text) for at, text in enumerate(lines, 1)])) == [
        (at + 10, rows) for at, rows in expected
    ]


@given(st.text(alphabet="012 ,/\n_.x#-a\t", max_size=60))
def test_reading_never_fails_but_for_the_number_of_boards(text):
    for board in puzzle.parse_boards(text.splitlines()):
        assert board.rows
        assert all(isinstance(cell, int | str) for row in board.rows for cell in row)
