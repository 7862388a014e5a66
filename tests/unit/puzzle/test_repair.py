"""Repairs: what may be asked for, what is kept, and the second check."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from taquin import puzzle
from taquin.errors import BadBoard, BadInput, TaquinError
from taquin.puzzle.repair import fingerprint

BOARD = [1, 2, 3, 4, 5, 6, 8, 7, 0]
OTHER = [2, 1, 3, 4, 5, 6, 7, 0, 8]


def cells(board, **how):
    return puzzle.repair([board], "3x3", **how).cells[0].tolist()


def test_the_last_two_tiles_are_exchanged_unless_that_solves_the_board():
    assert cells(OTHER) == [6, 8]
    assert cells(BOARD) == [5, 7]
    assert cells(BOARD, pinned=[6]) == [4, 7]
    assert cells(OTHER, pinned=[8]) == [5, 6]


def test_the_gentle_exchange_changes_the_distance_least_and_is_the_last_such():
    # All exchanges change this board's distance by at least 2; only 1 and 2 would make it shorter, by as much.
    assert cells(OTHER, swap="gentle") == [6, 8]
    assert cells(OTHER, swap="gentle", pinned=[8]) == [3, 6]


def test_random_is_the_documented_hash():
    number = 0xCBF29CE484222325
    for label in OTHER:
        number = (number ^ label) * 0x100000001B3 % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    number ^= number >> 31
    for dtype in (np.uint8, np.int64, ">u2"):
        assert fingerprint(np.array([OTHER], dtype)).tolist() == [number]
    pairs = [(low, high) for high in range(1, 9) for low in range(1, high)]
    chosen = pairs[number % len(pairs)]
    assert cells(OTHER, swap="random") == sorted(OTHER.index(tile) for tile in chosen)


def test_a_pair_is_exchanged_in_either_order_and_not_if_it_is_pinned_or_solves_the_board():
    assert cells(OTHER, swap=(5, 4)) == cells(OTHER, swap=[4, 5]) == [3, 4]
    assert cells(OTHER, swap=(4, 5), pinned=[5]) == [-2, -2]
    assert cells(BOARD, swap=(7, 8)) == [-2, -2]
    assert "4 and 5, but 5 must stay" in puzzle.why_unrepairable(OTHER, "3x3", swap=(4, 5), pinned=[5])
    assert "7 and 8 would give the solved board" in puzzle.why_unrepairable(BOARD, "3x3", swap=(7, 8))


def test_where_too_few_tiles_may_move_the_reason_says_so():
    assert cells(BOARD, pinned=[1, 2, 3, 4, 5, 6]) == [-2, -2]
    why = puzzle.why_unrepairable(BOARD, "3x3", pinned=[1, 2, 3, 4, 5, 6])
    assert why == "Exchanging 7 and 8, the only tiles that may move, would give the solved board, which is no puzzle."
    why = puzzle.why_unrepairable(BOARD, "3x3", pinned=[1, 2, 3, 4, 5, 6, 7])
    assert why == "Two tiles must change places, but only 1 of 8 may move."
    why = puzzle.why_unrepairable([[3, 1, 2, 0]], "1x4")
    assert "never pass each other" in why


@pytest.mark.parametrize("board", [[1, 2, 3, 4, 5, 6, 7, 0, 8], OTHER])
def test_there_is_no_reason_for_what_needs_none(board):
    with pytest.raises(BadInput, match=r"can be (solved|repaired)"):
        puzzle.why_unrepairable(board, "3x3")


@pytest.mark.parametrize(
    "swap", [(1, 1), (0, 1), (1, 9), (1, 2, 3), "first", 3, None, (1, True), (1.0, 2), ("1", "2"), (1, -1)]
)
def test_what_is_no_swap_is_refused(swap):
    for board in (BOARD, [1, 2, 3, 4, 5, 6, 7, 8, 0]):
        with pytest.raises(BadInput, match=r"swap|exchanged"):
            puzzle.repair([board], "3x3", swap=swap)


@pytest.mark.parametrize("tile", [9, -1, True, 1.0, "1", None, 10**400])
def test_what_is_no_tile_cannot_be_pinned(tile):
    with pytest.raises(BadInput, match="pinned"):
        puzzle.repair([BOARD], "3x3", pinned=[tile])


def test_bad_boards_are_refused_or_kept_as_they_came():
    bad = [1, 1, 3, 4, 5, 6, 7, 999, -5]
    with pytest.raises(BadBoard) as caught:
        puzzle.repair([OTHER, bad], "3x3")
    assert caught.value.index == 1
    repaired = puzzle.repair([OTHER, bad], "3x3", bad="keep")
    assert repaired.cells.tolist() == [[6, 8], [-3, -3]]
    assert repaired.boards[1].tolist() == bad
    with pytest.raises(BadInput, match="keep"):
        puzzle.repair([OTHER], "3x3", bad="drop")


def test_what_came_in_is_not_touched_and_its_dtype_stays():
    for layout in (np.array([OTHER, BOARD], np.int32), np.asfortranarray(np.array([OTHER, BOARD], ">u2"))):
        before = layout.copy()
        layout.flags.writeable = False
        repaired = puzzle.repair(layout, "3x3")
        assert (layout == before).all()
        assert repaired.boards.dtype == layout.dtype
        assert (repaired.boards != before).sum() == 4


def test_with_equal_tiles_nothing_needs_repair():
    repaired = puzzle.repair([[2, 1, 1, 0], [1, 2, 0, 1]], "2x2", [1, 1, 2, 0])
    assert repaired.cells.tolist() == [[-1, -1], [-1, -1]]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param((7, 8), id="a slide"),
        pytest.param((0, 0), id="a tile with itself"),
        pytest.param((6, 7), id="what gives the goal"),
    ],
)
def test_the_second_check_stops_a_choice_that_repairs_nothing(monkeypatch, wrong):
    module = sys.modules[puzzle.repair.__module__]
    monkeypatch.setattr(module, "_choose", lambda rows, *_: np.tile(np.int32(wrong), (len(rows), 1)).T)
    with pytest.raises(TaquinError, match="second check"):
        puzzle.repair([BOARD], "3x3")
