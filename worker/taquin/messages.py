"""THE CONTRACT: names on the wire, what is asked and what is answered.

JSON only. Fields are only ever added, never renamed or removed; a request with an unknown field is
answered ``invalid``. ``docs/reference/contract.md`` says the same for readers of other languages.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from taquin.puzzle.bands import Band, Difficulty  # noqa: TC001  pydantic reads the annotation at run time
from taquin.puzzle.evidence import Evidence  # noqa: TC001  pydantic reads the annotation at run time

VALIDATE: Final = "taquin.validate"
"""Task: takes one request object, answers through Celery's result backend."""
REPAIR: Final = "taquin.repair"
"""Task: takes one request object, answers through Celery's result backend."""
WORK: Final = "taquin.work"
"""Task: takes the id of a unit of work in the ledger; the answer is kept there."""

REQUEST_ID: Final = "request_id"
"""Header of a message: what the sender calls its own request, for the worker's log."""

INTERACTIVE: Final = "interactive"
"""Queue of single boards, for which somebody waits."""
BULK: Final = "bulk"
"""Queue of chunks."""
QUEUES: Final = (INTERACTIVE, BULK)

CHUNK: Final = "chunk"
"""The kind of a unit of work that is a chunk of a job; the kinds of the others are those of ``Kind``."""

MAX_REQUEST_BYTES: Final = 1_000_000
"""The largest request the ledger takes: 65,536 cells as JSON fit twice over."""

Status = Literal["solvable", "unsolvable", "repaired", "invalid"]
BOARD_OUTCOMES: Final = ("solvable", "unsolvable", "repaired", "invalid")
"""In the order in which chunks count them."""
Kind = Literal["validate", "repair"]
JobKind = Literal["validate", "repair", "generate"]
Form = Literal["u4", "u8", "u16"]
SwapRule = Literal["last", "gentle", "random"] | Annotated[list[int], Field(min_length=2, max_length=2)]


class Request(BaseModel):
    """One board and what to do with it.

    ``board`` and ``goal`` are taken as they came: ``taquin.puzzle.examine`` says everything that is wrong with them,
    where a model would stop at the first.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    board: Any = Field(description="Rows of whole numbers: tiles, and one blank.")
    goal: Any = Field("blank-last", description="blank-last, blank-first, snail, snake, or a board.")
    blank: int | Literal[""] | None = Field(0, description="How the blank is written in board and goal.")
    swap: SwapRule = Field("last", description="Which two tiles a repair swaps: a rule, or the two tiles.")
    pinned: list[int] = Field(default_factory=list, description="Tiles that a repair leaves where they are.")
    pool: bool = Field(
        default=False, description="Whether the board to serve goes into the pool of its shape and band."
    )

    difficulty: bool = Field(default=False, description="Whether the answer says how difficult that board is.")


class JobRequest(BaseModel):
    """What is to be done with every board of a job, or how its boards are generated.

    Chunk ``k`` of a job that generates is drawn from child ``k`` of ``seed`` (``taquin.puzzle.generate``), so that a
    chunk that runs twice gives the same boards; without a seed the job's id serves as one.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: JobKind
    rows: int = Field(ge=1)
    cols: int = Field(ge=1)
    goal: Any = Field("blank-last", description="A name, or a board as rows.")
    form: Form = Field(description="How the boards are packed (docs/reference/packed.md).")
    swap: SwapRule = "last"
    pinned: list[int] = Field(default_factory=list)
    pool: bool = Field(default=False, description="Whether the boards to serve go into the pools.")
    method: Literal["shuffle", "walk"] = "shuffle"
    steps: int | None = Field(None, ge=1, description="Moves of a walk.")
    band: Band | None = Field(None, description="The band that every generated board is in.")
    seed: str | None = Field(None, pattern="^[0-9]{1,39}$", description="128 bits, as a decimal number.")
    generator: str | None = Field(None, description="The version of the generator that the seed is meant for.")


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
    ``difficulty`` is that of the board to serve.
    """

    model_config = ConfigDict(frozen=True)

    status: Status
    board: list[list[int]] | None = None
    swap: Swap | None = None
    evidence: Evidence | None = None
    problems: list[Problem] = Field(default_factory=list)
    difficulty: Difficulty | None = None


def pool_name(rows: int, cols: int, band: str, goal: Any = "blank-last") -> str:
    """Name the pool of a shape, a band and a goal: ``4x4:hard``, ``3x3:easy:snail``, or the digest of a board."""
    if goal == "blank-last":
        return f"{rows}x{cols}:{band}"
    if not isinstance(goal, str):
        goal = "goal-" + blake2b(json.dumps(goal, separators=(",", ":")).encode(), digest_size=8).hexdigest()
    return f"{rows}x{cols}:{band}:{goal}"
