"""Distances against a breadth-first search, and against loops in plain Python."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from taquin import puzzle
from taquin.puzzle.board import resolve
from taquin.puzzle.difficulty import _shuffled_manhattan
from tests.property import oracles

GOALS = ["blank-last", "blank-first", "snail", "snake", (8, 0, 3, 1, 7, 2, 6, 5, 4), (4, 1, 9, 200, 0, 77, 5, 31, 1000)]
DEPTHS = (
    "1 2 4 8 16 20 39 62 116 152 286 396 748 1024 1893 2512 4485 5638 9529 10878 16993 17110 23952 20224 24047 15578"
    " 14560 6274 3910 760 221 2"
)


@cache
def depths(goal, rows, cols):
    """Give the number of moves to the goal for every board that it can be reached from."""
    found = {goal: 0}
    edge = [goal]
    for board in edge:
        for after in oracles.slides(board, rows, cols):
            if after not in found:
                found[after] = found[board] + 1
                edge.append(after)
    return found


def linear_conflict(board, goal, rows, cols):
    """Compute the distance as it is defined, trying all sets of tiles that could stay in each line."""
    home = {tile: divmod(cell, cols) for cell, tile in enumerate(goal)}
    grid = [board[row * cols : (row + 1) * cols] for row in range(rows)]
    lines = [[home[t][1] for t in line if t and home[t][0] == row] for row, line in enumerate(grid)]
    lines += [[home[t][0] for t in line if t and home[t][1] == col] for col, line in enumerate(zip(*grid, strict=True))]
    total = oracles.manhattan(board, goal, cols)
    for line in lines:
        stay = max(n for n in range(len(line) + 1) for some in combinations(line, n) if sorted(some) == list(some))
        total += 2 * (len(line) - stay)
    return total


def test_the_8_puzzle_has_the_published_numbers_of_boards_at_each_depth():
    moves = puzzle.moves(oracles.all_boards(9), "3x3")
    assert np.bincount(moves[moves >= 0]).tolist() == [int(count) for count in DEPTHS.split()]
    assert (moves == -1).sum() == 181_440


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_on_all_states_of_the_8_puzzle_no_bound_exceeds_the_moves(goal):
    labels = puzzle.goal_board(goal, "3x3")
    boards = np.sort(labels)[np.array(oracles.all_boards(9))]
    moves = puzzle.moves(boards, "3x3", goal)
    boards, moves = boards[moves >= 0], moves[moves >= 0]
    assert len(boards) == 181_440
    assert puzzle.solvable(boards, "3x3", goal).all()
    steps, conflict = puzzle.manhattan(boards, "3x3", goal), puzzle.linear_conflict(boards, "3x3", goal)
    assert (steps <= conflict).all()
    assert (steps < conflict).any()
    assert (conflict <= moves).all()
    # Every move takes one tile one step, so all three are even or odd together.
    assert ((steps ^ moves) & 1 == 0).all()
    assert ((conflict ^ moves) & 1 == 0).all()
    assert conflict.min() == moves.min() == 0


@pytest.mark.parametrize(
    ("shape", "goal"),
    [
        ((1, 1), (0,)),
        ((1, 2), (1, 0)),
        ((1, 9), (1, 2, 3, 4, 0, 5, 6, 7, 8)),
        ((6, 1), (5, 3, 0, 1, 2, 4)),
        ((2, 2), (3, 1, 0, 2)),
        ((3, 2), (1, 2, 3, 4, 5, 0)),
        ((2, 4), (1, 2, 3, 4, 5, 6, 7, 0)),
        ((4, 2), (0, 300, 1, 2, 9, 8, 7, 6)),
        ((3, 3), (1, 2, 3, 8, 0, 4, 7, 6, 5)),
        ((2, 2), (1, 1, 2, 0)),
        ((2, 3), (5, 5, 0, 5, 5, 5)),
        ((1, 4), (1, 2, 1, 0)),
        ((3, 3), (1, 1, 1, 2, 2, 2, 3, 3, 0)),
        ((3, 3), (1, 2, 3, 4, 0, 4, 3, 2, 1)),
    ],
    ids=str,
)
def test_moves_are_those_of_a_search_for_any_goal(shape, goal):
    known = depths(goal, *shape)
    boards = np.array(list(known))
    moves = puzzle.moves(boards, shape, goal)
    assert moves.tolist() == list(known.values())
    bound = puzzle.linear_conflict(boards, shape, goal)
    assert (puzzle.manhattan(boards, shape, goal) <= bound).all()
    assert (bound <= moves).all()


@pytest.mark.parametrize("goal", ["blank-last", "blank-first", "snail", "snake"])
@pytest.mark.parametrize("shape", [(2, 5), (4, 4), (5, 3), (5, 5), (12, 11), (17, 16), (2, 130), (1, 150)], ids=str)
def test_distances_are_those_of_the_definitions(shape, goal):
    cells = shape[0] * shape[1]
    home = tuple(puzzle.goal_board(goal, shape).tolist())
    near = [oracles.walk(home, *shape, steps, steps) for steps in (1, 20, 60)]
    boards = [home, *near, *puzzle.shuffle(shape, 20, 1, goal).tolist()]
    # Whole lines in disorder are rare, so make some: exchanges within rows and columns of the goal.
    for seed in range(20):
        grid = np.array(home).reshape(shape)
        random = np.random.default_rng(seed)
        boards.append(random.permuted(grid, axis=seed % 2).ravel().tolist() if cells < 200 else home)
    steps = puzzle.manhattan(boards, shape, goal)
    assert steps.tolist() == [oracles.manhattan(board, home, shape[1]) for board in boards]
    expected = steps.tolist()
    if max(shape) <= 12:
        expected = [linear_conflict(board, home, *shape) for board in boards]
    if max(shape) != 17:
        assert puzzle.linear_conflict(boards, shape, goal).tolist() == expected


def test_one_slide_changes_the_linear_conflict_distance_by_one():
    boards = [tuple(board) for board in puzzle.shuffle("4x4", 200, 3).tolist()]
    for board in boards:
        both = [board, *oracles.slides(board, 4, 4)]
        found = puzzle.linear_conflict(both, "4x4")
        assert (np.abs(found[1:] - found[0]) == 1).all()


@pytest.mark.parametrize(
    ("shape", "goal"), [((2, 3), "snail"), ((3, 3), "blank-last"), ((2, 4), "snake"), ((2, 3), (1, 1, 2, 2, 2, 0))]
)
def test_mean_and_deviation_of_the_manhattan_distance_are_exact(shape, goal):
    target = resolve(goal, puzzle.parse_shape(shape))
    boards = np.array(sorted(oracles.reachable(target.board.tolist(), *shape)))
    steps = puzzle.manhattan(boards, shape, goal)
    assert _shuffled_manhattan(target) == pytest.approx((steps.mean(), steps.std()))


def test_shuffled_4x4_boards_have_the_known_mean_distances():
    boards = puzzle.shuffle("4x4", 50_000, 1)
    assert puzzle.manhattan(boards, "4x4").mean() == pytest.approx(37.0, abs=0.1)
    assert puzzle.linear_conflict(boards, "4x4").mean() == pytest.approx(38.9, abs=0.1)
