"""The one place that opens connections to Redis for our own data, and says so when Redis does not answer."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from redis import Redis
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, OutOfMemoryError, ReadOnlyError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import Sentinel

from taquin.address import TLS_FILES, is_socket, place, service_of, tls_of, url_of
from taquin.errors import Busy, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis.asyncio import Redis as AsyncRedis

    from taquin.address import Service
    from taquin.settings import Settings

KEEPALIVE_PROBES = 3
"""Seconds between probes of a silent peer, so that a half-open connection is noticed within about ten."""


SENTINEL_RETRIES = 1
"""How often a sentinel is asked again at once: there are others, and all are asked for each try at the server."""


ASYNC_CONNECTIONS = 16
"""Connections that all tasks of an event loop share; a consumer of events holds one while it waits."""


def connect(settings: Settings, *, retries: int = 3) -> Redis:
    """Return a client; nothing is opened until its first command. Every reply is bytes.

    ``retries`` is how often a command is tried again when the connection breaks: every script of ours may run twice.
    """
    retry = Retry(ExponentialWithJitterBackoff(base=0.05, cap=1.0), retries)
    service = service_of(settings)
    if service is None:
        return Redis.from_url(url_of(settings), retry=retry, **_options(settings))
    known: Any = _known(service) | {"retry": retry} | _options(settings)
    watchers = _sentinel(service, settings) | {"retry": Retry(NoBackoff(), SENTINEL_RETRIES)}
    watch = Sentinel(service.sentinels, sentinel_kwargs=watchers, **known)  # type: ignore[no-untyped-call]
    found: Redis = watch.master_for(service.name)  # type: ignore[no-untyped-call]
    return found


def connect_async(settings: Settings, *, retries: int = 3) -> AsyncRedis:
    """Return a client for an event loop; nothing is opened until its first command. Every reply is bytes."""
    from redis.asyncio import BlockingConnectionPool  # noqa: PLC0415  only a backend with an event loop needs it
    from redis.asyncio import Redis as AsyncRedis  # noqa: PLC0415
    from redis.asyncio.retry import Retry as AsyncRetry  # noqa: PLC0415
    from redis.asyncio.sentinel import Sentinel as AsyncSentinel  # noqa: PLC0415

    retry = AsyncRetry(ExponentialWithJitterBackoff(base=0.05, cap=1.0), retries)
    # Hundreds of tasks share a few connections: each needs one for a fraction of a millisecond only.
    service = service_of(settings)
    if service is not None:
        known: Any = _known(service) | {"retry": retry} | _options(settings)
        watchers = _sentinel(service, settings) | {"retry": AsyncRetry(NoBackoff(), SENTINEL_RETRIES)}
        watch = AsyncSentinel(list(service.sentinels), sentinel_kwargs=watchers, **known)  # type: ignore[no-untyped-call]
        found: AsyncRedis = watch.master_for(service.name)
        return found
    pool = BlockingConnectionPool.from_url(
        url_of(settings),
        max_connections=ASYNC_CONNECTIONS,
        timeout=settings.redis_timeout,
        retry=retry,
        **_options(settings),
    )
    return AsyncRedis.from_pool(pool)


def _options(settings: Settings) -> dict[str, Any]:
    tls = tls_of(settings)
    if tls and service_of(settings) is not None:
        tls |= {"ssl": True}
    return {
        "socket_timeout": settings.redis_timeout,
        "socket_connect_timeout": settings.redis_timeout,
        **({} if is_socket(settings) else {"socket_keepalive": True}),
        "health_check_interval": KEEPALIVE_PROBES,
        "client_name": "taquin",
        **tls,
    }


def _known(service: Service) -> dict[str, Any]:
    return {"db": service.db, "username": service.user, "password": service.password}


def _sentinel(service: Service, settings: Settings) -> dict[str, Any]:
    """What the connections to the sentinels themselves are made with."""
    return {**_options(settings), "password": service.sentinel_password}


@contextmanager
def reporting(settings: Settings) -> Iterator[None]:
    """Turn Redis's errors into ours.

    Raises:
        Unavailable: no connection, no reply in time, still loading, only a replica, or a user who may not.
        Busy: Redis is full and refuses writes.
    """
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError, ReadOnlyError) as error:
        if _unknown_user(error):
            kin = ", and the one in TAQUIN_SENTINEL_PASSWORD_FILE the sentinels'" if service_of(settings) else ""
            raise Unavailable(
                f"Redis at {place(settings)} refused the credentials: see that the user and the password in "
                f"TAQUIN_REDIS_URL, or in TAQUIN_REDIS_PASSWORD_FILE, are the server's{kin}"
            ) from error
        kin = f" and {', '.join(TLS_FILES)}" if tls_of(settings) else ""
        raise Unavailable(
            f"Redis at {place(settings)} does not answer ({type(error).__name__}): is it running, and "
            f"{'are' if kin else 'is'} TAQUIN_REDIS_URL{kin} right?"
        ) from error
    except RedisError as error:
        if _full(error):
            raise Busy(
                f"Redis at {place(settings)} is full and takes no new work: free memory or raise its maxmemory, "
                f"then send again (nothing was written)"
            ) from error
        if _forbidden(error):
            raise Unavailable(
                f"Redis at {place(settings)} does not let this user do that ({error}): name another user in "
                f"TAQUIN_REDIS_URL, or give this one the rights it has in deploy/redis/users.acl"
            ) from error
        raise Unavailable(f"Redis at {place(settings)} refused: {error}") from error


def _unknown_user(error: RedisError) -> bool:
    """Whether a password is wrong or missing; of one for sentinels redis-py tells in the text of another error."""
    return isinstance(error, AuthenticationError) or AuthenticationError.__name__ in str(error)


def _forbidden(error: RedisError) -> bool:
    """Whether the user may not; what a script may not is told in the server's own words."""
    words = ("ACL failure in script", "The user executing the script can't")
    return isinstance(error, NoPermissionError) or any(said in str(error) for said in words)


def _full(error: RedisError) -> bool:
    """Whether Redis has no memory left; before Redis 7 a script's error is wrapped in a sentence of the server's."""
    return isinstance(error, OutOfMemoryError) or ": -OOM " in str(error)
