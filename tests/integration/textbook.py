"""An independent check of many boards: inversions by the textbook's double loop, sharing no code with the product."""

from __future__ import annotations

import numpy as np


def solvable(boards, rows, cols):
    """Tell for each board, (n, cells), whether ``blank-last`` can be reached from it, for widths and heights >= 2."""
    boards = np.asarray(boards).reshape(-1, rows * cols).astype(int)
    inversions = np.zeros(len(boards), int)
    for first in range(rows * cols):
        for second in range(first + 1, rows * cols):
            inversions += (boards[:, first] > boards[:, second]) & (boards[:, second] != 0)
    from_bottom = rows - (boards == 0).argmax(axis=1) // cols
    return inversions % 2 == 0 if cols % 2 else (inversions + from_bottom) % 2 == 1


def shuffled(count, rows, cols, seed=1):
    """Make boards as a careless app does: about half of them cannot be solved."""
    tiles = np.tile(np.arange(rows * cols), (count, 1))
    return np.random.default_rng(seed).permuted(tiles, axis=1).astype(np.uint8)
