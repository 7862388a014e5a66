"""Waiting for workers that may not be there."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from taquin.cli import drawing
from taquin.connection import connect
from taquin.errors import TaquinError
from taquin.messages import BULK
from taquin.survey import seen_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bar

    from taquin.settings import Settings

PATIENCE: Final = 10.0
"""Seconds without progress after which it is looked whether there is a worker at all."""


@contextmanager
def patient_bar(settings: Settings) -> Iterator[Bar]:
    """Within this context there is a bar, and if nothing moves and no worker is there, that is said once."""
    over = threading.Event()
    with drawing.boards_bar(drawing.err()) as bar:
        watch = threading.Thread(target=_notice, args=(bar, settings, over), name="taquin-patience", daemon=True)
        watch.start()
        try:
            yield bar
        finally:
            over.set()
            watch.join(timeout=1.0)


def _notice(bar: Bar, settings: Settings, over: threading.Event) -> None:
    done = _done(bar)
    while not over.wait(PATIENCE):
        before, done = done, _done(bar)
        if done == before and not _is_served(settings) and not over.is_set():
            bar.console.print(
                f"no worker seems to serve the queue {BULK}: start one by `taquin worker`; waiting for it",
                soft_wrap=True,
            )
            return


def _done(bar: Bar) -> float:
    return sum(task.completed for task in bar.tasks)


def _is_served(settings: Settings) -> bool:
    try:
        with connect(settings, retries=0) as redis:
            return any(BULK in worker.queues for worker in seen_workers(redis, settings))
    except TaquinError:  # whoever waits will say so
        return True
