"""Jobs add up and pools hand each board out once, whatever breaks."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from taquin import Busy, Client, Unavailable, Unknown, puzzle
from tests.chaos import faults
from tests.chaos.checker import wait_until_quiet
from tests.chaos.rig import Rig
from tests.chaos.run import QUIET

SHAPE = (4, 4)


def random_boards(rng, count):
    boards = rng.permuted(np.tile(np.arange(16, dtype=np.uint8), (count, 1)), axis=1)
    boards[:: max(count // 50, 1), 3] = boards[:: max(count // 50, 1), 4]  # some are no boards
    return boards


CHUNK_FAULTS = [
    pytest.param(faults.kill_worker, marks=pytest.mark.short),
    faults.kill_main,
    faults.kill_child,
    faults.stop_worker,
    faults.freeze_worker,
    pytest.param(faults.kill_redis, marks=pytest.mark.short),
    faults.kill_clients,
    faults.cut,
    faults.during("swallow", 3.0),
    faults.fill_redis,
]


@pytest.mark.parametrize("fault", CHUNK_FAULTS, ids=lambda fault: fault.__name__)
def test_a_job_adds_up(fault, seed, long, folder, record_property):
    """Every board has its place and the right outcome, is counted once, and stands in one pool once if it is ready."""
    chunk, chunks, times = 2_000, 400 if long else 60, 6 if long else 2
    boards = random_boards(np.random.default_rng(seed), chunk * chunks)
    good = puzzle.problems(boards, SHAPE) == 0
    solvable = np.zeros(len(boards), bool)
    solvable[good] = puzzle.solvable(boards[good], SHAPE)
    expected = np.where(good, np.where(solvable, 0, 2), 128)
    rng = random.Random(seed)
    with Rig(folder) as rig, Client(settings=rig.settings) as client:
        rig.workers.start()
        done = threading.Event()
        recoveries = []

        def nemesis():
            for _ in range(times):
                time.sleep(rng.uniform(0.2, 1.0))
                fault(rig, rng)
                recoveries.append(rig.probe())
            done.set()

        threading.Thread(target=nemesis, daemon=True).start()
        job = persistent(
            lambda: client.submit(
                boards, shape=SHAPE, kind="repair", to_pool=True, key="a-job", chunk=chunk, timeout=120
            )
        )
        progress = persistent(lambda: job.wait(180))
        assert done.wait(180)
        found = np.concatenate([part.statuses for part in persistent(lambda: list(job.results(60)))])
        left = wait_until_quiet(rig.server.redis, QUIET)
        pooled = sum(pool.ready for pool in client.pools())
        records = Counter(
            record for key in rig.server.redis.scan_iter("taquin:pool:*") for record in _members(rig.server.redis, key)
        )
    lost = len(boards) - progress.done
    doubled = max(progress.done - len(boards), 0) + sum(count - 1 for count in records.values())
    counts = f"{len(boards):,} | {lost} | {doubled} | {progress.dead} | {max(recoveries):.1f}"
    record_property("row", f"| a job of chunks: {fault.__name__} | {counts} |  |  |  |  |  |")
    assert (progress.state, progress.boards, progress.done, progress.dead) == ("complete", len(boards), len(boards), 0)
    assert progress.invalid == np.count_nonzero(~good)
    assert progress.solvable == np.count_nonzero(good & solvable)
    assert progress.repaired == np.count_nonzero(good & ~solvable)
    assert (np.minimum(found, 128) == expected).all()
    assert progress.pooled == pooled == np.count_nonzero(good) - (doubled_boards(boards[good]))
    assert left == []


def doubled_boards(boards):
    """How many of random boards are equal to an earlier one, or become so by a repair: none, at sixteen cells."""
    return len(boards) - len(np.unique(boards, axis=0))


def persistent(call):
    """Repeat what an app would repeat, with the same key, until Redis is there again."""
    for _ in range(300):
        try:
            return call()
        except (Unavailable, Busy):
            time.sleep(0.2)
    raise AssertionError("Redis did not come back")


def _members(redis, key):
    return redis.smembers(key) if redis.type(key) == b"set" else []


BANDS = ("easy", "medium", "hard", "expert")
CLAIMERS, CUTS = 4, 6


class Claimers:
    """Players' servers that race for boards; some crash with a board in hand, whose lease then runs out."""

    def __init__(self, settings, seed):
        self.settings, self.seed = settings, seed
        self.confirmed, self.stop = Counter(), threading.Event()
        self.unsure = set()
        """Boards whose confirmation had no reply, or had happened when it was repeated: they may be a player's."""
        self._lock = threading.Lock()

    def race(self, number):
        draw = random.Random(f"{self.seed}/{number}")
        with Client(settings=self.settings) as client:
            while not self.stop.is_set():
                with contextlib.suppress(Unavailable, Unknown):
                    self.claim(client, draw.choice(BANDS), keep=draw.random() < 0.7)

    def claim(self, client, band, *, keep):
        ready = client.claim("4x4", band=band, lease=2.0)
        if ready is not None and keep:
            try:
                client.confirm(ready)
            except (Unavailable, Unknown):
                self.unsure.add(str(ready.board))
                raise
            with self._lock:
                self.confirmed[str(ready.board)] += 1
        return ready

    def drain(self, settings, leases):
        """Take what is left, until no lease is open any more."""
        deadline = time.monotonic() + 60
        with Client(settings=settings) as client:
            while time.monotonic() < deadline:
                open_before, taken = leases(), 0
                for band in BANDS:
                    while self.claim(client, band, keep=True) is not None:
                        taken += 1
                if not open_before and not taken:
                    return
                time.sleep(0.1)


def claim_for_ever(settings):
    """Be a claimer that is killed with leases in hand; return its process."""
    pid = os.fork()
    if pid == 0:
        with Client(settings=settings) as client:
            while True:
                client.claim("4x4", band="hard", lease=2.0)
    return pid


@pytest.mark.short
def test_no_board_is_handed_out_twice_and_none_disappears(seed, long, folder, record_property):
    """Racing claimers, one of which is killed, leases that run out, and connections that are cut while they race."""
    count = 20_000 if long else 2_000
    rng = random.Random(seed)
    with Rig(folder, workers=1) as rig:
        rig.workers.start()
        with Client(settings=rig.direct) as client:
            client.generate("4x4", count, seed=seed, to_pool=True).wait(120)
            assert sum(pool.ready for pool in client.pools()) == count
        names = set(rig.server.redis.scan_iter("taquin:pool:*"))
        records = [json.loads(record) for name in names for record in _members(rig.server.redis, name)]
        boards = {str(record["board"]) for record in records}
        claimers = Claimers(rig.settings, seed)
        doomed = claim_for_ever(rig.direct)
        with ThreadPoolExecutor(CLAIMERS) as pool:
            futures = [pool.submit(claimers.race, number) for number in range(CLAIMERS)]
            for _ in range(CUTS):
                time.sleep(rng.uniform(0.3, 0.8))
                rig.proxy.cut()
            os.kill(doomed, signal.SIGKILL)
            os.waitpid(doomed, 0)
            claimers.stop.set()
            for future in futures:
                future.result()
        claimers.drain(rig.direct, lambda: rig.server.redis.zcard("taquin:leases"))
    twice = [board for board, times in claimers.confirmed.items() if times > 1]
    missing = boards - set(claimers.confirmed) - claimers.unsure
    counts = f"{count:,} | {len(missing)} | {len(twice)} | 0"
    record_property("row", f"| racing claimers, cut off and killed | {counts} |  |  |  |  |  |  |")
    assert twice == []
    assert not missing
    assert set(claimers.confirmed) <= boards
