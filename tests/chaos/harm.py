"""The harm that work does: what a unit asks for by the first word of its id. The others do none."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded


def slow(_):
    time.sleep(0.3)


def long(_):
    time.sleep(1.2)


def late(attempt):
    """Take longer than a lease, but only the first time."""
    if attempt == 1:
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


def exhaust(_):
    """Fail as NumPy does when there is no memory left; Celery ends a worker that is told of it."""
    raise MemoryError("on purpose")


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
    harm.__name__: harm
    for harm in (slow, long, late, patient, segfault, memory, exhaust, loop, hang, parent, stopper, fail)
}


def do(id: str, attempt: int = 1) -> None:
    """Do the harm that this unit asks for, if it asks for any."""
    HARM.get(id.partition("-")[0], lambda _: None)(attempt)
