"""The use cases: a request as it came in, an answer out. Plain functions: no Celery, no Redis.

A bad request is an answer with the status ``invalid``, never an exception.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from taquin import puzzle
from taquin.errors import BadInput
from taquin.messages import Answer, Problem, Request, Swap

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from taquin.puzzle.shape import Shape

MAX_CELLS: Final = 1_024
"""The largest board that is looked at where no setting says otherwise, in cells."""


def validate(request: object, *, max_cells: int = MAX_CELLS) -> Answer:
    """Say whether the goal can be reached from the board.

    Args:
        request: what came in; a good one is an object as ``taquin.messages.Request`` describes.
        max_cells: the largest board that is looked at.
    """
    return _answer(request, max_cells, _verdict)


def repair(request: object, *, max_cells: int = MAX_CELLS) -> Answer:
    """Say the same, and mend an unsolvable board by swapping two tiles.

    Args:
        request: what came in; a good one is an object as ``taquin.messages.Request`` describes.
        max_cells: the largest board that is looked at.
    """
    return _answer(request, max_cells, _mended)


USE_CASES: Final[dict[str, Callable[..., Answer]]] = {"validate": validate, "repair": repair}


def work(kind: str, payload: bytes, *, max_cells: int = MAX_CELLS) -> bytes:
    """Do one unit of the ledger's work: a request as JSON in, the answer as JSON out.

    Args:
        kind: ``validate`` or ``repair``.
        payload: the request, UTF-8.
        max_cells: the largest board that is looked at.
    """
    try:
        request = json.loads(payload)
    except (ValueError, RecursionError):
        answer = invalid("request", "the request is not JSON")
    else:
        answer = USE_CASES[kind](request, max_cells=max_cells)
    return answer.model_dump_json().encode()


def invalid(where: str, message: str, problem: str = "bad_request") -> Answer:
    """Return the answer to a request in which one thing is wrong."""
    return Answer(status="invalid", problems=[Problem(problem=problem, where=where, message=message)])


def _answer(
    raw: object, max_cells: int, then: Callable[[Request, Shape, NDArray[np.integer], NDArray[np.integer]], Answer]
) -> Answer:
    if not isinstance(raw, dict):
        return invalid("request", f"a request is an object with a board, not {_kind_of(raw)}")
    try:
        request = Request.model_validate(raw)
    except ValidationError as error:
        return Answer(status="invalid", problems=_request_problems(error))
    seen = puzzle.examine(request.board, request.goal, blank=request.blank, max_cells=max_cells)
    if seen.findings or seen.shape is None or seen.board is None or seen.goal is None:
        found = [Problem(problem=f.problem, where=f.where, message=f.message) for f in seen.findings]
        return Answer(status="invalid", problems=found)
    return then(request, seen.shape, seen.board, seen.goal)


def _verdict(request: Request, shape: Shape, board: NDArray[np.integer], goal: NDArray[np.integer]) -> Answer:
    evidence = puzzle.evidence(board, shape, _goal_name(request, goal))
    if evidence.solvable:
        return Answer(status="solvable", board=_rows(board, shape), evidence=evidence)
    return Answer(status="unsolvable", evidence=evidence)


def _mended(request: Request, shape: Shape, board: NDArray[np.integer], goal: NDArray[np.integer]) -> Answer:
    verdict = _verdict(request, shape, board, goal)
    if verdict.status == "solvable":
        return verdict
    swap = request.swap if isinstance(request.swap, str) else (request.swap[0], request.swap[1])
    wanted = _goal_name(request, goal)
    try:
        repaired = puzzle.repair(board[None, :], shape, wanted, swap=swap, pinned=tuple(request.pinned))
    except BadInput as error:
        return invalid("swap" if "pinned" not in str(error) else "pinned", str(error))
    cells = repaired.cells[0].tolist()
    if cells[0] < 0:
        why = puzzle.why_unrepairable(board, shape, wanted, swap=swap, pinned=tuple(request.pinned))
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


def _goal_name(request: Request, goal: NDArray[np.integer]) -> Any:
    """Return the goal's name where it has one, since the evidence of a named goal speaks the textbook's words."""
    return request.goal if isinstance(request.goal, str) else goal


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
