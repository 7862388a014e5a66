"""The whole way of a million boards: a file of JSON lines, ``taquin submit``, two workers, a file of results, checked.

    python benchmarks/acceptance.py [BOARDS] [server|fake]

Half of the boards cannot be solved, and every thousandth line is no board. It ends with an error at the first answer
that is not what an independent count says.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from taquin.connection import connect
from taquin.embedded import run_redis, run_worker
from taquin.settings import Settings

BROKEN = ("nonsense", "[[1,2],[3,0]]", "[]", '{"board":[[1]]}', "[[1,2,3,4],[5,6,7,8],[9,10,11,12],[13,14,15,99]]")


def solvable(boards: np.ndarray) -> np.ndarray:
    """Count inversions by the textbook's double loop."""
    inversions = np.zeros(len(boards), int)
    for first in range(16):
        for second in range(first + 1, 16):
            inversions += (boards[:, first] > boards[:, second]) & (boards[:, second] != 0)
    return (inversions + 4 - (boards == 0).argmax(axis=1) // 4) % 2 == 1


def write_boards(path: Path, count: int) -> tuple[np.ndarray, set[int]]:
    """Write the lines; return the boards and which lines are broken."""
    boards = np.random.default_rng(1).permuted(np.tile(np.arange(16, dtype=np.int8), (count, 1)), axis=1)
    broken = set(range(500, count, 1_000))
    with path.open("w") as file:
        for index, board in enumerate(boards.reshape(-1, 4, 4).tolist()):
            line = BROKEN[index // 1_000 % len(BROKEN)] if index in broken else json.dumps(board, separators=(",", ":"))
            file.write(f"{line}\n")
    return boards, broken


def check(path: Path, boards: np.ndarray, broken: set[int], counts: dict[str, int]) -> None:
    """Hold every line of the results against the board that was sent."""
    count = len(boards)
    served = np.zeros((count, 16), np.int8)
    statuses = []
    with path.open() as file:
        for index, line in enumerate(file):
            answer = json.loads(line)
            assert answer["index"] == index
            assert (answer["board"] is None) == (index in broken) == bool(answer["problems"])
            statuses.append(answer["status"])
            if answer["board"] is not None:
                served[index] = np.ravel(answer["board"])
    assert len(statuses) == count
    valid = np.ones(count, bool)
    valid[list(broken)] = False
    good = solvable(boards) & valid
    expected = np.where(valid, np.where(good, "solvable", "repaired"), "invalid")
    assert (np.array(statuses) == expected).all()
    assert solvable(served[valid]).all()
    assert ((served != boards).sum(axis=1)[valid] == np.where(good, 0, 2)[valid]).all()
    assert (np.sort(served[valid], axis=1) == np.arange(16)).all()
    for name in ("solvable", "repaired", "invalid"):
        assert counts[name] == (expected == name).sum(), name
    assert counts["solvable"] + counts["repaired"] + counts["invalid"] == counts["boards"] == count
    assert counts["unsolvable"] == counts["dead"] == 0


def main(count: int, kind: str) -> None:
    """Run it and print the figures."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source, results = folder / "boards.jsonl", folder / "results.jsonl"
        boards, broken = write_boards(source, count)
        redis = stack.enter_context(run_redis(kind))  # type: ignore[arg-type]
        for _ in range(2):
            stack.enter_context(run_worker(redis.url, concurrency=1))
        environment = {**os.environ, "TAQUIN_REDIS_URL": redis.url}
        command = [sys.executable, "-m", "taquin"]

        def taquin(*arguments: str) -> tuple[int, str, float]:
            before = time.perf_counter()
            done = subprocess.run(
                [*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=False
            )
            return done.returncode, done.stdout, time.perf_counter() - before

        print(f"{redis.what}, two workers, {count:,} lines, {len(broken):,} of them broken")
        status, out, seconds = taquin("submit", str(source), "--kind", "repair", "--pool", "--wait", "--json")
        counts = json.loads(out)
        assert status == 1, "some boards are invalid"
        print(f"submitted and repaired into pools in {seconds:.1f} s: {count / seconds:,.0f} boards/s")
        status, _, seconds = taquin("results", counts["job"], "--out", str(results))
        assert status == 0
        print(f"results written in {seconds:.1f} s")
        check(results, boards, broken, counts)
        with connect(Settings(redis_url=redis.url)) as client:
            pooled = sum(client.scard(key) for key in client.scan_iter("taquin:pool:*"))
            memory = client.info("memory")["used_memory_human"] if redis.process else "unknown"
        assert pooled == counts["pooled"]
        print(f"all right: {counts}")
        print(f"{pooled:,} boards in the pools; memory of Redis {memory}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"CPU of client, workers and Redis together: {used.ru_utime + used.ru_stime:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2] if len(sys.argv) > 2 else "server")
