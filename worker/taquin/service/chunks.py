"""One chunk of a job: packed boards in, a status byte a board and the packed boards to serve out."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from taquin import puzzle
from taquin.messages import JobRequest, pool_name
from taquin.puzzle.packed import INVALID, REPAIRED, SOLVABLE, UNSOLVABLE, pack, unpack
from taquin.puzzle.shape import Shape
from taquin.service.records import ready_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS_A_CELL: Final = 10
"""Moves of a walk for each cell, where a request does not say."""


class ChunkAnswer(NamedTuple):
    """What is committed: the answer, boards by outcome (solvable, unsolvable, repaired, invalid), records by pool."""

    answer: bytes
    counts: tuple[int, int, int, int]
    filled: list[tuple[str, bytes]]


def chunk(asked: bytes, id: str, boards: int, payload: bytes) -> ChunkAnswer:
    """Do one chunk; a pure function, so that a chunk that runs twice gives the same answer.

    Args:
        asked: the job's request (``taquin.messages.JobRequest``), JSON.
        id: of the unit, ``<job>:<k>``.
        boards: how many boards the chunk holds.
        payload: the packed boards; empty if they are to be generated.

    Raises:
        BadInput: the payload is not that many boards, or no board is as the request wants it.
    """
    request = JobRequest.model_validate_json(asked)
    shape = Shape(request.rows, request.cols)
    if request.kind == "generate":
        served = _generate(request, shape, id, boards)
        statuses = np.full(boards, SOLVABLE, np.uint8)
    else:
        arrived = unpack(payload, shape.cells, request.form)
        served, statuses = _judge(request, shape, arrived)
    counts = np.bincount(np.minimum(statuses, INVALID), minlength=INVALID + 1)
    good = (statuses == SOLVABLE) | (statuses == REPAIRED)
    filled = _records(request, shape, served[good]) if request.pool else []
    answer = statuses.tobytes()
    if request.kind != "validate" and not (request.kind == "generate" and request.pool):
        if not good.all():
            # What must not be served is not there to be served.
            served = np.where(good[:, None], served, served.dtype.type(0))
        answer += pack(served, request.form)
    outcomes = (SOLVABLE, UNSOLVABLE, REPAIRED, INVALID)
    return ChunkAnswer(answer, tuple(int(counts[outcome]) for outcome in outcomes), filled)  # type: ignore[arg-type]


def _judge(request: JobRequest, shape: Shape, boards: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    problems, solvable = puzzle.check(boards, shape, request.goal)
    statuses = np.where(solvable, np.uint8(SOLVABLE), np.uint8(UNSOLVABLE))
    bad = problems != 0
    if bad.any():
        statuses[bad] = INVALID | problems[bad].astype(np.uint8)
    if request.kind == "validate":
        return boards, statuses
    swap = request.swap if isinstance(request.swap, str) else (request.swap[0], request.swap[1])
    repaired = puzzle.repair(boards, shape, request.goal, swap=swap, pinned=tuple(request.pinned), bad="keep")
    statuses[repaired.cells[:, 0] >= 0] = REPAIRED
    return repaired.boards, statuses


def _generate(request: JobRequest, shape: Shape, id: str, boards: int) -> NDArray[Any]:
    job, _, k = id.rpartition(":")
    # A job without a seed, such as one that tops a pool up, has one of its own all the same.
    seed = int(request.seed) if request.seed else int.from_bytes(blake2b(job.encode(), digest_size=16).digest(), "big")
    child = puzzle.child_seed(seed, int(k))
    if request.band is not None:
        return puzzle.in_band(shape, boards, request.band, seed=child, goal=request.goal)
    if request.method == "walk":
        steps = request.steps or STEPS_A_CELL * shape.cells
        return puzzle.walk(shape, boards, steps, seed=child, goal=request.goal)
    return puzzle.shuffle(shape, boards, seed=child, goal=request.goal)


def _records(request: JobRequest, shape: Shape, boards: NDArray[Any]) -> list[tuple[str, bytes]]:
    return [
        (pool_name(shape.rows, shape.cols, band, request.goal), records)
        for band, records in ready_records(boards, shape, request.goal)
    ]
