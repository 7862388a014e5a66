"""What all tests share: a Redis, once a fake one and once a real server."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from taquin.connection import connect
from taquin.embedded import SERVERS, run_redis
from taquin.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from taquin.embedded import EmbeddedRedis

BOTH = ["fake", pytest.param("server", marks=pytest.mark.redis_server)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a real server on a laptop without one; in CI its absence is a failure."""
    if item.get_closest_marker("redis_server") and not any(map(shutil.which, SERVERS)):
        if os.environ.get("CI"):
            pytest.fail(f"CI must have one of {', '.join(SERVERS)} on the PATH")
        pytest.skip(f"none of {', '.join(SERVERS)} is on the PATH")


@pytest.fixture(scope="session", params=BOTH)
def redis_process(request: pytest.FixtureRequest) -> Iterator[EmbeddedRedis]:
    """A Redis of each kind, one for the whole session."""
    with run_redis(request.param) as redis:
        yield redis


@pytest.fixture
def settings(redis_process: EmbeddedRedis) -> Settings:
    """Settings for that Redis with short times."""
    return Settings(redis_url=redis_process.url, resend_after=0.05, sweep_every=0.05)


@pytest.fixture
def redis(settings: Settings) -> Iterator[Redis]:
    """A client of that Redis, which is empty."""
    with connect(settings) as client:
        client.flushall()
        yield client
