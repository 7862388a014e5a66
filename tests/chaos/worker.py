"""A worker for chaos: ``taquin``, which notes every attempt, and does the harm that the id of a unit asks for."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from taquin import cli, service, tasks
from taquin.messages import Problem
from tests.chaos import harm

NOTES = os.open(os.environ["CHAOS_RUNS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
honest_settle, honest_work = tasks.Work.settle, service.work


def settle(work, unit):
    os.write(NOTES, f"{unit.id} {os.getpid()}\n".encode())
    harm.do(unit.id, unit.attempt)
    honest_settle(work, unit)
    if unit.id.startswith("late-") and unit.attempt == 1:
        with Path(os.environ["CHAOS_RUNS"]).with_name("late").open("a") as ended:
            ended.write(f"{unit.id}\n")


def marked_work(kind, payload, **limits):
    """Mark each attempt's answer, so that one that replaces another can be told from it."""
    answer, ready = honest_work(kind, payload, **limits)
    mark = Problem(problem="chaos", where=uuid4().hex, message="")
    return answer.model_copy(update={"problems": [*answer.problems, mark]}), ready


tasks.Work.settle = settle
service.work = marked_work
if __name__ == "__main__":
    cli.main()
