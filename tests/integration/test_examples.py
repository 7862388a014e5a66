"""The examples run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, live_redis):
    return subprocess.run(
        [sys.executable, EXAMPLES / name],
        env=os.environ | {"TAQUIN_REDIS_URL": live_redis.url},
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    ).stdout.splitlines()


def test_backend(live_redis, live_worker):
    del live_worker
    lines = run("backend.py", live_redis)
    assert lines[0].startswith("repaired (")
    assert "1 inversion" in lines[1]
    assert lines[3] == "solvable"
    assert lines[4] == "10000 boards are ready to be handed out"


def test_plain_celery(live_redis, live_worker):
    del live_worker
    (line,) = run("plain_celery.py", live_redis)
    assert line.startswith("repaired [[1, 2, 3]")
