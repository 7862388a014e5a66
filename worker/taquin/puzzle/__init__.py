"""The mathematics of sliding puzzles, on arrays: which boards can be solved, why, and how to repair the others.

Nothing is imported before it is used, so a program that only needs shapes, texts or evidence never loads NumPy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from taquin.puzzle.bands import BANDS, Band, Difficulty
    from taquin.puzzle.board import goal_board
    from taquin.puzzle.difficulty import band, band_limits, difficulty, linear_conflict, manhattan, moves
    from taquin.puzzle.evidence import Evidence
    from taquin.puzzle.examine import Examination, examine
    from taquin.puzzle.generate import GENERATOR_VERSION, child_seed, in_band, new_seed, shuffle, walk
    from taquin.puzzle.packed import Form, form_for, pack, packed_size, unpack
    from taquin.puzzle.parity import Checked, check, evidence, problems, solvable
    from taquin.puzzle.problem import Finding, Problem, problem_names
    from taquin.puzzle.repair import Repaired, repair, why_unrepairable
    from taquin.puzzle.shape import GOALS, GoalName, Shape, parse_shape
    from taquin.puzzle.text import TextBoard, format_board, parse_board, parse_boards

__all__ = [
    "BANDS",
    "GENERATOR_VERSION",
    "GOALS",
    "Band",
    "Checked",
    "Difficulty",
    "Evidence",
    "Examination",
    "Finding",
    "Form",
    "GoalName",
    "Problem",
    "Repaired",
    "Shape",
    "TextBoard",
    "band",
    "band_limits",
    "check",
    "child_seed",
    "difficulty",
    "evidence",
    "examine",
    "form_for",
    "format_board",
    "goal_board",
    "in_band",
    "linear_conflict",
    "manhattan",
    "moves",
    "new_seed",
    "pack",
    "packed_size",
    "parse_board",
    "parse_boards",
    "parse_shape",
    "problem_names",
    "problems",
    "repair",
    "shuffle",
    "solvable",
    "unpack",
    "walk",
    "why_unrepairable",
]

_HOMES: Final = {
    "bands": ("BANDS", "Band", "Difficulty"),
    "board": ("goal_board",),
    "difficulty": ("band", "band_limits", "difficulty", "linear_conflict", "manhattan", "moves"),
    "evidence": ("Evidence",),
    "examine": ("Examination", "examine"),
    "generate": ("GENERATOR_VERSION", "child_seed", "in_band", "new_seed", "shuffle", "walk"),
    "packed": ("Form", "form_for", "pack", "packed_size", "unpack"),
    "parity": ("Checked", "check", "evidence", "problems", "solvable"),
    "problem": ("Finding", "Problem", "problem_names"),
    "repair": ("Repaired", "repair", "why_unrepairable"),
    "shape": ("GOALS", "GoalName", "Shape", "parse_shape"),
    "text": ("TextBoard", "format_board", "parse_board", "parse_boards"),
}
_HOME: Final = {name: home for home, names in _HOMES.items() for name in names}


class _Package(ModuleType):
    """Keeps ``puzzle.repair`` the function: importing the submodule of that name would put itself in its place."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
