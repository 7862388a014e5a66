"""How a worker logs: one event a line, JSON in containers, readable on a terminal.

``event`` is one of a fixed set of names (docs/reference/logs.md); what libraries say is ``library`` with their words in
``message``. Boards are never logged, and no password either: what the settings hold is struck out of every line.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Final

import structlog

from taquin.address import passwords

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import EventDict, Processor, WrappedLogger

    from taquin.settings import Settings

BOARDS_IN_IT: Final = ("celery.app.trace", "celery.worker.strategy", "celery.worker.request")
"""Celery's loggers that write arguments and results, and so whole boards; ``task.*`` say the same without them."""
SETTLED: Final = "worker_cancel_long_running_tasks_on_connection_loss"
"""A setting that Celery speaks of at every reconnection as long as it is off, as it has to be here."""
STRUCK_OUT: Final = "***"


def configure_logging(settings: Settings, count: Callable[[str], None] | None = None) -> None:
    """Send our events and what every library says to standard error in one form; ``count`` is told of each event."""
    console = settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
    level = getattr(logging, settings.log_level.upper())
    ours: list[Processor] = [
        _counting(count) if count else _as_it_is,
        structlog.stdlib.filter_by_level,
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    theirs: list[Processor] = [*ours[2:], _foreign]
    structlog.configure(
        processors=[*ours, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    last: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
        if console
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=theirs,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *last,
                _striking_out(passwords(settings)),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(capture=True)
    logging.getLogger("py.warnings").addFilter(_is_news)
    for name in BOARDS_IN_IT:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _is_news(record: logging.LogRecord) -> bool:
    return SETTLED not in record.getMessage()


def _counting(count: Callable[[str], None]) -> Processor:
    """Tell of every event, also of those that the level leaves out."""

    def counting(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        del logger, method
        count(event["event"])
        return event

    return counting


def _as_it_is(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    del logger, method
    return event


def _foreign(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Give what a library says one name; what it attaches to the record may be anything, and is left out."""
    del logger, method
    event["message"] = event["event"]
    event["event"] = "library"
    return event


def _striking_out(secrets: tuple[str, ...]) -> Any:
    """Take passwords out of the finished line, wherever they come from."""

    def strike_out(logger: WrappedLogger, method: str, line: str) -> str:
        del logger, method
        for secret in secrets:
            line = line.replace(secret, STRUCK_OUT)
        return line

    return strike_out
