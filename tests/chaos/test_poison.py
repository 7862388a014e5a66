"""Work that does harm is dead after its last attempt, and everybody else's goes on."""

from __future__ import annotations

import pytest

from tests.chaos import faults
from tests.chaos.plain import run_plain
from tests.chaos.run import row, run

PLAIN_UNITS = 1_000
HARM = ("segfault", "memory", "exhaust", "loop", "hang", "fail")


def row_beside_plain(outcome, folder, beside, **load):
    """Return the row of a run, with plain Celery beside it if that is wanted."""
    if not beside:
        return row(outcome)
    (folder / "plain").mkdir()
    plain = run_plain(faults.nothing, folder / "plain", units=PLAIN_UNITS, times=1, **load)
    ended = f"{plain.restarts} workers ended, one poison was tried {plain.most_runs} times"
    return row(outcome, plain, f"{ended}, {plain.endless} had no end")


@pytest.mark.short
def test_poison_costs_its_attempts_and_nobody_elses(seed, long, beside, folder, record_property):
    words = HARM * (4 if long else 1)
    outcome = run(
        "work that segfaults, eats memory, has none, loops, hangs, fails",
        faults.nothing,
        folder,
        seed=seed,
        units=5_000 if long else 300,
        times=1,
        special=words,
        may_die=HARM,
    )
    record_property("row", row_beside_plain(outcome, folder, beside, seed=seed, special=words, may_die=HARM))
    outcome.must_hold()
    assert len(outcome.findings.dead) == len(words)
    assert outcome.restarts == 0


def test_work_that_ends_its_worker_ends_as_well(seed, beside, folder, record_property):
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
    record_property("row", row_beside_plain(outcome, folder, beside, seed=seed, special=words, may_die=words))
    outcome.must_hold()
    assert len(outcome.findings.dead) == len(words)
    assert outcome.restarts >= 3
