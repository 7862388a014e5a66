"""Where waits are told that their work is settled: one subscription and one thread for all waits of a client."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from redis.exceptions import RedisError

from taquin.connection import connect, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis.client import PubSub

    from taquin.settings import Settings

LOOK_UP: Final = 1.0
"""Seconds that the thread listens before it looks whether it shall end."""
PAUSE: Final = 0.5
"""Seconds before it connects again after a broken connection."""


class Inbox:
    """Subscribes to one channel, at the first wait, and wakes the wait whose id comes in.

    A word that is lost while the connection is broken does no harm: after each reconnection all waits are woken to
    read the ledger again, which is what counts. After a fork the child subscribes anew.
    """

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self.channel = f"{self._settings.key_prefix}told:{uuid4().hex}"
        self._pid = os.getpid()
        self._waits: defaultdict[str, set[threading.Event]] = defaultdict(set)
        self._listener: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def expect(self, id: str) -> Iterator[threading.Event]:
        """Within this context the event is set whenever ``id`` may be settled.

        Raises:
            Unavailable: the subscription could not be made.
        """
        told = threading.Event()
        with self._lock:
            if self._pid != os.getpid():
                self._reset()
            if self._listener is None:
                self._listen()
            self._waits[id].add(told)
        try:
            yield told
        finally:
            with self._lock:
                self._waits[id].discard(told)
                if not self._waits[id]:
                    del self._waits[id]

    def close(self) -> None:
        """End the thread and the subscription."""
        with self._lock:
            listener, self._listener = self._listener, None
            self._closed.set()
        if listener is not None and self._pid == os.getpid():
            # A word to itself, so that it does not listen on until it looks up.
            with suppress(RedisError, OSError), connect(self._settings, retries=0) as redis:
                redis.publish(self.channel, "")
            listener.join(timeout=2 * LOOK_UP)

    def _listen(self) -> None:
        self._closed = threading.Event()
        pubsub = connect(self._settings).pubsub()  # type: ignore[no-untyped-call]
        with reporting(self._settings):
            pubsub.subscribe(self.channel)
            pubsub.get_message(timeout=self._settings.redis_timeout)
        self._listener = threading.Thread(
            target=self._run, args=(pubsub, self._closed), name="taquin-inbox", daemon=True
        )
        self._listener.start()

    def _run(self, pubsub: PubSub, closed: threading.Event) -> None:
        while not closed.is_set():
            try:
                message = pubsub.get_message(timeout=LOOK_UP)
            except (RedisError, OSError):
                closed.wait(PAUSE)
                continue
            if message is None:
                continue
            # A confirmation of the subscription means that the connection was new: words may have been missed.
            self._wake(None if message["type"] == "subscribe" else message["data"].decode(errors="replace"))
        pubsub.close()

    def _wake(self, id: str | None) -> None:
        with self._lock:
            waits = [self._waits.get(id, set())] if id is not None else list(self._waits.values())
            for told in (told for group in waits for told in group):
                told.set()
