"""Events by a consumer group: each reaches one consumer, and whoever was away or crashed picks up."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from taquin import BadInput, Client, Settings
from taquin.client import events
from taquin.client.events import Position
from taquin.jobs import Jobs
from taquin.ledger import Ledger

SOON = 0.2
"""Seconds without an event after which a reading ends."""


@pytest.fixture
def client(redis, settings):
    """A client of a Redis that is empty, without a worker."""
    del redis
    with Client(settings=settings) as client:
        yield client


@pytest.fixture
def happen(redis, settings):
    """Have so many events happen, told apart by their cause."""
    ledger = Ledger(redis, settings)
    counted = iter(range(10**6))

    def happen(count):
        for _ in range(count):
            ledger.keep("bulk", b"rubbish", f"event {next(counted)}")

    return happen


def causes(events):
    return [event.fields["cause"] for event in events]


def named(*numbers):
    return [f"event {number}" for number in numbers]


def test_each_group_gets_each_event_once(client, happen):
    happen(3)
    for group in ("app", "statistics"):
        assert causes(client.events(group, "one", timeout=SOON)) == named(0, 1, 2)
        assert causes(client.events(group, "one", timeout=SOON)) == []
    happen(1)
    assert causes(client.events("app", "two", timeout=SOON)) == named(3)


def test_an_event_says_what_happened(client, redis, settings):
    jobs = Jobs(redis, settings)
    jobs.open("j", b"{}")
    jobs.add("j", 0, 2, b"x")
    jobs.seal("j", 1, 2)
    jobs.commit("j:0", b"", (1, 0, 1, 0), [])
    jobs.open("k", b"{}")
    jobs.cancel("k")
    client.keep_pool("3x3", band="hard", low=1, high=2)
    completed, cancelled, low = client.events("app", "one", timeout=SOON)
    assert completed.name == "job.completed"
    counts = {"boards": "2", "solvable": "1", "unsolvable": "0", "repaired": "1", "invalid": "0", "dead": "0"}
    assert completed.fields == {"job": "j"} | counts
    assert (cancelled.name, cancelled.fields) == ("job.cancelled", {"job": "k"})
    assert (low.name, low.fields) == ("pool.low", {"pool": "3x3:hard", "left": "0", "low": "1"})
    assert completed.id < cancelled.id < low.id


def test_two_consumers_of_a_group_share(client, happen):
    first = client.events("app", "one", timeout=SOON)
    happen(1)
    assert next(first).fields["cause"] == "event 0"
    happen(2)
    assert causes(client.events("app", "two", timeout=SOON)) == named(1, 2)
    assert causes(first) == []


def test_an_event_whose_handling_failed_comes_again(client, happen):
    happen(3)
    reading = client.events("app", "one", timeout=SOON)
    next(reading)
    next(reading)
    reading.close()  # while the second is in hand, and the third was read with it
    assert causes(client.events("app", "two", timeout=SOON)) == []
    assert causes(client.events("app", "one", timeout=SOON)) == named(1, 2)
    assert causes(client.events("app", "one", timeout=SOON)) == []


def test_events_of_a_consumer_that_is_gone_for_good_are_taken_over(client, happen):
    happen(25)
    gone = client.events("app", "gone", timeout=SOON)
    next(gone)
    gone.close()
    assert causes(client.events("app", "two", timeout=SOON)) == named(*range(10, 25))
    assert causes(client.events("app", "two", timeout=SOON, min_idle=None)) == []
    time.sleep(0.1)
    assert causes(client.events("app", "two", timeout=SOON, min_idle=0.05)) == named(*range(10))
    assert causes(client.events("app", "gone", timeout=SOON)) == []


@pytest.mark.slow
def test_events_are_taken_over_while_a_reading_goes_on(client, happen, monkeypatch):
    """Also more of them than are held at once."""
    monkeypatch.setattr(events, "TAKE_OVER_EVERY", 0.05)
    happen(10)
    gone = client.events("app", "gone", timeout=SOON)
    next(gone)
    happen(15)
    again = client.events("app", "gone again", timeout=SOON)
    next(again)
    reading = client.events("app", "two", timeout=2.5, min_idle=0.3)
    happen(1)
    assert sorted(causes(reading)) == sorted(named(*range(26)))


def test_an_idle_time_must_be_one(client):
    with pytest.raises(BadInput, match="min_idle takes seconds above 0, or None, not 0"):
        next(client.events("app", "one", min_idle=0))


def test_a_backend_that_was_away_picks_up(client, happen):
    happen(1)
    assert causes(client.events("app", "one", timeout=SOON)) == named(0)
    happen(250)  # more than are read at once
    assert causes(client.events("app", "one", timeout=SOON)) == named(*range(1, 251))


def test_a_backend_that_was_killed_picks_up(client, happen, settings):
    program = f"""
import os, signal
from taquin import Client, Settings
from taquin.client.events import Position
with Client({settings.redis_url.get_secret_value()!r}) as client:
    for event in client.events("app", "one", timeout=5):
        if event.fields["cause"] == "event 2":
            os.kill(os.getpid(), signal.SIGKILL)
"""
    happen(4)
    killed = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert causes(client.events("app", "one", timeout=SOON)) == named(2, 3)


def test_a_reading_goes_on_with_what_happens_meanwhile(client, happen):
    heard = []

    def listen():
        for event in client.events("app", "one"):
            heard.append(event.fields["cause"])
            if len(heard) == 3:
                return

    thread = threading.Thread(target=listen)
    thread.start()
    happen(3)
    thread.join(30)
    assert heard == named(0, 1, 2)


def test_looking_takes_nothing_from_anybody(client, happen):
    happen(150)
    for _ in range(2):
        assert causes(client.look(timeout=SOON)) == named(*range(150))
    assert causes(client.events("app", "one", timeout=SOON)) == named(*range(150))


def test_without_events_a_reading_ends_in_time(client):
    assert list(client.events("app", "one", timeout=0.01)) == []
    assert list(client.look(timeout=0.01)) == []


@pytest.mark.parametrize("seconds", [0.2, 1.0, 5.0])
def test_a_reading_waits_no_longer_than_a_command_may_take(seconds):
    position = Position(None, Settings(redis_timeout=seconds), at=">")
    assert 0 < position.block <= 1_000 * seconds / 2


def test_trimmed_events_stop_nobody(client, happen, redis):
    happen(5)
    reading = client.events("app", "one", timeout=SOON)
    next(reading)
    reading.close()
    redis.xtrim("taquin:events", maxlen=0, approximate=False)
    happen(1)
    assert causes(client.events("app", "one", timeout=SOON)) == named(5)
