"""A Redis and a worker for a first look: one ``with``, nothing to install or configure, nothing left behind.

The Redis is a ``redis-server`` or ``valkey-server`` from the PATH, on a free port and in a folder that goes
with it; where neither is installed, fakeredis's server runs in this process. Neither keeps anything: this
is for demonstrations and tests.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from redis import Redis
from redis.exceptions import RedisError

from taquin.errors import StartFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

RedisKind = Literal["any", "server", "fake"]
SERVERS: Final = ("redis-server", "valkey-server")
START_TIMEOUT: Final = 30.0
"""Seconds that a server or a worker may take to start."""
STOP_TIMEOUT: Final = 15.0
"""Seconds that it may take to end before it is killed."""


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    """A Redis that runs: its URL, what it is, and its process (None for fakeredis)."""

    url: str
    what: str
    process: subprocess.Popen[bytes] | None


@dataclass(frozen=True, slots=True)
class EmbeddedWorker:
    """A Celery worker that runs, and the file to which it logs."""

    process: subprocess.Popen[bytes]
    log: Path


@dataclass(frozen=True, slots=True)
class Stack:
    """A Redis and a worker on it."""

    redis: EmbeddedRedis
    worker: EmbeddedWorker


@contextmanager
def embedded(*, concurrency: int = 2) -> Iterator[Stack]:
    """Run a Redis and a worker.

    Raises:
        StartFailed: one of them did not start in time.
    """
    with ExitStack() as stack:
        redis = stack.enter_context(run_redis())
        worker = stack.enter_context(run_worker(redis.url, concurrency=concurrency))
        yield Stack(redis, worker)


@contextmanager
def run_redis(kind: RedisKind = "any", *, arguments: tuple[str, ...] = ()) -> Iterator[EmbeddedRedis]:
    """Run a Redis on a free port of this machine.

    Args:
        kind: ``server``, ``fake``, or the former where it is installed and else the latter.
        arguments: more of the server's own arguments, such as ``("--appendonly", "yes")``.

    Raises:
        StartFailed: it is not installed, or did not start in time.
    """
    program = next(filter(None, map(shutil.which, SERVERS)), None)
    if kind == "fake" or (kind == "any" and program is None):
        with _fake_redis() as redis:
            yield redis
    elif program is None:
        raise StartFailed(f"there is no {' or '.join(SERVERS)} on the PATH: install one of them")
    else:
        with _redis_server(program, arguments) as redis:
            yield redis


@contextmanager
def run_worker(
    url: str,
    *,
    concurrency: int = 2,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = (sys.executable, "-m", "taquin"),
) -> Iterator[EmbeddedWorker]:
    """Run ``taquin worker`` on a Redis, and end it with the context.

    Args:
        url: of the Redis.
        concurrency: processes that work at the same time.
        environment: more variables, such as ``TAQUIN_MAX_ATTEMPTS``.
        program: what stands for ``taquin`` on its command line.

    Raises:
        StartFailed: it ended at once, or did not take work in time; the end of its log is in the message.
    """
    with tempfile.TemporaryDirectory(prefix="taquin-worker-") as folder:
        log, beat = Path(folder, "log"), Path(folder, "heartbeat")
        command = [*program, "worker", "--concurrency", str(concurrency)]
        variables = {
            **os.environ,
            "TAQUIN_REDIS_URL": url,
            "TAQUIN_HEARTBEAT_FILE": str(beat),
            **(environment or {}),
        }
        with log.open("wb") as out:
            # A session of its own: Ctrl-C reaches the caller alone, who then ends the worker in order.
            process = subprocess.Popen(  # noqa: S603  our own command
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=variables, start_new_session=True
            )
        try:
            _wait(beat.exists, "the worker", process, log)
            yield EmbeddedWorker(process, log)
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it with its children when it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _redis_server(program: str, arguments: tuple[str, ...]) -> Iterator[EmbeddedRedis]:
    with tempfile.TemporaryDirectory(prefix="taquin-redis-") as folder:
        port, log = _free_port(), Path(folder, "log")
        command = [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", ""]
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  a server that the user installed
                [*command, "--appendonly", "no", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        try:
            _wait(lambda: _answers(port), Path(program).name, process, log)
            version = _version(port)
            yield EmbeddedRedis(f"redis://127.0.0.1:{port}/0", f"{Path(program).name} {version}".strip(), process)
        finally:
            end(process)


@contextmanager
def _fake_redis() -> Iterator[EmbeddedRedis]:
    if find_spec("fakeredis") is None or find_spec("lupa") is None:
        raise StartFailed(
            f"there is no {' or '.join(SERVERS)} on the PATH and no fakeredis to stand in for it: "
            f"install one of the servers, or `pip install 'taquin[embedded]'`"
        )
    from fakeredis import TcpFakeServer  # noqa: PLC0415  an optional dependency

    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    server.RequestHandlerClass = _fake_handler()
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, name="taquin-fakeredis", daemon=True)
    thread.start()
    try:
        port = server.server_address[1]
        yield EmbeddedRedis(f"redis://127.0.0.1:{port}/0", "fakeredis (in this process)", None)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(STOP_TIMEOUT)


def _fake_handler() -> Any:
    """Return fakeredis's handler of connections with two defects mended."""
    from fakeredis._clients._tcp_server import TCPFakeRequestHandler  # noqa: PLC0415

    class PatientWriter:
        """Writes to a non-blocking socket whatever its buffer holds, where fakeredis gives up."""

        def __init__(self, connection: socket.socket) -> None:
            self._connection = connection

        def write(self, data: bytes) -> None:
            left = memoryview(data)
            while left:
                try:
                    left = left[self._connection.send(left) :]
                except BlockingIOError:
                    select.select([], [self._connection], [], 1.0)

        def flush(self) -> None:
            pass

    class Handler(TCPFakeRequestHandler):
        # Without this every reply waits 40 ms for the acknowledgement of the one before.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.writer.writer = PatientWriter(self.connection)  # type: ignore[assignment]

    return Handler


def _wait(ready: Callable[[], bool], what: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while not ready():
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            how = (
                f"ended at once (exit status {process.returncode})"
                if ended
                else f"did not start in {START_TIMEOUT:g} s"
            )
            last = log.read_text(errors="replace").strip().splitlines()[-10:]
            raise StartFailed("\n  ".join([f"{what} {how}; the end of its log:", *(last or ["(empty)"])]))
        time.sleep(0.02)


def _answers(port: int) -> bool:
    try:
        with Redis(port=port, socket_timeout=1.0) as redis:
            return bool(redis.ping())
    except RedisError:
        return False


def _version(port: int) -> str:
    with Redis(port=port, socket_timeout=1.0, decode_responses=True) as redis:
        info = redis.info("server")
    return str(info.get("valkey_version") or info.get("redis_version") or "")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
