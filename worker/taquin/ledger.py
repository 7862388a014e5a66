"""What was asked, what is due, what is done, what is dead: the truth, where Celery is only the carrier.

Celery on Redis can lose a message that it has acknowledged (kombu issue 305): a worker takes it off the
list first and notes it as unacknowledged afterwards. So a unit of work is written down here before its
message is sent, and everything that happens to it is one atomic call of ``ledger.lua`` (which holds the
schema of the keys). A message that is lost, doubled, late or forged changes nothing:

- lost: the unit stays due, and ``sweep`` has it sent again;
- doubled: ``begin`` refuses work that is leased or settled;
- late: ``finish`` keeps the first answer only;
- forged: ``begin`` knows no such id.

A unit that kills, hangs or fails its worker is a dead letter after ``max_attempts``; one that was handed back by a
worker told to stop is not charged for it. Bytes on a queue that are no task are kept as dead letters of kind
``message``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import uuid4

import structlog

from taquin.connection import reporting
from taquin.errors import Conflict, Unknown
from taquin.script import Script, ms, refuse_overload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from taquin.settings import Settings

log = structlog.get_logger("taquin.ledger")

State = Literal["waiting", "running", "done", "dead"]

SWEEP_MOST: Final = 1_000
"""Units that are looked at in one call, so that a long list does not hold Redis up."""
SWEEPS_MOST: Final = 10
"""Such calls in one sweep."""
ERROR_MOST: Final = 2_000
"""Characters of an error that are kept."""
RETURNS_MOST: Final = 10
"""How often a unit may be handed back in order without being charged for an attempt."""
MESSAGE_MOST: Final = 10_000
"""Bytes of a message that are kept."""
MESSAGES_MOST: Final = 10_000
"""Dead letters from which on no more messages are kept, so that rubbish cannot fill Redis."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of work that has been begun: it is this attempt's until its lease is over."""

    id: str
    kind: str
    payload: bytes
    attempt: int
    token: str
    asked: bytes = b""
    """Of a chunk: the request of its job, JSON."""
    boards: int = 0
    """Of a chunk: how many boards it holds."""
    stamp: str = ""
    """Of a chunk: by which ``Jobs.commit`` knows it from a later one of the same id."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the ledger knows of one unit of work; times are seconds since 1970 by Redis's clock."""

    id: str
    kind: str
    queue: str
    state: State
    attempts: int
    payload: bytes
    answer: bytes | None
    cause: str
    error: str
    created: float
    settled: float | None


@dataclass(frozen=True, slots=True)
class Overdue:
    """A unit of work whose message has to be sent (again)."""

    id: str
    queue: str


