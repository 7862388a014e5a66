"""What the product is held against: plain Python, one board at a time, sharing no code with it."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from itertools import combinations, permutations


def slides(board, rows, cols):
    """Give all boards that are one slide away."""
    blank = board.index(0)
    row, col = divmod(blank, cols)
    for other, legal in (
        (blank - cols, row > 0),
        (blank + cols, row < rows - 1),
        (blank - 1, col > 0),
        (blank + 1, col < cols - 1),
    ):
        if legal:
            after = list(board)
            after[blank], after[other] = after[other], 0
            yield tuple(after)


def reachable(goal, rows, cols):
    """Find all boards from which slides lead to the goal, by breadth-first search."""
    seen = {tuple(goal)}
    edge = list(seen)
    while edge:
        found = []
        for board in edge:
            for after in slides(board, rows, cols):
                if after not in seen:
                    seen.add(after)
                    found.append(after)
        edge = found
    return seen


@cache
def all_boards(cells):
    return tuple(permutations(range(cells)))


def arrangements(labels):
    """Give all different arrangements of labels that may repeat."""
    return sorted(set(permutations(labels)))


def inversions(board):
    tiles = [tile for tile in board if tile]
    return sum(tiles[i] > tiles[j] for i in range(len(tiles)) for j in range(i + 1, len(tiles)))


def textbook(board, rows, cols):
    """Judge a board for the goal blank-last as the textbooks do, on two or more rows and columns."""
    count = inversions(board)
    if cols % 2:
        return count % 2 == 0
    row_from_bottom = rows - board.index(0) // cols
    return (count + row_from_bottom) % 2 == 1


def walk(board, rows, cols, steps, seed):
    """Slide at random."""
    choose = random.Random(seed)
    for _ in range(steps):
        board = choose.choice(list(slides(board, rows, cols)))
    return board


def exchanged(board, first, second):
    after = list(board)
    after[first], after[second] = after[second], after[first]
    return tuple(after)


def manhattan(board, goal, cols):
    home = {tile: cell for cell, tile in enumerate(goal)}
    return sum(
        abs(cell // cols - home[tile] // cols) + abs(cell % cols - home[tile] % cols)
        for cell, tile in enumerate(board)
        if tile
    )


def legal_exchanges(board, goal, pinned=()):
    """Give all pairs of cells that a repair may exchange, those with the last cells first."""
    free = [cell for cell, tile in enumerate(board) if tile and tile not in pinned]
    pairs = sorted(combinations(free, 2), key=lambda pair: pair[::-1], reverse=True)
    return [pair for pair in pairs if exchanged(board, *pair) != tuple(goal)]


def problem_names(board, goal, *, explicit):
    """Name everything that is wrong with a board of whole numbers."""
    usual = sorted(goal) == list(range(len(goal)))
    largest = len(goal) - 1 if usual else 65_535
    there, wanted = Counter(board), Counter(goal)
    tiles = [label for label in wanted if label]
    found = {
        "out_of_range": any(not 0 <= value <= largest for value in board),
        "duplicate_tiles": any(there[tile] > wanted[tile] for tile in tiles),
        "missing_tiles": any(there[tile] < wanted[tile] for tile in tiles),
        "no_blank": there[0] == 0,
        "several_blanks": there[0] > 1,
        "goal_mismatch": explicit and there != wanted,
    }
    return tuple(name for name, wrong in found.items() if wrong)
