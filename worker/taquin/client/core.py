"""What all verbs of a client share: its connections, and waiting."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from taquin.carrier import Carrier
from taquin.client.inbox import Inbox
from taquin.connection import connect
from taquin.jobs import Jobs
from taquin.ledger import Ledger
from taquin.pools import Pools
from taquin.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

READ_AGAIN: Final = 5.0
"""Seconds after which a wait reads the ledger though nobody told it anything: the word may have been lost."""


class Core:
    """The connections of one client."""

    def __init__(self, url: str | None = None, *, timeout: float = 10.0, settings: Settings | None = None) -> None:
        """Open nothing yet."""
        settings = settings or Settings()
        if url is not None:
            settings = Settings(**settings.model_dump(exclude={"redis_url"}), redis_url=url)
        self.timeout = timeout
        self.settings = settings
        # A verb shall say that Redis is away after ten seconds, not after twenty.
        self._redis = connect(settings, retries=1)
        self._ledger = Ledger(self._redis, settings)
        self._jobs = Jobs(self._redis, settings)
        self._pools = Pools(self._redis, settings)
        self._carrier = Carrier(settings)
        self._inbox = Inbox(settings)

    def close(self) -> None:
        """Close every connection; what was sent goes on."""
        self._inbox.close()
        self._carrier.close()
        self._redis.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()


def pause(deadline: float | None, too_late: Callable[[], Exception]) -> float:
    """Return how long to wait before reading again; raises what ``too_late`` returns when the time is over."""
    if deadline is None:
        return READ_AGAIN
    left = deadline - time.monotonic()
    if left <= 0:
        raise too_late()
    return min(left, READ_AGAIN)
