"""What an operator sees of a worker: its health while it is hurt, its metrics, its log, and the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import structlog
from celery import Celery
from prometheus_client.parser import text_string_to_metric_families

from taquin import Client, GaveUp, Settings
from taquin.connection import connect
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_worker_whose_pool_begins_nothing_is_not_healthy(environment):
    """Its main process is in order, but no child takes what it is given."""
    with (
        run_redis("server") as redis,
        run_worker(redis.url, environment=environment, concurrency=1) as worker,
        Client(redis.url) as client,
    ):
        beat = beat_of(worker)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_worker_whose_redis_hangs_is_healthy(environment):
    """Connections are accepted and nothing is answered, as behind a dead router."""
    with run_redis("server") as redis, run_worker(redis.url, environment=environment) as worker:
        beat = beat_of(worker)
        redis.process.send_signal(signal.SIGSTOP)
        try:
            assert stays_healthy(beat, 2 * LONG_ENOUGH)
        finally:
            redis.process.send_signal(signal.SIGCONT)


@pytest.mark.slow
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


def lines_of(worker):
    """Every line of the worker's log that is ours: JSON."""
    return [json.loads(line) for line in worker.log.read_text().splitlines() if line.startswith("{")]


def metrics_of(worker):
    """What a worker serves: the name with the labels' values, and the value."""
    (port,) = [line["port"] for line in lines_of(worker) if line["event"] == "metrics.served"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        text = reply.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(sample.name, *sorted(sample.labels.values())): sample.value for sample in samples}
    assert len(found) == len(samples), "a sample stands there twice"
    return found


@pytest.mark.slow
def test_metrics_are_the_truth_also_after_children_died(environment, tmp_path):
    """Three children, killed by what they work on and from outside, and replaced, while jobs and boards go on."""
    folder = tmp_path / "hurt"
    folder.mkdir()
    environment |= {"TAQUIN_METRICS_PORT": "0", "HURT": "kill", "HURT_FOLDER": str(folder)}
    program = (sys.executable, str(Path(__file__).with_name("hurt_worker.py")))
    rng = np.random.default_rng(5)
    with (
        run_redis("server") as redis,
        run_worker(redis.url, environment=environment, program=program, concurrency=3) as worker,
        Client(redis.url, timeout=60) as client,
        Celery("backend", broker=redis.url, backend=redis.url, set_as_current=False) as plain,
    ):
        poison = client.send_repair([[1, 2, 3], [4, 5, 6], [8, 7, 0]])
        singles = [client.send_repair(UNSOLVABLE) for _ in range(40)]
        job = client.submit(rng.permuted(np.tile(np.arange(16), (5_000, 1)), axis=1), shape="4x4", chunk=250)
        open_door = [
            plain.send_task("taquin.validate", [{"board": [[1, 1], [2, 0]]}], queue="interactive") for _ in range(20)
        ]
        for answer in open_door:
            assert answer.get(timeout=60)["status"] == "invalid"
        for handle in singles:
            assert handle.answer().status == "repaired"
        progress = job.wait(60)
        with pytest.raises(GaveUp):
            poison.answer()
        with connect(Settings(redis_url=redis.url)) as raw:
            wait_for(lambda: not raw.exists("unacked", "interactive", "bulk"))  # or it would be lost work
        for pid in children_of(worker.process.pid):
            os.kill(pid, signal.SIGKILL)
        assert client.repair(UNSOLVABLE).status == "repaired"
        found = metrics_of(worker)
        again = metrics_of(worker)
    kills = len(list(folder.iterdir()))
    assert kills == 3
    assert found["taquin_tasks_total", "lost", "taquin.work"] == kills
    assert found["taquin_tasks_total", "failure", "taquin.work"] == 0
    assert found["taquin_tasks_total", "success", "taquin.validate"] == 20
    assert {
        outcome: found["taquin_boards_total", outcome] for outcome in ("solvable", "unsolvable", "repaired", "invalid")
    } == {
        "solvable": progress.solvable,
        "unsolvable": progress.unsolvable,
        "repaired": progress.repaired + 41,
        "invalid": progress.invalid + 20,
    }
    assert (found["taquin_chunk_boards_count",], found["taquin_chunk_boards_sum",]) == (20, 5_000)
    assert found["taquin_attempts_count",] == 41 + 20 + kills
    assert found["taquin_attempts_bucket", "1.0"] == 41 + 20 + 1
    assert found["taquin_dead_letters",] == 1
    assert found["taquin_workers",] == 1
    assert {name: value for name, value in again.items() if name[0] == "taquin_boards_total"} == {
        name: value for name, value in found.items() if name[0] == "taquin_boards_total"
    }


