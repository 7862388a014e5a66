"""One board at a time: send it, wait for its answer."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from taquin.client.core import Core, pause
from taquin.client.requests import Board, checked_id, encode, known_swap, plain, request
from taquin.errors import GaveUp, TimedOut, Unavailable
from taquin.messages import INTERACTIVE, Answer, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taquin.ledger import Record


class Handle:
    """A board that was sent: ask for its answer when you like, also by ``client.answer(handle.id)`` from elsewhere."""

    def __init__(self, client: BoardVerbs, id: str) -> None:
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


class BoardVerbs(Core):
    """The verbs for single boards."""

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
        to_pool: bool = False,
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
            to_pool: whether the board to serve goes into the pool of its shape and band as well.
            blank: as for ``validate``.
            shape: as for ``validate``.
            timeout: seconds to wait.

        Raises:
            TimedOut: there is no answer yet; the message holds the id to ask for it by.
            GaveUp: the work failed at its last attempt.
            BadInput: the board cannot be put into JSON, or is too large to be sent.
        """
        handle = self.send_repair(board, goal=goal, swap=swap, pinned=pinned, to_pool=to_pool, blank=blank, shape=shape)
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
        return self._send("validate", request(board, shape, goal, blank=blank), id)

    def send_repair(
        self,
        board: Board,
        *,
        goal: Board = "blank-last",
        swap: str | Sequence[int] = "last",
        pinned: Sequence[int] = (),
        to_pool: bool = False,
        blank: int | str | None = 0,
        shape: str | Sequence[int] | None = None,
        id: str | None = None,
    ) -> Handle:
        """Send a board to be repaired and return at once; see ``repair`` and ``send_validate``."""
        fields = {"swap": known_swap(swap), "pinned": plain(pinned), "blank": blank}
        if to_pool:
            fields["pool"] = True
        return self._send("repair", request(board, shape, goal, **fields), id)

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
                answer = answer_of(self._ledger.read(id))
                if answer is not None:
                    return answer
                told.wait(pause(deadline, lambda: no_answer(id, timeout)))

    def _send(self, kind: Kind, request: Any, id: str | None) -> Handle:
        payload = encode(request)
        id = uuid4().hex if id is None else checked_id(id)
        if self._ledger.submit(id, kind, INTERACTIVE, payload):
            # The work is written down, which is what this call promises: a sweeper makes up for a lost message.
            with suppress(Unavailable):
                self._carrier.send(id, INTERACTIVE)
        return Handle(self, id)


def answer_of(record: Record) -> Answer | None:
    """Return the answer that a record holds, None if the work is not settled; raises GaveUp if it is dead."""
    if record.state == "dead":
        raise GaveUp(record.id, record.cause, record.error)
    return Answer.model_validate_json(record.answer or b"") if record.state == "done" else None


def no_answer(id: str, timeout: float) -> TimedOut:
    """Say that there is no answer yet."""
    return TimedOut(
        f"no answer to {id} within {timeout:g} s: is a worker running on the queue interactive? "
        f"The work goes on: send it again with a longer timeout, or in Python wait on by client.answer({id!r})"
    )
