"""How fast boards are made, measured and packed, on one core, against the textbook's way in C++.

Both sides work in turns within one run and are charged the processor time that they take, so that a busy machine does
not decide; each ratio is the median over the rounds of the ratio within one round. The C++ side makes and measures
boards of its own, drawn in the same way; ours also checks every board before it measures it.

    python benchmarks/generation.py [--rounds 9]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from taquin import puzzle
from taquin.puzzle import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
BINARY = HERE / "build" / "generation"
FLAGS = ("-O3", "-march=native")


class Case(NamedTuple):
    """What is done, for which boards and how many, and what is demanded: times C++ at least (None: nothing)."""

    name: str
    task: str
    shape: puzzle.Shape
    boards: int
    demand: float | None


CASES = (
    Case("shuffle", "shuffle", puzzle.Shape(3, 3), 200_000, 1.0),
    Case("shuffle", "shuffle", puzzle.Shape(4, 4), 200_000, 1.0),
    Case("shuffle", "shuffle", puzzle.Shape(5, 5), 100_000, 1.0),
    Case("shuffle", "shuffle", puzzle.Shape(10, 10), 50_000, 0.7),
    Case("shuffle", "shuffle", puzzle.Shape(16, 16), 20_000, 1.0),
    Case("linear_conflict", "distance", puzzle.Shape(3, 3), 200_000, 3.5),
    Case("linear_conflict", "distance", puzzle.Shape(4, 4), 200_000, 3.5),
    Case("linear_conflict", "distance", puzzle.Shape(5, 5), 100_000, 3.5),
    Case("linear_conflict", "distance", puzzle.Shape(10, 10), 20_000, None),
    Case("moves", "table", puzzle.Shape(3, 3), 200_000, 0.5),
)


def main() -> None:
    """Measure all cases and print tables; the ratios decide nothing here, so the exit code is always 0."""
    parser = argparse.ArgumentParser(description="Measure generation, distances and packing.")
    parser.add_argument("--rounds", type=int, default=9, help="rounds for each case (default: 9)")
    rounds = parser.parse_args().rounds
    anchor = build()
    print(f"NumPy {np.__version__}, Python {sys.version.split()[0]}; medians of {rounds} rounds; ns a board\n")
    print(f"{'verb':>16} {'board':>6} {'boards':>8} {'C++':>9} {'ours':>9} {'times C++':>17}")
    for case in CASES:
        print(measure(case, rounds, anchor=anchor), flush=True)
    print(f"\nThe tables of 3x3 are built in {build_tables(rounds) / 1e6:.0f} ms (less than 100 is demanded).")
    print(f"\n{'packing 50,000 4x4 boards':>26} {'pack':>7} {'unpack':>7} {'memcpy':>7}")
    for form in ("u4", "u8"):
        print(f"{form:>26} {' '.join(f'{took:7.2f}' for took in packing(form, rounds))}")
    print(f"\n{'in_band':>16} {'board':>6} {'easy':>9} {'medium':>9} {'hard':>9} {'expert':>9}")
    for shape in ("3x3", "4x4", "5x5", "6x6"):
        print(f"{'ns a board':>16} {shape:>6} {' '.join(f'{took:9.0f}' for took in bands(shape, rounds))}", flush=True)


def build() -> bool:
    """Compile the anchors; tell if there are any."""
    compiler = shutil.which("g++")
    if compiler is None:
        print("g++ is missing: there is nothing to compare with, so only our own times are shown.")
        return False
    BINARY.parent.mkdir(exist_ok=True)
    done = subprocess.run(
        [compiler, *FLAGS, "-o", str(BINARY), str(HERE / "generation.cpp")], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"g++ failed, so only our own times are shown:\n{done.stderr}")
    return done.returncode == 0


def measure(case: Case, rounds: int, *, anchor: bool) -> str:
    """Measure one case and write its line of the table."""
    boards = puzzle.shuffle(case.shape, case.boards, 1)
    work: dict[str, Callable[[], Any]] = {
        "shuffle": lambda: puzzle.shuffle(case.shape, case.boards, 1),
        "distance": lambda: puzzle.linear_conflict(boards, case.shape),
        "table": lambda: puzzle.moves(boards, case.shape),
    }
    ours_of = work[case.task]
    ours_of()
    times: list[tuple[float, float]] = []
    with textbook(case) if anchor else nothing() as loop:
        loop()
        for _ in range(rounds):
            ours = clocked(ours_of) / case.boards
            times.append((loop(), ours))
    theirs, ours = (median(column) for column in zip(*times, strict=True))
    ratio = median(time[0] / time[1] for time in times)
    verdict = "" if case.demand is None else f" ({'ok' if ratio >= case.demand else 'NOT'} >= {case.demand})"
    against = f"{ratio:5.2f}{verdict}" if anchor else "-"
    them = f"{theirs:9.1f}" if anchor else f"{'-':>9}"
    return f"{case.name:>16} {case.shape!s:>6} {case.boards:>8,} {them} {ours:9.1f} {against:>17}"


def build_tables(rounds: int) -> float:
    """Time building all tables of 3x3 anew, in nanoseconds."""

    def anew() -> None:
        tables._depths.cache_clear()  # noqa: SLF001
        tables._neighbours.cache_clear()  # noqa: SLF001
        puzzle.moves(np.arange(9)[np.newaxis], "3x3", "blank-first")

    return median(clocked(anew) for _ in range(rounds))


def packing(form: puzzle.Form, rounds: int) -> tuple[float, ...]:
    """Time packing, unpacking, and copying the boards, in nanoseconds a board."""
    boards = puzzle.shuffle("4x4", 50_000, 1)
    packed = puzzle.pack(boards, form)
    verbs: list[Callable[[], Any]] = [
        lambda: puzzle.pack(boards, form),
        lambda: puzzle.unpack(packed, 16, form),
        boards.copy,
    ]
    return tuple(median(clocked(verb) for _ in range(rounds)) / len(boards) for verb in verbs)


def bands(shape: str, rounds: int) -> list[float]:
    """Time making boards of each band, in nanoseconds a board."""
    n = 20_000

    def took(band: puzzle.Band) -> float:
        puzzle.in_band(shape, 100, band, 1)
        return median(clocked(lambda: puzzle.in_band(shape, n, band, 1)) for _ in range(max(rounds // 3, 1))) / n

    return [took(band) for band in puzzle.BANDS]


def clocked(work: Callable[[], Any]) -> float:
    """Time one call, in nanoseconds of processor time."""
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


@contextmanager
def nothing() -> Iterator[Callable[[], float]]:
    """Stand in for the C++ side where there is none."""
    yield lambda: 0.0


@contextmanager
def textbook(case: Case) -> Iterator[Callable[[], float]]:
    """Start the C++ side; each call times one round, in nanoseconds a board."""
    command = [str(BINARY), case.task, str(case.shape.rows), str(case.shape.cols), str(case.boards)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdin is None or process.stdout is None:
            raise SystemExit("The C++ side has no pipes.")
        into, out = process.stdin, process.stdout

        def one_round() -> float:
            into.write(b"\n")
            into.flush()
            return float(out.readline().split()[0])

        yield one_round
        into.close()


if __name__ == "__main__":
    main()
