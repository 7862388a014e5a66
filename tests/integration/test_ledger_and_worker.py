"""Whatever dies, what the client sent is answered once."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from taquin import Client, GaveUp
from taquin.carrier import Carrier
from taquin.connection import connect
from taquin.embedded import run_worker
from taquin.ledger import Ledger
from tests.integration.conftest import QUICK

BOARD = [[1, 2, 3], [4, 5, 6], [8, 7, 0]]
HURT = Path(__file__).with_name("hurt_worker.py")


@pytest.fixture
def hurt_client(fresh_redis):
    with Client(fresh_redis.url, timeout=30.0) as client:
        yield client


def hurt(url, fault, folder, **more):
    """A worker in which the work itself does harm, as ``hurt_worker.py`` says."""
    environment = QUICK | {"HURT": fault, "HURT_FOLDER": str(folder)} | more
    return run_worker(url, concurrency=1, environment=environment, program=(sys.executable, str(HURT)))


def wait_for(condition, what):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"waited 30 s for {what}"
        time.sleep(0.02)


def test_a_lost_message_is_made_up_for(hurt_client, fresh_redis, fresh_settings):
    handle = hurt_client.send_validate(BOARD)
    with connect(fresh_settings) as redis:
        assert redis.rpop("interactive") is not None
        assert redis.llen("interactive") == 0
    with run_worker(fresh_redis.url, environment=QUICK):
        assert handle.answer().status == "unsolvable"


@pytest.mark.slow
def test_a_message_that_was_never_sent_is_made_up_for(fresh_redis, monkeypatch):
    """The client died, or lost its connection, between the ledger and the queue."""
    from taquin.errors import Unavailable

    def fail(*_):
        raise Unavailable("cut")

    monkeypatch.setattr(Carrier, "send", fail)
    with Client(fresh_redis.url, timeout=30.0) as client:
        handle = client.send_validate(BOARD)
        with run_worker(fresh_redis.url, environment=QUICK):
            assert handle.answer().status == "unsolvable"


def test_a_doubled_message_is_worked_on_once(hurt_client, fresh_redis, fresh_settings, tmp_path):
    handle = hurt_client.send_validate(BOARD)
    carrier = Carrier(fresh_settings)
    for _ in range(4):
        carrier.send(handle.id, "interactive")
    carrier.close()
    with hurt(fresh_redis.url, "count", tmp_path):
        assert handle.answer().status == "unsolvable"
        with connect(fresh_settings) as redis:
            wait_for(lambda: redis.llen("interactive") == 0 and redis.hlen("unacked") == 0, "the doubles to be taken")
            record = Ledger(redis, fresh_settings).read(handle.id)
    assert record.attempts == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_worker_killed_between_begin_and_finish(hurt_client, fresh_redis, tmp_path):
    handle = hurt_client.send_validate(BOARD)
    with hurt(fresh_redis.url, "hang", tmp_path, TAQUIN_TIME_LIMIT_INTERACTIVE="600") as worker:
        wait_for(lambda: any(tmp_path.iterdir()), "the work to begin")
        os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
    assert not handle.ready()
    # The lease of 602 s would end by itself; the test does not wait for it.
    assert hurt_client._redis.zadd("taquin:due", {handle.id: 0}) == 0
    with run_worker(fresh_redis.url, environment=QUICK):
        assert handle.answer().status == "unsolvable"
    assert hurt_client._ledger.read(handle.id).attempts == 2


@pytest.mark.slow
def test_a_killed_pool_process_costs_one_attempt(hurt_client, fresh_redis, tmp_path):
    handle = hurt_client.send_validate(BOARD)
    with hurt(fresh_redis.url, "kill-once", tmp_path):
        assert handle.answer().status == "unsolvable"
    assert hurt_client._ledger.read(handle.id).attempts == 2


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("kill", "its worker died, hung or was stopped in each of 3 attempts"),
        ("raise", "it failed in each of 3 attempts"),
        ("memory", "it failed in each of 3 attempts"),
        ("hang", "it failed in each of 3 attempts"),
    ],
)
@pytest.mark.slow
def test_poison_is_a_dead_letter_after_its_last_attempt(hurt_client, fresh_redis, tmp_path, fault, cause):
    handle = hurt_client.send_validate(BOARD)
    with hurt(fresh_redis.url, fault, tmp_path, TAQUIN_TIME_LIMIT_INTERACTIVE="2") as worker:
        with pytest.raises(GaveUp, match=cause):
            handle.answer()
        assert hurt_client.validate([[1, 2], [3, 0]]).status == "solvable"
        assert worker.process.poll() is None
    assert len(list(tmp_path.iterdir())) == 3
    (letter,) = hurt_client._ledger.dead()
    assert (letter.id, letter.attempts, letter.state) == (handle.id, 3, "dead")


def test_sigterm_ends_a_worker_in_time_and_loses_nothing(hurt_client, fresh_redis):
    handles = [hurt_client.send_validate(BOARD) for _ in range(200)]
    with run_worker(fresh_redis.url, environment=QUICK) as worker:
        wait_for(handles[0].ready, "the first answer")
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(15) == 0
    with run_worker(fresh_redis.url, environment=QUICK):
        assert {handle.answer().status for handle in handles} == {"unsolvable"}
    assert list(hurt_client._ledger.dead()) == []


@pytest.mark.slow
def test_the_heartbeat_says_whether_the_worker_lives(fresh_redis):
    import subprocess

    with run_worker(fresh_redis.url, environment=QUICK) as worker:
        beat = worker.log.with_name("heartbeat")
        command = [sys.executable, "-m", "taquin", "health", "--heartbeat-file", str(beat)]
        alive = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (alive.returncode, alive.stdout[:8]) == (0, "healthy:")
        os.utime(beat, (0, 0))
        wait_for(lambda: beat.stat().st_mtime > 0, "the next beat")
        worker.process.send_signal(signal.SIGSTOP)
        try:
            os.utime(beat, (0, 0))
            stuck = subprocess.run(command, capture_output=True, text=True, check=False)
        finally:
            worker.process.send_signal(signal.SIGCONT)
        assert (stuck.returncode, stuck.stdout[:12]) == (1, "not healthy:")
        never = subprocess.run([*command[:-1], "/nowhere"], capture_output=True, text=True, check=False)
        assert never.returncode == 1
