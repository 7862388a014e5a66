"""The same stack on Valkey, Debian's package in a small image of its own."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import pytest
from engine import Stack, image_of

from taquin import Client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

VALKEY = """
FROM python:3.13-slim
RUN apt-get update && apt-get install --yes --no-install-recommends valkey-server && mkdir -p /data
WORKDIR /data
VOLUME /data
CMD ["valkey-server"]
"""


@pytest.fixture(scope="module")
def stack(engine: None, secrets: Path) -> Iterator[Stack]:
    """The stack with Valkey where Redis was."""
    del engine
    image = os.environ.get("VALKEY_IMAGE") or image_of("valkey", VALKEY)
    stack = Stack(f"taquin-test-{uuid.uuid4().hex[:8]}", secrets, REDIS_IMAGE=image, REDIS_SERVER="valkey-server")
    try:
        stack.compose("up", "--build", "--detach", "--wait", "worker", "bulk", "redis")
        yield stack
    finally:
        stack.forget()


def test_boards_and_a_job_on_valkey(stack: Stack) -> None:
    """Single boards, a job and pools: everything that the ledger's script does."""
    board = [[1, 2, 3], [4, 5, 6], [8, 7, 0]]
    with Client(stack.redis_url, timeout=60) as client:
        assert client.repair(board).status == "repaired"
        assert client.submit([board] * 1_000, kind="repair").wait(60).repaired == 1_000
        assert client.generate("3x3", count=500, to_pool=True).wait(60).pooled > 0
    assert "Valkey" in stack.compose("exec", "worker", "sh", "-c", "taquin doctor || true")


def test_it_is_valkey(stack: Stack) -> None:
    """And not what it stands in for."""
    (server,) = stack.containers("redis")
    assert "REDIS_SERVER=valkey-server" in server["Config"]["Env"]
