"""Is this worker alive: a file that its consumer touches, and the reading of it.

``taquin health``, and ``python -m taquin.health``, is what a container asks every few seconds: it imports neither
Celery nor the command line. With options (``--ready``, ``--json``) it is a command like the others, at six times the
price.
"""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from taquin.errors import BadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from celery.bootsteps import StartStopStep
    from celery.worker.consumer import Consumer
    from kombu import Connection

HEARTBEAT_FILE: Final = "TAQUIN_HEARTBEAT_FILE"
BEAT_EVERY: Final = 2.0
"""Seconds between two touches."""
STALE_AFTER: Final = 15.0
"""Seconds without a touch after which a worker counts as stuck."""
PATIENCE: Final = 10.0
"""Seconds that work may take beyond what it can take at most, before the pool counts as stuck."""


@dataclass(frozen=True, slots=True)
class Health:
    """What can be said of the worker beside this process."""

    healthy: bool
    age: float | None
    """Seconds since its last sign of life; None if it never gave one."""
    reason: str


def read_health(file: Path) -> Health:
    """Read the sign of life that a worker leaves in a file."""
    try:
        age = max(0.0, time.time() - file.stat().st_mtime)
    except FileNotFoundError:
        return Health(healthy=False, age=None, reason=f"no worker has touched {file}")
    except OSError as error:
        return Health(healthy=False, age=None, reason=f"{file} cannot be looked at: {error.strerror}")
    return Health(age <= STALE_AFTER, age, f"the worker's last sign of life was {age:.0f} s ago")


def check_heartbeat_file(file: Path) -> None:
    """See that a worker can touch the file, without a sign of life.

    Raises:
        BadSettings: it cannot.
    """
    try:
        there, room = file.exists(), file.parent.is_dir()
    except OSError:
        there = room = False
    if not (os.access(file, os.W_OK) if there else room and os.access(file.parent, os.W_OK | os.X_OK)):
        raise BadSettings(f"{HEARTBEAT_FILE}: {file} cannot be written; name a file in a folder of the worker's")


class Heartbeat:
    """Touches a file from the thread that consumes, as long as work that is given to the pool comes to an end."""

    def __init__(self, file: Path, longest: float, requests: Callable[[], Iterable[Any]]) -> None:
        """Touch nothing yet.

        Args:
            file: what is touched.
            longest: seconds that a piece of work may take at most.
            requests: gives what the worker has in hand (``celery.worker.request.Request``).
        """
        self._file = file
        self._longest = longest
        self._requests = requests
        self._was_stuck = False
        self._why_untouched: str | None = None
        self._away = -math.inf
        self._seen: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

    def beat_without_redis(self) -> None:
        """Give a sign of life while Redis is away, when time limits wait as everything does."""
        self._touch()
        self._away = time.monotonic()

    def beat(self) -> None:
        """Give a sign of life, unless the pool is stuck."""
        stuck = self.stuck()
        if not stuck:
            self._touch()
        elif not self._was_stuck:
            log = _log()
            log.error("pool.stuck", in_hand=len(list(self._requests())))
        self._was_stuck = stuck

    def _touch(self) -> None:
        """Touch the file; to Celery an error would look like a connection that broke."""
        try:
            self._file.touch()
        except OSError as error:
            why = error.strerror
        else:
            why = None
        if why and not self._why_untouched:
            log = _log()
            log.error("heartbeat.failed", file=str(self._file), error=why)
        self._why_untouched = why

    def stuck(self) -> bool:
        """Whether the pool neither begins nor ends what it was given.

        Work that a process has begun ends by its time limit. Work that none begins has to wait for such an end at
        most, and for next to nothing where none is at work.
        """
        now = time.monotonic()
        if now - self._away < PATIENCE:
            return False
        requests = list(self._requests())
        begun = [request for request in requests if request.time_start]
        waited = [now - self._seen.setdefault(request, now) for request in requests if not request.time_start]
        late = any(time.time() - request.time_start > self._limit(request) + PATIENCE for request in begun)
        return late or any(wait > (self._longest if begun else 0.0) + PATIENCE for wait in waited)

    def _limit(self, request: Any) -> float:
        return max((limit for limit in request.time_limits if limit), default=self._longest)


def _log() -> Any:
    import structlog  # noqa: PLC0415  the reading must cost next to nothing

    return structlog.get_logger("taquin.health")


def heartbeat_step(heartbeat: Heartbeat) -> type[StartStopStep]:
    """Return the step by which the event loop of a worker gives signs of life, and so only while it runs."""
    from celery import bootsteps  # noqa: PLC0415  the reading must cost next to nothing

    class HeartbeatStep(bootsteps.StartStopStep):
        requires = ("celery.worker.consumer.tasks:Tasks",)
        timer: Any = None

        def start(self, parent: Any) -> None:
            heartbeat.beat()
            self.timer = parent.timer.call_repeatedly(BEAT_EVERY, heartbeat.beat)

        def stop(self, parent: Any) -> None:
            del parent
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return HeartbeatStep


def beating_consumer(consumer: type[Consumer], heartbeat: Heartbeat) -> type[Consumer]:
    """Return the class of a consumer that gives signs of life also while it tries to reach Redis."""

    class BeatingConsumer(consumer):  # type: ignore[misc, valid-type]
        def ensure_connected(self, conn: Any) -> Connection:
            ensure = conn.ensure_connection

            def ensure_and_beat(*arguments: Any, callback: Callable[[], None], **fields: Any) -> Any:
                def look() -> None:
                    heartbeat.beat_without_redis()
                    callback()

                # Celery sleeps in here, and calls back every second, until Redis answers.
                return ensure(*arguments, callback=look, **fields)

            conn.ensure_connection = ensure_and_beat
            connected: Connection = super().ensure_connected(conn)
            return connected

    return BeatingConsumer


def main() -> None:
    """Say whether the worker beside this process is alive. Exit status: 0 it is, 1 it is not, 2 nothing is known."""
    file = os.environ.get(HEARTBEAT_FILE)
    if not file:
        sys.stderr.write(f"taquin: {HEARTBEAT_FILE} must name the file that the worker touches\n")
        sys.exit(2)
    health = read_health(Path(file))
    try:
        sys.stdout.write(f"{'healthy' if health.healthy else 'not healthy'}: {health.reason}\n")
        sys.stdout.flush()
    except OSError:
        # The exit status says it all; the interpreter would fail over the rest as it ends, and spoil that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(not health.healthy)


if __name__ == "__main__":
    main()
