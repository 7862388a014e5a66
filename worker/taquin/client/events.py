"""The stream of events, read by a consumer group: a backend that was away picks up where it left off."""

from __future__ import annotations

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


def read_events(redis: Redis, settings: Settings, group: str, consumer: str, timeout: float | None) -> Iterator[Event]:
    """Iterate over the events that this group has not acknowledged, the oldest first, then over new ones.

    An event is acknowledged when the next one is asked for: one whose handling failed comes again at the next start.
    """
    stream = f"{settings.key_prefix}events"
    make_group(redis, settings, stream, group)
    position, waited = "0", 0.0
    while True:
        block = BLOCK if timeout is None else min(BLOCK, timeout - waited)
        if position == ">" and block <= 0:
            return
        wait = round(block * 1000) if position == ">" else None
        with reporting(settings):
            reply = redis.xreadgroup(group, consumer, {stream: position}, count=BATCH, block=wait)
        events = parse_events(reply)
        if not events:
            waited += block if position == ">" else 0.0
            position = ">"  # what was left over is done
            continue
        waited = 0.0
        for event in events:
            yield event
            with reporting(settings):
                redis.xack(stream, group, event.id)
        position = events[-1].id if position != ">" else ">"


def make_group(redis: Redis, settings: Settings, stream: str, group: str) -> None:
    """Make the group if it is new; it begins with the oldest event that is kept."""
    with reporting(settings):
        try:
            redis.xgroup_create(stream, group, id="0", mkstream=True)
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