class Ledger:
    """The ledger of one Redis. Threads may share it.

    Every method raises ``Unavailable`` when Redis does not answer.
    """

    def __init__(self, redis: Redis, settings: Settings, *, holder: str | None = None) -> None:
        """Open nothing yet. ``holder`` is who begins work here: the processes of one worker share a name."""
        self.holder = holder or uuid4().hex
        self._redis = redis
        self._settings = settings
        self._prefix = settings.key_prefix
        self._call = Script(redis, settings)

    def submit(self, id: str, kind: str, queue: str, payload: bytes) -> bool:
        """Write a unit down; True if it is new, False if the same was submitted before (a retry is safe).

        Raises:
            Conflict: the id stands for another request.
            Busy: too much is waiting, or Redis is full; nothing was written.
        """
        limit = self._settings.max_waiting
        result = self._call("submit", id, kind, queue, payload, ms(self._settings.resend_after), limit)
        if result == b"conflict":
            raise Conflict(f"{id} was already submitted with another request: use a new id")
        refuse_overload(result, self._settings)
        return bool(result == b"new")

    def begin(self, id: str, attempt: str = "") -> Unit | None:
        """Take the unit for one attempt, which is counted; None if there is nothing to do.

        ``attempt`` is a name of the attempt for those who call again when the reply was lost: it is the same attempt.
        """
        token = f"{self.holder}:{attempt or uuid4().hex}"
        settings = self._settings
        leases = [ms(settings.lease(queue)) for queue in ("interactive", "bulk")]
        reply = self._call("begin", id, token, *leases, settings.max_attempts)
        if reply[0] != b"run":
            log.info("work.dropped", id=id, because=reply[0].decode())
            return None
        return Unit(id, reply[1].decode(), reply[2], int(reply[3]), token, reply[4], int(reply[5]), reply[6].decode())

    def finish(self, id: str, answer: bytes, ready: tuple[str, bytes] | None = None) -> bool:
        """Keep the answer; False if the unit was settled before, in which case nothing changes.

        ``ready`` is a pool and the record of the board that goes into it.
        """
        return bool(self._call("finish", id, answer, ms(self._settings.keep_answers), *(ready or ())) == b"kept")

    def fail(self, unit: Unit, error: str) -> None:
        """Note that this attempt failed: another follows, or the unit is dead."""
        pause = self._settings.resend_after * unit.attempt
        self._call("fail", unit.id, unit.token, error[:ERROR_MOST], self._settings.max_attempts, ms(pause))

    def give_back(self, id: str, *, counts: bool) -> None:
        """Give up the lease that this holder has on a unit, if it has one: nobody works on it any more.

        ``counts`` says whether the attempt counts: it does when the work may have killed its process, and does not
        when the worker was told to stop (up to ``RETURNS_MOST`` times, since the work itself may be the cause).
        """
        settings = self._settings
        limits = (settings.max_attempts, RETURNS_MOST, ms(settings.resend_after))
        self._call("give_back", id, self.holder, int(counts), *limits)

    def keep(self, queue: str, message: bytes, cause: str) -> str | None:
        """Keep bytes that are no task as a dead letter; return its id, None if there are too many.

        Only the first ``MESSAGE_MOST`` bytes are kept.
        """
        id = f"message-{uuid4().hex}"
        cut = int(len(message) > MESSAGE_MOST)
        reply = self._call("keep", id, queue, message[:MESSAGE_MOST], cut, cause[:ERROR_MOST], MESSAGES_MOST)
        return id if reply == b"kept" else None

    def sweep(self, token: str) -> list[Overdue] | None:
        """Bury what has used up its attempts and name what must be sent again; None if another sweeper has its turn.

        ``token`` names the sweeper; its turn ends when it has not swept for a while.
        """
        settings = self._settings
        turn = max(5 * settings.sweep_every, 2.0)
        overdue: list[Overdue] = []
        for _ in range(SWEEPS_MOST):
            reply = self._call("sweep", token, ms(turn), SWEEP_MOST, settings.max_attempts, ms(settings.resend_after))
            if reply[0] != b"swept":
                return None
            names = [name.decode() for name in reply[2:]]
            overdue += [Overdue(id, queue) for id, queue in zip(names[::2], names[1::2], strict=True)]
            if int(reply[1]) < SWEEP_MOST or len(overdue) >= SWEEP_MOST:
                break
        return overdue

    def watch(self, id: str, channel: str) -> None:
        """Have ``channel`` told (by PUBLISH, the id as the message) when the unit is settled.

        Raises:
            Unknown: no such unit.
        """
        if self._call("watch", id, channel) == b"gone":
            raise _unknown(id)

    def read(self, id: str) -> Record:
        """Return what is known of a unit.

        Raises:
            Unknown: no such unit: it was never submitted, or it was answered and has expired.
        """
        with reporting(self._settings):
            fields: Any = self._redis.hgetall(f"{self._prefix}work:{id}")
        return parse_record(id, fields)

    def dead(self) -> Iterator[Record]:
        """Iterate over the dead letters, the oldest first."""
        with reporting(self._settings):
            ids: Any = self._redis.zrange(f"{self._prefix}dead", 0, -1)
        for id in ids:
            try:
                yield self.read(id.decode())
            except Unknown:
                continue  # dropped by somebody meanwhile

    def retry(self, id: str) -> None:
        """Give a dead letter its attempts anew; a sweeper sends it within a second or so.

        A message goes back to its queue as it came.

        Raises:
            Unknown: no such dead letter.
            Conflict: a message of which only the beginning was kept.
        """
        reply = self._call("retry", id)
        if reply == b"cut":
            raise Conflict(f"only the first {MESSAGE_MOST:,} bytes of {id} were kept: drop it, it cannot be sent again")
        if reply == b"expired":
            raise Unknown(f"the job of {id} was cancelled or has expired: drop the dead letter")
        if reply != b"retried":
            raise Unknown(f"there is no dead letter {id}")

    def drop(self, id: str) -> None:
        """Forget a dead letter for good.

        Raises:
            Unknown: no such dead letter.
        """
        if self._call("drop", id) != b"dropped":
            raise Unknown(f"there is no dead letter {id}")


def parse_record(id: str, fields: dict[bytes, Any]) -> Record:
    """Read the hash of a unit.

    Raises:
        Unknown: the hash is empty.
    """
    if not fields:
        raise _unknown(id)
    text = {name.decode(): value for name, value in fields.items()}
    settled = text.get("finished") or text.get("died")
    return Record(
        id=id,
        kind=text["kind"].decode(),
        queue=text["queue"].decode(),
        state=text["state"].decode(),
        attempts=int(text["attempts"]),
        payload=text["payload"],
        answer=text.get("answer"),
        cause=text.get("cause", b"").decode(),
        error=text.get("error", b"").decode(errors="replace"),
        created=int(text["created"]) / 1000,
        settled=int(settled) / 1000 if settled else None,
    )


def _unknown(id: str) -> Unknown:
    return Unknown(f"there is no work {id}: it was never submitted, or it was answered and has expired")
