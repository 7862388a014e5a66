"""The one kernel: a sorting network that counts its exchanges, on a whole block of boards at once.

Sorting a board answers both questions about it. Its labels, in order, are the goal's labels in order exactly if it
is an arrangement of them; and as every exchange flips the parity of a permutation and the sorted board is even, the
number of exchanges has the parity of the board, read as a sequence with the blank as its smallest number.

The exchanges of its last merge need not be counted where the labels are 0..n-1. It merges the sorted even places with
the sorted odd ones, and is as odd as the number of pairs of a label in an even place and a smaller one in an odd place.
If a is the i-th smallest label in the even places, a - i smaller ones are in odd places; so, but for a constant, that
number is the sum of the labels in even places, and the constant is even since the sorted board needs no exchange. (It
is the rank sum of F. Wilcoxon, Biometrics Bulletin 1, 1945.)
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


class Run(NamedTuple):
    """Comparisons at one distance: of cell ``i`` with ``i + distance``, for ``length`` cells out of each ``period``."""

    in_last_merge: bool
    start: int
    distance: int
    groups: int
    period: int
    length: int

    def cut(self, rows: Array, start: int) -> Array:
        """View the cells of this run, from ``start`` on: (groups, length, boards)."""
        stop = start + self.groups * self.period
        return rows[start:stop].reshape(self.groups, self.period, -1)[:, : self.length]


@lru_cache(maxsize=256)
def merge_exchange(cells: int) -> tuple[Run, ...]:
    """List the comparisons that sort any sequence of so many cells.

    Algorithm M compares ``i`` with ``i + d`` where ``i & p == r``: cells in groups of ``p``, one group out of two.
    """
    top = 1 << max(cells - 1, 0).bit_length() >> 1
    runs = []
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            last = cells - d  # the first cell without a partner at this distance
            groups, rest = divmod(max(last - r, 0), 2 * p)
            groups += rest >= p
            if groups:
                runs.append(Run(p == 1, r, d, groups, 2 * p, p))
            if 0 < rest < p:
                runs.append(Run(p == 1, r + groups * 2 * p, d, 1, rest, rest))
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return tuple(runs)


class Sorter:
    """The arrays in which blocks of one size are sorted; ``columns`` is the block, transposed: (cells, boards)."""

    def __init__(self, cells: int, boards: int, dtype: np.dtype[Any], *, usual: bool) -> None:
        """Lay out all arrays, and all views of them, once for many blocks; ``usual`` labels are 0..cells-1."""
        self._usual = usual
        runs = merge_exchange(cells)
        # The last group of a run may end beyond the board; no comparison reaches there.
        height = max((run.start + run.distance + run.groups * run.period for run in runs), default=cells)
        rows = np.empty((height, boards), dtype)
        self.columns: Array = rows[:cells]
        pairs = max(cells // 2, 1)
        self._odd = np.empty((pairs, boards), np.bool_)
        # What was exchanged is needed no longer when the smaller cells are set aside: one array serves both.
        spare = np.empty(pairs * boards, dtype)
        self._steps = []
        for run in runs:
            counted = not (usual and run.in_last_merge)
            used, form = run.groups * run.length, (run.groups, run.length, boards)
            smaller = spare[: used * boards]
            exchanged = smaller.view(np.bool_)[: used * boards]
            self._steps.append(
                (
                    counted,
                    run.cut(rows, run.start),
                    run.cut(rows, run.start + run.distance),
                    exchanged.reshape(form),
                    self._odd[:used].reshape(form),
                    smaller.reshape(form),
                )
            )

    def load(self, boards: Array) -> None:
        """Take in a block of boards, (boards, cells), of any integer dtype whose values fit."""
        np.copyto(self.columns, boards.T, casting="unsafe")

    def sort(self) -> NDArray[np.bool_]:
        """Sort ``columns`` in place, and tell the parity of each permutation, True if it is odd: (boards,)."""
        self._odd[:] = False
        if self._usual:
            self._odd[0] = np.bitwise_xor.reduce(self.columns[::2], axis=0) & 1
        for counted, low, high, exchange, odd, smaller in self._steps:
            if counted:
                np.greater(low, high, out=exchange)
                np.bitwise_xor(odd, exchange, out=odd)
            np.minimum(low, high, out=smaller)
            np.maximum(low, high, out=high)
            np.copyto(low, smaller)
        odd_in_all: NDArray[np.bool_] = np.bitwise_xor.reduce(self._odd, axis=0)
        return odd_in_all


class _Sorters(threading.local):
    """The last few sorters of each thread: laying them out takes longer than sorting one board does."""

    def __init__(self) -> None:
        self.of_size = lru_cache(maxsize=4)(Sorter)


_sorters = _Sorters()


def sorter_of_size(cells: int, boards: int, dtype: np.dtype[Any], *, usual: bool) -> Sorter:
    """Give a sorter that no other thread uses, and this one no longer once it asks for the same again."""
    return _sorters.of_size(cells, boards, dtype, usual=usual)
