"""The use cases: a request as it came in, an answer out. Plain functions: no Celery, no Redis.

A bad request is an answer with the status ``invalid``, never an exception.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from taquin import puzzle
from taquin.errors import BadInput
from taquin.messages import Answer, Problem, Request, Swap, pool_name

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from taquin.puzzle.shape import Shape

MAX_CELLS: Final = 1_024
"""The largest board that is looked at where no setting says otherwise, in cells."""


class Response(NamedTuple):
    """An answer, and the record of its board where that is to go into a pool: the pool's name and the record."""

    answer: Answer
    ready: tuple[str, bytes] | None = None


def respond(use_case: str, request: object, *, max_cells: int = MAX_CELLS) -> Response:
    """Answer a request as it came in, good or not.

    Args:
        use_case: ``validate``, which says whether the goal can be reached from the board; or ``repair``, which also
            mends an unsolvable board by swapping two tiles.
        request: a good one is an object as ``taquin.messages.Request`` describes.
        max_cells: the largest board that is looked at.
    """
    if not isinstance(request, dict):
        return Response(invalid("request", f"a request is an object with a board, not {_kind_of(request)}"))
    try:
        asked = Request.model_validate(request)
    except ValidationError as error:
        return Response(Answer(status="invalid", problems=_request_problems(error)))
    seen = puzzle.examine(asked.board, asked.goal, blank=asked.blank, max_cells=max_cells)
    if seen.findings or seen.shape is None or seen.board is None or seen.goal is None:
        found = [Problem(problem=f.problem, where=f.where, message=f.message) for f in seen.findings]
        return Response(Answer(status="invalid", problems=found))
    # The goal's name where it has one, since the evidence of a named goal speaks the textbook's words.
    goal = asked.goal if isinstance(asked.goal, str) else seen.goal
    answer = _USE_CASES[use_case](asked, seen.shape, seen.board, goal)
    board = answer.board
    if board is None:
        return Response(answer)
    if asked.difficulty:
        answer = answer.model_copy(update={"difficulty": puzzle.difficulty(board, seen.shape, goal)})
    return Response(answer, _ready(board, seen.shape, goal) if asked.pool else None)


def validate(request: object, *, max_cells: int = MAX_CELLS) -> Answer:
    """Say whether the goal can be reached from the board; see ``respond``."""
    return respond("validate", request, max_cells=max_cells).answer


def repair(request: object, *, max_cells: int = MAX_CELLS) -> Answer:
    """Say the same, and mend an unsolvable board by swapping two tiles; see ``respond``."""
    return respond("repair", request, max_cells=max_cells).answer


def work(kind: str, payload: bytes, *, max_cells: int = MAX_CELLS) -> Response:
    """Do one unit of the ledger's work: respond to a request in JSON.

    Args:
        kind: ``validate`` or ``repair``.
        payload: the request, UTF-8.
        max_cells: the largest board that is looked at.
    """
    try:
        request = json.loads(payload)
    except (ValueError, RecursionError):
        return Response(invalid("request", "the request is not JSON"))
    return respond(kind, request, max_cells=max_cells)


def invalid(where: str, message: str, problem: str = "bad_request") -> Answer:
    """Return the answer to a request in which one thing is wrong."""
    return Answer(status="invalid", problems=[Problem(problem=problem, where=where, message=message)])


def _ready(board: list[list[int]], shape: Shape, goal: Any) -> tuple[str, bytes] | None:
    from taquin.service.records import ready_records  # noqa: PLC0415  its tables are needed only for pools

    name = goal if isinstance(goal, str) else _rows(goal, shape)
    flat = puzzle.goal_board(board, shape)[None, :]
    for band, record in ready_records(flat, shape, name):
        return pool_name(shape.rows, shape.cols, band, name), record
    return None  # the solved board is no puzzle


def _verdict(_: Request, shape: Shape, board: NDArray[np.integer], goal: Any) -> Answer:
    evidence = puzzle.evidence(board, shape, goal, known_good=True)
    if evidence.solvable:
        return Answer(status="solvable", board=_rows(board, shape), evidence=evidence)
    return Answer(status="unsolvable", evidence=evidence)


def _mended(request: Request, shape: Shape, board: NDArray[np.integer], goal: Any) -> Answer:
    verdict = _verdict(request, shape, board, goal)
    if verdict.status == "solvable":
        return verdict
    swap = request.swap if isinstance(request.swap, str) else (request.swap[0], request.swap[1])
    try:
        repaired = puzzle.repair(board[None, :], shape, goal, swap=swap, pinned=tuple(request.pinned))
    except BadInput as error:
        return invalid("swap" if "pinned" not in str(error) else "pinned", str(error))
    cells = repaired.cells[0].tolist()
    if cells[0] < 0:
        why = puzzle.why_unrepairable(board, shape, goal, swap=swap, pinned=tuple(request.pinned))
        problem = Problem(problem="unrepairable", where="board", message=why)
        return verdict.model_copy(update={"problems": [problem]})
    first, second = cells
    return Answer(
        status="repaired",
        board=_rows(repaired.boards[0], shape),
        swap=Swap(
            cells=(divmod(first, shape.cols), divmod(second, shape.cols)),
            tiles=(int(board[first]), int(board[second])),
        ),
        evidence=verdict.evidence,
    )


_USE_CASES: Final[dict[str, Callable[[Request, Shape, NDArray[np.integer], Any], Answer]]] = {
    "validate": _verdict,
    "repair": _mended,
}


def _rows(board: NDArray[np.integer], shape: Shape) -> list[list[int]]:
    rows: list[list[int]] = board.reshape(shape).tolist()
    return rows


def _request_problems(error: ValidationError) -> list[Problem]:
    problems = []
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        # The members of a union come as parts of the place: `swap.list[...].0` is `swap[0]` to whoever sent it.
        head, *rest = found["loc"] or ("request",)
        where = str(head)[:80] + "".join(f"[{part}]" for part in rest if isinstance(part, int))
        message = "there is no such field" if found["type"] == "extra_forbidden" else found["msg"]
        problems.append(Problem(problem="bad_request", where=where, message=message))
    return problems[:20]


def _kind_of(value: object) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), f"a {type(value).__name__}")
