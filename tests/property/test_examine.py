"""Whatever comes off the wire is examined, and the findings say what the arrays' checks say."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from taquin import puzzle

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.sampled_from([0, 10**400, -(10**4000)]),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=20,
)
GOALS = st.one_of(st.sampled_from(puzzle.GOALS), JUNK)
BLANKS = st.one_of(st.sampled_from([0, None, "", 9, 10**400]), SCALARS)


@given(JUNK, GOALS, BLANKS, st.integers(1, 30))
@settings(max_examples=300)
def test_nothing_raises_and_findings_are_short(value, goal, blank, most):
    seen = puzzle.examine(value, goal, blank=blank, max_cells=most)
    assert (seen.board is None or seen.goal is None or seen.shape is None) == bool(seen.findings)
    for finding in seen.findings:
        assert finding.where.startswith(("board", "goal", "blank"))
        assert finding.message.endswith(".")
        assert len(finding.message) < 250
        assert finding.problem in puzzle.problem_names(-1)
    kinds = [finding.problem for finding in seen.findings]
    assert all(kinds.count(kind) <= 20 for kind in kinds)


@given(st.tuples(st.integers(1, 4), st.integers(1, 4)), st.sampled_from(["blank-last", "snail", "board"]), st.data())
@settings(max_examples=200)
def test_the_findings_are_the_problems_of_the_array(shape, kind, data):
    rows, cols = shape
    labels = [*data.draw(st.lists(st.integers(1, 9), min_size=rows * cols - 1, max_size=rows * cols - 1)), 0]
    goal = np.reshape(labels, shape).tolist() if kind == "board" else kind
    value = st.integers(-1, rows * cols)
    arrangement = st.permutations(puzzle.goal_board(goal, shape).tolist())
    board = data.draw(st.one_of(arrangement, st.lists(value, min_size=rows * cols, max_size=rows * cols)))
    seen = puzzle.examine(np.reshape(board, shape).tolist(), goal)
    flags = int(puzzle.problems([board], shape, goal)[0])
    assert {finding.problem for finding in seen.findings} == set(puzzle.problem_names(flags))
    assert seen.goal.tolist() == puzzle.goal_board(goal, shape).tolist()
    if not flags:
        assert seen.shape == shape
        assert seen.board.tolist() == list(board)
        assert seen.board.dtype == seen.goal.dtype
