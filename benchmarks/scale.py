"""How throughput grows with worker containers, and what a board and a task cost Redis.

    python benchmarks/scale.py [containers …]        (1 2 4; needs a Docker engine and compose)

Each container may use CPUS of a core, so that several fit on a small machine beside Redis and the sender. The CPU time
that workers and Redis take for one board is read too: it depends little on what else the machine does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from redis import Redis

from taquin import Client

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
CPUS = os.environ.get("CPUS", "0.2")
SINGLES = 400
BOARDS = 2_000_000
CHUNK = 50_000
CPU_OF_ALL = """
import glob
ticks = 0
for file in glob.glob("/proc/[0-9]*/stat"):
    ticks += sum(map(int, open(file).read().rpartition(")")[2].split()[11:15]))
print(ticks / 100)
"""
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
            "TAQUIN_LOG_LEVEL": "warning",
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


def redis_cpu(redis: Redis) -> float:
    """CPU seconds that Redis has used."""
    info = redis.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def worker_cpu(stack: Stack, service: str) -> float:
    """CPU seconds that all processes in the containers of a service have used."""
    total = 0.0
    for container in stack.compose("ps", "--quiet", service).split():
        command = ["docker", "exec", container, "python", "-c", CPU_OF_ALL]
        total += float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return total


def timed(stack: Stack, redis: Redis, service: str, amount: int, work: Callable[[], object]) -> list[float]:
    """How many a second, and the CPU seconds of the workers and of Redis for one."""
    workers, server, began = worker_cpu(stack, service), redis_cpu(redis), time.perf_counter()
    work()
    took = time.perf_counter() - began
    return [
        amount / took, (worker_cpu(stack, service) - workers) / amount, (redis_cpu(redis) - server) / amount,
    ]  # fmt: skip


def measure(stack: Stack, boards: np.ndarray) -> list[float]:
    """Single boards, then one job of many."""

    def singles() -> None:
        for handle in [client.send_repair(UNSOLVABLE) for _ in range(SINGLES)]:
            handle.answer(120)

    def job() -> None:
        assert client.submit(boards, shape="4x4", kind="repair", chunk=CHUNK).wait(300).state == "complete"

    with Client(stack.url()) as client, Redis.from_url(stack.url()) as redis:
        client.repair(UNSOLVABLE, timeout=60)
        return timed(stack, redis, "worker", SINGLES, singles) + timed(stack, redis, "bulk", len(boards), job)


def main() -> None:
    """Measure and print a table."""
    counts = [int(count) for count in sys.argv[1:]] or [1, 2, 4]
    boards = np.random.default_rng(1).permuted(np.tile(np.arange(16, dtype=np.uint8), (BOARDS, 1)), axis=1)
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder))
        try:
            stack.compose("build", "worker")
            print(f"{CPUS} CPUs a container; {SINGLES} single boards, one job of {BOARDS:,} boards 4x4")
            print("| containers | single boards/s | worker ms | Redis ms | boards/s of a job | worker ns | Redis ns |")
            print("| --- | --- | --- | --- | --- | --- | --- |")
            for count in counts:
                scale = ("--scale", f"worker={count}", "--scale", f"bulk={count}")
                stack.compose("up", "--detach", "--wait", *scale)
                columns = zip(*(measure(stack, boards) for _ in range(3)), strict=True)
                one, one_worker, one_redis, many, many_worker, many_redis = (sorted(column)[1] for column in columns)
                print(
                    f"| {count} | {one:.0f} | {1e3 * one_worker:.2f} | {1e3 * one_redis:.2f} "
                    f"| {many:,.0f} | {1e9 * many_worker:.0f} | {1e9 * many_redis:.0f} |",
                    flush=True,
                )
        finally:
            stack.compose("down", "--volumes", "--timeout", "20")
            subprocess.run(
                ["docker", "image", "rm", "--force", stack.env["TAQUIN_IMAGE"]], capture_output=True, check=False
            )


if __name__ == "__main__":
    main()
