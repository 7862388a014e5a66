"""A real Celery worker on each kind of Redis, one for the whole session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from taquin import Client, Settings
from taquin.embedded import run_redis, run_worker
from tests.conftest import BOTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from taquin.embedded import EmbeddedRedis, EmbeddedWorker

QUICK = {"TAQUIN_RESEND_AFTER": "0.2", "TAQUIN_SWEEP_EVERY": "0.1"}
"""So that lost work is found soon."""


@pytest.fixture(scope="session", params=BOTH)
def live_redis(request: pytest.FixtureRequest) -> Iterator[EmbeddedRedis]:
    with run_redis(request.param) as redis:
        yield redis


@pytest.fixture(scope="session")
def live_worker(live_redis: EmbeddedRedis) -> Iterator[EmbeddedWorker]:
    with run_worker(live_redis.url, environment=QUICK) as worker:
        yield worker


@pytest.fixture(scope="session")
def client(live_redis: EmbeddedRedis, live_worker: EmbeddedWorker) -> Iterator[Client]:
    del live_worker
    with Client(live_redis.url, timeout=20.0) as client:
        yield client


@pytest.fixture(params=BOTH)
def fresh_redis(request: pytest.FixtureRequest) -> Iterator[EmbeddedRedis]:
    """A Redis of this test's own, for a worker that is to be hurt."""
    with run_redis(request.param) as redis:
        yield redis


@pytest.fixture
def fresh_settings(fresh_redis: EmbeddedRedis) -> Settings:
    return Settings(redis_url=fresh_redis.url, resend_after=0.2, sweep_every=0.1)
