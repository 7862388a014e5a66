"""Blocks of boards as columns, and permutations as numbers.

A block is transposed, (cells, boards), so that one call on arrays treats the same cell of thousands of boards. The
digits of a permutation (its Lehmer code, or inversion table: Knuth, The Art of Computer Programming, volume 3, 5.1.1)
say of each element how many smaller ones come after it. The first is one of ``cells`` values, the second one of
``cells - 1``, and so on: evenly drawn digits are an evenly drawn permutation, and read as a number of mixed radix
they are its rank in lexicographic order.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from taquin.puzzle.board import Array

# Columns of 2**k bytes would all fall on the same few lines of the cache, and writing boards back from them take two to
# four times as long; so a block is an odd multiple of 64 boards.
MOST_BOARDS: Final = 129 * 64
BLOCK_CELLS: Final = 1 << 19
LEAST_BOARDS: Final = 16


def block_size(cells: int) -> int:
    """Choose how many boards of so many cells make a block that stays in the cache of one core."""
    boards = BLOCK_CELLS // cells
    if boards >= MOST_BOARDS:
        return MOST_BOARDS
    return (boards // 64 - 1 | 1) * 64 if boards >= 128 else max(boards, LEAST_BOARDS)  # noqa: PLR2004


def blocks(boards: int, cells: int) -> Iterator[slice]:
    """Cut so many boards into blocks."""
    size = block_size(cells)
    for start in range(0, boards, size):
        yield slice(start, min(start + size, boards))


def permute(digits: NDArray[np.uint8]) -> None:
    """Turn digits, (cells, boards), into the permutations of 0..cells-1 that have them, in place."""
    greater = np.empty(digits.shape, np.bool_)
    ones = greater.view(np.uint8)
    for cell in range(len(digits) - 2, -1, -1):
        # What follows is already a permutation of as many numbers; this element pushes the upper ones up.
        after = slice(cell + 1, None)
        np.greater_equal(digits[after], digits[cell], out=greater[after])
        np.add(digits[after], ones[after], out=digits[after])


def rank(columns: Array) -> NDArray[np.uint32]:
    """Number arrangements, (cells, boards) of up to 12 cells, in lexicographic order from 0: (boards,).

    Only the order of the labels counts, and of equal labels the first is taken for the smaller.
    """
    cells = len(columns)
    smaller = np.empty(columns.shape, np.bool_)
    ones = smaller.view(np.uint8)
    digits = np.zeros(columns.shape, np.uint8)
    for distance in range(1, cells):
        np.less(columns[distance:], columns[:-distance], out=smaller[distance:])
        np.add(digits[:-distance], ones[distance:], out=digits[:-distance])
    ranks: NDArray[np.uint32] = digits[0].astype(np.uint32)
    for cell in range(1, cells):
        ranks *= np.uint32(cells - cell)
        ranks += digits[cell]
    return ranks


def unrank(ranks: Array, cells: int) -> NDArray[np.uint8]:
    """Give the permutations of 0..cells-1 that have these ranks, (boards,): (cells, boards); undoes ``rank``."""
    digits = np.empty((cells, len(ranks)), np.uint8)
    rest = ranks.astype(np.uint32)
    for cell in range(cells):
        digits[cell], rest = np.divmod(rest, np.uint32(factorial(cells - 1 - cell)))
    permute(digits)
    return digits
