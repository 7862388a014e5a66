"""What has been done, counted: by every process of a worker, served by its main process in Prometheus's text form.

The processes of a pool count in files of their own (prometheus-client's multiprocess mode), which the main process
adds up when it is asked. The files of a process that has died are added to one file and removed, so that nothing
that was counted is lost and a worker whose children die all the time does not fill its disk.

What stands in Redis (queues, pools, dead letters) is read when Prometheus asks; every worker says the same of it.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from taquin.errors import BadSettings, TaquinError
from taquin.messages import BOARD_OUTCOMES, REPAIR, VALIDATE, WORK
from taquin.survey import take_survey
from taquin.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.core import Metric

    from taquin.settings import Settings
    from taquin.survey import Survey

log = structlog.get_logger("taquin.metrics")

SUCCESS: Final = "success"
FAILURE: Final = "failure"
TIMEOUT: Final = "timeout"
LOST: Final = "lost"
TASK_OUTCOMES: Final = (SUCCESS, FAILURE, TIMEOUT, LOST)
"""It returned; it raised; it was stopped by its time limit; its process died."""
TASKS: Final = (VALIDATE, REPAIR, WORK)

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
CHUNKS: Final = (1, 10, 100, 1_000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
ATTEMPTS: Final = (1, 2, 3, 5, 10)
POOLS_MOST: Final = 100
"""Pools that are told apart, those with water marks first; anyone can make a pool by asking for another goal."""


class Metrics:
    """Is told what is done; this one counts nothing, and is what a worker has whose metrics are not asked for."""

    def task(self, name: str, outcome: str, seconds: float | None = None) -> None:
        """A task has ended; ``seconds`` is known unless its process died."""

    def redelivered(self, name: str) -> None:
        """A task came with a message that the broker had delivered before."""

    def begun(self, attempt: int) -> None:
        """A unit of work was begun for the ``attempt``-th time."""

    def refused(self) -> None:
        """A unit of work was not begun: it is somebody else's, or settled, or unknown."""

    def boards(self, outcomes: Mapping[str, int], chunk: int | None = None) -> None:
        """Boards have an outcome that is kept; ``chunk`` is how many were in the chunk, if they came in one."""

    def event(self, name: str) -> None:
        """Something was logged."""

    def start(self) -> None:
        """Begin to serve."""

    def stop(self) -> None:
        """End it, and leave nothing behind."""


class PrometheusMetrics(Metrics):
    """Counts, and serves the counts of all processes of this worker on one port."""

    def __init__(self, settings: Settings, survey: Callable[[], Survey]) -> None:
        """Make the folder that the processes count in; serve nothing yet."""
        self._settings = settings
        self._survey = survey
        self._pid = os.getpid()
        self._folder = Path(tempfile.mkdtemp(prefix="taquin-metrics-"))
        # prometheus-client reads this when it is imported and again in every process that counts.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(self._folder)
        from prometheus_client import Counter, Histogram, values  # noqa: PLC0415

        if not getattr(values.ValueClass, "_multiprocess", False):
            # Something imported it before us.
            values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
        # Their own lock may be held by a thread while a pool process is forked, which would then wait for ever.
        self._lock = threading.Lock()
        os.register_at_fork(
            before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._lock.release
        )
        here: Any = {"registry": None}  # the registry reads the files
        self._tasks = Counter("taquin_tasks", "Tasks that have ended.", ["task", "outcome"], **here)
        self._seconds = Histogram("taquin_task_seconds", "How long tasks took.", ["task"], buckets=SECONDS, **here)
        self._redelivered = Counter("taquin_redeliveries", "Tasks delivered once more.", ["task"], **here)
        self._attempts = Histogram("taquin_attempts", "The attempt that units were begun at.", buckets=ATTEMPTS, **here)
        self._refused = Counter("taquin_begins_refused", "Messages whose work was not to be begun.", **here)
        self._boards = Counter("taquin_boards", "Boards with an outcome that is kept.", ["outcome"], **here)
        self._chunks = Histogram("taquin_chunk_boards", "Boards in a chunk.", buckets=CHUNKS, **here)
        self._events = Counter("taquin_events", "What was logged (docs/reference/logs.md).", ["event"], **here)
        # What has not happened yet counts 0, so that the first time shows in a rate.
        for task in TASKS:
            self._seconds.labels(task)
            self._redelivered.labels(task)
            for outcome in TASK_OUTCOMES:
                self._tasks.labels(task, outcome)
        for outcome in BOARD_OUTCOMES:
            self._boards.labels(outcome)
        self._server: Any = None

    def task(self, name: str, outcome: str, seconds: float | None = None) -> None:
        """Count a task."""
        with self._lock:
            self._tasks.labels(name, outcome).inc()
            if seconds is not None:
                self._seconds.labels(name).observe(seconds)

    def redelivered(self, name: str) -> None:
        """Count a redelivery."""
        with self._lock:
            self._redelivered.labels(name).inc()

    def begun(self, attempt: int) -> None:
        """Count an attempt."""
        with self._lock:
            self._attempts.observe(attempt)

    def refused(self) -> None:
        """Count what was not begun."""
        with self._lock:
            self._refused.inc()

    def boards(self, outcomes: Mapping[str, int], chunk: int | None = None) -> None:
        """Count boards."""
        with self._lock:
            for outcome, number in outcomes.items():
                self._boards.labels(outcome).inc(number)
            if chunk is not None:
                self._chunks.observe(chunk)

    def event(self, name: str) -> None:
        """Count an event."""
        with self._lock:
            self._events.labels(name).inc()

    def start(self) -> None:
        """Serve, from a thread.

        Raises:
            BadSettings: the port cannot be had.
        """
        from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415

        registry = CollectorRegistry()
        registry.register(_Counted(self._folder, self.absorb))
        registry.register(_Surveyed(self._survey))
        host, port = self._settings.metrics_host, self._settings.metrics_port or 0
        try:
            self._server, _ = start_http_server(port, host, registry)
        except (OSError, UnicodeError) as error:
            raise _not_served(host, port, error) from None
        log.info("metrics.served", host=host, port=self._server.server_port)

    def stop(self) -> None:
        """End the server and remove the folder. In a child: let go of the port, which is not its to hold."""
        if self._server is not None:
            if os.getpid() == self._pid:
                self._server.shutdown()
            self._server.server_close()
            self._server = None
        if os.getpid() == self._pid:
            shutil.rmtree(self._folder, ignore_errors=True)

    def absorb(self) -> None:
        """Add the files of processes that have died to one, and remove them."""
        from prometheus_client.mmap_dict import MmapedDict  # noqa: PLC0415

        for file in self._folder.glob("*_*.db"):
            kind, _, process = file.stem.partition("_")
            if not process.isdecimal() or _runs(int(process)):
                continue
            total = MmapedDict(str(file.with_name(f"{kind}_dead.db")))  # type: ignore[no-untyped-call]
            for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
                total.write_value(key, total.read_value(key)[0] + value, 0.0)  # type: ignore[no-untyped-call]
            total.close()  # type: ignore[no-untyped-call]
            file.unlink()


