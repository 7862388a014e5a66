"""What is wrong with a board and a goal that came off the wire, whatever they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from taquin.puzzle.board import MAX_LABEL, resolve
from taquin.puzzle.problem import Finding, Problem
from taquin.puzzle.shape import GOALS, MAX_CELLS, Shape
from taquin.puzzle.wording import count, listed, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_FINDINGS: Final = 20
"""The most findings of one kind."""


@dataclass(frozen=True, eq=False, slots=True)
class Examination:
    """What was made of a board and a goal: each is there if nothing is wrong with it."""

    shape: Shape | None
    """The board's shape, if it is rectangular and not too large."""
    board: NDArray[Any] | None
    """The board, 0 for the blank: (cells,), of the goal's dtype."""
    goal: NDArray[Any] | None
    """The goal, 0 for the blank: (cells,), ``uint8`` or ``uint16``."""
    findings: tuple[Finding, ...]
    """Everything that is wrong, at most 20 findings of one kind, of which the last says how many more there are."""


def examine(value: object, goal: object = "blank-last", *, blank: object = 0, max_cells: int = 1024) -> Examination:
    """Say everything that is wrong with a board and a goal as JSON brought them; raises nothing, whatever they are.

    Args:
        value: the board; a good one is a list of rows, lists of whole numbers.
        goal: the name of a goal, or a board, as rows or flat.
        blank: how the blank is written in both: 0, None, ``""`` or another whole number, such as 16 on a 4x4 board.
        max_cells: the most cells that a board may have, at most 65,536; a larger one is not looked at any further.
    """
    notes = _Notes()
    if not (blank is None or blank == "" or _is_whole(blank)):
        notes.add(Problem.NOT_INTEGERS, "blank", f'A blank is written 0, null, "" or a number, not {shown(blank)}.')
        return Examination(None, None, None, notes.findings())
    most = min(max_cells, MAX_CELLS)
    board = _read("board", value, blank, most, notes)
    shape = board.shape if board else None
    target = _examine_goal(goal, shape, blank, most, notes)
    good = board is not None and _examine_labels(board, target, blank, notes, explicit=not isinstance(goal, str))
    labels = None
    if good and board and target is not None:
        labels = np.array([cell.label for cell in board.cells], target.dtype)
    return Examination(shape, labels, target, notes.findings())


class _Notes:
    """The findings so far, by kind."""

    def __init__(self) -> None:
        self._kept: dict[Problem, list[Finding]] = {}
        self._all: Counter[Problem] = Counter()

    def add(self, problem: Problem, where: str, message: str) -> None:
        self._all[problem] += 1
        kept = self._kept.setdefault(problem, [])
        if len(kept) < MOST_FINDINGS:
            kept.append(Finding(problem.label, where, message))

    def total(self) -> int:
        return self._all.total()

    def findings(self) -> tuple[Finding, ...]:
        for problem, kept in self._kept.items():
            more = self._all[problem] - len(kept)
            if more:
                kept[-1] = replace(kept[-1], message=f"{kept[-1].message} There are {more:,} more like this.")
        return tuple(finding for kept in self._kept.values() for finding in kept)


class _Cell(NamedTuple):
    where: str
    value: object
    label: int | None
    """The label, 0 for the blank; None if the value is no whole number."""


class _Grid(NamedTuple):
    name: str
    shape: Shape | None
    """None if it is not rectangular, or flat."""
    cells: list[_Cell]


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read(name: str, value: object, blank: object, most: int, notes: _Notes) -> _Grid | None:
    """Take a value apart into cells, looking at its size first; None if it has none or too many."""
    if not isinstance(value, list | tuple):
        notes.add(Problem.NOT_RECTANGULAR, name, f"A {name} must be a list of rows, not {shown(value)}.")
        return None
    if not value:
        notes.add(Problem.NOT_RECTANGULAR, name, f"The {name} has no rows.")
        return None
    size = len(value)
    if size <= most:
        size = sum(len(row) for row in value if isinstance(row, list | tuple))
    if size > most:
        notes.add(Problem.TOO_LARGE, name, f"The {name} has more than {most:,} cells, which is the most allowed.")
        return None
    if not any(isinstance(row, list | tuple) for row in value):
        if name == "board":
            notes.add(Problem.NOT_RECTANGULAR, name, "A board must be a list of rows, each a list of cells.")
            return None
        return _Grid(name, None, [_cell(f"{name}[{i}]", cell, blank) for i, cell in enumerate(value)])
    return _read_rows(name, value, blank, notes)


