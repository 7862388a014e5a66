"""Pools of ready boards in Redis: an app claims one for a player, then confirms or releases it.

The keys are described in ``pools.lua``. A ready board is handed out at most once; a claim whose lease is over
returns to its pool at the next claim.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from taquin.connection import reporting
from taquin.errors import Unknown
from taquin.script import Script, ms

if TYPE_CHECKING:
    from redis import Redis

    from taquin.settings import Settings

REFILL_CHUNK: Final = 1_000
"""Boards in one chunk of a job that tops a pool up: soon done, so that players do not wait."""


@dataclass(frozen=True, slots=True)
class ReadyBoard:
    """A board handed out to a player; ``claim`` ends or returns it."""

    claim: str
    id: str
    rows: int
    cols: int
    board: list[list[int]]
    goal: Any
    band: str
    distance: int
    moves: int | None


@dataclass(frozen=True, slots=True)
class PoolCount:
    """A pool: how many boards are ready, how many are claimed, and its water marks (None: not set)."""

    name: str
    ready: int
    claimed: int
    low: int | None
    high: int | None
    refills: bool


class Pools:
    """The pools of one Redis. Threads may share it; every method raises ``Unavailable`` when Redis does not answer."""

    def __init__(self, redis: Redis, settings: Settings) -> None:
        """Open nothing yet."""
        self._redis = redis
        self._settings = settings
        self._prefix = settings.key_prefix
        self._call = Script(redis, settings)

    def claim(self, pool: str, lease: float) -> ReadyBoard | None:
        """Take one board out of a pool for ``lease`` seconds; None if the pool is empty."""
        claim = uuid4().hex
        return parse_claim(claim, self._call("claim", pool, claim, ms(lease)))

    def confirm(self, claim: str) -> None:
        """End a lease for good: the board is the player's.

        Raises:
            Unknown: the lease is over, and the board may be another player's by now.
        """
        if not self._call("confirm", claim):
            raise unknown_claim(claim)

    def release(self, claim: str) -> None:
        """Return a board to its pool.

        Raises:
            Unknown: the lease is over, and the board has returned by itself.
        """
        if not self._call("release", claim):
            raise unknown_claim(claim)

    def fill(self, pool: str, records: bytes, *, name: str = "") -> int:
        """Add records, a line each; return how many are new. Within an hour a ``name`` adds them once."""
        return int(self._call("fill", pool, records, name))

    def set_marks(self, pool: str, low: int, high: int, request: bytes) -> None:
        """Have the event ``pool.low`` written below ``low``, and with a request the pool topped up to ``high``."""
        self._call("set_marks", pool, low, high, request, ms(self._settings.keep_answers), REFILL_CHUNK)

    def counts(self) -> list[PoolCount]:
        """Count all pools that hold boards, have boards claimed, or have water marks."""
        with reporting(self._settings):
            marks: Any = self._redis.hgetall(f"{self._prefix}marks")
            claims: Any = self._redis.hvals(f"{self._prefix}claims")
            filled: Any = self._redis.smembers(f"{self._prefix}pools")
        marks = {name.decode(): value for name, value in marks.items()}
        claimed: dict[str, int] = {}
        for held in claims:
            pool = held.partition(b"\n")[0].decode()
            claimed[pool] = claimed.get(pool, 0) + 1
        marked = {name.removesuffix("|low") for name in marks if name.endswith("|low")}
        names = sorted({name.decode() for name in filled} | set(claimed) | marked)
        read: Any = self._redis.pipeline(transaction=False)
        for name in names:
            read.scard(f"{self._prefix}pool:{name}")
        with reporting(self._settings):
            sizes = read.execute()
        counts = []
        for name, ready in zip(names, sizes, strict=True):
            low, high = marks.get(f"{name}|low"), marks.get(f"{name}|high")
            counts.append(
                PoolCount(
                    name=name,
                    ready=ready,
                    claimed=claimed.get(name, 0),
                    low=int(low) if low else None,
                    high=int(high) if high else None,
                    refills=f"{name}|request" in marks,
                )
            )
        return counts


def parse_claim(claim: str, reply: Any) -> ReadyBoard | None:
    """Read the reply to a claim."""
    if len(reply) == 1:
        return None
    record = json.loads(reply[1])
    return ReadyBoard(claim, **{name: record.get(name) for name in ReadyBoard.__slots__ if name != "claim"})


def unknown_claim(claim: str) -> Unknown:
    """Say that a lease is over."""
    return Unknown(f"there is no claim {claim}: its lease is over, or it was confirmed or released before")
