"""Is this worker alive: a file that its consumer touches, and the reading of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from celery.bootsteps import StartStopStep

BEAT_EVERY: Final = 2.0
"""Seconds between two touches."""
STALE_AFTER: Final = 15.0
"""Seconds without a touch after which a worker counts as stuck."""


def heartbeat_step(file: Path) -> type[StartStopStep]:
    """Return the step that touches ``file`` from the event loop of the worker's consumer, and so only while it runs."""
    from celery import bootsteps  # noqa: PLC0415  `taquin health` must cost next to nothing

    class HeartbeatStep(bootsteps.StartStopStep):
        requires = ("celery.worker.consumer.tasks:Tasks",)
        timer: Any = None

        def start(self, parent: Any) -> None:
            file.touch()
            self.timer = parent.timer.call_repeatedly(BEAT_EVERY, file.touch)

        def stop(self, parent: Any) -> None:
            del parent
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return HeartbeatStep


def age(file: Path) -> float | None:
    """Return the seconds since the worker last touched its file; None if it never did."""
    try:
        return max(0.0, time.time() - file.stat().st_mtime)
    except FileNotFoundError:
        return None
