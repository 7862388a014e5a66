"""How fast boards go through the whole of Taquin, on two cores with a real redis-server.

Every figure stands beside another way of doing the same, measured in turns within one run: the textbook loop in C++ in
the memory of one process, raw Redis lists that move the same bytes without Celery, and Celery with boards as JSON
lists. Ratios are medians over the rounds of the ratio within one round.

    python benchmarks/pipeline.py [--rounds 5] [--boards 8000000] [--memory 100000000]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from celery import Celery
from redis import Redis

import arithmetic
from taquin import Client, puzzle
from taquin.client.packing import chunk_size, packed_chunks
from taquin.embedded import run_redis, run_worker
from taquin.messages import JobRequest
from taquin.puzzle.packed import pack
from taquin.service.chunks import chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from taquin.embedded import EmbeddedWorker

HERE = Path(__file__).parent
SHAPE = puzzle.Shape(4, 4)
CHUNK = chunk_size(SHAPE.cells)
TASKS = 2_000


def main() -> None:
    """Measure everything and print it; the ratios decide nothing here, so the exit code is always 0."""
    parser = argparse.ArgumentParser(description="Measure the pipeline against C++, raw Redis and plain Celery.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--boards", type=int, default=8_000_000)
    parser.add_argument("--memory", type=int, default=100_000_000, help="boards of the long job; 0 leaves it out")
    asked = parser.parse_args()
    anchor = arithmetic.build()
    boards = random_boards(asked.boards)
    program = (sys.executable, str(HERE / "bench_worker.py"))
    with run_redis("server") as server:
        print(
            f"{server.what}, Python {sys.version.split()[0]}, {os.cpu_count()} cores; medians of {asked.rounds} rounds"
        )
        with run_worker(server.url, program=program) as worker, Client(server.url, timeout=120) as client:
            bulk(client, server.url, boards, asked.rounds, anchor=anchor)
            singles(server.url, worker, asked.rounds)
            pools(client, server.url, asked.rounds)
    if asked.memory:
        memory(asked.memory)


def random_boards(count: int) -> NDArray[np.uint8]:
    """Make boards of which about half are unsolvable."""
    ordered = np.tile(np.arange(SHAPE.cells).astype(np.uint8), (count, 1))
    return np.random.default_rng(15).permuted(ordered, axis=1)


def bulk(client: Client, url: str, boards: NDArray[np.uint8], rounds: int, *, anchor: bool) -> None:
    """Bulk jobs against C++ in memory, raw lists, and JSON lists."""
    truth = puzzle.solvable(boards, SHAPE)
    few = boards[:50_000]
    ways: dict[str, Callable[[], float]] = {
        "validate, u4": lambda: job(client, boards, truth, "validate", "u4"),
        "validate, u8": lambda: job(client, boards, truth, "validate", "u8"),
        "repair, u4": lambda: job(client, boards, truth, "repair", "u4"),
        "raw lists, u4": lambda: raw_lists(url, boards, truth),
        "Celery, JSON lists": lambda: json_lists(url, few, truth[: len(few)]),
    }
    for way in ways.values():
        way()
    times: dict[str, list[float]] = {name: [] for name in (*ways, "C++ in memory")}
    with arithmetic.textbook(SHAPE, boards) if anchor else arithmetic.nothing() as loop:
        for _ in range(rounds):
            for name, way in ways.items():
                times[name].append(way())
            times["C++ in memory"].append(1e3 / max(loop()[0], 1e-9) if anchor else float("nan"))
    print("\nbulk, 4x4, boards read back and compared     million boards/s")
    for name, rates in times.items():
        print(f"  {name:24} {median(rates):10.2f}")
    for first, second, least in (
        ("validate, u8", "C++ in memory", 0.5),
        ("validate, u4", "C++ in memory", 0.9),
        ("repair, u4", "C++ in memory", 0.4),
        ("validate, u4", "raw lists, u4", 0.8),
        ("validate, u4", "Celery, JSON lists", 50.0),
    ):
        show(f"{first} / {second}", times[first], times[second], least)


def job(client: Client, boards: NDArray[np.uint8], truth: NDArray[np.bool_], kind: Any, form: Any) -> float:
    """Send boards as one job, read everything back, and compare; million boards a second."""
    start = time.perf_counter()
    asked = JobRequest(kind=kind, rows=SHAPE.rows, cols=SHAPE.cols, form=form)
    chunks = packed_chunks(boards, SHAPE, "blank-last", form, CHUNK)
    sent = client._feed(asked, chunks, None, 32, wait=True, timeout=60)  # noqa: SLF001 - the form is chosen here
    at = 0
    for answered in sent.results(60):
        expected = np.where(truth[at : at + len(answered)], 0, 2 if kind == "repair" else 1)
        if not np.array_equal(answered.statuses, expected):
            raise SystemExit("a wrong answer")
        at += len(answered)
    if at != len(boards):
        raise SystemExit("answers are missing")
    return len(boards) / (time.perf_counter() - start) / 1e6


def raw_lists(url: str, boards: NDArray[np.uint8], truth: NDArray[np.bool_]) -> float:
    """Move the same bytes through two Redis lists, with two processes that do the same work, and no Celery."""
    start_method = multiprocessing.get_context("fork")
    workers = [start_method.Process(target=raw_worker, args=(url,), daemon=True) for _ in range(2)]
    with Redis.from_url(url) as redis:
        redis.delete("bench:in", "bench:out", "bench:ready")
        for worker in workers:
            worker.start()
        for _ in workers:
            redis.blpop(["bench:ready"])
        start = time.perf_counter()
        starts = range(0, len(boards), CHUNK)
        for at in starts:
            redis.rpush("bench:in", at.to_bytes(8, "little") + pack(boards[at : at + CHUNK], "u4"))
        for _ in starts:
            answer: bytes = redis.blpop(["bench:out"])[1]  # type: ignore[index,assignment]
            at = int.from_bytes(answer[:8], "little")
            statuses = np.frombuffer(answer, np.uint8, offset=8)
            if not np.array_equal(statuses, np.where(truth[at : at + len(statuses)], 0, 1)):
                raise SystemExit("a wrong answer")
        seconds = time.perf_counter() - start
        for _ in workers:
            redis.rpush("bench:in", b"")
    for worker in workers:
        worker.join()
    return len(boards) / seconds / 1e6


def raw_worker(url: str) -> None:
    """Take chunks off one list and put statuses on another."""
    asked = JobRequest(kind="validate", rows=SHAPE.rows, cols=SHAPE.cols, form="u4").model_dump_json().encode()
    with Redis.from_url(url) as redis:
        redis.rpush("bench:ready", 1)
        while message := redis.blpop(["bench:in"])[1]:  # type: ignore[index]
            body: Any = message
            answer = chunk(asked, "bench:0", 0, body[8:]).answer
            redis.rpush("bench:out", body[:8] + answer)


def json_lists(url: str, boards: NDArray[np.uint8], truth: NDArray[np.bool_]) -> float:
    """Send boards as JSON lists in Celery messages, 10,000 a task."""
    app = Celery("bench", broker=url, backend=url, set_as_current=False)
    start = time.perf_counter()
    size = 10_000
    sent = [
        app.send_task("bench.lists", args=[boards[at : at + size].tolist()], queue="bulk")
        for at in range(0, len(boards), size)
    ]
    answers = [solvable for result in sent for solvable in result.get(timeout=60)]
    if answers != truth.tolist():
        raise SystemExit("a wrong answer")
    seconds = time.perf_counter() - start
    app.close()
    return len(boards) / seconds / 1e6


def singles(url: str, worker: EmbeddedWorker, rounds: int) -> None:
    """One board a task against a task that does nothing, results stored by both."""
    request = {"board": random_boards(1).reshape(SHAPE).tolist()}
    names = ("taquin.validate", "bench.noop")
    rates: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            rates[name].append(consumed(url, worker, name, request))
    print("\none board a task, two processes              tasks/s")
    for name in names:
        print(f"  {name:24} {median(rates[name]):10.0f}")
    show("taquin.validate / no-op", rates["taquin.validate"], rates["bench.noop"], 0.85)


def consumed(url: str, worker: EmbeddedWorker, name: str, request: Any) -> float:
    """Fill the queue while the worker is stopped, then time how fast it is emptied; tasks a second."""
    app = Celery("bench", broker=url, backend=url, set_as_current=False)
    with Redis.from_url(url) as redis:
        os.killpg(worker.process.pid, signal.SIGSTOP)
        for _ in range(TASKS):
            app.send_task(name, args=[request], queue="interactive", ignore_result=False)
        before: Any = redis.dbsize()
        os.killpg(worker.process.pid, signal.SIGCONT)
        start = time.perf_counter()
        while redis.dbsize() - before < TASKS - 3:  # the queue and its like come and go
            time.sleep(0.01)
        seconds = time.perf_counter() - start
        for key in redis.scan_iter("celery-task-meta-*", count=1_000):
            redis.delete(key)
    app.close()
    return TASKS / seconds


def pools(client: Client, url: str, rounds: int) -> None:
    """Filling a pool by a job, and claims one by one, against raw commands in pipelines."""
    count, claims = 50_000, 2_000
    filled, added, claimed, popped = [], [], [], []
    with Redis.from_url(url) as redis:
        for number in range(rounds):
            start = time.perf_counter()
            client.generate("4x4", count, band="medium", seed=number, to_pool=True).wait(60)
            filled.append(count / (time.perf_counter() - start))
            records: Any = redis.smembers("taquin:pool:4x4:medium")
            start = time.perf_counter()
            pipe = redis.pipeline(transaction=False)
            for at, record in enumerate(records):
                pipe.sadd("bench:pool", record)
                if at % 1_000 == 0:
                    pipe.execute()
            pipe.execute()
            added.append(len(records) / (time.perf_counter() - start))
            start = time.perf_counter()
            for _ in range(claims):
                client.claim("4x4", band="medium")
            claimed.append(claims / (time.perf_counter() - start))
            start = time.perf_counter()
            for _ in range(claims // 100):
                pipe = redis.pipeline(transaction=False)
                for _ in range(100):
                    pipe.spop("bench:pool")
                pipe.execute()
            popped.append(claims / (time.perf_counter() - start))
            redis.delete("bench:pool", "taquin:pool:4x4:medium", "taquin:claims", "taquin:leases")
    print("\npools                                        a second")
    print(f"  boards added by a job    {median(filled):10,.0f}   (made, measured, written as records)")
    print(f"  raw SADD, pipelined      {median(added):10,.0f}")
    print(f"  claims, one by one       {median(claimed):10,.0f}   (with a lease each)")
    print(f"  raw SPOP, pipelined      {median(popped):10,.0f}")
    show("added by a job / raw SADD", filled, added)
    show("claims / raw SPOP", claimed, popped)


def memory(boards: int) -> None:
    """Peak memory of client and worker for a short and a long job that is made lazily."""
    print("\npeak memory, MiB                             client    worker")
    for count in (1_000_000, boards):
        # Processes of their own, so that each peak is that of one job alone.
        shown = subprocess.run(
            [sys.executable, __file__, "--one-job", str(count)], check=True, capture_output=True, text=True
        )
        print(f"  {count:>13,} boards               {shown.stdout.strip()}", flush=True)


def one_job(count: int) -> None:
    """Run one lazily made job and print the peaks of this process and of the worker's."""
    batch = random_boards(CHUNK)

    def lazily() -> Iterator[NDArray[np.uint8]]:
        for _ in range(0, count, CHUNK):
            yield batch.copy()

    arguments = ("--maxmemory", "4gb")
    with (
        run_redis("server", arguments=arguments) as server,
        run_worker(server.url) as worker,
        Client(server.url) as client,
    ):
        client.submit(lazily(), shape=SHAPE).wait()
        mine = peak(os.getpid())
        children = Path(f"/proc/{worker.process.pid}/task/{worker.process.pid}/children").read_text().split()
        theirs = max(peak(int(pid)) for pid in children)
    print(f"{mine:8.0f}  {theirs:8.0f}")


def peak(pid: int) -> float:
    """Read the peak resident memory of a process, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def show(name: str, ours: list[float], theirs: list[float], least: float | None = None) -> None:
    """Print one ratio."""
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    wanted = "" if least is None else f"   ({arithmetic.verdict(ratio >= least)} >= {least})"
    print(f"  {name:42} {ratio:8.2f}{wanted}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one-job"]:
        one_job(int(sys.argv[2]))
    else:
        main()
