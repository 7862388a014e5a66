"""A Taquin worker with three tasks more, for comparison; started by pipeline.py in place of `taquin worker`."""

from __future__ import annotations

import os

import numpy as np

from taquin import puzzle
from taquin.app import make_app, worker_arguments
from taquin.settings import Settings

app = make_app(Settings())


@app.task(name="bench.noop", shared=False, trail=False)
def noop(request: object) -> None:
    """Do nothing with the same message."""
    del request


@app.task(name="bench.lists", shared=False, trail=False)
def lists(boards: list[list[int]]) -> list[bool]:
    """Check boards that came as JSON lists, as a worker without Taquin would."""
    solvable: list[bool] = puzzle.solvable(np.array(boards, np.uint8), (4, 4)).tolist()
    return solvable


if __name__ == "__main__":
    app.worker_main(worker_arguments("interactive,bulk", concurrency=int(os.environ.get("BENCH_CONCURRENCY", "2"))))
