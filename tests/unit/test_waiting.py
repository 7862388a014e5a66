"""Waiting for workers that may not be there: it is said once, and only if there is none."""

from __future__ import annotations

import time

import pytest

from taquin.cli import waiting
from taquin.survey import GONE_AFTER, Worker, announce

SAID = "no worker seems to serve the queue bulk"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)


def wait(settings, capsys, *, moving=False):
    with waiting.patient_bar(settings) as bar:
        task = bar.add_task("Answered", total=None)
        for _ in range(30):
            time.sleep(0.02)
            bar.advance(task, int(moving))
    return capsys.readouterr().err


def worker(redis, settings, queue, seen):
    seconds, _ = redis.time()
    announce(redis, settings, Worker("a:1", "0", [queue], 1, 0, seconds, seconds + seen, 0.0))


def test_without_a_worker_it_is_said_once(redis, settings, capsys):
    del redis
    assert wait(settings, capsys).count(SAID) == 1


@pytest.mark.parametrize(("queue", "seen"), [("interactive", 0.0), ("bulk", -2 * GONE_AFTER)])
def test_a_worker_of_another_queue_or_one_that_is_gone_does_not_count(redis, settings, capsys, queue, seen):
    worker(redis, settings, queue, seen)
    assert SAID in wait(settings, capsys)


def test_a_worker_may_take_its_time(redis, settings, capsys):
    worker(redis, settings, "bulk", 0.0)
    assert wait(settings, capsys) == ""


def test_what_moves_is_left_alone(redis, settings, capsys, monkeypatch):
    del redis
    monkeypatch.setattr(waiting, "PATIENCE", 0.25)  # far more than a step takes, on a busy machine too
    assert wait(settings, capsys, moving=True) == ""


def test_a_redis_that_is_away_is_not_its_business(settings, capsys):
    away = settings.model_copy(update={"redis_url": type(settings.redis_url)("redis://127.0.0.1:1")})
    assert wait(away, capsys) == ""
