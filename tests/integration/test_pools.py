"""Pools as apps use them: no board is handed out twice, none disappears, and the workers keep them full."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from taquin import BadInput, Client, Unknown, puzzle
from taquin.embedded import run_worker
from tests.integration.conftest import QUICK
from tests.integration.textbook import solvable

PROCESSES = 4


@pytest.fixture
def alone(redis, settings):
    """A client of a Redis that is empty, without a worker."""
    del redis
    with Client(settings=settings) as client:
        yield client


def fill(client, count):
    records = [json.dumps({"id": f"b{n}", "rows": 2, "cols": 2, "board": [[1, 2], [0, 3]], "goal": "blank-last",
                           "band": "easy", "distance": 1, "moves": 1}) for n in range(count)]  # fmt: skip
    client._pools.fill("2x2:easy", "\n".join(records).encode())


CLAIMER = """
import sys
from taquin import Client
with Client(sys.argv[1]) as client:
    sys.stdin.readline()
    while (ready := client.claim("2x2", band="easy", lease=60)) is not None:
        print(ready.id, flush=True)
        if sys.argv[2] == "confirm":
            client.confirm(ready)
"""


def start_claimer(settings, what):
    command = [sys.executable, "-c", CLAIMER, settings.redis_url.get_secret_value(), what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_many_processes_never_get_the_same_board(alone, settings, redis):
    fill(alone, 200)
    claimers = [start_claimer(settings, "confirm" if number % 2 else "hold") for number in range(PROCESSES)]
    for claimer in claimers:
        claimer.stdin.write("go\n")
        claimer.stdin.flush()
    got = [line for claimer in claimers for line in claimer.communicate(timeout=60)[0].split()]
    assert sorted(got) == sorted(f"b{number}" for number in range(200))
    # What half of them only held comes back, whole, when the leases are over.
    held = redis.zcard("taquin:leases")
    for claim in redis.zrange("taquin:leases", 0, -1):
        redis.zadd("taquin:leases", {claim: 1})
    again = [alone.take("2x2", band="easy").id for _ in range(held)]
    assert alone.take("2x2", band="easy") is None
    assert len(set(again)) == held
    assert set(again) <= set(got)


def test_a_claimer_that_is_killed_keeps_no_board(alone, settings, redis):
    fill(alone, 1)
    claimer = start_claimer(settings, "hold")
    claimer.stdin.write("go\n")
    claimer.stdin.flush()
    assert claimer.stdout.readline() == "b0\n"
    claimer.send_signal(signal.SIGKILL)
    claimer.communicate(timeout=30)
    assert alone.claim("2x2", band="easy") is None
    redis.zadd("taquin:leases", dict.fromkeys(redis.zrange("taquin:leases", 0, -1), 1))
    assert alone.claim("2x2", band="easy").id == "b0"


def test_a_lease_runs_out_by_itself(alone):
    fill(alone, 1)
    first = alone.claim("2x2", band="easy", lease=0.05)
    time.sleep(0.1)
    with pytest.raises(Unknown, match=f"no claim {first.claim}"):
        alone.confirm(first)
    second = alone.claim("2x2", band="easy")
    assert (second.id, second.claim != first.claim) == (first.id, True)
    alone.release(second.claim)
    assert alone.take("2x2", band="easy").id == first.id
    assert alone.claim("2x2", band="easy") is None


def test_a_board_once_taken_does_not_come_back(alone, redis):
    fill(alone, 1)
    assert alone.take("2x2", band="easy").id == "b0"
    assert redis.keys("taquin:leases") == redis.keys("taquin:claims") == []
    assert alone.take("2x2", band="easy") is None


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        (lambda c: c.claim("2x", band="easy"), "2x"),
        (lambda c: c.claim("0x4", band="easy"), "not 0 and 4"),
        (lambda c: c.claim("9999x9999", band="easy"), "too many"),
        (lambda c: c.claim("2x2", band="cruel"), "no band 'cruel'; the bands are easy, medium, hard, expert"),
        (lambda c: c.claim("2x2", band="easy", goal="home"), "home"),
        (lambda c: c.claim("2x2", band="easy", lease=0), "a lease takes more than 0 seconds"),
        (lambda c: c.claim("2x2", band="easy", lease=float("nan")), "a lease takes more than 0 seconds"),
        (lambda c: c.keep_pool("2x2", band="easy", low=3, high=2), "0 <= low <= high <= 1,000,000, not 3 and 2"),
        (lambda c: c.keep_pool("2x2", band="easy", low=-1, high=2), "not -1 and 2"),
        (lambda c: c.keep_pool("2x2", band="easy", low=1.5, high=2), "not 1.5 and 2"),
        (lambda c: c.keep_pool("2x2", band="easy", low=1, high=10**9), "not 1 and 1000000000"),
        (lambda c: c.keep_pool("1x2", band="expert", low=1, high=2, refill=True), "expert"),
    ],
)
def test_bad_wishes_are_one_clear_error_and_leave_nothing(alone, redis, verb, message):
    with pytest.raises(BadInput, match=message):
        verb(alone)
    assert redis.keys("*") == []


def test_generated_boards_are_not_added_twice(client):
    wish = {"band": "easy", "goal": "snail", "seed": 3, "to_pool": True}
    first = client.generate("4x3", 300, **wish).wait(timeout=60)
    assert first.pooled <= first.solvable == 300
    again = client.generate("4x3", 300, **wish).wait(timeout=60)
    assert (again.solvable, again.pooled) == (300, 0)
    (count,) = (pool for pool in client.pools() if pool.name == "4x3:easy:snail")
    assert count.ready == first.pooled
    ready = client.take("4x3", band="easy", goal="snail")
    assert ready.goal == "snail"
    assert puzzle.solvable(np.ravel(ready.board)[None, :], "4x3", "snail").all()


def test_workers_keep_a_pool_full(fresh_redis):
    with run_worker(fresh_redis.url, environment=QUICK), Client(fresh_redis.url, timeout=30) as client:
        client.keep_pool("4x4", band="medium", low=20, high=100, refill=True)

        def refilled(jobs):
            deadline = time.monotonic() + 30
            while True:
                seen = list(client.jobs())
                if len(seen) == jobs and all(progress.finished for _, progress in seen):
                    return client.pools()[0]
                assert time.monotonic() < deadline, seen
                time.sleep(0.02)

        pool = refilled(jobs=1)
        assert (pool.name, pool.ready, pool.low, pool.high, pool.refills) == ("4x4:medium", 100, 20, 100, True)
        taken = [client.take("4x4", band="medium") for _ in range(85)]
        assert refilled(jobs=2).ready >= 20
        names = [event.name for event in client.events("app", "one", timeout=0.1)]
        assert sorted(names) == ["job.completed", "job.completed", "pool.low", "pool.low"]
    boards = np.array([ready.board for ready in taken])
    assert solvable(boards, 4, 4).all()
    assert (puzzle.band(boards.reshape(-1, 16), "4x4") == puzzle.BANDS.index("medium")).all()
    assert len({ready.id for ready in taken}) == 85
