"""Ready boards as records: JSON that a backend in any language can hand to a player."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from taquin import puzzle
from taquin.puzzle.bands import BANDS
from taquin.puzzle.tables import MOVES_CELLS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from taquin.puzzle.shape import Shape

ID_BYTES: Final = 12
"""Bytes of a record's id, a digest of the board and its goal: the same board is the same record, always."""


def ready_records(boards: NDArray[Any], shape: Shape, goal: Any) -> list[tuple[str, bytes]]:
    """Give the pools of these boards, each with its records, a line each.

    Args:
        boards: (n, cells) boards from which the goal can be reached; the goal itself is left out, being solved.
        shape: of the boards.
        goal: a name, or a board as rows.

    Returns:
        pairs of a band and the records that belong into its pool.
    """
    goal_cells = puzzle.goal_board(goal, shape)
    boards = boards[(boards != goal_cells).any(axis=1)]
    distances = puzzle.linear_conflict(boards, shape, goal).tolist()
    bands = puzzle.band(boards, shape, goal).tolist()
    exact = puzzle.moves(boards, shape, goal).tolist() if shape.cells <= MOVES_CELLS else [None] * len(boards)
    goal_text = json.dumps(goal, separators=(",", ":"))
    start = blake2b(f"{shape}{goal_text}".encode(), digest_size=ID_BYTES)
    template = _template(shape, goal_text)
    by_band: dict[int, list[str]] = {}
    # The digest is of the bytes of a board, as many for each label as its array has: they are part of the id for good.
    whole = np.ascontiguousarray(boards).view(f"V{boards.dtype.itemsize * shape.cells}").ravel()
    columns = boards.tolist(), whole.tolist(), distances, bands, exact
    for cells, data, distance, band, moves in zip(*columns, strict=True):
        digest = start.copy()
        digest.update(data)
        id, known = digest.hexdigest(), "null" if moves is None else moves
        by_band.setdefault(band, []).append(template % (id, *cells, BANDS[band], distance, known))
    return [(BANDS[band], "\n".join(records).encode()) for band, records in sorted(by_band.items())]


def _template(shape: Shape, goal_text: str) -> str:
    """Return the record of a shape and goal, to be filled with id, cells, band, distance and moves."""
    row = f"[{','.join(['%d'] * shape.cols)}]"
    board = f"[{','.join([row] * shape.rows)}]"
    goal_text = goal_text.replace("%", "%%")
    return (
        f'{{"id":"%s","rows":{shape.rows},"cols":{shape.cols},"board":{board},"goal":{goal_text},"band":"%s",'
        f'"distance":%d,"moves":%s}}'
    )
