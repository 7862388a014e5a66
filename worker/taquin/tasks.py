"""The Celery tasks: parse, call, return. What they do stands in ``service`` and ``ledger``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenacity import retry, retry_if_exception_type, wait_exponential_jitter

from taquin import service
from taquin.errors import Busy, Unavailable
from taquin.messages import REPAIR, VALIDATE, WORK

if TYPE_CHECKING:
    from celery import Celery

    from taquin.ledger import Ledger
    from taquin.settings import Settings

until_redis_answers = retry(
    # Endless on purpose: the time limit stops a task that waits too long, and the ledger has it run again.
    retry=retry_if_exception_type((Unavailable, Busy)),
    wait=wait_exponential_jitter(multiplier=0.1, max=1.0),
    reraise=True,
)


def register(app: Celery, ledger: Ledger, settings: Settings) -> None:
    """Make the tasks of ``app``, which work on this ledger."""
    begin = until_redis_answers(ledger.begin)
    finish = until_redis_answers(ledger.finish)
    fail = until_redis_answers(ledger.fail)

    def respond(use_case: str, args: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
        if len(args) != 1 or fields:
            answer = service.invalid("request", "the task takes one argument, the request object")
        else:
            answer = service.USE_CASES[use_case](args[0], max_cells=settings.max_cells)
        return answer.model_dump(mode="json")

    @app.task(name=VALIDATE, shared=False, typing=False, trail=False)
    def validate(*args: Any, **fields: Any) -> dict[str, Any]:
        return respond("validate", args, fields)

    @app.task(name=REPAIR, shared=False, typing=False, trail=False)
    def repair(*args: Any, **fields: Any) -> dict[str, Any]:
        return respond("repair", args, fields)

    @app.task(name=WORK, shared=False, trail=False, ignore_result=True)
    def work(id: str) -> None:
        unit = begin(id)
        if unit is None:
            return
        try:
            finish(id, service.work(unit.kind, unit.payload, max_cells=settings.max_cells))
        except Exception as error:
            fail(unit, f"{type(error).__name__}: {error}")
            raise
