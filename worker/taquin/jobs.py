"""Jobs in the ledger: many boards submitted as one, chunk by chunk. The keys are described in ``jobs.lua``."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal

from taquin.connection import reporting
from taquin.errors import Conflict, Unknown
from taquin.script import Script, ms, refuse_overload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from taquin.settings import Settings

JobState = Literal["open", "sealed", "complete", "cancelled"]
OUTCOMES: Final = ("solvable", "unsolvable", "repaired", "invalid", "dead")


@dataclass(frozen=True, slots=True)
class JobRecord:
    """What the ledger knows of one job; counts are boards, times are seconds since 1970 by Redis's clock.

    When it is complete, solvable + unsolvable + repaired + invalid + dead = boards.
    """

    id: str
    state: JobState
    request: bytes
    chunks: int
    committed: int
    boards: int
    solvable: int
    unsolvable: int
    repaired: int
    invalid: int
    dead: int
    pooled: int
    created: float
    finished: float | None

    @property
    def done(self) -> int:
        """Boards with an outcome."""
        return self.solvable + self.unsolvable + self.repaired + self.invalid + self.dead


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """What the ledger knows of one chunk."""

    job: JobState
    """The state of its job."""
    boards: int | None
    """How many boards it holds; None if there is no such chunk, or not yet."""
    state: str | None
    """That of its unit of work; None once that is gone: committed, cancelled, or dead and dropped."""
    answer: bytes | None
    notes: bytes | None
    """What was noted of its lines that are no boards."""


class Jobs:
    """The jobs of one Redis. Threads may share it; every method raises ``Unavailable`` when Redis does not answer."""

    def __init__(self, redis: Redis, settings: Settings) -> None:
        """Open nothing yet."""
        self._redis = redis
        self._settings = settings
        self._prefix = settings.key_prefix
        self._call = Script(redis, settings)

    def open(self, job: str, request: bytes) -> bool:
        """Begin a job; True if it is new, False if the same was begun before.

        Raises:
            Conflict: the id stands for another request.
        """
        result = self._call("open", job, request, ms(self._settings.keep_answers))
        if result == b"conflict":
            raise _conflict(job)
        return bool(result == b"new")

    def add(
        self, job: str, k: int, boards: int, payload: bytes, notes: bytes = b"", *, repeatable: bool = True
    ) -> bool:
        """Write chunk ``k`` down; True if it is new, False if the same was added before.

        ``repeatable`` keeps a digest of the boards, by which a submission under the same key is told from another one;
        without it chunk ``k`` is taken to be the same.

        Raises:
            Conflict: chunk ``k`` of this job holds other boards, or the job takes no more.
            Busy: too much is waiting, or Redis is full; nothing was written.
            Unknown: the job was cancelled or has expired.
        """
        settings = self._settings
        digest = blake2b(payload + notes, digest_size=16).hexdigest() if repeatable else "-"
        again, most = ms(settings.resend_after), settings.max_waiting
        result = self._call("add", job, k, boards, payload, digest, notes, again, most)
        if result in {b"gone", b"cancelled"}:
            raise Unknown(f"job {job} takes no more boards: it was cancelled or has expired")
        if result in {b"conflict", b"sealed"}:
            raise _conflict(job)
        refuse_overload(result, settings)
        return bool(result == b"new")

    def seal(self, job: str, chunks: int, boards: int) -> None:
        """End the adding: the job is complete once every chunk is.

        Raises:
            Conflict: another number of chunks or boards was added.
            Unknown: the job was cancelled or has expired.
        """
        result = self._call("seal", job, chunks, boards)
        if result == b"conflict":
            raise _conflict(job)
        if result in {b"gone", b"cancelled"}:
            raise Unknown(f"job {job} was cancelled or has expired")

    def commit(
        self,
        chunk: str,
        answer: bytes,
        counts: tuple[int, int, int, int],
        filled: list[tuple[str, bytes]],
        *,
        stamp: str = "",
    ) -> bool:
        """Keep a chunk's answer with all that follows from it; False if it was settled before.

        Args:
            chunk: the id of the unit, ``<job>:<k>``.
            answer: what ``read_answer`` gives back.
            counts: boards that are solvable, unsolvable, repaired, invalid.
            filled: pools and the records that go into them, a line each.
            stamp: of the unit as it was begun; the answer to an earlier chunk of this id is dropped.
        """
        pools = [part for pool, records in filled for part in (pool, records)]
        return bool(self._call("commit", chunk, stamp, answer, *counts, *pools) == b"kept")

    def cancel(self, job: str) -> None:
        """Drop the chunks that are not done. What is done stays readable until it expires.

        Raises:
            Unknown: no such job.
            Conflict: it is complete.
        """
        result = self._call("cancel", job)
        if result == b"gone":
            raise _unknown(job)
        if result != b"cancelled":
            raise Conflict(f"job {job} cannot be cancelled: it is {result.decode()}")

    def discard(self, job: str) -> None:
        """Forget a job that was not sealed, as if it had never been begun."""
        self._call("discard", job)

    def watch(self, job: str, channel: str) -> None:
        """Have ``channel`` told (by PUBLISH, the id as the message) of every chunk and of the end.

        Raises:
            Unknown: no such job.
        """
        if self._call("watch_job", job, channel) == b"gone":
            raise _unknown(job)

    def read(self, job: str) -> JobRecord:
        """Return what is known of a job.

        Raises:
            Unknown: no such job: it was never submitted, or it has expired.
        """
        with reporting(self._settings):
            fields: Any = self._redis.hgetall(f"{self._prefix}job:{job}")
        return parse_job(job, fields)

    def read_chunk(self, job: str, k: int) -> ChunkRecord:
        """Return what is known of chunk ``k``, all of it of the same moment.

        Raises:
            Unknown: no such job: it was never submitted, or it has expired.
        """
        with reporting(self._settings), self._redis.pipeline(transaction=True) as pipe:
            pipe.hget(f"{self._prefix}job:{job}", "state")
            pipe.hget(f"{self._prefix}chunks:{job}", str(k))
            pipe.hget(f"{self._prefix}work:{job}:{k}", "state")
            pipe.hget(f"{self._prefix}answers:{job}", str(k))
            pipe.hget(f"{self._prefix}notes:{job}", str(k))
            of_job, chunk, state, answer, notes = pipe.execute()
        if of_job is None:
            raise _unknown(job)
        return ChunkRecord(
            job=of_job.decode(),
            boards=None if chunk is None else int(chunk.split()[0]),
            state=None if state is None else state.decode(),
            answer=answer,
            notes=notes,
        )

    def now(self) -> float:
        """Return the seconds since 1970 by Redis's clock, by which all times of the ledger are taken."""
        with reporting(self._settings):
            seconds, micros = self._redis.time()
        return float(seconds) + float(micros) / 1e6

    def all(self) -> Iterator[JobRecord]:
        """Iterate over the jobs, the newest first."""
        with reporting(self._settings):
            ids: Any = self._redis.zrevrange(f"{self._prefix}jobs", 0, -1)
        for id in ids:
            try:
                yield self.read(id.decode())
            except Unknown:  # expired: the list forgets it as well
                with reporting(self._settings):
                    self._redis.zrem(f"{self._prefix}jobs", id)


def parse_job(job: str, fields: dict[bytes, bytes]) -> JobRecord:
    """Read the hash of a job.

    Raises:
        Unknown: the hash is empty.
    """
    if not fields:
        raise _unknown(job)
    text = {name.decode(): value for name, value in fields.items()}
    counts = {name: int(text[name]) for name in ("chunks", "committed", "boards", *OUTCOMES, "pooled")}
    finished = text.get("finished")
    return JobRecord(
        id=job,
        state=text["state"].decode(),  # type: ignore[arg-type]
        request=text["request"],
        created=int(text["created"]) / 1000,
        finished=int(finished) / 1000 if finished else None,
        **counts,
    )


def _unknown(job: str) -> Unknown:
    return Unknown(f"there is no job {job}: it was never submitted, or it has expired")


def _conflict(job: str) -> Conflict:
    return Conflict(f"job {job} was already submitted with another request or other boards: use a new key")