def test_every_line_of_a_task_carries_its_names_and_no_line_a_board(environment):
    environment |= {"TAQUIN_LOG_LEVEL": "debug", "TAQUIN_MAX_ATTEMPTS": "1"}
    with (
        run_redis("server") as redis,
        run_worker(redis.url, environment=environment) as worker,
        Client(redis.url, timeout=60) as client,
        Celery("backend", broker=redis.url, backend=redis.url, set_as_current=False) as plain,
    ):
        structlog.contextvars.bind_contextvars(request_id="req-1")
        single = client.send_repair([[41, 42, 43], [44, 45, 46], [48, 47, 0]])
        structlog.contextvars.clear_contextvars()
        job = client.submit([UNSOLVABLE] * 6, chunk=3)
        body = [{"board": UNSOLVABLE}]
        plain.send_task("taquin.repair", body, queue="interactive", headers={"request_id": "req-2"}).get(timeout=60)
        assert single.answer().status == "invalid"
        job.wait(60)
        wait_for(lambda: sum(line["event"] == "task.done" for line in lines_of(worker)) == 4)
        lines = lines_of(worker)
        text = worker.log.read_text()
    done = {line["id"]: line for line in lines if line["event"] == "task.done"}
    assert (done[single.id]["task"], done[single.id]["request_id"]) == ("taquin.work", "req-1")
    assert {(line["job"], line["chunk"]) for line in done.values() if "job" in line} == {(job.id, 0), (job.id, 1)}
    assert [line["request_id"] for line in done.values() if line["task"] == "taquin.repair"] == ["req-2"]
    assert not any(board in text for board in ("41, 42", "41,42", "[1, 2, 3", "[1,2,3"))


@pytest.mark.slow
def test_work_that_fails_is_logged_and_counted_as_what_it_was(environment, tmp_path):
    folder = tmp_path / "hurt"
    folder.mkdir()
    environment |= {"TAQUIN_METRICS_PORT": "0", "TAQUIN_MAX_ATTEMPTS": "1", "HURT_FOLDER": str(folder)}
    environment |= {"TAQUIN_TIME_LIMIT_INTERACTIVE": "2"}
    program = (sys.executable, str(Path(__file__).with_name("hurt_worker.py")))
    for fault, outcome in (("raise", "failure"), ("hang", "timeout")):
        with (
            run_redis("server") as redis,
            run_worker(redis.url, environment={**environment, "HURT": fault}, program=program) as worker,
            Client(redis.url, timeout=60) as client,
        ):
            handle = client.send_repair([[1, 2, 3], [4, 5, 6], [8, 7, 0]])
            with pytest.raises(GaveUp):
                handle.answer()
            wait_for(lambda worker=worker: any(line["event"] == "task.failed" for line in lines_of(worker)))
            (line,) = [line for line in lines_of(worker) if line["event"] == "task.failed"]
            found = metrics_of(worker)
        assert (line["id"], line["outcome"], line["level"]) == (handle.id, outcome, "error")
        assert found["taquin_tasks_total", *sorted((outcome, "taquin.work"))] == 1


@pytest.mark.slow
def test_doctor_and_stats_on_a_server_that_is_right_and_on_one_that_is_not(environment):
    right = ("--appendonly", "yes", "--maxmemory", "100mb")
    with run_redis("server", arguments=right) as redis, run_worker(redis.url, environment=environment):
        env = {"TAQUIN_REDIS_URL": redis.url}
        with Client(redis.url) as client:
            client.repair(UNSOLVABLE)
        with connect(Settings(redis_url=redis.url)) as raw:
            wait_for(lambda: raw.exists("taquin:workers"))
        done = taquin("doctor", "--json", env=env)
        assert done.returncode == 0, done.stdout
        assert {json.loads(line)["status"] for line in done.stdout.splitlines()} == {"ok"}
        said = json.loads(taquin("stats", "--json", env=env).stdout)
        assert [worker["queues"] for worker in said["workers"]] == [["bulk", "interactive"]]
        assert [queue["name"] for queue in said["queues"]] == ["interactive", "bulk"]
        assert "interactive" in taquin("stats", env=env).stdout
    wrong = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with run_redis("server", arguments=wrong) as redis:
        done = taquin("doctor", "--json", env={"TAQUIN_REDIS_URL": redis.url})
        assert done.returncode == 1
        found = {said["check"]: said["status"] for said in map(json.loads, done.stdout.splitlines())}
        assert (found["eviction"], found["persistence"], found["workers"]) == ("problem", "warning", "problem")


def test_a_worker_that_ends_is_not_seen_any_more(environment):
    with run_redis("server") as redis, connect(Settings(redis_url=redis.url)) as raw:
        with run_worker(redis.url, environment=environment):
            wait_for(lambda: raw.hlen("taquin:workers") == 1)
            assert raw.pttl("taquin:workers") > 0
        assert raw.hlen("taquin:workers") == 0
