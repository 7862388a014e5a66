"""The same faults on the same load, carried by plain Celery tasks: board in, answer to the result backend."""

from __future__ import annotations

import contextlib
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from redis.exceptions import RedisError

from tests.chaos.load import random_board
from tests.chaos.plain_worker import make_app
from tests.chaos.rig import PROBE, Rig, kill_group

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.faults import Fault

QUIET = 40.0
"""Seconds without progress after which what has no answer is lost: more than twice the visibility timeout."""


@dataclass
class PlainOutcome:
    """What plain Celery came to."""

    acknowledged: int
    lost: int
    """Acknowledged, and no result when nothing moves any more; poison that is still tried is none of these."""
    doubled: int
    """Run more than once, poison apart."""
    recovery: float
    endless: int
    """Poison that was still tried when nothing else moved any more."""
    most_runs: int
    """How often the poison that was tried most often had been tried by then, with a result or without one."""
    restarts: int
    """Workers that ended and were started again."""


class PlainRig(Rig):
    """A rig whose workers and probes are plain Celery's."""

    queues = ("celery",)

    def __init__(self, folder: Path, *, workers: int = 2, server: tuple[str, ...] = ()):
        """Start Redis alone."""
        super().__init__(folder, workers=workers, server=server)
        self.app = make_app(self.url)
        self.workers.program = [sys.executable, "-m", "celery", "-A", "tests.chaos.plain_worker", "--quiet", "worker"]
        self.workers.program += ["--concurrency", "2", "--without-mingle", "--without-gossip", "--without-heartbeat"]

    def send(self, id: str, kind: str, request: Any) -> bool:
        """Send a task; whether that was acknowledged."""
        try:
            self.app.send_task("plain.work", args=[kind, request], task_id=id, retry=False)
        except Exception:  # noqa: BLE001  whatever it is, it is no acknowledgement
            return False
        return True

    def has_result(self, id: str) -> bool:
        """Whether there is an answer."""
        with contextlib.suppress(RedisError):
            return bool(self.server.redis.exists(f"celery-task-meta-{id}"))
        return False

    def probe(self, patience: float = 60.0) -> float:
        """Send tasks until one has an answer; return the seconds that this took."""
        before = time.monotonic()
        ids: list[str] = []
        while (passed := time.monotonic() - before) < patience:
            if len(ids) < passed + 1:
                id = str(uuid4())
                if self.send(id, "validate", {"board": PROBE}):
                    ids.append(id)
            if any(self.has_result(id) for id in ids):
                return time.monotonic() - before
            time.sleep(0.05)
        return float("inf")


def run_plain(
    fault: Fault,
    folder: Path,
    *,
    seed: int,
    units: int,
    times: int,
    gap: tuple[float, float] = (0.3, 1.5),
    special: tuple[str, ...] = (),
    every: int = 10,
    may_die: tuple[str, ...] = (),
    workers: int = 2,
) -> PlainOutcome:
    """Put load on plain Celery, have the fault happen, wait until nothing moves, and count. Arguments as in ``run``."""
    rng, recoveries, special_words = random.Random(seed), [0.0], list(special)
    with PlainRig(folder, workers=workers) as rig:
        rig.workers.start()
        acknowledged: list[str] = []
        enough = threading.Event()

        def send(number: int) -> None:
            boards, sent = random.Random(f"{seed}/{number}"), 0
            while sent < units // 2 or not enough.is_set():
                word = special_words.pop() if special_words and sent % every == 0 else "plain"
                id = f"{word}-{number}-{sent}"
                if rig.send(id, boards.choice(("validate", "repair")), {"board": random_board(boards)}):
                    acknowledged.append(id)
                sent += 1
                while not enough.is_set():
                    with contextlib.suppress(RedisError):
                        if rig.server.redis.llen("celery") < 50:
                            break
                    time.sleep(0.01)

        threads = [threading.Thread(target=send, args=(number,), daemon=True) for number in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(times):
            time.sleep(rng.uniform(*gap))
            fault(rig, rng)
            recoveries.append(rig.probe())
        enough.set()
        for thread in threads:
            thread.join(600)
        lost = _wait(rig, acknowledged)
        rig.workers._stop.set()
        for process in rig.workers.processes:
            kill_group(process)
        runs = Counter(line.split()[0] for line in rig.runs.read_text().splitlines())
        poison = {id for id in acknowledged if id.partition("-")[0] in may_die}
        doubled = sum(runs[id] > 1 for id in acknowledged if id not in poison)
        return PlainOutcome(
            acknowledged=len(acknowledged),
            lost=len(lost - poison),
            doubled=doubled,
            recovery=max(recoveries),
            endless=len(lost & poison),
            most_runs=max((runs[id] for id in poison), default=0),
            restarts=len(rig.workers.ended),
        )


def _wait(rig: PlainRig, ids: list[str]) -> set[str]:
    open_ids, progress = list(ids), time.monotonic()
    while open_ids and time.monotonic() - progress < QUIET:
        left = [id for id in open_ids if not rig.has_result(id)]
        if len(left) < len(open_ids):
            open_ids, progress = left, time.monotonic()
        else:
            time.sleep(0.5)
    return set(open_ids)
