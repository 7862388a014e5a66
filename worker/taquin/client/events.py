"""The stream of events, read by a consumer group: a backend that was away picks up where it left off."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import ResponseError

from taquin.connection import reporting
from taquin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from taquin.settings import Settings

BATCH: Final = 100
"""Events read at once by who only looks."""
IN_HAND: Final = 10
"""Events that a consumer holds at once: few, since another takes them over when they take too long altogether."""
MIN_IDLE: Final = 3_600.0
"""Seconds after which an event that another consumer of the group holds is taken over."""
TAKE_OVER_EVERY: Final = 60.0
"""Seconds between two looks for such events."""
BLOCK: Final = 1.0
"""Seconds that one read waits."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: ``job.completed``, ``job.cancelled``, ``pool.low`` or ``task.dead``."""

    id: str
    """Its place in the stream, ``<milliseconds>-<number>``."""
    name: str
    fields: dict[str, str]
    """What it is about, such as ``job`` and its counts, or ``pool`` and how many boards are left."""


class Position:
    """Where a reader of the stream stands: first at what it has not acknowledged, then at what is new."""

    def __init__(
        self, timeout: float | None, settings: Settings, at: str = "0", *, min_idle: float | None = None
    ) -> None:
        """Start to read.

        Args:
            timeout: seconds without an event after which the reading is over; None goes on for ever.
            settings: of the client.
            at: the id after which to begin; ``>`` begins with what no consumer of the group was given.
            min_idle: seconds that another consumer must hold an event until it is taken over; None never does.

        Raises:
            BadInput: ``min_idle`` is no time.
        """
        if min_idle is not None and not min_idle > 0:
            raise BadInput(f"min_idle takes seconds above 0, or None, not {min_idle!r}")
        self._timeout, self._min_idle = timeout, min_idle
        self._looked = -math.inf
        # Well below the time after which a command without a reply counts as a broken connection.
        self._longest = min(BLOCK, settings.redis_timeout / 2)
        self._waited = 0.0
        self.at = at

    @property
    def block(self) -> int | None:
        """Milliseconds that the next read waits; None, which is not at all, for what is left over."""
        return None if self.at != ">" else max(1, round(1000 * self._seconds()))

    def min_idle(self) -> int | None:
        """Milliseconds since which others must hold what is to be taken over now; None if it is not time for that."""
        now = time.monotonic()
        if self._min_idle is None or now - self._looked < TAKE_OVER_EVERY:
            return None
        self._looked = now
        return max(1, round(self._min_idle * 1000))

    def took_over(self, reply: Any) -> None:
        """Take note of what XAUTOCLAIM JUSTID returned: what is held by this consumer now is read first."""
        if reply:
            self.at = "0"

    def over(self) -> bool:
        """Whether nothing came for long enough."""
        return self.at == ">" and self._seconds() <= 0

    def advance(self, events: list[Event]) -> None:
        """Take note of what a read returned."""
        if events:
            self._waited = 0.0
            self.at = events[-1].id if self.at != ">" else ">"
        else:
            self._waited += self._seconds() if self.at == ">" else 0.0
            self.at = ">"  # what was left over is done

    def _seconds(self) -> float:
        return self._longest if self._timeout is None else min(self._longest, self._timeout - self._waited)


def read_events(
    redis: Redis, settings: Settings, group: str, consumer: str, timeout: float | None, min_idle: float | None
) -> Iterator[Event]:
    """Iterate over the events that this consumer has not acknowledged, the oldest first, then over new ones.

    An event is acknowledged when the next one is asked for: one whose handling failed comes again at the next start,
    or goes to another consumer of the group once it has been idle for ``min_idle`` seconds.
    """
    stream, position = stream_of(settings), Position(timeout, settings, min_idle=min_idle)
    with reporting(settings), suppress_known_group():
        redis.xgroup_create(stream, group, id="0", mkstream=True)
    while not position.over():
        with reporting(settings):
            if idle := position.min_idle():
                position.took_over(redis.xautoclaim(stream, group, consumer, idle, count=IN_HAND, justid=True))
            reply = redis.xreadgroup(group, consumer, {stream: position.at}, count=IN_HAND, block=position.block)
        events = parse_events(reply)
        for event in events:
            yield event
            with reporting(settings):
                redis.xack(stream, group, event.id)
        position.advance(events)


def look_at_events(redis: Redis, settings: Settings, timeout: float | None) -> Iterator[Event]:
    """Iterate over all events that are kept, the oldest first, then over new ones; nothing is acknowledged."""
    position, last = Position(timeout, settings, at=">"), "0"
    while not position.over():
        with reporting(settings):
            reply = redis.xread({stream_of(settings): last}, count=BATCH, block=position.block)
        events = parse_events(reply)
        yield from events
        last = events[-1].id if events else last
        position.advance(events)


def stream_of(settings: Settings) -> str:
    """Name the stream."""
    return f"{settings.key_prefix}events"


@contextmanager
def suppress_known_group() -> Iterator[None]:
    """Let the making of a group pass that is there already; a new one begins with the oldest event that is kept."""
    try:
        yield
    except ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


def parse_events(reply: Any) -> list[Event]:
    """Read what XREADGROUP or XREAD returned, by either version of the protocol; trimmed events are passed over."""
    streams = reply.values() if isinstance(reply, dict) else [entries for _, entries in reply or []]
    events = []
    for entries in streams:
        flat = entries[0] if isinstance(reply, dict) and entries and isinstance(entries[0], list) else entries
        for id, fields in flat:
            if fields:
                text = {name.decode(): value.decode(errors="replace") for name, value in fields.items()}
                events.append(Event(id.decode(), text.pop("event", ""), text))
    return events
