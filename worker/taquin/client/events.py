"""The stream of events, read by a consumer group: a backend that was away picks up where it left off."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import ResponseError

from taquin.connection import reporting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from taquin.settings import Settings

BATCH: Final = 100
"""Events read at once."""
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

    def __init__(self, timeout: float | None, settings: Settings, at: str = "0") -> None:
        """End after ``timeout`` seconds without an event; None goes on for ever."""
        self._timeout = timeout
        # Well below the time after which a command without a reply counts as a broken connection.
        self._longest = min(BLOCK, settings.redis_timeout / 2)
        self._waited = 0.0
        self.at = at

    @property
    def block(self) -> int | None:
        """Milliseconds that the next read waits; None, which is not at all, for what is left over."""
        return None if self.at != ">" else max(1, round(1000 * self._seconds()))

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


def read_events(redis: Redis, settings: Settings, group: str, consumer: str, timeout: float | None) -> Iterator[Event]:
    """Iterate over the events that this group has not acknowledged, the oldest first, then over new ones.

    An event is acknowledged when the next one is asked for: one whose handling failed comes again at the next start.
    """
    stream, position = stream_of(settings), Position(timeout, settings)
    with reporting(settings), suppress_known_group():
        redis.xgroup_create(stream, group, id="0", mkstream=True)
    while not position.over():
        with reporting(settings):
            reply = redis.xreadgroup(group, consumer, {stream: position.at}, count=BATCH, block=position.block)
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
