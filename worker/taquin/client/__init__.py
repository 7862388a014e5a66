"""What app backends import: ask for boards to be validated or repaired, and read the answers."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from taquin.carrier import Carrier
from taquin.client.inbox import Inbox
from taquin.connection import connect
from taquin.errors import BadInput, GaveUp, TimedOut, Unavailable
from taquin.ledger import Ledger
from taquin.messages import INTERACTIVE, MAX_REQUEST_BYTES, Answer, Kind
from taquin.puzzle.shape import parse_shape
from taquin.puzzle.text import parse_board
from taquin.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

READ_AGAIN: Final = 5.0
"""Seconds after which a wait reads the ledger though nobody told it anything: the word may have been lost."""

ID_MOST: Final = 200
"""Characters of an id."""

Board = Any
"""Rows of ints; a flat sequence of ints, with ``shape``; a NumPy array of either; or text (``taquin.puzzle.text``)."""


class Handle:
    """A board that was sent: ask for its answer when you like, also by ``client.answer(handle.id)`` from elsewhere."""

    def __init__(self, client: Client, id: str) -> None:
        """Belong to the client that sent the board."""
        self._client = client
        self.id = id

    def __repr__(self) -> str:
        """Show the id."""
        return f"Handle({self.id!r})"

    def ready(self) -> bool:
        """Whether ``answer`` would return (or raise ``GaveUp``) at once."""
        return self._client.ready(self.id)

    def answer(self, timeout: float | None = None) -> Answer:
        """Wait for the answer: see ``Client.answer``."""
        return self._client.answer(self.id, timeout)


class Client:
    """Sends boards to the workers and reads their answers. One client serves many threads; make one and keep it.

    Args:
        url: of Redis, for instance ``redis://127.0.0.1:6379/0``; ``TAQUIN_REDIS_URL`` where it is left out.
        timeout: seconds that a verb waits for its answer unless it is told otherwise.
        settings: everything else that can be set; read from the environment where it is left out.

    Every verb raises ``Unavailable`` when Redis does not answer, and ``Busy`` when it takes no more work.
    """

    def __init__(self, url: str | None = None, *, timeout: float = 10.0, settings: Settings | None = None) -> None:
        """Open nothing yet."""
        settings = settings or Settings()
        if url is not None:
            settings = Settings(**settings.model_dump(exclude={"redis_url"}), redis_url=url)
        self.timeout = timeout
        self._redis = connect(settings)
        self._ledger = Ledger(self._redis, settings)
        self._carrier = Carrier(settings)
        self._inbox = Inbox(settings)

    def validate(
        self,
        board: Board,
        *,
        goal: Board = "blank-last",
        blank: int | str | None = 0,
        shape: str | Sequence[int] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Ask whether ``goal`` can be reached from ``board``, and wait for the answer.

        A board that is no good is answered with the status ``invalid``; nothing is raised for it.

        Args:
            board: rows of ints; a flat sequence with ``shape``; a NumPy array of either form; or text.
            goal: ``blank-last``, ``blank-first``, ``snail``, ``snake``, or a board.
            blank: how the blank is written in ``board`` and ``goal``: 0, None, "", or a number.
            shape: rows and columns of a flat board, as ``(4, 4)`` or ``"4x4"``.
            timeout: seconds to wait.

        Raises:
            TimedOut: there is no answer yet; the message holds the id to ask for it by.
            GaveUp: the work failed at its last attempt.
            BadInput: the board cannot be put into JSON, or is too large to be sent.
        """
        return self.send_validate(board, goal=goal, blank=blank, shape=shape).answer(timeout)

    def repair(
        self,
        board: Board,
        *,
        goal: Board = "blank-last",
        swap: str | Sequence[int] = "last",
        pinned: Sequence[int] = (),
        blank: int | str | None = 0,
        shape: str | Sequence[int] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Ask the same, and have two tiles swapped where the goal cannot be reached; wait for the answer.

        Args:
            board: as for ``validate``.
            goal: as for ``validate``.
            swap: which two tiles: ``last``, ``gentle``, ``random``, or the two tiles.
            pinned: tiles that stay where they are.
            blank: as for ``validate``.
            shape: as for ``validate``.
            timeout: seconds to wait.

        Raises:
            TimedOut: there is no answer yet; the message holds the id to ask for it by.
            GaveUp: the work failed at its last attempt.
            BadInput: the board cannot be put into JSON, or is too large to be sent.
        """
        handle = self.send_repair(board, goal=goal, swap=swap, pinned=pinned, blank=blank, shape=shape)
        return handle.answer(timeout)

    def send_validate(
        self,
        board: Board,
        *,
        goal: Board = "blank-last",
        blank: int | str | None = 0,
        shape: str | Sequence[int] | None = None,
        id: str | None = None,
    ) -> Handle:
        """Send a board to be validated and return at once; the answer is safe to be asked for by its id.

        Args:
            board: as for ``validate``.
            goal: as for ``validate``.
            blank: as for ``validate``.
            shape: as for ``validate``.
            id: a name of your own for this request: sent twice, it is done once.

        Raises:
            BadInput: the board cannot be put into JSON, or is too large to be sent.
            Conflict: the id stands for another request.
        """
        return self._send("validate", _request(board, shape, goal=goal, blank=blank), id)

    def send_repair(
        self,
        board: Board,
        *,
        goal: Board = "blank-last",
        swap: str | Sequence[int] = "last",
        pinned: Sequence[int] = (),
        blank: int | str | None = 0,
        shape: str | Sequence[int] | None = None,
        id: str | None = None,
    ) -> Handle:
        """Send a board to be repaired and return at once; see ``repair`` and ``send_validate``."""
        swap = swap if isinstance(swap, str) else _plain(swap)
        request = _request(board, shape, goal=goal, swap=swap, pinned=_plain(pinned), blank=blank)
        return self._send("repair", request, id)

    def send(self, kind: Kind, request: Any, *, id: str | None = None) -> Handle:
        """Send a request object as it is (``taquin.messages.Request`` describes a good one); see ``send_validate``."""
        return self._send(kind, request, id)

    def ready(self, id: str) -> bool:
        """Whether the work of this id is settled.

        Raises:
            Unknown: no such work: it was never submitted, or its answer has expired.
        """
        return self._ledger.read(id).state in ("done", "dead")

    def answer(self, id: str, timeout: float | None = None) -> Answer:
        """Wait for the answer to the request of this id, whoever sent it.

        Args:
            id: of the request.
            timeout: seconds to wait; the client's own where it is left out.

        Raises:
            TimedOut: there is no answer yet; the work goes on.
            GaveUp: the work failed at its last attempt.
            Unknown: no such work: it was never submitted, or its answer has expired.
        """
        timeout = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        with self._inbox.expect(id) as told:
            self._ledger.watch(id, self._inbox.channel)
            while True:
                told.clear()
                record = self._ledger.read(id)
                if record.state == "done":
                    return Answer.model_validate_json(record.answer or b"")
                if record.state == "dead":
                    raise GaveUp(id, record.cause, record.error)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimedOut(
                        f"no answer to {id} within {timeout:g} s: is a worker running? "
                        f"The work goes on; ask again by client.answer({id!r})"
                    )
                told.wait(min(left, READ_AGAIN))

    def close(self) -> None:
        """Close every connection; what was sent goes on."""
        self._inbox.close()
        self._carrier.close()
        self._redis.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def _send(self, kind: Kind, request: Any, id: str | None) -> Handle:
        payload = _encode(request)
        id = uuid4().hex if id is None else _checked(id)
        if self._ledger.submit(id, kind, INTERACTIVE, payload):
            # The work is written down, which is what this call promises: a sweeper makes up for a lost message.
            with suppress(Unavailable):
                self._carrier.send(id, INTERACTIVE)
        return Handle(self, id)


def _request(board: Board, shape: str | Sequence[int] | None, **fields: Any) -> dict[str, Any]:
    goal = fields.pop("goal")
    known_goal = goal if isinstance(goal, str) and "\n" not in goal and "/" not in goal else _rows(goal, shape)
    return {"board": _rows(board, shape), "goal": known_goal, **fields}


def _rows(board: Board, shape: str | Sequence[int] | None) -> Any:
    """Return the board as rows where it can be one; what is no board goes as it is, to be answered ``invalid``."""
    if isinstance(board, str):
        return parse_board(board)
    board = _plain(board)
    if shape is None or not isinstance(board, list) or any(isinstance(cell, list) for cell in board):
        return board
    rows, cols = parse_shape(shape if isinstance(shape, str) else (shape[0], shape[1]))
    if len(board) != rows * cols:
        raise BadInput(f"a flat board of the shape {rows}x{cols} has {rows * cols} cells, this one has {len(board)}")
    return [board[row * cols : (row + 1) * cols] for row in range(rows)]


def _plain(value: Any) -> Any:
    """Return arrays and tuples as lists, and NumPy's numbers as ints, without importing NumPy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _encode(request: Any) -> bytes:
    try:
        payload = json.dumps(request, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"the board cannot be written as JSON: {error}; pass rows of ints, an array, or text") from None
    if len(payload) > MAX_REQUEST_BYTES:
        raise BadInput(f"the request takes {len(payload):,} bytes as JSON; at most {MAX_REQUEST_BYTES:,} are taken")
    return payload


def _checked(id: str) -> str:
    if not id or len(id) > ID_MOST or not id.isprintable() or " " in id:
        raise BadInput(f"an id is 1 to {ID_MOST} printable characters without spaces, not {id[:50]!r}")
    return id
