"""The exact number of moves of every board of a small shape, by breadth-first search from the goal.

A position is the rank of its board among all arrangements of the goal's cells, equal tiles told apart by the order in
which they stand. The 362,880 arrangements of nine cells are few enough to search them all in tens of milliseconds and
to keep the answers, one byte each.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING, Final

import numpy as np

from taquin.puzzle.columns import blocks, rank, unrank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from taquin.puzzle.board import Array, Goal
    from taquin.puzzle.shape import Shape

MOVES_CELLS: Final = 9
"""The most cells of a board whose exact number of moves is known."""

UNREACHED: Final = -1


def has_table(shape: Shape) -> bool:
    """Tell whether the exact number of moves is known for boards of this shape."""
    return shape.cells <= MOVES_CELLS


def pattern(goal: Goal) -> bytes:
    """Describe a goal by what matters to distances: where the blank and which tiles are equal; a key for caches."""
    kinds: Array = np.unique(goal.board, return_inverse=True)[1]
    return kinds.astype(np.uint16).tobytes()


def depths(goal: Goal) -> NDArray[np.int8]:
    """Give the number of moves to the goal by the rank of the board, -1 where it is out of reach: (cells!,).

    The table is built on first use, in tens of milliseconds, and the last 32 are kept: 12 MB at most.
    """
    return _depths(goal.shape, pattern(goal))


def look_up(batch: Array, goal: Goal) -> NDArray[np.int8]:
    """Give the number of moves of good boards, (n, cells), -1 where the goal is out of reach: (n,)."""
    table = depths(goal)
    found = np.empty(len(batch), np.int8)
    for block in blocks(len(batch), goal.shape.cells):
        ranks = rank(np.ascontiguousarray(batch[block].T))
        table.take(ranks, out=found[block], mode="clip")  # all ranks are within the table; "clip" is the fast mode
    return found


@lru_cache(maxsize=32)
def _depths(shape: Shape, goal: bytes) -> NDArray[np.int8]:
    kinds = np.frombuffer(goal, np.uint16)
    everything = unrank(np.arange(factorial(shape.cells)), shape.cells)
    # Where tiles are equal, each way of telling them apart is a goal, and the search starts from all of them.
    is_goal = (np.sort(kinds)[everything] == kinds[:, np.newaxis]).all(axis=0)
    neighbours = _neighbours(shape)
    table = np.full(everything.shape[1], UNREACHED, np.int8)
    frontier = np.flatnonzero(is_goal)
    depth = 0
    while frontier.size:
        table[frontier] = depth
        reached = neighbours[frontier].ravel()
        depth += 1
        table[reached[table[reached] == UNREACHED]] = depth
        frontier = np.flatnonzero(table == depth)
    table.flags.writeable = False
    return table


@lru_cache(maxsize=2)
def _neighbours(shape: Shape) -> NDArray[np.uint32]:
    """List for each board, by rank, the boards that the four slides lead to, or itself for a wall: (cells!, 4)."""
    boards = unrank(np.arange(factorial(shape.cells)), shape.cells)
    neighbours = np.repeat(np.arange(boards.shape[1], dtype=np.uint32)[:, np.newaxis], 4, axis=1)
    for blank in range(shape.cells):
        here = np.flatnonzero(boards[blank] == 0)
        block = boards[:, here]
        row, col = divmod(blank, shape.cols)
        for way, (down, right) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
            if 0 <= row + down < shape.rows and 0 <= col + right < shape.cols:
                order = np.arange(shape.cells)
                there = blank + down * shape.cols + right
                order[[blank, there]] = there, blank
                neighbours[here, way] = rank(block[order])
    return neighbours
