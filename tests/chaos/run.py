"""One run: load, faults, quiet, and the account of it."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.chaos.checker import Findings, Watcher, check, wait_until_quiet
from tests.chaos.history import History
from tests.chaos.load import Load
from tests.chaos.rig import Rig

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.faults import Fault

RECOVERY = 10.0
"""Seconds from the end of a fault until a request that is made then must have its answer: promise 4."""
SHUTDOWN = 15.0
"""Seconds from SIGTERM until a worker must have ended: promise 5."""


def in_time(seconds: float, promised: float) -> bool:
    """Whether a promise was kept, on this machine: one that has three times the work for its cores takes longer."""
    return seconds < promised * min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), 3.0)


QUIET = 90.0
"""Seconds that everything may take to settle after the last fault: leases, visibility timeout and resends."""


@dataclass
class Outcome:
    """What one run is judged by."""

    name: str
    findings: Findings
    recoveries: list[float]
    stops: list[float]
    calls: dict[str, int]
    restarts: int
    log: str
    left: list[str] = field(default_factory=list)

    def must_hold(self) -> None:
        """Raise what is wrong, all of it."""
        wrong = list(self.findings.wrong)
        wrong += [f"lost: {id}" for id in self.findings.lost]
        wrong += [f"doubled: {id}" for id in self.findings.doubled]
        wrong += [f"recovery took {seconds:.1f} s" for seconds in self.recoveries if not in_time(seconds, RECOVERY)]
        wrong += [f"SIGTERM took {seconds:.1f} s" for seconds in self.stops if not in_time(seconds, SHUTDOWN)]
        wrong += [f"left behind: {what}" for what in self.left]
        if not all(in_time(seconds, SHUTDOWN) for seconds in self.stops):
            # What a worker that is ended by force writes of itself.
            wrong += [line for line in self.log.splitlines() if line.lstrip().startswith(("File", "Thread", "Current"))]
        if wrong:
            raise AssertionError("\n".join([f"{self.name}:", *wrong[:30], f"({len(wrong)} in all)"]))


def run(
    name: str,
    fault: Fault,
    folder: Path,
    *,
    seed: int,
    units: int,
    times: int,
    gap: tuple[float, float] = (0.3, 1.5),
    pace: float = 0.0,
    special: tuple[str, ...] = (),
    every: int = 10,
    may_die: tuple[str, ...] = (),
    workers: int = 2,
    server: tuple[str, ...] = (),
    **variables: str,
) -> Outcome:
    """Put load on, have the fault happen some times, wait until all is quiet, and account for everything.

    Args:
        name: of the run, for the report.
        fault: what happens.
        folder: for everything that the processes write.
        seed: of boards and faults.
        units: that are sent at least.
        times: how often the fault happens.
        gap: seconds between two faults, at least and at most.
        pace: seconds that a client pauses between two units.
        special: first words of the ids of units that do harm.
        every: one of so many units is a special one.
        may_die: which of these end as dead letters.
        workers: how many workers.
        server: more arguments of redis-server.
        variables: settings of clients and workers.
    """
    rng = random.Random(seed)
    recoveries: list[float] = []
    with Rig(folder, workers=workers, server=server, **variables) as rig:
        history = History(rig.runs)
        rig.workers.start()
        watcher = Watcher(rig.server.redis, history)
        load = Load(rig.settings, history, seed, units, pace=pace, special=special, every=every)
        watcher.start()
        load.start()
        for _ in range(times):
            time.sleep(rng.uniform(*gap))
            fault(rig, rng)
            recoveries.append(rig.probe())
        load.finish()
        left = wait_until_quiet(rig.server.redis, QUIET)
        stops = rig.workers.stop()
        watcher.stop()
        findings = check(rig.server.redis, history, rig.direct, may_die=may_die)
        return Outcome(
            name,
            findings,
            recoveries,
            rig.took + stops,
            dict(history.calls),
            len(rig.workers.ended),
            rig.workers.log,
            left,
        )


def row(outcome: Outcome, plain: Any = None, remark: str = "") -> str:
    """Return the line of a table in Markdown."""
    found = outcome.findings
    recovery = max(outcome.recoveries, default=0.0)
    cells = [
        outcome.name,
        f"{found.acknowledged:,}",
        len(found.lost),
        len(found.doubled),
        len(found.dead),
        f"{recovery:.1f}",
    ]
    cells += (
        ["", "", "", "", ""]
        if plain is None
        else [f"{plain.acknowledged:,}", plain.lost, plain.doubled, f"{plain.recovery:.1f}", remark]
    )
    return "| " + " | ".join(map(str, cells)) + " |"
