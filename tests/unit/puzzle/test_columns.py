"""Blocks, and permutations as numbers."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from taquin.puzzle.columns import block_size, blocks, rank, unrank


def test_ranks_are_lexicographic_and_undone():
    columns = np.array(list(permutations(range(5))), np.uint8).T
    assert rank(np.ascontiguousarray(columns)).tolist() == list(range(120))
    assert (unrank(np.arange(120), 5) == columns).all()


def test_the_first_of_equal_labels_is_the_smaller():
    equal, told_apart = ([[7], [7], [0], [300]], [[1], [2], [0], [3]])
    assert rank(np.array(equal)).tolist() == rank(np.array(told_apart)).tolist()


def test_blocks_cover_all_boards_once_and_are_no_powers_of_two():
    for cells in (1, 9, 16, 100, 256, 1024, 65_536):
        size = block_size(cells)
        assert size < 128 or size // 64 % 2 == 1
        covered = [board for block in blocks(3 * size + 1, cells) for board in range(block.start, block.stop)]
        assert covered == list(range(3 * size + 1))
    assert list(blocks(0, 9)) == []
