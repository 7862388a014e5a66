"""Whatever breaks, and whenever: what was acknowledged is answered once, and a new request is answered within 10 s."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.chaos import faults
from tests.chaos.plain import run_plain
from tests.chaos.run import row, run


@dataclass(frozen=True)
class Case:
    """A fault, and how much of it: units sent at least and times, in the long run and in the short one."""

    name: str
    fault: faults.Fault
    units: int
    times: int
    short: tuple[int, int] | None = None
    """Left out of the short selection where it is None."""
    gap: tuple[float, float] = (0.3, 1.5)
    special: tuple[str, ...] = ()
    every: int = 10


CASES = [
    Case("kill -9 of a worker with its pool", faults.kill_worker, 40_000, 40, (1_000, 3), gap=(2.0, 6.0)),
    Case("messages that vanish from the queue", faults.lose_messages, 5_000, 20, (300, 3)),
    Case("kill -9 of a worker's main process", faults.kill_main, 5_000, 15, (400, 1)),
    Case("kill -9 of a pool process", faults.kill_child, 5_000, 20, (400, 2)),
    # All of it is slow, so that something is in hand whenever the worker is stopped.
    Case(
        "SIGSTOP of a worker beyond its lease",
        faults.freeze_worker,
        1_000,
        8,
        (150, 2),
        special=("slow",) * 3_000,
        every=1,
    ),
    Case("SIGTERM of a worker, often twice", faults.stop_worker, 5_000, 30, (300, 2), special=("long",) * 60),
    Case("kill -9 of Redis", faults.kill_redis, 5_000, 8, (300, 1)),
    Case("SIGTERM of Redis, and a start", faults.restart_redis, 5_000, 8),
    Case("SIGSTOP of Redis, 5 s", faults.freeze_redis, 3_000, 4),
    Case("CLIENT KILL of every connection", faults.kill_clients, 5_000, 10, (300, 2)),
    Case("SCRIPT FLUSH", faults.flush_scripts, 3_000, 10, (300, 1)),
    Case("every connection cut", faults.cut, 5_000, 10, (300, 2)),
    Case("connections refused, 2 s", faults.during("refuse", 2.0), 3_000, 6, (300, 1)),
    Case("connections refused, 20 s", faults.during("refuse", 20.0), 1_500, 2),
    Case("nothing passes, 2 s", faults.during("blackhole", 2.0), 3_000, 4),
    Case(
        "nothing passes, 8 s: results cannot be told", faults.during("blackhole", 8.0), 3_000, 4, special=("slow",) * 60
    ),
    Case("replies swallowed, 3 s", faults.during("swallow", 3.0), 3_000, 5, (300, 1)),
    Case("100 ms more each way", faults.slow_network, 1_000, 3),
    Case("Redis full", faults.fill_redis, 3_000, 5, (300, 1)),
    Case("Redis's disk full", faults.full_disk, 3_000, 5),
]


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.short] if case.short else [], id=case.name) for case in CASES]
)
def test_nothing_is_lost_and_nothing_done_twice(case, seed, long, beside, folder, record_property):
    units, times = (case.units, case.times) if long or case.short is None else case.short
    (folder / "taquin").mkdir()
    gap = case.gap if long else (0.3, 1.5)
    load = {"seed": seed, "units": units, "times": times, "gap": gap, "special": case.special, "every": case.every}
    outcome = run(case.name, case.fault, folder / "taquin", **load)
    plain = None
    if beside:
        (folder / "plain").mkdir()
        plain = run_plain(case.fault, folder / "plain", **load)
    record_property("row", row(outcome, plain))
    outcome.must_hold()
    assert outcome.findings.acknowledged >= units * 0.9
