"""How fast boards are checked and repaired, on one core, against the textbook's double loop in C++.

Both sides take the same random boards, about half of them unsolvable, in turns within one run, so that a busy machine
slows both down; each ratio is the median over the rounds of the ratio within one round. The C++ loop only counts
inversions on boards that are known to be good; our check validates them as well.

    python benchmarks/arithmetic.py [--rounds 9]
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

HERE = Path(__file__).parent
BINARY = HERE / "build" / "textbook"
FLAGS = ("-O3", "-march=native")


class Case(NamedTuple):
    """A shape, how many boards of it, and what is demanded: times C++ at least, times its own check at most."""

    shape: puzzle.Shape
    boards: int
    check: float
    repair: float


CASES = (
    Case(puzzle.Shape(3, 3), 200_000, 3.0, 4.0),
    Case(puzzle.Shape(4, 4), 200_000, 3.0, 2.2),
    Case(puzzle.Shape(5, 5), 200_000, 3.0, 2.2),
    Case(puzzle.Shape(10, 10), 100_000, 1.2, 2.2),
    Case(puzzle.Shape(16, 16), 100_000, 2.0, 2.2),
)


def main() -> None:
    """Measure all shapes and print a table; the ratios decide nothing here, so the exit code is always 0."""
    parser = argparse.ArgumentParser(description="Measure the arithmetic against the textbook loop in C++.")
    parser.add_argument("--rounds", type=int, default=9, help="rounds for each shape (default: 9)")
    rounds = parser.parse_args().rounds
    anchor = build()
    print(f"NumPy {np.__version__}, Python {sys.version.split()[0]}; medians of {rounds} rounds; ns a board\n")
    print(f"{'board':>6} {'boards':>8} {'C++':>9} {'check':>9} {'times C++':>17} {'repair':>9} {'times check':>17}")
    for case in CASES:
        print(measure(case, rounds, anchor=anchor), flush=True)


def build() -> bool:
    """Compile the anchor; tell if there is one."""
    compiler = shutil.which("g++")
    if compiler is None:
        print("g++ is missing: there is nothing to compare the check with, so only our own times are shown.")
        return False
    BINARY.parent.mkdir(exist_ok=True)
    done = subprocess.run(
        [compiler, *FLAGS, "-o", str(BINARY), str(HERE / "textbook.cpp")], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"g++ failed, so only our own times are shown:\n{done.stderr}")
    return done.returncode == 0


def measure(case: Case, rounds: int, *, anchor: bool) -> str:
    """Measure one shape and write its line of the table."""
    cells = case.shape.cells
    ordered = np.arange(cells).astype(np.uint8)
    boards = np.random.default_rng(20_240_229).permuted(np.tile(ordered, (case.boards, 1)), axis=1)
    expected = int(puzzle.check(boards, case.shape).solvable.sum())
    puzzle.repair(boards, case.shape)
    times: list[tuple[float, float, float]] = []
    with textbook(case.shape, boards) if anchor else nothing() as loop:
        for _ in range(rounds):
            ours = clocked(lambda: puzzle.check(boards, case.shape)) / case.boards
            mended = clocked(lambda: puzzle.repair(boards, case.shape)) / case.boards
            theirs, count = loop()
            if count not in (expected, -1):
                print(f"The C++ loop finds {count} boards of {case.shape} solvable, but we find {expected}!")
            times.append((theirs, ours, mended))
    theirs, ours, mended = (median(column) for column in zip(*times, strict=True))
    ratio, own = median(time[0] / time[1] for time in times), median(time[2] / time[1] for time in times)
    against = f"{ratio:5.2f} ({verdict(ratio >= case.check)} >= {case.check})" if anchor else "-"
    of_own = f"{own:5.2f} ({verdict(own <= case.repair)} <= {case.repair})"
    them = f"{theirs:9.1f}" if anchor else f"{'-':>9}"
    return f"{case.shape!s:>6} {case.boards:>8,} {them} {ours:9.1f} {against:>17} {mended:9.1f} {of_own:>17}"


def verdict(met: bool) -> str:
    """Say whether what is demanded was met."""
    return "ok" if met else "NOT"


def clocked(work: Callable[[], Any]) -> float:
    """Time one call, in nanoseconds."""
    start = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - start


@contextmanager
def nothing() -> Iterator[Callable[[], tuple[float, int]]]:
    """Stand in for the C++ loop where there is none."""
    yield lambda: (0.0, -1)


@contextmanager
def textbook(shape: puzzle.Shape, boards: NDArray[np.uint8]) -> Iterator[Callable[[], tuple[float, int]]]:
    """Start the C++ loop on these boards; each call times one round, which gives ns a board and the solvable ones."""
    command = [str(BINARY), str(shape.rows), str(shape.cols)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdin is None or process.stdout is None:
            raise SystemExit("The C++ loop has no pipes.")
        into, out = process.stdin, process.stdout
        into.write(b"%d\n" % len(boards) + boards.tobytes())

        def one_round() -> tuple[float, int]:
            into.write(b"\n")
            into.flush()
            nanoseconds, count = out.readline().split()
            return float(nanoseconds), int(count)

        yield one_round
        into.close()


if __name__ == "__main__":
    main()
