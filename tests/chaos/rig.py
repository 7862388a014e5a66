"""The processes of one run: a redis-server that keeps its data over restarts, workers that a supervisor restarts."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError

from taquin import Busy, Client, Settings, Unavailable
from taquin.embedded import SERVERS
from tests.chaos.proxy import Proxy

PROBE = [[1, 2], [3, 0]]
TIMES = {
    "TAQUIN_TIME_LIMIT_INTERACTIVE": "3",
    "TAQUIN_TIME_LIMIT_BULK": "3",
    "TAQUIN_LOG_FORMAT": "json",
}
"""Shorter limits than an operator would set, so that leases (5 s) and Celery's visibility timeout (15 s) end soon."""


class Server:
    """A redis-server with an append-only file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        """Choose a port; start nothing yet."""
        self.folder = folder
        self._arguments = arguments
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None
        self.redis = Redis(port=self.port, socket_timeout=5.0)

    def start(self) -> None:
        """Start it on its port and folder, with what it kept, and wait until it answers."""
        program = next(filter(None, map(shutil.which, SERVERS)))
        command = [program, "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder), "--save", ""]
        command += ["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"]
        with (self.folder / "redis.log").open("ab") as log:
            # Like this process it ignores SIGXFSZ, so that a file that may not grow is an error and not its end.
            self.process = subprocess.Popen([*command, *self._arguments], stdout=log, stderr=log, restore_signals=False)
        until(self.answers, "redis-server to answer")

    def answers(self) -> bool:
        """Whether it serves."""
        try:
            return bool(self.redis.ping())
        except RedisError:
            return False

    def end(self, how: signal.Signals) -> None:
        """End it and wait."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)


class Workers:
    """Worker processes on one URL; whoever ends is started again, as a supervisor would, and counted."""

    def __init__(self, url: str, folder: Path, count: int, concurrency: int, **variables: str) -> None:
        """Start nothing yet."""
        self._folder, self._count, self._concurrency = folder, count, concurrency
        self._variables = {**os.environ, **TIMES, **variables, "TAQUIN_REDIS_URL": url}
        self.program = [sys.executable, "-m", "tests.chaos.worker", "worker", "--concurrency", str(concurrency)]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ended: list[int] = []
        """Exit statuses of those that were started again."""
        self._number = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)

    @property
    def log(self) -> str:
        """Everything that they logged."""
        return "".join(path.read_text(errors="replace") for path in sorted(self._folder.glob("worker-*.log")))

    def start(self, *, wait: bool = True) -> None:
        """Start all of them."""
        self.processes = [self._spawn() for _ in range(self._count)]
        if wait:
            beats = [self._folder / f"beat-{number}" for number in range(1, self._count + 1)]
            until(lambda: all(beat.exists() for beat in beats), "the workers to start", patience=90.0)
        self._supervisor.start()

    def stop(self) -> list[float]:
        """Send SIGTERM to all; return the seconds that each took to end."""
        self._stop.set()
        self._supervisor.join()
        before = time.monotonic()
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        took = []
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
                took.append(time.monotonic() - before)
            kill_group(process)
        return took

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._number += 1
        beat = self._folder / f"beat-{self._number}"
        variables = {**self._variables, "TAQUIN_HEARTBEAT_FILE": str(beat)}
        with (self._folder / f"worker-{self._number}.log").open("ab") as log:
            return subprocess.Popen(
                self.program, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _supervise(self) -> None:
        while not self._stop.wait(0.05):
            for at, process in enumerate(self.processes):
                if process.poll() is not None:
                    kill_group(process)  # children whose parent was killed alone are of no use to a supervisor
                    self.ended.append(process.returncode)
                    self.processes[at] = self._spawn()


class Rig:
    """A Redis, a proxy before it, workers and clients that reach it through the proxy."""

    queues: tuple[str, ...] = ("interactive", "bulk")
    """The lists that its workers take messages from; the first is the one for the load."""

    def __init__(
        self, folder: Path, *, workers: int = 2, concurrency: int = 2, server: tuple[str, ...] = (), **variables: str
    ):
        """Start Redis alone. ``server`` are its arguments, ``variables`` settings of clients and workers."""
        self.folder = folder
        (folder / "redis").mkdir()
        (folder / "workers").mkdir()
        self.runs = folder / "runs"
        self.server = Server(folder / "redis", *server)
        self.server.start()
        self.proxy = Proxy(self.server.port)
        self.url = f"redis://127.0.0.1:{self.proxy.port}/0"
        self.workers = Workers(
            self.url, folder / "workers", workers, concurrency, CHAOS_RUNS=str(self.runs), **variables
        )
        own = {name.removeprefix("TAQUIN_").lower(): value for name, value in {**TIMES, **variables}.items()}
        own = {name: value for name, value in own.items() if name in Settings.model_fields}
        self.settings = Settings(redis_url=self.url, **own)
        self.direct = Settings(redis_url=f"redis://127.0.0.1:{self.server.port}/0", **own)
        self.took: list[float] = []
        """Seconds that workers took to end on SIGTERM."""
        self._probe: Client | None = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End everything, whatever state it is in."""
        self.proxy.mode, self.proxy.latency = "pass", 0.0
        if self._probe is not None:
            self._probe.close()
        for process in self.workers.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)
        self.workers._stop.set()
        for process in self.workers.processes:
            kill_group(process)
        self.proxy.close()
        if self.server.process is not None and self.server.process.poll() is None:
            self.server.process.send_signal(signal.SIGCONT)
            self.server.end(signal.SIGKILL)
        self.server.redis.close()

    def probe(self, patience: float = 60.0) -> float:
        """Ask for one board as an app would, which asks again when it is refused; return the seconds to its answer."""
        if self._probe is None:
            self._probe = Client(settings=self.settings)
        id, before = uuid4().hex, time.monotonic()
        while (passed := time.monotonic() - before) < patience:
            with contextlib.suppress(Unavailable, Busy):
                self._probe.send("validate", {"board": PROBE}, id=id)
                self._probe.answer(id, timeout=patience - passed)
                return time.monotonic() - before
            time.sleep(0.05)
        return float("inf")


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker with all its processes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def until(condition: Any, what: str, patience: float = 30.0) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:g} s for {what}")
        time.sleep(0.02)
