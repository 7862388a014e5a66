"""``taquin demo``: the main job on an embedded stack, as an app would use it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

if TYPE_CHECKING:
    from taquin.messages import Answer

SHAPES: Final = ((3, 3), (4, 4), (2, 3), (4, 3), (2, 2), (3, 4))


def demo(
    boards: Annotated[int, typer.Option(min=1, max=10_000, help="How many boards the app makes.")] = 12,
    seed: Annotated[int | None, typer.Option(help="Make the same boards again.")] = None,
    redis: Annotated[
        Literal["any", "server", "fake"],
        typer.Option(help="server: redis-server or valkey-server from the PATH; fake: fakeredis; any: what there is."),
    ] = "any",
) -> None:
    """Start a Redis and a worker, enqueue boards as an app would, and show what comes back.

    First a few boards, one at a time; then many as jobs: generated, half of them broken on purpose, and repaired;
    last a pool, filled and one board claimed. Nothing is left behind.

    Exit status: 0 every answer came and is right, 1 some are not, 2 wrong usage, 3 Redis or the worker did not start,
    or an answer did not come in time.
    """
    from taquin.cli import bulk_demo, drawing  # noqa: PLC0415
    from taquin.client import Client  # noqa: PLC0415
    from taquin.embedded import run_redis, run_worker  # noqa: PLC0415

    seed = random.randrange(2**32) if seed is None else seed
    made = _make_boards(boards, random.Random(seed))
    note = drawing.err()
    with run_redis(redis) as server:
        note.print(f"Redis: {server.what}")
        with run_worker(server.url) as worker, Client(server.url, timeout=20.0) as client:
            note.print(f"Worker: Celery, process {worker.process.pid}, queues interactive and bulk")
            handles = [client.send_repair(board) for board in made]
            with drawing.boards_bar(note) as bar:
                answers = [handle.answer() for handle in bar.track(handles, description="Answered")]
            _show(made, answers)
            wrong = [index for index, pair in enumerate(zip(made, answers, strict=True)) if not _right(*pair)]
            faults = [f"wrong answers to boards {wrong}"] if wrong else []
            faults += bulk_demo.run(client, seed)
    if faults:
        note.print(f"{'; '.join(faults)} (--seed {seed} makes the same boards again)", style="bold red")
        raise typer.Exit(1)
    note.print(f"All answers agree with an independent count; --seed {seed} makes these boards again.", soft_wrap=True)


def _make_boards(count: int, rng: random.Random) -> list[list[list[int]]]:
    """Return boards as a careless app makes them: shuffled, so about half unsolvable, and every sixth one broken."""
    boards = []
    for number in range(count):
        rows, cols = SHAPES[number % len(SHAPES)]
        tiles = rng.sample(range(rows * cols), rows * cols)
        if number % 6 == 5:  # noqa: PLR2004  as the docstring says
            tiles[rng.randrange(len(tiles))] = rng.choice((tiles[rng.randrange(len(tiles))], 99))
        boards.append([tiles[row * cols : (row + 1) * cols] for row in range(rows)])
    return boards


def _show(boards: list[list[list[int]]], answers: list[Answer]) -> None:
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from taquin.cli import drawing  # noqa: PLC0415

    table = Table(show_lines=True)
    width = max(map(drawing.grid_width, boards))
    for title, least in (("came in", width), ("verdict and evidence", None), ("to serve", width)):
        table.add_column(title, min_width=least)
    for board, answer in zip(boards, answers, strict=True):
        marked = answer.swap.cells if answer.swap else ()
        served = drawing.grid(answer.board, marked) if answer.board else ""
        verdict = Group(drawing.status(answer), drawing.reasons(answer))
        table.add_row(drawing.grid(board), verdict, served)
    drawing.out().print(table)


def _right(board: list[list[int]], answer: Answer) -> bool:
    """Whether the answer agrees with a count of its own, made here by the textbook's double loop."""
    tiles = [tile for row in board for tile in row]
    if sorted(tiles) != list(range(len(tiles))):
        return answer.status == "invalid"
    if _solvable(board):
        return answer.status == "solvable" and answer.board == board
    if answer.status != "repaired" or answer.board is None:
        return False
    served: list[Any] = [tile for row in answer.board for tile in row]
    changed = sum(before != after for before, after in zip(tiles, served, strict=True))
    return changed == 2 and sorted(served) == sorted(tiles) and _solvable(answer.board)  # noqa: PLR2004


def _solvable(board: list[list[int]]) -> bool:
    tiles = [tile for row in board for tile in row if tile]
    inversions = sum(a > b for i, a in enumerate(tiles) for b in tiles[i + 1 :])
    from_bottom = next(len(board) - at for at, row in enumerate(board) if 0 in row)
    return inversions % 2 == 0 if len(board[0]) % 2 else (inversions + from_bottom) % 2 == 1
