"""Work that does harm is dead after its last attempt, and everybody else's goes on."""

from __future__ import annotations

import pytest

from tests.chaos import faults
from tests.chaos.run import row, run

HARM = ("segfault", "memory", "loop", "hang", "fail")


@pytest.mark.short
def test_poison_costs_its_attempts_and_nobody_elses(seed, long, folder, record_property):
    words = HARM * (4 if long else 1)
    outcome = run(
        "work that segfaults, eats memory, loops, hangs, fails",
        faults.nothing,
        folder,
        seed=seed,
        units=5_000 if long else 300,
        times=1,
        special=words,
        may_die=HARM,
    )
    record_property("row", row(outcome))
    outcome.must_hold()
    assert len(outcome.findings.dead) == len(words)
    assert outcome.restarts == 0


def test_work_that_ends_its_worker_ends_as_well(seed, folder, record_property):
    """By SIGKILL, which costs an attempt, and by SIGTERM, where running out of time does."""
    words = ("parent", "stopper")
    outcome = run(
        "work that kills its worker's main process",
        faults.nothing,
        folder,
        seed=seed,
        units=3_000,
        times=1,
        special=words,
        may_die=words,
    )
    record_property("row", row(outcome))
    outcome.must_hold()
    assert len(outcome.findings.dead) == len(words)
    assert outcome.restarts >= 3
