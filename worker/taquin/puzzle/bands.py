"""The classes of difficulty, and the difficulty of one board, in plain values that JSON can carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

Band: TypeAlias = Literal["easy", "medium", "hard", "expert"]

BANDS: Final[tuple[Band, ...]] = get_args(Band)
"""The bands from the easiest on; ``puzzle.band`` answers with indices into this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """How far one board is from the goal."""

    manhattan: int
    """The Manhattan distance: what the tiles would need if they did not stand in each other's way."""
    linear_conflict: int
    """The same, and two more for every tile that must leave its line to let another pass; at most ``moves``."""
    moves: int | None
    """The least number of moves that solve the board, on boards of up to 9 cells."""
    band: Band | None
    """The class of difficulty, on boards of up to 1,024 cells."""
