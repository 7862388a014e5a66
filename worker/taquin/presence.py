"""A thread of every worker that says in Redis, every few seconds, that it is there: what ``taquin doctor`` sees."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import structlog
from celery import bootsteps
from celery.worker import state

from taquin.connection import reporting
from taquin.errors import TaquinError
from taquin.survey import SEEN_EVERY, Worker, announce, withdraw
from taquin.version import __version__

if TYPE_CHECKING:
    from redis import Redis

    from taquin.settings import Settings

log = structlog.get_logger("taquin.presence")


class Presence:
    """Announces one worker until it is stopped."""

    def __init__(self, redis: Redis, settings: Settings) -> None:
        """Start nothing yet. The connection is this thread's own: pool processes are forked beside it."""
        self._redis = redis
        self._settings = settings
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._queues: list[str] = []
        self._concurrency = 0
        self._started = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="taquin-presence", daemon=True)

    def start(self, queues: list[str], concurrency: int) -> None:
        """Begin to say that the worker is there."""
        self._queues, self._concurrency = queues, concurrency
        self._thread.start()

    def stop(self) -> None:
        """Say that it is gone."""
        self._stop.set()
        self._thread.join(timeout=2.0)

    def say(self) -> None:
        """Say it once."""
        before = time.time()
        with reporting(self._settings):
            seconds, micros = self._redis.time()
        now = float(seconds) + float(micros) / 1e6
        self._started = self._started or now
        worker = Worker(
            name=self._name,
            version=__version__,
            queues=self._queues,
            concurrency=self._concurrency,
            in_hand=len(state.reserved_requests),
            started=self._started,
            seen=now,
            # Redis read its clock about halfway.
            skew=round((before + time.time()) / 2 - now, 3),
        )
        announce(self._redis, self._settings, worker)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.say()
            except TaquinError as error:
                log.debug("presence.failed", error=str(error))
            except Exception:
                log.exception("presence.failed")
            self._stop.wait(SEEN_EVERY)
        try:
            withdraw(self._redis, self._settings, self._name)
        except TaquinError as error:
            log.debug("presence.failed", error=str(error))


def presence_step(presence: Presence) -> type[bootsteps.StartStopStep]:
    """Return the step by which a Celery worker says that it is there."""

    class PresenceStep(bootsteps.StartStopStep):
        requires = ("celery.worker.components:Pool",)

        def start(self, parent: Any) -> None:
            presence.start(sorted(parent.app.amqp.queues.consume_from), parent.concurrency)

        def stop(self, parent: Any) -> None:
            del parent
            presence.stop()

        terminate = stop

    return PresenceStep
