"""Handing work back: what a lost process had in hand, and what a worker that is told to stop cannot finish.

SIGTERM and SIGINT mean the same: take nothing new, give what is in hand ``DRAIN`` seconds, hand back the rest, which
costs it no attempt, and end. A second signal changes nothing. Celery's own soft shutdown waits inside the signal
handler, so that nothing that ends meanwhile is acknowledged, and a second signal cuts it short.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import structlog
from celery import bootsteps
from celery.exceptions import TimeLimitExceeded
from celery.worker import state
from celery.worker.request import Request
from kombu.common import ignore_errors

from taquin.errors import TaquinError
from taquin.messages import WORK

if TYPE_CHECKING:
    from taquin.ledger import Ledger

log = structlog.get_logger("taquin.handover")

DRAIN: Final = 5.0
"""Seconds that work in hand is given to end."""
FORCED: Final = 10.0
"""Seconds after which a worker that hangs while it ends is ended by force: the promise is 15.

It was seen once in some 60 stops; most likely billiard's pool was reading a pipe that its process read as well.
"""
LAST_WORDS: Final = 2.0
"""Seconds that a worker which is ended by force has to hand back what it can."""
LOOK: Final = 0.1
"""Seconds between two looks whether a signal came: a signal handler itself may do next to nothing."""
STALE: Final = 1.0
"""Seconds without a look after which the event loop counts as stuck: there is no connection, or no Redis behind it."""


class Handover:
    """What the main process of a worker says of the leases that its pool processes have taken.

    The ledger must have their holder's name and be quick: the event loop of the worker waits for it.
    """

    def __init__(self, ledger: Ledger) -> None:
        """Open nothing yet."""
        self._ledger = ledger
        self._looked = 0.0
        self._deadline: float | None = None
        self.told_to_stop = False

    def start(self, worker: Any) -> None:
        """Take the signals over from Celery, and look for them from the worker's event loop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, self._on_alarm)
        self._looked = time.monotonic()
        worker.timer.call_repeatedly(LOOK, self._look, (worker,))

    def give_back(self, id: str, *, counts: bool) -> bool:
        """Give up one lease; False where Redis does not answer, and it runs out by itself."""
        try:
            self._ledger.give_back(id, counts=counts)
        except TaquinError as error:
            log.warning("work.not_given_back", id=id, error=str(error))
            return False
        log.info("work.given_back", id=id, counts=counts)
        return True

    def give_back_all(self) -> None:
        """Give up every lease that is left when the worker ends. The attempts do not count."""
        for request in tuple(state.active_requests):
            # A Redis that does not answer takes its time not to, and there is none to lose.
            if request.type == WORK and not self.give_back(request.args[0], counts=False):
                return

    def _on_signal(self, number: int, frame: Any) -> None:
        del number, frame
        if self.told_to_stop:
            return
        self.told_to_stop = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, FORCED)
        if time.monotonic() - self._looked > STALE:
            _end()

    def _on_alarm(self, number: int, frame: Any) -> None:
        del number, frame
        # Whatever hangs in here is ended by the next alarm.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LAST_WORDS)
        faulthandler.dump_traceback()  # to standard error: what it hangs in
        with suppress(Exception):
            self.give_back_all()
        os._exit(1)

    def _look(self, worker: Any) -> None:
        self._looked = time.monotonic()
        if not self.told_to_stop:
            return
        if self._deadline is None:
            self._deadline = self._looked + DRAIN
            log.info("worker.stopping", in_hand=len(state.reserved_requests))
            consumer = worker.consumer
            if consumer.task_consumer:
                ignore_errors(consumer, consumer.task_consumer.cancel)
        if not state.reserved_requests or self._looked >= self._deadline:
            # Celery's loop sees this and ends the worker: the step below, then the pool, then the connection, which
            # puts unacknowledged messages back on their queues.
            _end()


def _end() -> None:
    worker_state: Any = state
    worker_state.should_terminate = 0  # the exit status


def handover_step(handover: Handover) -> type[bootsteps.StartStopStep]:
    """Return the step by which a Celery worker is told to stop and hands its work back."""

    class HandoverStep(bootsteps.StartStopStep):
        requires = ("celery.worker.components:Pool",)

        def start(self, parent: Any) -> None:
            handover.start(parent)

        def stop(self, parent: Any) -> None:
            del parent
            handover.give_back_all()

        terminate = stop

    return HandoverStep


def handover_request(handover: Handover, base: type[Request] = Request) -> type[Request]:
    """Return the class by which Celery tracks a unit in the pool: it gives the lease up when its process is lost."""

    class HandoverRequest(base):  # type: ignore[misc, valid-type]
        def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
            if not return_ok:  # the work did not return at all: its process was killed, or ran out of time
                late = isinstance(exc_info.exception, TimeLimitExceeded)
                handover.give_back(self.args[0], counts=late or not handover.told_to_stop)
            return super().on_failure(exc_info, send_failed_event, return_ok)

    return HandoverRequest
