"""The heartbeat: what it takes for a pool that is stuck, and the reading of the file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest
from structlog.testing import capture_logs

from taquin import health
from taquin.errors import BadSettings
from taquin.health import PATIENCE, STALE_AFTER, Heartbeat, check_heartbeat_file, read_health

LONGEST = 60


@dataclass(eq=False)
class Work:
    time_start: float | None = None
    time_limits: tuple[float | None, float | None] = (5, 4)


class Clock:
    """Both clocks, set by hand."""

    def __init__(self):
        self.now = 1_000_000.0

    def time(self):
        return self.now

    monotonic = time


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(health, "time", clock)
    return clock


@pytest.fixture
def in_hand():
    return []


@pytest.fixture
def heartbeat(tmp_path, in_hand):
    return Heartbeat(tmp_path / "beat", LONGEST, lambda: in_hand)


def test_an_idle_worker_gives_signs_of_life(heartbeat, tmp_path):
    heartbeat.beat()
    assert read_health(tmp_path / "beat").healthy


def test_work_within_its_limit_is_no_fault(clock, heartbeat, in_hand):
    in_hand.append(Work(time_start=clock.now, time_limits=(60, 48)))
    clock.now += 60
    assert not heartbeat.stuck()


def test_work_that_its_limit_did_not_end_is_a_stuck_pool(clock, heartbeat, in_hand, tmp_path):
    in_hand.append(Work(time_start=clock.now))
    clock.now += 5 + PATIENCE + 1
    heartbeat.beat()
    assert not (tmp_path / "beat").exists()


def test_work_that_waits_for_a_redis_that_is_away_is_no_fault(clock, heartbeat, in_hand, tmp_path):
    """Celery's time limits do not run while it connects; they do as soon as it has."""
    in_hand.append(Work(time_start=clock.now))
    clock.now += 5 + PATIENCE + 1
    heartbeat.beat_without_redis()
    assert (tmp_path / "beat").exists()
    clock.now += PATIENCE - 1
    assert not heartbeat.stuck()
    clock.now += 2
    assert heartbeat.stuck()


def test_work_that_nobody_begins_is_a_stuck_pool(clock, heartbeat, in_hand):
    in_hand.append(Work())
    assert not heartbeat.stuck()
    clock.now += PATIENCE + 1
    assert heartbeat.stuck()
    in_hand.clear()
    assert not heartbeat.stuck()


def test_work_may_wait_for_work_that_was_begun(clock, heartbeat, in_hand):
    in_hand.append(Work())
    assert not heartbeat.stuck()
    clock.now += PATIENCE + 1
    in_hand.append(Work(time_start=clock.now))
    assert not heartbeat.stuck()


def test_a_file_that_nobody_touches_any_more(tmp_path):
    file = tmp_path / "beat"
    assert read_health(file).age is None
    file.touch()
    assert read_health(file).healthy
    old = time.time() - STALE_AFTER - 1
    os.utime(file, (old, old))
    assert not read_health(file).healthy


def test_a_file_that_cannot_be_looked_at_is_no_sign_of_life(tmp_path):
    (tmp_path / "file").touch()
    health = read_health(tmp_path / "file" / "beat")
    assert (health.healthy, health.age) == (False, None)
    assert health.reason.endswith("beat cannot be looked at: Not a directory")


def test_a_file_that_cannot_be_written_is_found_before_a_worker_starts(tmp_path):
    (tmp_path / "file").touch()
    check_heartbeat_file(tmp_path / "file")
    check_heartbeat_file(tmp_path / "beat")
    assert not (tmp_path / "beat").exists(), "the worker gives no sign of life yet"
    for bad in (tmp_path / "nowhere" / "beat", tmp_path / "file" / "beat"):
        with pytest.raises(BadSettings, match=f"TAQUIN_HEARTBEAT_FILE: {bad} cannot be written"):
            check_heartbeat_file(bad)


def test_a_folder_that_goes_away_is_said_once_and_ends_no_consumer(tmp_path):
    """To Celery an error in the consumer looks like a broken connection, and it would connect for ever."""
    heartbeat = Heartbeat(tmp_path / "folder" / "beat", LONGEST, list)
    with capture_logs() as said:
        heartbeat.beat()
        heartbeat.beat()
        (tmp_path / "folder").mkdir()
        heartbeat.beat()
    assert [line["event"] for line in said] == ["heartbeat.failed"]
    assert read_health(tmp_path / "folder" / "beat").healthy


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("buffered", [True, False])
def test_the_status_is_true_also_where_nothing_can_be_said(tmp_path, buffered):
    file = tmp_path / "beat"
    file.touch()
    environment = {**os.environ, "TAQUIN_HEARTBEAT_FILE": str(file), "PYTHONUNBUFFERED": "" if buffered else "1"}
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "taquin.health"], env=environment, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("module", ["taquin", "taquin.health"])
@pytest.mark.parametrize(("there", "status"), [(True, 0), (False, 1), (None, 2)])
def test_asked_without_the_command_line(tmp_path, there, status, module):
    """What a container asks every few seconds: neither Celery nor typer nor pydantic is loaded for it."""
    file = tmp_path / "beat"
    environment = dict(os.environ)
    environment.pop("TAQUIN_HEARTBEAT_FILE", None)
    if there is not None:
        environment["TAQUIN_HEARTBEAT_FILE"] = str(file)
    if there:
        file.touch()
    loaded = (
        "import atexit, runpy, sys; atexit.register(lambda: print(*sys.modules)); sys.argv[1:] = ['health']; "
        f"runpy.run_module('{module}', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run([sys.executable, "-c", loaded], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert not {"celery", "typer", "pydantic", "redis", "numpy"} & set(done.stdout.split())
