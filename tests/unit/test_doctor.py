"""What doctor finds wrong, and what stats makes of two surveys."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from taquin import cli
from taquin.cli.doctor import examine_server, examine_survey
from taquin.cli.stats import as_dict, draw
from taquin.pools import PoolCount
from taquin.survey import Queue, Survey, Worker
from taquin.version import __version__

GOOD = {
    "redis_version": "8.0.2",
    "role": "master",
    "aof_enabled": 1,
    "aof_last_write_status": "ok",
    "maxmemory_policy": "noeviction",
    "maxmemory": 1_000_000,
    "used_memory": 500_000,
}
WORKER = Worker("host:1", __version__, ["bulk", "interactive"], 2, 1, started=0.0, seen=99.0, skew=0.001)
FINE = Survey(
    time=100.0,
    queues=[Queue("interactive", 3, 0.5, 10, 8), Queue("bulk", 0, 0.0, 20, 20)],
    unfinished=3,
    overdue=0,
    overdue_by=0.0,
    dead=0,
    pools=[PoolCount("4x4:hard", 50, 2, 10, 100, refills=True)],
    workers=[WORKER],
    memory=1_000_000,
    memory_limit=2_000_000,
)


def found(findings):
    """The checks that are not ok, with their status; each has its advice."""
    bad = [finding for finding in findings if finding.status != "ok"]
    assert all(finding.advice for finding in bad)
    return {finding.check: finding.status for finding in bad}


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["taquin", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        out, err = capsys.readouterr()
        return exit_.value.code, out, err

    return run


def test_nothing_is_wrong_with_what_is_right():
    assert found(examine_server(GOOD)) == {}
    assert found(examine_survey(FINE)) == {}


@pytest.mark.parametrize(
    ("change", "bad"),
    [
        ({"redis_version": "6.0.16"}, {"version": "problem"}),
        ({"redis_version": "6.0.16", "valkey_version": "8.1.1"}, {}),
        ({"redis_version": "6.2.0"}, {}),
        ({"redis_version": "10.0.0"}, {}),
        ({"role": "slave"}, {"role": "problem"}),
        ({"cluster_enabled": 1}, {"cluster": "problem"}),
        ({"aof_enabled": 0}, {"persistence": "warning"}),
        ({"aof_last_write_status": "err"}, {"persistence": "problem"}),
        ({"maxmemory_policy": "allkeys-lru"}, {"eviction": "problem"}),
        ({"maxmemory": 0}, {"memory": "warning"}),
        ({"used_memory": 900_000}, {"memory": "warning"}),
    ],
)
def test_what_is_wrong_with_a_server(change, bad):
    assert found(examine_server(GOOD | change)) == bad


@pytest.mark.parametrize(
    ("change", "bad"),
    [
        ({"workers": []}, {"workers": "problem", "queue interactive": "problem", "queue bulk": "problem"}),
        ({"workers": [replace(WORKER, queues=["bulk"])]}, {"queue interactive": "problem"}),
        ({"workers": [replace(WORKER, version="0.0.1")]}, {"worker host:1": "warning"}),
        ({"workers": [replace(WORKER, skew=-3.0)]}, {"worker host:1": "warning"}),
        ({"overdue": 4, "overdue_by": 60.0}, {"sweeper": "problem"}),
        ({"overdue": 4, "overdue_by": 0.5}, {}),
        ({"dead": 1}, {"dead letters": "warning"}),
        ({"queues": [Queue("interactive", 9, 60.0, 0, 0), FINE.queues[1]]}, {"queue interactive": "warning"}),
        ({"queues": [Queue("interactive", 9, None, 0, 0), FINE.queues[1]]}, {}),
        ({"pools": [PoolCount("4x4:hard", 9, 0, 10, 20, refills=False)]}, {"pool 4x4:hard": "warning"}),
    ],
)
def test_what_is_wrong_with_what_stands_in_redis(change, bad):
    assert found(examine_survey(replace(FINE, **change))) == bad


@pytest.mark.parametrize(
    ("pool", "command"),
    [
        (PoolCount("4x4:hard", 9, 0, 10, 20, refills=False), "taquin generate 4x4 11 --band hard --pool"),
        (
            PoolCount("3x3:easy:snail", 0, 0, 1, 5, refills=False),
            "taquin generate 3x3 5 --band easy --goal snail --pool",
        ),
        (
            PoolCount("2x3:easy:goal-0123456789abcdef", 1, 0, 4, 4, refills=False),
            "taquin generate 2x3 3 --band easy --goal BOARD --pool",
        ),
    ],
)
def test_the_command_that_fills_a_pool(pool, command):
    advice = {finding.check: finding.advice for finding in examine_survey(replace(FINE, pools=[pool]))}
    assert advice[f"pool {pool.name}"] == f"fill it: {command}"


def test_a_bad_setting_is_found_before_anything_else(run, monkeypatch):
    monkeypatch.setenv("TAQUIN_MAX_ATTEMPTS", "many")
    status, out, err = run("doctor", "--json")
    (said,) = map(json.loads, out.splitlines())
    assert (status, err) == (1, "")
    assert (said["check"], said["status"]) == ("settings", "problem")
    assert "TAQUIN_MAX_ATTEMPTS" in said["message"]


def test_a_redis_that_is_away_is_a_problem_and_no_password_is_shown(run, monkeypatch):
    monkeypatch.setenv("TAQUIN_REDIS_URL", "redis://me:s3cret@127.0.0.1:1/0")
    for arguments in (("doctor", "--json"), ("doctor",), ("stats",)):
        status, out, err = run(*arguments)
        assert status == {"doctor": 1, "stats": 3}[arguments[0]]
        assert "127.0.0.1:1" in out + err
        assert "s3cret" not in out + err


def test_rates_are_the_difference_of_two_surveys():
    later = replace(FINE, time=102.0, queues=[Queue("interactive", 1, 0.1, 30, 28), Queue("bulk", 0, 0.0, 20, 20)])
    interactive, bulk = as_dict(FINE, later)["queues"]
    assert (interactive["sent_per_second"], interactive["begun_per_second"]) == (10.0, 10.0)
    assert (bulk["sent_per_second"], bulk["begun_per_second"]) == (0.0, 0.0)


@pytest.mark.parametrize("survey", [FINE, replace(FINE, workers=[], pools=[]), replace(FINE, memory_limit=0)])
def test_stats_can_be_drawn(survey, capsys):
    from rich.console import Console

    Console(width=200).print(draw(as_dict(FINE, survey)))
    assert "interactive" in capsys.readouterr().out
