"""How throughput grows with worker containers, and what a board and a task cost Redis.

    python benchmarks/scale.py [containers …]        (1 2 4; needs a Docker engine and compose)

Each container may use CPUS of a core, so that several fit on a small machine beside Redis and the sender. Of Redis its
own CPU time is read, which does not depend on what else the machine does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import numpy as np
from redis import Redis

from taquin import Client

ROOT = Path(__file__).parents[1]
CPUS = os.environ.get("CPUS", "0.25")
SINGLES = 400
BOARDS = 2_000_000
CHUNK = 50_000
UNSOLVABLE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]


class Stack:
    """A compose project of its own."""

    def __init__(self, folder: Path) -> None:
        """Start nothing yet."""
        self.project = f"taquin-scale-{uuid.uuid4().hex[:6]}"
        self.password = uuid.uuid4().hex
        file = folder / "password"
        file.write_text(self.password)
        file.chmod(0o644)
        folder.chmod(0o755)
        self.env = os.environ | {
            "TAQUIN_IMAGE": f"{self.project}:bench", "REDIS_PASSWORD_FILE": str(file), "TAQUIN_REDIS_PORT": "0",
            "TAQUIN_WORKER_CPUS": CPUS, "TAQUIN_BULK_CPUS": CPUS, "TAQUIN_WORKER_CONCURRENCY": "1",
        }  # fmt: skip

    def compose(self, *arguments: str) -> str:
        """Return what a compose command prints; end with what it complains of."""
        files = ("-f", "docker-compose.yml", "-f", "docker-compose.override.example.yml")
        command = [
            "docker",
            "compose",
            "--project-name",
            self.project,
            *files,
            "--env-file",
            ".env.example",
            *arguments,
        ]
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout

    def url(self) -> str:
        """How this host reaches its Redis."""
        return f"redis://:{self.password}@{self.compose('port', 'redis', '6379').strip()}/0"


def cpu(redis: Redis) -> float:
    """CPU seconds that Redis has used."""
    info = redis.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def measure(client: Client, redis: Redis, boards: np.ndarray) -> tuple[float, float, float, float]:
    """Singles a second, Redis's microseconds for one; boards a second, Redis's nanoseconds for one."""
    client.repair(UNSOLVABLE, timeout=60)
    before, began = cpu(redis), time.perf_counter()
    for handle in [client.send_repair(UNSOLVABLE) for _ in range(SINGLES)]:
        handle.answer(120)
    singles, single_cost = SINGLES / (time.perf_counter() - began), (cpu(redis) - before) / SINGLES
    before, began = cpu(redis), time.perf_counter()
    job = client.submit(boards, shape="4x4", kind="repair", chunk=CHUNK)
    assert job.wait(300).state == "complete"
    return singles, 1e6 * single_cost, BOARDS / (time.perf_counter() - began), 1e9 * (cpu(redis) - before) / BOARDS


def main() -> None:
    """Measure and print a table."""
    counts = [int(count) for count in sys.argv[1:]] or [1, 2, 4]
    boards = np.random.default_rng(1).permuted(np.tile(np.arange(16, dtype=np.uint8), (BOARDS, 1)), axis=1)
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder))
        try:
            stack.compose("build", "worker")
            print(f"{CPUS} CPUs a container; {SINGLES} single boards, one job of {BOARDS:,} boards 4x4")
            print("| containers | single boards/s | Redis µs a board | boards/s of a job | Redis ns a board |")
            print("| --- | --- | --- | --- | --- |")
            for count in counts:
                scale = ("--scale", f"worker={count}", "--scale", f"bulk={count}")
                stack.compose("up", "--detach", "--wait", *scale)
                with Client(stack.url()) as client, Redis.from_url(stack.url()) as redis:
                    figures = sorted(measure(client, redis, boards) for _ in range(3))
                    medians = [sorted(column)[1] for column in zip(*figures, strict=True)]
                print(
                    f"| {count} | {medians[0]:.0f} | {medians[1]:.0f} | {medians[2]:,.0f} | {medians[3]:.1f} |",
                    flush=True,
                )
        finally:
            stack.compose("down", "--volumes", "--timeout", "20")
            subprocess.run(
                ["docker", "image", "rm", "--force", stack.env["TAQUIN_IMAGE"]], capture_output=True, check=False
            )


if __name__ == "__main__":
    main()
