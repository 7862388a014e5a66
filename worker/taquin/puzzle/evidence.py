"""The evidence for a verdict, in plain values that JSON can carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers that a verdict rests on, so that a person can check it by hand."""

    rule: Literal["inversions", "permutation", "order", "repeated"]
    """What decides: inversions (goal blank-last), the permutation to another goal, the order in a line, or nothing,
    since equal tiles make every board solvable."""
    solvable: bool
    """The verdict."""
    inversions: int | None = None
    """N, the pairs of tiles of which the larger comes first, the blank left out; for the rule ``inversions`` only."""
    blank: tuple[int, int]
    """The blank's row and column, counted from 0."""
    blank_row_from_top: int
    """The blank's row, the top one being 1."""
    blank_row_from_bottom: int
    """K, the blank's row, the bottom one being 1."""
    width: Literal["even", "odd"]
    """The parity of the number of columns."""
    permutation: Literal["even", "odd"] | None = None
    """The parity of the permutation that takes the board to the goal, the blank included."""
    blank_distance: int | None = None
    """How many steps the blank is from its place in the goal, in rows and columns."""
    sentence: str
    """The reasoning, for a person."""
