"""Ready boards as records: JSON that a backend in any language can hand to a player."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

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
    digest = blake2b(f"{shape}{goal_text}".encode(), digest_size=ID_BYTES)
    by_band: dict[int, list[str]] = {}
    rows_of = boards.reshape(-1, *shape).tolist()
    for board, rows, distance, band, moves in zip(boards, rows_of, distances, bands, exact, strict=True):
        id = digest.copy()
        id.update(board.tobytes())
        record = (
            f'{{"id":"{id.hexdigest()}","rows":{shape.rows},"cols":{shape.cols},'
            f'"board":{json.dumps(rows, separators=(",", ":"))},"goal":{goal_text},"band":"{BANDS[band]}",'
            f'"distance":{distance},"moves":{"null" if moves is None else moves}}}'
        )
        by_band.setdefault(band, []).append(record)
    return [(BANDS[band], "\n".join(records).encode()) for band, records in sorted(by_band.items())]
