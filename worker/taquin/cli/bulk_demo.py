"""The second part of ``taquin demo``: many boards as jobs, and a pool."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from taquin.cli import drawing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from taquin.client import Client, Job, Progress

MANY: Final = 100_000
"""Boards of each job."""
POOLED: Final = 1_000
SIDE: Final = 4
SHAPE: Final = f"{SIDE}x{SIDE}"
CHUNKS: Final = 10
TIMEOUT: Final = 60.0
LOOK_EVERY: Final = 0.05
SOLVABLE: Final = 0
REPAIRED: Final = 2


def run(client: Client, seed: int) -> list[str]:
    """Generate, break, repair, fill and claim; return what went wrong."""
    made, faults = _generate(client, MANY, seed)
    faults += _repair(client, made, seed)
    faults += _claim(client, seed)
    return faults


def _generate(client: Client, count: int, seed: int) -> tuple[NDArray[Any], list[str]]:
    job = client.generate(SHAPE, count, seed=seed, chunk=count // CHUNKS)
    progress = _wait(job, "Generated")
    made = np.concatenate([chunk.boards for chunk in job.results() if chunk.boards is not None])
    _say(f"{len(made):,} boards of {SHAPE} generated", progress)
    good = len(made) == count and bool(_solvable(made).all())
    return made, [] if good else ["a generated board cannot be solved"]


def _repair(client: Client, made: NDArray[Any], seed: int) -> list[str]:
    """Swap two tiles in about half of the boards, have them repaired, and hold each answer against what was done."""
    broken = np.random.default_rng(seed).random(len(made)) < 0.5  # noqa: PLR2004  half
    sent = made.copy()
    rows = np.flatnonzero(broken)
    tiles = np.argsort(sent[rows] == 0, axis=1, kind="stable")[:, :2]  # the first two cells that are not blank
    sent[rows[:, None], tiles] = sent[rows[:, None], tiles[:, ::-1]]
    job = client.submit(sent, shape=SHAPE, kind="repair", chunk=len(made) // CHUNKS)
    progress = _wait(job, "Repaired")
    chunks = list(job.results())
    statuses = np.concatenate([chunk.statuses for chunk in chunks])
    served = np.concatenate([chunk.boards for chunk in chunks if chunk.boards is not None])
    _say(f"{len(rows):,} of them broken by swapping two tiles, and all sent to be repaired", progress)
    changed = (served != sent).sum(axis=1)
    right = (
        (progress.repaired, progress.solvable, progress.done) == (len(rows), len(made) - len(rows), len(made))
        and (statuses == np.where(broken, REPAIRED, SOLVABLE)).all()
        and (changed == np.where(broken, 2, 0)).all()
        and _solvable(served).all()
    )
    return [] if right else ["the repair job's answers are wrong"]


def _claim(client: Client, seed: int) -> list[str]:
    progress = _wait(client.generate(SHAPE, POOLED, band="hard", seed=seed, to_pool=True), "Pooled")
    _say(f"{progress.pooled:,} boards put into the pool {SHAPE}:hard", progress)
    ready = client.claim(SHAPE, band="hard", lease=60.0)
    if ready is None:
        return ["the pool is empty"]
    client.confirm(ready)
    console = drawing.out()
    console.print(f"One of them, claimed for a player and confirmed ({ready.band}, distance {ready.distance}):")
    console.print(drawing.grid(ready.board))
    (count,) = client.pools()
    right = _solvable(np.array(ready.board).reshape(1, -1)).all() and (count.ready, count.claimed) == (
        progress.pooled - 1,
        0,
    )
    return [] if right else ["the pool does not hold what was put in less what was claimed"]


def _wait(job: Job, what: str) -> Progress:
    with drawing.boards_bar(drawing.err()) as bar:
        task = bar.add_task(what, total=None)
        deadline = time.monotonic() + TIMEOUT
        while not (progress := job.progress()).finished and time.monotonic() < deadline:
            bar.update(task, completed=progress.done, total=progress.boards)
            time.sleep(LOOK_EVERY)
        bar.update(task, completed=progress.done, total=progress.boards)
    return job.wait(timeout=0.1) if not progress.finished else progress


def _say(what: str, progress: Progress) -> None:
    outcomes = ("solvable", "repaired", "unsolvable", "invalid", "dead")
    counts = ", ".join(f"{getattr(progress, name):,} {name}" for name in outcomes if getattr(progress, name))
    drawing.out().print(f"{what}: {counts} ({progress.rate:,.0f} boards/s)", soft_wrap=True)


def _solvable(boards: NDArray[Any]) -> NDArray[np.bool_]:
    """Count inversions by the textbook's double loop, over all boards at once."""
    inversions = np.zeros(len(boards), np.int64)
    for first in range(SIDE * SIDE):
        for second in range(first + 1, SIDE * SIDE):
            inversions += (boards[:, first] > boards[:, second]) & (boards[:, second] != 0)
    from_bottom = SIDE - (boards == 0).argmax(axis=1) // SIDE
    solvable: NDArray[np.bool_] = (inversions + from_bottom) % 2 == 1
    return solvable
