"""What stands in Redis at one moment: queues, what is overdue or dead, pools, workers, memory.

Read by ``taquin stats``, ``taquin doctor`` and the metrics, in four round trips whatever is stored.

  P workers   hash: <host>:<pid> -> JSON, what a worker says of itself every few seconds; expires when none does
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from taquin.connection import reporting
from taquin.messages import QUEUES
from taquin.pools import PoolCount, Pools

if TYPE_CHECKING:
    from redis import Redis

    from taquin.settings import Settings

SEEN_EVERY: Final = 5.0
"""Seconds between two words of a worker."""
GONE_AFTER: Final = 30.0
"""Seconds without a word after which a worker counts as gone."""
MESSAGE_MOST: Final = 100_000
"""Bytes of a message that is looked into for the age of its work."""


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue: its messages, and for how many seconds the work of the oldest has waited (None: not known)."""

    name: str
    waiting: int
    oldest: float | None
    sent: int
    """Messages for units of the ledger that were ever sent here; the difference of two surveys is a rate."""
    begun: int
    """The number of the last of them that was begun."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker says of itself; times are seconds since 1970 by Redis's clock."""

    name: str
    version: str
    queues: list[str]
    concurrency: int
    in_hand: int
    started: float
    seen: float
    skew: float
    """Seconds that its clock is ahead of Redis's."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything at one moment."""

    time: float
    queues: list[Queue]
    unfinished: int
    """Units of the ledger that are neither done nor dead."""
    overdue: int
    """Those that it is time to look at again; a sweeper does so within a second or two."""
    overdue_by: float
    """Seconds since the first of them was due."""
    dead: int
    pools: list[PoolCount]
    workers: list[Worker]
    memory: int
    """Bytes that Redis uses."""
    memory_limit: int
    """Bytes that it may use; 0 is no limit."""


def take_survey(redis: Redis, settings: Settings) -> Survey:
    """Read it all.

    Raises:
        Unavailable: Redis does not answer, or its user may not read this.
    """
    prefix = settings.key_prefix
    with reporting(settings):
        read: Any = redis.pipeline(transaction=False)
        read.time()
        for queue in QUEUES:
            read.llen(queue).lindex(queue, -1)
        read.zcard(f"{prefix}due").zrange(f"{prefix}due", 0, 0, withscores=True).zcard(f"{prefix}dead")
        read.hmget(f"{prefix}queues", [f"{queue}:{field}" for field in ("sent", "begun") for queue in QUEUES])
        read.hgetall(f"{prefix}workers").info("memory")
        clock, *ends, unfinished, due, dead, numbers, workers, memory = read.execute()
        now = clock[0] + clock[1] / 1e6
        overdue: Any = redis.zcount(f"{prefix}due", "-inf", round(now * 1000))
        tails = [_unit_of(message) for message in ends[1::2]]
        read = redis.pipeline(transaction=False)
        for id in tails:
            read.hmget(f"{prefix}work:{id}", "state", "created")
        units = read.execute()
    ages = [now - int(created) / 1000 if state == b"waiting" else None for state, created in units]
    return Survey(
        time=now,
        queues=[
            Queue(name, length, _age(length, age), int(sent or 0), int(begun or 0))
            for name, length, age, sent, begun in zip(
                QUEUES, ends[::2], ages, numbers[: len(QUEUES)], numbers[len(QUEUES) :], strict=True
            )
        ],
        unfinished=unfinished,
        overdue=overdue,
        overdue_by=max(0.0, now - due[0][1] / 1000) if due else 0.0,
        dead=dead,
        pools=Pools(redis, settings).counts(),
        workers=sorted(_workers(workers, now), key=lambda worker: worker.name),
        memory=memory["used_memory"],
        memory_limit=memory["maxmemory"],
    )


def seen_workers(redis: Redis, settings: Settings) -> list[Worker]:
    """Read which workers are there.

    Raises:
        Unavailable: Redis does not answer, or its user may not read this.
    """
    with reporting(settings):
        read: Any = redis.pipeline(transaction=False)
        clock, known = read.time().hgetall(f"{settings.key_prefix}workers").execute()
    return _workers(known, clock[0] + clock[1] / 1e6)


def announce(redis: Redis, settings: Settings, worker: Worker) -> None:
    """Write down what a worker says of itself, and forget those that say nothing any more."""
    key = f"{settings.key_prefix}workers"
    with reporting(settings):
        known: Any = redis.hgetall(key)
        write: Any = redis.pipeline(transaction=False)
        write.hset(key, worker.name, json.dumps(asdict(worker))).pexpire(key, int(2_000 * GONE_AFTER))
        gone = {name.decode() for name in known} - {other.name for other in _workers(known, worker.seen)}
        if gone - {worker.name}:
            write.hdel(key, *(gone - {worker.name}))
        write.execute()


def withdraw(redis: Redis, settings: Settings, name: str) -> None:
    """Forget a worker that ends."""
    with reporting(settings):
        redis.hdel(f"{settings.key_prefix}workers", name)


def _workers(known: dict[bytes, bytes], now: float) -> list[Worker]:
    workers = []
    for said in known.values():
        try:
            worker = Worker(**json.loads(said))
        except (ValueError, TypeError):  # of another release, whose words are other ones
            continue
        if now - worker.seen <= GONE_AFTER:
            workers.append(worker)
    return workers


def _age(length: int, age: float | None) -> float | None:
    if not length:
        return 0.0
    return None if age is None else max(0.0, age)


def _unit_of(message: bytes | None) -> str:
    """Return the id that a message carries; an empty string if it carries none."""
    if message is None or len(message) > MESSAGE_MOST:
        return ""
    try:
        return str(json.loads(message)["headers"]["id"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
