"""The sweeper: a thread of every worker that sends overdue work again. One of them sweeps at a time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import structlog
from celery import bootsteps

from taquin.errors import TaquinError

if TYPE_CHECKING:
    from taquin.carrier import Carrier
    from taquin.ledger import Ledger
    from taquin.settings import Settings

log = structlog.get_logger("taquin.sweeper")


class Sweeper:
    """Looks for overdue work every ``sweep_every`` seconds until it is stopped."""

    def __init__(self, ledger: Ledger, carrier: Carrier, settings: Settings) -> None:
        """Start nothing yet. Ledger and carrier are this thread's own: pool processes are forked beside it."""
        self._ledger = ledger
        self._carrier = carrier
        self._every = settings.sweep_every
        self._token = uuid4().hex
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="taquin-sweeper", daemon=True)

    def start(self) -> None:
        """Begin to sweep."""
        self._thread.start()

    def stop(self) -> None:
        """End after the sweep in hand."""
        self._stop.set()
        self._thread.join(timeout=2.0)

    def sweep(self) -> int:
        """Sweep once; return how many messages were sent."""
        overdue = self._ledger.sweep(self._token) or []
        for unit in overdue:
            self._carrier.send(unit.id, unit.queue)
            log.info("work.resent", id=unit.id, queue=unit.queue)
        return len(overdue)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self.sweep()
            except TaquinError as error:
                log.warning("sweep.failed", error=str(error))
            except Exception:
                # What is overdue stays so, and the next sweep finds it; a thread that ends would be silent.
                log.exception("sweep.failed")


def sweeper_step(sweeper: Sweeper) -> type[bootsteps.StartStopStep]:
    """Return the step by which a Celery worker starts and stops this sweeper."""

    class SweeperStep(bootsteps.StartStopStep):
        requires = ("celery.worker.components:Pool",)

        def start(self, parent: Any) -> None:
            del parent
            sweeper.start()

        def stop(self, parent: Any) -> None:
            del parent
            sweeper.stop()

        terminate = stop

    return SweeperStep