def _read_rows(name: str, rows: list[Any] | tuple[Any, ...], blank: object, notes: _Notes) -> _Grid:
    before = notes.total()
    width = next(len(row) for row in rows if isinstance(row, list | tuple))
    cells = []
    for i, row in enumerate(rows):
        where = f"{name}[{i}]"
        if not isinstance(row, list | tuple):
            notes.add(Problem.NOT_RECTANGULAR, where, f"A row must be a list of cells, not {shown(row)}.")
            continue
        if not row:
            notes.add(Problem.NOT_RECTANGULAR, where, "The row is empty.")
        elif len(row) != width:
            message = f"The row has {count(len(row), 'cell')}, but the first one has {width:,}."
            notes.add(Problem.NOT_RECTANGULAR, where, message)
        cells += [_cell(f"{where}[{j}]", cell, blank) for j, cell in enumerate(row)]
    return _Grid(name, Shape(len(rows), width) if notes.total() == before else None, cells)


def _cell(where: str, value: object, blank: object) -> _Cell:
    if isinstance(value, bool) or not isinstance(value, int):
        # Only null and the empty text can be blanks here; NaN and lists are compared with neither.
        is_blank = value is None if blank is None else isinstance(value, str) and value == blank
        return _Cell(where, value, 0 if is_blank else None)
    if value == blank:
        return _Cell(where, value, 0)
    # Where the blank is written otherwise, 0 is a number like any other, and no tile.
    return _Cell(where, value, int(value) or -1)


def _examine_goal(goal: object, shape: Shape | None, blank: object, most: int, notes: _Notes) -> NDArray[Any] | None:
    if isinstance(goal, str):
        if goal not in GOALS:
            message = f"A goal is {', '.join(GOALS)}, or a board, not {shown(goal)}."
            notes.add(Problem.GOAL_MISMATCH, "goal", message)
            return None
        return resolve(goal, shape).board if shape else None
    before = notes.total()
    grid = _read("goal", goal, blank, most, notes)
    if grid is None:
        return None
    if shape and notes.total() == before and grid.shape != shape and (grid.shape or len(grid.cells) != shape.cells):
        what = str(grid.shape) if grid.shape else count(len(grid.cells), "cell")
        notes.add(Problem.GOAL_MISMATCH, "goal", f"The goal must have the board's shape, {shape}, not {what}.")
    _examine_numbers(grid, MAX_LABEL, blank, notes)
    if shape is None or notes.total() > before:
        return None
    return resolve(np.array([cell.label for cell in grid.cells]), shape).board


def _examine_numbers(grid: _Grid, largest: int, blank: object, notes: _Notes) -> dict[int, list[str]]:
    """Look at each cell by itself, and at the blanks; give the places of each label."""
    tiles = f"the tiles are 1 to {largest:,}" if largest else "there are no tiles"
    places: dict[int, list[str]] = {}
    for where, value, label in grid.cells:
        if label is None:
            notes.add(Problem.NOT_INTEGERS, where, f"A cell must hold a whole number, not {shown(value)}.")
        elif not 0 <= label <= largest:
            why = f"the blank is written {shown(blank)}" if value == 0 else tiles
            notes.add(Problem.OUT_OF_RANGE, where, f"The cell holds {shown(value)}, but {why}.")
        else:
            places.setdefault(label, []).append(where)
    blanks = places.get(0, [])
    if not blanks:
        notes.add(Problem.NO_BLANK, grid.name, f"The {grid.name} has no blank ({shown(blank)}).")
    for where in blanks[1:]:
        notes.add(Problem.SEVERAL_BLANKS, where, f"There is another blank; the first one is at {blanks[0]}.")
    return places


def _examine_labels(board: _Grid, goal: NDArray[Any] | None, blank: object, notes: _Notes, *, explicit: bool) -> bool:
    """Hold the board against the goal, or against the usual tiles if there is no such goal; tell if it is good."""
    before = notes.total()
    if goal is None and (explicit or board.shape is None):
        # Nobody knows which tiles there should be, or how many.
        _examine_numbers(board, MAX_LABEL, blank, notes)
        return notes.total() == before and board.shape is not None
    wanted = Counter(range(len(board.cells)) if goal is None else goal.tolist())
    usual = len(wanted) == len(board.cells) and max(wanted) == len(board.cells) - 1
    places = _examine_numbers(board, len(board.cells) - 1 if usual else MAX_LABEL, blank, notes)
    missing = [tile for tile in sorted(wanted) if tile and len(places.get(tile, ())) < wanted[tile]]
    if missing:
        what = f"Tile {listed(missing)} is" if len(missing) == 1 else f"Tiles {listed(missing)} are"
        notes.add(Problem.MISSING_TILES, "board", f"{what} missing.")
    foreign = False
    for tile, where in places.items():
        if tile not in wanted:
            foreign = True
            for place in where:
                notes.add(Problem.GOAL_MISMATCH, place, f"{tile} is no tile of the goal.")
        elif tile:
            for place in where[wanted[tile] :]:
                notes.add(
                    Problem.DUPLICATE_TILES, place, f"Tile {tile} is here once more; it is at {where[0]} already."
                )
    good = notes.total() == before
    if explicit and not good and not foreign:
        notes.add(Problem.GOAL_MISMATCH, "board", "The board is no arrangement of the goal's tiles.")
    return good
