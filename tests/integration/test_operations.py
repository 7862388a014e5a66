"""What an operator sees of a worker: its health while it is hurt, its metrics, its log, and the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from taquin import Client
from taquin.embedded import run_redis, run_worker
from taquin.health import STALE_AFTER, read_health

pytestmark = pytest.mark.redis_server

UNSOLVABLE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]
LONG_ENOUGH = STALE_AFTER + 5.0
"""Seconds after which a worker that gives no sign of life is known to be stuck."""


@pytest.fixture
def environment():
    return {"TAQUIN_RESEND_AFTER": "0.2", "TAQUIN_SWEEP_EVERY": "0.1"}


def beat_of(worker):
    return worker.log.with_name("heartbeat")


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def stays_healthy(beat, seconds=LONG_ENOUGH):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not read_health(beat).healthy:
            return False
        time.sleep(0.5)
    return True


def taquin(*arguments, env):
    return subprocess.run(
        [sys.executable, "-m", "taquin", *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_stopped_worker_is_not_healthy(environment):
    with run_redis("server") as redis, run_worker(redis.url, environment=environment) as worker:
        beat = beat_of(worker)
        assert read_health(beat).healthy
        worker.process.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: not read_health(beat).healthy)
        finally:
            worker.process.send_signal(signal.SIGCONT)
        wait_for(lambda: read_health(beat).healthy)


def test_a_worker_whose_pool_begins_nothing_is_not_healthy(environment):
    """Its main process is in order, but no child takes what it is given."""
    with (
        run_redis("server") as redis,
        run_worker(redis.url, environment=environment, concurrency=1) as worker,
        Client(redis.url) as client,
    ):
        beat = beat_of(worker)
        client.repair(UNSOLVABLE)
        stopped = children_of(worker.process.pid)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            handle = client.send_repair(UNSOLVABLE)
            wait_for(lambda: not read_health(beat).healthy)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert handle.answer(30).status == "repaired"
        wait_for(lambda: read_health(beat).healthy)


def test_a_worker_without_redis_is_healthy_and_not_ready(environment):
    """Restarting workers does not bring Redis back."""
    with run_redis("server") as redis, run_worker(redis.url, environment=environment) as worker:
        beat = beat_of(worker)
        env = {"TAQUIN_HEARTBEAT_FILE": str(beat), "TAQUIN_REDIS_URL": redis.url, "TAQUIN_REDIS_TIMEOUT": "1"}
        assert taquin("health", "--ready", env=env).returncode == 0
        redis.process.send_signal(signal.SIGKILL)
        redis.process.wait()
        assert stays_healthy(beat)
        assert taquin("health", env=env).returncode == 0
        done = taquin("health", "--ready", "--json", env=env)
        assert done.returncode == 1
        said = json.loads(done.stdout)
        assert (said["healthy"], said["ready"]) == (True, False)
        assert "does not answer" in said["redis"]


def test_a_worker_whose_redis_hangs_is_healthy(environment):
    """Connections are accepted and nothing is answered, as behind a dead router."""
    with run_redis("server") as redis, run_worker(redis.url, environment=environment) as worker:
        beat = beat_of(worker)
        redis.process.send_signal(signal.SIGSTOP)
        try:
            assert stays_healthy(beat, 2 * LONG_ENOUGH)
        finally:
            redis.process.send_signal(signal.SIGCONT)


def test_a_busy_worker_is_healthy(environment, tmp_path):
    folder = tmp_path / "hurt"
    folder.mkdir()
    environment |= {"HURT": "hang", "HURT_FOLDER": str(folder), "TAQUIN_TIME_LIMIT_INTERACTIVE": "60"}
    program = (sys.executable, str(Path(__file__).with_name("hurt_worker.py")))
    with (
        run_redis("server") as redis,
        run_worker(redis.url, environment=environment, program=program, concurrency=1) as worker,
        Client(redis.url) as client,
    ):
        beat = beat_of(worker)
        client.send_repair([[1, 2, 3], [4, 5, 6], [8, 7, 0]])
        wait_for(lambda: any(folder.iterdir()))
        assert stays_healthy(beat)
