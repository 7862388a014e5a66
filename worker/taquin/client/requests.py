"""From what an app holds to what goes on the wire: boards as rows, requests as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from taquin.errors import BadInput
from taquin.messages import MAX_REQUEST_BYTES
from taquin.puzzle.shape import GOALS, parse_shape
from taquin.puzzle.text import parse_board

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taquin.puzzle.shape import Shape

ID_MOST: Final = 200
"""Characters of an id."""

Board = Any
"""Rows of ints; a flat sequence of ints, with ``shape``; a NumPy array of either; or text (``taquin.puzzle.text``)."""
ShapeLike = Any
"""``"4x4"`` or ``(4, 4)``."""


def request(board: Board, shape: ShapeLike | None, goal: Board, **fields: Any) -> dict[str, Any]:
    """Return the request object for one board."""
    return {"board": rows(board, shape), "goal": goal_rows(goal, shape), **fields}


def goal_rows(goal: Board, shape: ShapeLike | None) -> Any:
    """Return a goal's name as it is, and a board as rows."""
    named = isinstance(goal, str) and not any(mark in goal for mark in " /,\n")
    return goal if named else rows(goal, shape)


def rows(board: Board, shape: ShapeLike | None) -> Any:
    """Return the board as rows where it can be one; what is no board goes as it is, to be answered ``invalid``."""
    if isinstance(board, str):
        return parse_board(board)
    board = plain(board)
    if shape is None or not isinstance(board, list) or any(isinstance(cell, list) for cell in board):
        return board
    rows, cols = shape_of(shape)
    if len(board) != rows * cols:
        raise BadInput(f"a flat board of the shape {rows}x{cols} has {rows * cols} cells, this one has {len(board)}")
    return [board[row * cols : (row + 1) * cols] for row in range(rows)]


def shape_of(shape: ShapeLike) -> Shape:
    """Read a shape; raises BadShape."""
    return parse_shape(shape if isinstance(shape, str) else tuple(shape))


def plain(value: Any) -> Any:
    """Return arrays and tuples as lists, and NumPy's numbers as ints, without importing NumPy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def encode(request: Any) -> bytes:
    """Return a request as JSON; raises BadInput if it cannot be, or is too large."""
    try:
        payload = json.dumps(request, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"the board cannot be written as JSON: {error}; pass rows of ints, an array, or text") from None
    if len(payload) > MAX_REQUEST_BYTES:
        raise BadInput(f"the request takes {len(payload):,} bytes as JSON; at most {MAX_REQUEST_BYTES:,} are taken")
    return payload


def checked_id(id: str, what: str = "an id") -> str:
    """Return an id of the caller's own; raises BadInput if it cannot be one."""
    if not isinstance(id, str) or not id or len(id) > ID_MOST or not id.isprintable() or " " in id:
        raise BadInput(f"{what} is 1 to {ID_MOST} printable characters without spaces, not {str(id)[:50]!r}")
    return id


def known_goal(goal: Board, shape: Shape) -> Any:
    """Return the goal of a job, a name or rows; raises BadGoal if it is none of that shape.

    A single board with a bad goal is answered; a job with one is refused before it is begun.
    """
    goal = goal_rows(goal, shape)
    if not (isinstance(goal, str) and goal in GOALS):
        from taquin.puzzle.board import goal_board  # noqa: PLC0415  NumPy, needed only now

        goal_board(goal, shape)
    return goal


def known_swap(swap: str | Sequence[int]) -> Any:
    """Return a rule's name as it is, and two tiles as a list."""
    return swap if isinstance(swap, str) else plain(swap)
