"""What can be wrong with a board, and a finding: one such problem, where it is, and a sentence about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag


class Problem(IntFlag):
    """Everything that can be wrong with a board; a board may have several problems at once.

    The first six can occur in an array of whole numbers, the last three only in what comes off the wire.
    """

    OUT_OF_RANGE = 1
    """A number that is no label: not one of 0..cells-1, or of 0..65,535 where the goal has other labels than those."""
    DUPLICATE_TILES = 2
    """A tile that stands more often than in the goal."""
    MISSING_TILES = 4
    """A tile that stands less often than in the goal."""
    NO_BLANK = 8
    """Not one 0."""
    SEVERAL_BLANKS = 16
    """More than one 0."""
    GOAL_MISMATCH = 32
    """The goal was given as a board, and this board is no arrangement of its labels."""
    NOT_RECTANGULAR = 64
    """Not rows of equal length."""
    NOT_INTEGERS = 128
    """A cell that is no whole number (``true`` and ``1.0`` are none either)."""
    TOO_LARGE = 256
    """More cells than allowed."""

    @property
    def label(self) -> str:
        """The contract's name of a single problem, such as ``out_of_range``."""
        return (self.name or "").lower()


def problem_names(problems: int) -> tuple[str, ...]:
    """Name all problems in a value of flags in the contract's words, such as ``("no_blank", "missing_tiles")``."""
    return tuple(problem.label for problem in Problem if problem & problems)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with what came in."""

    problem: str
    """The contract's name of the problem, such as ``out_of_range``."""
    where: str
    """What it is about: ``board``, ``board[1]`` (a row), ``board[1][2]`` (a cell), or the same of ``goal``."""
    message: str
    """One sentence for a person."""
