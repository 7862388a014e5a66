"""THE CONTRACT: names on the wire, what is asked and what is answered.

JSON only. Fields are only ever added, never renamed or removed; a request with an unknown field is
answered ``invalid``. ``docs/reference/contract.md`` says the same for readers of other languages.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from taquin.puzzle.evidence import Evidence  # noqa: TC001  pydantic reads the annotation at run time

VALIDATE: Final = "taquin.validate"
"""Task: takes one request object, answers through Celery's result backend."""
REPAIR: Final = "taquin.repair"
"""Task: takes one request object, answers through Celery's result backend."""
WORK: Final = "taquin.work"
"""Task: takes the id of a unit of work in the ledger; the answer is kept there."""

INTERACTIVE: Final = "interactive"
"""Queue of single boards, for which somebody waits."""
BULK: Final = "bulk"
"""Queue of chunks."""
QUEUES: Final = (INTERACTIVE, BULK)

MAX_REQUEST_BYTES: Final = 1_000_000
"""The largest request the ledger takes: 65,536 cells as JSON fit twice over."""

Status = Literal["solvable", "unsolvable", "repaired", "invalid"]
Kind = Literal["validate", "repair"]


class Request(BaseModel):
    """One board and what to do with it.

    ``board`` and ``goal`` are taken as they came: ``taquin.puzzle.examine`` says everything that is wrong with them,
    where a model would stop at the first.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    board: Any = Field(description="Rows of whole numbers: tiles, and one blank.")
    goal: Any = Field("blank-last", description="blank-last, blank-first, snail, snake, or a board.")
    blank: int | Literal[""] | None = Field(0, description="How the blank is written in board and goal.")
    swap: Literal["last", "gentle", "random"] | Annotated[list[int], Field(min_length=2, max_length=2)] = Field(
        "last", description="Which two tiles a repair swaps: a rule, or the two tiles."
    )
    pinned: list[int] = Field(default_factory=list, description="Tiles that a repair leaves where they are.")


class Problem(BaseModel):
    """One thing that is wrong, where it is, and what to do."""

    model_config = ConfigDict(frozen=True)

    problem: str
    where: str
    message: str


class Swap(BaseModel):
    """The two cells (row and column, from 0) whose tiles were swapped, and the tiles that stood there before."""

    model_config = ConfigDict(frozen=True)

    cells: tuple[tuple[int, int], tuple[int, int]]
    tiles: tuple[int, int]


class Answer(BaseModel):
    """What the worker says of one board.

    ``board`` is the board to serve, 0 for its blank: the one that came if it is solvable, the mended one if it was
    repaired, none otherwise. ``evidence`` is that of the board that came; an invalid board has none.
    """

    model_config = ConfigDict(frozen=True)

    status: Status
    board: list[list[int]] | None = None
    swap: Swap | None = None
    evidence: Evidence | None = None
    problems: list[Problem] = Field(default_factory=list)
