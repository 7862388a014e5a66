"""The one place that opens connections to Redis for our own data, and says so when Redis does not answer."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from taquin.errors import Busy, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis.asyncio import Redis as AsyncRedis

    from taquin.settings import Settings

KEEPALIVE_PROBES = 3
"""Seconds between probes of a silent peer, so that a half-open connection is noticed within about ten."""


ASYNC_CONNECTIONS = 16
"""Connections that all tasks of an event loop share; a consumer of events holds one while it waits."""


def connect(settings: Settings, *, retries: int = 3) -> Redis:
    """Return a client; nothing is opened until its first command. Every reply is bytes.

    ``retries`` is how often a command is tried again when the connection breaks: every script of ours may run twice.
    """
    retry = Retry(ExponentialWithJitterBackoff(base=0.05, cap=1.0), retries)
    return Redis.from_url(settings.redis_url.get_secret_value(), retry=retry, **_options(settings))


def connect_async(settings: Settings, *, retries: int = 3) -> AsyncRedis:
    """Return a client for an event loop; nothing is opened until its first command. Every reply is bytes."""
    from redis.asyncio import BlockingConnectionPool  # noqa: PLC0415  only a backend with an event loop needs it
    from redis.asyncio import Redis as AsyncRedis  # noqa: PLC0415
    from redis.asyncio.retry import Retry as AsyncRetry  # noqa: PLC0415

    retry = AsyncRetry(ExponentialWithJitterBackoff(base=0.05, cap=1.0), retries)
    # Hundreds of tasks share a few connections: each needs one for a fraction of a millisecond only.
    pool = BlockingConnectionPool.from_url(
        settings.redis_url.get_secret_value(),
        max_connections=ASYNC_CONNECTIONS,
        timeout=settings.redis_timeout,
        retry=retry,
        **_options(settings),
    )
    return AsyncRedis.from_pool(pool)


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "socket_timeout": settings.redis_timeout,
        "socket_connect_timeout": settings.redis_timeout,
        "socket_keepalive": True,
        "health_check_interval": KEEPALIVE_PROBES,
        "client_name": "taquin",
    }


def place(settings: Settings) -> str:
    """Host and port, or the socket's path: what an error may show of the URL, which may hold a password."""
    url = urlsplit(settings.redis_url.get_secret_value())
    if url.scheme == "unix":
        return url.path
    return f"{url.hostname or '127.0.0.1'}:{url.port or 6379}"


@contextmanager
def reporting(settings: Settings) -> Iterator[None]:
    """Turn Redis's errors into ours.

    Raises:
        Unavailable: no connection, no reply in time, still loading, or only a replica.
        Busy: Redis is full and refuses writes.
    """
    try:
        yield
    except OutOfMemoryError as error:
        raise Busy(
            f"Redis at {place(settings)} is full and takes no new work: free memory or raise its maxmemory, "
            f"then send again (nothing was written)"
        ) from error
    except (RedisConnectionError, RedisTimeoutError, ReadOnlyError) as error:
        raise Unavailable(
            f"Redis at {place(settings)} does not answer ({type(error).__name__}): is it running, and is "
            f"TAQUIN_REDIS_URL right?"
        ) from error
    except RedisError as error:
        raise Unavailable(f"Redis at {place(settings)} refused: {error}") from error
