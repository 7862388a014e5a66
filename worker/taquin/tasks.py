"""The Celery tasks: parse, call, return. What they do stands in ``service`` and ``ledger``."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from tenacity import retry, retry_if_exception_type, wait_exponential_jitter

from taquin import service
from taquin.errors import Busy, Unavailable
from taquin.messages import BOARD_OUTCOMES, CHUNK, REPAIR, VALIDATE, WORK
from taquin.service.chunks import chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celery import Celery

    from taquin.jobs import Jobs
    from taquin.ledger import Ledger, Unit
    from taquin.pools import Pools
    from taquin.settings import Settings

UNREAD: Final = 16
"""Characters of an answer that Celery spells out for a log line that is never written: spelling out takes its time."""

until_redis_answers = retry(
    # Endless on purpose: the time limit stops a task that waits too long, and the ledger has it run again.
    retry=retry_if_exception_type((Unavailable, Busy)),
    wait=wait_exponential_jitter(multiplier=0.1, max=1.0),
    reraise=True,
)


class Work:
    """What the tasks do to the ledger, its jobs and its pools; every step waits until Redis answers."""

    def __init__(self, ledger: Ledger, jobs: Jobs, pools: Pools, settings: Settings) -> None:
        """Open nothing yet."""
        self._begin = until_redis_answers(ledger.begin)
        self.fail = until_redis_answers(ledger.fail)
        self._finish = until_redis_answers(ledger.finish)
        self._commit = until_redis_answers(jobs.commit)
        self._fill = until_redis_answers(pools.fill)
        self._max_cells = settings.max_cells

    def begin(self, id: str) -> Unit | None:
        """Take a unit of work for one attempt; None if there is nothing to do."""
        return self._begin(id, uuid4().hex)

    def settle(self, unit: Unit) -> dict[str, int]:
        """Do one unit of work and keep what comes of it, once; return the boards by outcome that are kept."""
        if unit.kind == CHUNK:
            done = chunk(unit.asked, unit.id, unit.boards, unit.payload)
            kept = self._commit(unit.id, *done, stamp=unit.stamp)
            return dict(zip(BOARD_OUTCOMES, done.counts, strict=True)) if kept else {}
        answer, ready = service.work(unit.kind, unit.payload, max_cells=self._max_cells)
        kept = self._finish(unit.id, answer.model_dump_json().encode(), ready)
        return {answer.status: 1} if kept else {}

    def respond(self, id: str, use_case: str, args: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
        """Answer a request that came with the message of this task itself."""
        if len(args) != 1 or fields:
            answer = service.invalid("request", "the task takes one argument, the request object")
        else:
            answer, ready = service.respond(use_case, args[0], max_cells=self._max_cells)
            if ready is not None:
                self._fill(*ready, name=id)
        return answer.model_dump(mode="json")


@contextmanager
def memory_errors_stay_here() -> Iterator[None]:
    """Raise another error for a MemoryError, by which Celery would end the whole worker, and not this task alone."""
    try:
        yield
    except MemoryError as error:
        raise RuntimeError(f"out of memory: {error}") from None


def register(app: Celery, work: Work) -> None:
    """Make the tasks of ``app``."""

    @app.task(name=VALIDATE, bind=True, shared=False, typing=False, trail=False, resultrepr_maxsize=UNREAD)
    def validate(task: Any, *args: Any, **fields: Any) -> dict[str, Any]:
        with memory_errors_stay_here():
            return work.respond(task.request.id, "validate", args, fields)

    @app.task(name=REPAIR, bind=True, shared=False, typing=False, trail=False, resultrepr_maxsize=UNREAD)
    def repair(task: Any, *args: Any, **fields: Any) -> dict[str, Any]:
        with memory_errors_stay_here():
            return work.respond(task.request.id, "repair", args, fields)

    @app.task(name=WORK, shared=False, trail=False, ignore_result=True)
    def do_work(id: str) -> None:
        unit = work.begin(id)
        if unit is None:
            return
        try:
            with memory_errors_stay_here():
                work.settle(unit)
        except Exception as error:
            work.fail(unit, f"{type(error).__name__}: {error}")
            raise
