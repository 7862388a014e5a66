"""A worker for chaos: ``taquin``, which notes every attempt, and does the harm that the id of a unit asks for."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path
from uuid import uuid4

from celery.exceptions import SoftTimeLimitExceeded

from taquin import cli, service, tasks
from taquin.messages import Problem

NOTES = os.open(os.environ["CHAOS_RUNS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
honest_settle, honest_work = tasks.Work.settle, service.work


def settle(work, unit):
    os.write(NOTES, f"{unit.id} {os.getpid()}\n".encode())
    HARM.get(unit.id.partition("-")[0], nothing)(unit)
    honest_settle(work, unit)
    if unit.id.startswith("late-") and unit.attempt == 1:
        with Path(os.environ["CHAOS_RUNS"]).with_name("late").open("a") as ended:
            ended.write(f"{unit.id}\n")


def marked_work(kind, payload, **limits):
    """Mark each attempt's answer, so that one that replaces another can be told from it."""
    answer, ready = honest_work(kind, payload, **limits)
    mark = Problem(problem="chaos", where=uuid4().hex, message="")
    return answer.model_copy(update={"problems": [*answer.problems, mark]}), ready


def nothing(_):
    pass


def slow(_):
    time.sleep(0.3)


def long(_):
    time.sleep(1.2)


def late(unit):
    """Take longer than a lease, but only the first time."""
    if unit.attempt == 1:
        time.sleep(8.0)


def patient(_):
    """Wait as long as a file is there."""
    while Path(os.environ["CHAOS_RUNS"]).with_name("patient").exists():
        time.sleep(0.05)


def segfault(_):
    ctypes.string_at(0)


def memory(_):
    eaten = bytearray(100_000_000)
    os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does to who eats too much
    del eaten


def loop(_):
    while True:
        with contextlib.suppress(SoftTimeLimitExceeded):
            while True:
                pass


def hang(_):
    while True:
        with contextlib.suppress(SoftTimeLimitExceeded):
            time.sleep(3600)


def parent(_):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)


def stopper(_):
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(3600)


def fail(_):
    raise RuntimeError("on purpose")


HARM = {
    harm.__name__: harm for harm in (slow, long, late, patient, segfault, memory, loop, hang, parent, stopper, fail)
}  # by the first word of the unit's id

tasks.Work.settle = settle
service.work = marked_work
if __name__ == "__main__":
    cli.main()
