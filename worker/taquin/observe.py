"""Hooks beside the tasks: whatever a task does, its log lines carry its names, and its end is counted and logged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import structlog
from billiard.exceptions import TimeLimitExceeded
from celery import Task, bootsteps, signals
from celery.exceptions import SoftTimeLimitExceeded
from celery.worker.request import Request

from taquin.messages import BULK, REQUEST_ID
from taquin.metrics import FAILURE, LOST, SUCCESS, TIMEOUT
from taquin.tasks import Work

if TYPE_CHECKING:
    from taquin.ledger import Unit
    from taquin.metrics import Metrics

log = structlog.get_logger("taquin.tasks")

ABSORB_EVERY: Final = 30.0
"""Seconds between two looks for files of processes that have died."""
ERROR_MOST: Final = 500
"""Characters of an error that are logged."""
NAME_MOST: Final = 200
"""Characters of a sender's own name for its request that are logged."""


def observed_task(metrics: Metrics) -> type[Task[Any, Any]]:
    """Return the class of tasks whose end is counted and logged."""

    class ObservedTask(Task):  # type: ignore[type-arg]
        abstract = True
        Request = observed_request(Request, metrics)  # type: ignore[assignment]  # the stubs know its name only

        def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
            del args, kwargs
            structlog.contextvars.clear_contextvars()
            structlog.contextvars.bind_contextvars(**_names(self, task_id))
            if (self.request.delivery_info or {}).get("redelivered"):
                metrics.redelivered(self.name)
            request: Any = self.request
            request.began = time.perf_counter()

        def on_success(self, retval: Any, task_id: str, args: Any, kwargs: Any) -> None:
            del retval, task_id, args, kwargs
            seconds = time.perf_counter() - self.request.get("began", 0.0)
            metrics.task(self.name, SUCCESS, seconds)
            log.info("task.done", seconds=round(seconds, 6))

        def on_failure(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
            del args, kwargs, einfo
            outcome = TIMEOUT if isinstance(exc, (SoftTimeLimitExceeded, TimeLimitExceeded)) else FAILURE
            # The main process stops what ignores its soft limit; it has begun nothing itself.
            began = self.request.get("began")
            metrics.task(self.name, outcome, None if began is None else time.perf_counter() - began)
            error = f"{type(exc).__name__}: {exc}"[:ERROR_MOST]
            log.error(
                "task.failed",
                **{"task": self.name, "id": task_id} if began is None else {},
                outcome=outcome,
                error=error,
            )

        def after_return(self, *arguments: Any) -> None:
            del arguments
            structlog.contextvars.clear_contextvars()

    return ObservedTask


def observed_request(base: type[Request], metrics: Metrics) -> type[Request]:
    """Return the class by which the main process tracks a task, and notices that its process was lost."""

    class ObservedRequest(base):  # type: ignore[misc, valid-type]
        def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
            if not return_ok and not isinstance(exc_info.exception, TimeLimitExceeded):
                metrics.task(self.name, LOST)
                log.error("task.lost", task=self.name, id=self.id, error=str(exc_info.exception))
            return super().on_failure(exc_info, send_failed_event, return_ok)

    return ObservedRequest


class ObservedWork(Work):
    """Counts attempts, and boards by what becomes of them."""

    def __init__(self, metrics: Metrics, *parts: Any) -> None:
        """Do what ``Work`` does with its parts."""
        super().__init__(*parts)
        self.metrics = metrics

    def begin(self, id: str) -> Unit | None:
        """Take a unit, and count the attempt."""
        unit = super().begin(id)
        if unit is None:
            self.metrics.refused()
        else:
            self.metrics.begun(unit.attempt)
        return unit

    def settle(self, unit: Unit) -> dict[str, int]:
        """Do a unit, and count its boards."""
        outcomes = super().settle(unit)
        if outcomes:
            self.metrics.boards(outcomes, unit.boards or None)
        return outcomes

    def respond(self, id: str, use_case: str, args: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
        """Answer a request, and count its board."""
        answer = super().respond(id, use_case, args, fields)
        self.metrics.boards({answer["status"]: 1})
        return answer


def metrics_step(metrics: Metrics) -> type[bootsteps.StartStopStep]:
    """Return the step by which a worker's main process serves what all of its processes count."""

    class MetricsStep(bootsteps.StartStopStep):
        requires = ("celery.worker.components:Pool",)

        def start(self, parent: Any) -> None:
            del parent
            metrics.start()
            # Children that are forked later inherit the port, and would hold it when this process has died.
            signals.worker_process_init.connect(_let_go, weak=False, dispatch_uid="taquin-metrics")

        def stop(self, parent: Any) -> None:
            del parent
            metrics.stop()

        terminate = stop

    def _let_go(**_: Any) -> None:
        metrics.stop()

    return MetricsStep


def _names(task: Any, id: str) -> dict[str, Any]:
    """Return what every line of a task carries: its name and id, of a chunk also the job, and the sender's own name."""
    names = {"task": task.name, "id": id}
    if (task.request.delivery_info or {}).get("routing_key") == BULK:
        job, _, chunk = id.rpartition(":")
        if job and chunk.isdecimal():
            names |= {"job": job, "chunk": int(chunk)}
    said = task.request.get(REQUEST_ID)
    if isinstance(said, str):
        names[REQUEST_ID] = said[:NAME_MOST]
    return names