class _Counted:
    """Adds up what the processes of this worker have counted."""

    def __init__(self, folder: Path, absorb: Callable[[], None]) -> None:
        self._folder = folder
        self._absorb = absorb
        self._lock = threading.Lock()

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

        with self._lock:  # a file is either with the living or with the dead
            self._absorb()
            files = [str(file) for file in self._folder.glob("*.db")]
            metrics: Any = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
            return list(metrics)


class _Surveyed:
    """Says what stands in Redis."""

    def __init__(self, survey: Callable[[], Survey]) -> None:
        self._survey = survey

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily  # noqa: PLC0415

        yield InfoMetricFamily("taquin_build", "The release of Taquin.", {"version": __version__})
        try:
            survey = self._survey()
        except TaquinError as error:
            log.debug("survey.failed", error=str(error))
            yield GaugeMetricFamily("taquin_redis_up", "Whether Redis answers.", 0)
            return
        yield GaugeMetricFamily("taquin_redis_up", "Whether Redis answers.", 1)
        for name, help_text, value in (
            ("taquin_redis_memory_bytes", "Memory that Redis uses.", survey.memory),
            ("taquin_redis_memory_limit_bytes", "Memory that Redis may use; 0 is no limit.", survey.memory_limit),
            ("taquin_units_unfinished", "Units of work that are neither done nor dead.", survey.unfinished),
            ("taquin_units_overdue", "Units of work that a sweeper has to look at.", survey.overdue),
            ("taquin_units_overdue_seconds", "Since when the first of them is due.", survey.overdue_by),
            ("taquin_dead_letters", "Units of work given up.", survey.dead),
            ("taquin_workers", "Workers that say they are there.", len(survey.workers)),
        ):
            yield GaugeMetricFamily(name, help_text, value)
        length = GaugeMetricFamily("taquin_queue_messages", "Messages that wait in a queue.", labels=["queue"])
        oldest = GaugeMetricFamily("taquin_queue_oldest_seconds", "How long the oldest has waited.", labels=["queue"])
        for queue in survey.queues:
            length.add_metric([queue.name], queue.waiting)
            if queue.oldest is not None:
                oldest.add_metric([queue.name], queue.oldest)
        yield from (length, oldest)
        yield from self._pools(survey)

    @staticmethod
    def _pools(survey: Survey) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415

        families = {
            "ready": GaugeMetricFamily("taquin_pool_ready_boards", "Boards to be claimed.", labels=["pool"]),
            "claimed": GaugeMetricFamily(
                "taquin_pool_claimed_boards", "Boards claimed, not confirmed.", labels=["pool"]
            ),
            "low": GaugeMetricFamily("taquin_pool_low_mark_boards", "The low water mark.", labels=["pool"]),
            "high": GaugeMetricFamily("taquin_pool_high_mark_boards", "The high water mark.", labels=["pool"]),
        }
        shown = sorted(survey.pools, key=lambda pool: (pool.low is None, -pool.ready))[:POOLS_MOST]
        for pool in shown:
            for field, family in families.items():
                value = getattr(pool, field)
                if value is not None:
                    family.add_metric([pool.name], value)
        yield from families.values()


def make_metrics(settings: Settings, redis: Any) -> Metrics:
    """Return what counts, or what counts nothing where no port is set."""
    if settings.metrics_port is None:
        return Metrics()
    return PrometheusMetrics(settings, lambda: take_survey(redis, settings))


def check_metrics_address(settings: Settings) -> None:
    """See that the metrics can be served, before a worker starts that would end over it.

    Raises:
        BadSettings: port or host cannot be had.
    """
    if settings.metrics_port is None:
        return
    host, port = settings.metrics_host, settings.metrics_port
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        socket.create_server(address[:2], family=family).close()
    except (OSError, UnicodeError) as error:
        raise _not_served(host, port, error) from None


def _not_served(host: str, port: int, error: OSError | UnicodeError) -> BadSettings:
    why = (error.strerror or "").partition(" (")[0] if isinstance(error, OSError) else "it is no name of a host"
    if isinstance(error, OSError) and error.errno in {errno.EADDRINUSE, errno.EACCES}:
        return BadSettings(f"TAQUIN_METRICS_PORT: {host}:{port} cannot be served on: {why}; choose another port")
    return BadSettings(f"TAQUIN_METRICS_HOST: {host}:{port} cannot be served on: {why}; name an address of this host")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
