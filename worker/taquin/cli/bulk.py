"""``taquin submit``, ``generate``, ``jobs``, ``job`` and ``results``: boards by the million."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from taquin.cli.boards import Goal, PinnedIfRepair, SwapIfRepair, read_goal, read_repair
from taquin.cli.reading import Source
from taquin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from rich.progress import Progress as Bar

    from taquin.cli.writing import Begin
    from taquin.client import Job, Progress
    from taquin.messages import JobRequest

LOOK_EVERY: Final = 0.1
"""Seconds between two looks at a job that is watched."""
SHOW_EVERY: Final = 1_000
"""Boards between two steps of the bar while they are read."""
OUTCOMES: Final = ("solvable", "unsolvable", "repaired", "invalid", "dead")

AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]
Pool = Annotated[bool, typer.Option("--pool", help="Put the boards to serve into the pools of their bands.")]
PoolIfRepair = Annotated[
    bool, typer.Option("--pool", help="With --kind repair, put the boards to serve into the pools of their bands.")
]
Key = Annotated[str | None, typer.Option(help="A name of your own: submitted twice, the job is done once.")]
ChunkSize = Annotated[int | None, typer.Option("--chunk", min=1, help="Boards in one chunk.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the job is complete, with a progress bar.")]
WaitIfPool = Annotated[
    bool, typer.Option("--wait", help="With --pool, wait until they are there, with a progress bar.")
]
JobId = Annotated[str, typer.Argument(metavar="ID", help="Of the job, as submit and generate print it.")]


def submit(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE|-", help="Boards as JSON lines or text, or an array (.npy); - is standard input."),
    ],
    kind: Annotated[Literal["validate", "repair"], typer.Option(help="What the workers shall do.")] = "validate",
    goal: Goal = "blank-last",
    shape: Annotated[str | None, typer.Option(help="Of all boards, such as 4x4; else that of the first.")] = None,
    swap: SwapIfRepair = None,
    pinned: PinnedIfRepair = None,
    pool: PoolIfRepair = False,
    key: Key = None,
    chunk: ChunkSize = None,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Submit the boards of a file as one job, and print its id.

    The file is read as fast as the workers are, however long it is. A line that is no board of the shape keeps its
    number and is answered `invalid`. Redis is the one of TAQUIN_REDIS_URL.

    Exit status: 0 all boards are written down and, with --wait, solvable or repaired; 1, with --wait, some are not or
    the job was cancelled; 2 wrong usage or input; 3 Redis does not answer or is full.
    """
    from taquin.cli.waiting import patient_bar  # noqa: PLC0415  only what a command needs is imported
    from taquin.client import Client  # noqa: PLC0415

    fields: dict[str, Any] = {"goal": read_goal(goal), "to_pool": pool, "key": key, "chunk": chunk}
    fields |= read_repair(kind, swap, pinned)
    if pool and kind != "repair":
        raise BadInput("--pool goes with --kind repair: a pool takes boards to serve, and validating gives none")
    with Client() as client, patient_bar(client.settings) as bar:
        boards = file if file.endswith(".npy") else _shown(Source(file), bar)
        job = client.submit(boards, shape=shape, kind=kind, **fields)
        _submitted(job, bar, wait=wait, as_json=as_json)


def generate(
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="Rows and columns, such as 4x4.")],
    count: Annotated[int, typer.Argument(metavar="COUNT", help="How many boards.")],
    band: Annotated[str | None, typer.Option(help="easy, medium, hard or expert: all boards are in it.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed, count and chunk give the same boards.")] = None,
    method: Annotated[
        Literal["shuffle", "walk"] | None,
        typer.Option(help="shuffle: uniform over all solvable boards; walk: random moves from the goal."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Moves of a walk; 10 a cell if left out.")] = None,
    goal: Goal = "blank-last",
    pool: Pool = False,
    out: Annotated[
        str, typer.Option(help="Where the boards go: JSON lines, or by its ending .csv or .npy; - is standard output.")
    ] = "-",
    key: Key = None,
    chunk: ChunkSize = None,
    wait: WaitIfPool = False,
    as_json: AsJson = False,
) -> None:
    """Generate solvable boards: into the pools, or into a file or standard output.

    With TAQUIN_REDIS_URL set the workers make them, in a job; without it this process does, and makes the same.

    Exit status: 0 they are made, or with --pool and without --wait will be; 1 the job did not end well; 2 wrong usage
    or input; 3 Redis does not answer or is full.
    """
    from taquin.cli import drawing  # noqa: PLC0415
    from taquin.cli.waiting import patient_bar  # noqa: PLC0415
    from taquin.cli.writing import opened  # noqa: PLC0415
    from taquin.client import Client  # noqa: PLC0415

    if method is not None and band is not None:
        raise BadInput("--method goes with boards of any band: with --band the fitting one is chosen")
    if steps is not None and method != "walk":
        raise BadInput("--steps goes with --method walk")
    if pool and out != "-":
        raise BadInput("--pool and --out: boards go into the pools, or into a file")
    if wait and not pool:
        raise BadInput("--wait goes with --pool: boards that are written are waited for in any case")
    here = not os.environ.get("TAQUIN_REDIS_URL")
    if pool and here:
        raise BadInput("--pool needs a Redis: say which by TAQUIN_REDIS_URL")
    fields: dict[str, Any] = {"method": method or "shuffle", "steps": steps, "band": band, "seed": seed}
    fields |= {"goal": read_goal(goal), "key": key}
    if here:
        with drawing.boards_bar(drawing.err()) as bar, opened(out) as begin:
            _write_boards(begin, *_made_here(shape, count, chunk, fields), count, bar)
        return
    with Client() as client, patient_bar(client.settings) as bar:
        if pool:
            job = client.generate(shape, count, to_pool=True, chunk=chunk, **fields)
            _submitted(job, bar, wait=wait, as_json=as_json)
            return
        with opened(out) as begin:
            job = client.generate(shape, count, to_pool=False, chunk=chunk, **fields)
            _write_boards(begin, job.request, _made_by(job), count, bar)


def jobs(as_json: AsJson = False) -> None:
    """List the jobs that have not expired, the newest first."""
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client:
        listed = client.jobs()
        if as_json:
            for job, progress in listed:
                typer.echo(json.dumps(_described(job, progress)))
            return
        from rich.table import Table  # noqa: PLC0415

        from taquin.cli import drawing  # noqa: PLC0415

        table = Table("job", "kind", "shape", "state", box=None, pad_edge=False)
        for name in ("boards", "done", *OUTCOMES):
            table.add_column(name, justify="right")
        for job, progress in listed:
            asked = job.request
            counts = (f"{getattr(progress, name):,}" for name in ("boards", "done", *OUTCOMES))
            table.add_row(job.id, asked.kind, f"{asked.rows}x{asked.cols}", progress.state, *counts)
        drawing.show_table(table)


def job(
    id: JobId,
    watch: Annotated[bool, typer.Option("--watch", help="Wait until it is complete, with a progress bar.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Drop what is not done yet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how far a job is.

    Exit status: 0 it is shown and, with --watch, all boards are solvable or repaired; 1, with --watch, some are not or
    the job was cancelled; 2 wrong usage or input; 3 Redis does not answer.
    """
    from taquin.cli.waiting import patient_bar  # noqa: PLC0415
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client:
        found = client.job(id)
        if cancel:
            found.cancel()
        if watch:
            with patient_bar(client.settings) as bar:
                _watch(found, bar)
        progress = found.progress()
        described = _described(found, progress)
        if as_json:
            typer.echo(json.dumps(described))
        else:
            typer.echo(_summary(progress))
            typer.echo("asked: " + ", ".join(f"{name} {value}" for name, value in described["request"].items()))
    if watch and not cancel:
        _exit(progress)


def results(
    id: JobId,
    out: Annotated[
        str, typer.Option(help="A file: JSON lines, or by its ending .csv or .npy; - is standard output.")
    ] = "-",
) -> None:
    """Write the answers to all boards of a job, in their order; waits for those that are not there yet.

    Each board has a line with its index, status, problems, and the board to serve if there is one. The file is
    whole or not there.

    Exit status: 0 all answers are written, whatever they say; 2 wrong usage or input; 3 Redis does not answer.
    """
    from taquin.cli import drawing, writing  # noqa: PLC0415
    from taquin.cli.waiting import patient_bar  # noqa: PLC0415
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client, patient_bar(client.settings) as bar, writing.opened(out) as begin:
        found = client.job(id)
        if out.endswith(".npy"):
            _watch(found, bar)  # its head says how many boards there are
        progress = found.progress()
        task = bar.add_task("Written", total=None if progress.state == "open" else progress.boards)
        written = 0
        write = begin(writing.Answers(found.request, progress.boards))
        for chunk in found.results():
            write(chunk)
            written += len(chunk)
            bar.update(task, completed=written)
    if out != "-":
        drawing.err().print(f"{written:,} answers in {out}", soft_wrap=True)


def _submitted(job: Job, bar: Bar, *, wait: bool, as_json: bool) -> None:
    """Print the id of a job, wait for it if that is asked, and exit with what came of it."""
    if not as_json:
        typer.echo(job.id)
    if wait:
        _watch(job, bar)
    progress = job.progress()
    if as_json:
        typer.echo(json.dumps(_described(job, progress)))
    if wait:
        bar.stop()
        bar.console.print(_summary(progress), soft_wrap=True)
        _exit(progress)


def _watch(job: Job, bar: Bar) -> None:
    task = bar.add_task("Answered", total=None)
    while True:
        progress = job.progress()
        total = None if progress.state == "open" else progress.boards
        bar.update(task, completed=progress.done, total=total)
        if progress.finished:
            return
        time.sleep(LOOK_EVERY)


def _exit(progress: Progress) -> None:
    if progress.state != "complete" or progress.unsolvable or progress.invalid or progress.dead:
        raise typer.Exit(1)


def _described(job: Job, progress: Progress) -> dict[str, Any]:
    asked = job.request
    counts = {name: getattr(progress, name) for name in ("boards", "done", *OUTCOMES, "pooled")}
    times = {"rate": round(progress.rate, 1), "time_left": progress.time_left}
    return {
        "job": job.id,
        "kind": asked.kind,
        "shape": f"{asked.rows}x{asked.cols}",
        "state": progress.state,
        **counts,
        **times,
        "request": asked.model_dump(exclude_defaults=True, exclude={"form"}),
    }


def _summary(progress: Progress) -> str:
    counts = [(getattr(progress, name), name) for name in OUTCOMES]
    parts = [f"{count:,} {name}" for count, name in counts if count]
    if progress.pooled:
        parts.append(f"{progress.pooled:,} new in a pool")
    so_far = f"{progress.done:,} of {progress.boards:,}" if progress.done < progress.boards else f"{progress.boards:,}"
    left = f", about {progress.time_left:,.0f} s left" if progress.time_left else ""
    return f"{progress.state}: {so_far} boards at {progress.rate:,.0f}/s{left}: {', '.join(parts) or 'none done yet'}"


def _shown(source: Source, bar: Bar) -> Iterator[Any]:
    """Read boards, and show how many and, of a file, of about how many."""
    task = bar.add_task("Submitted", total=None)
    for board in source:
        yield board
        if source.read % SHOW_EVERY == 0:
            bar.update(task, completed=source.read, total=source.estimate())
    bar.update(task, completed=source.read, total=source.read)


def _made_here(
    shape: str, count: int, chunk: int | None, fields: dict[str, Any]
) -> tuple[JobRequest, Iterator[NDArray[np.integer]]]:
    """Generate boards in this process, the same as the workers would of this seed."""
    from taquin.client.bulk import generate_request, generate_sizes  # noqa: PLC0415
    from taquin.client.job import ChunkReader  # noqa: PLC0415
    from taquin.client.requests import known_goal, shape_of  # noqa: PLC0415
    from taquin.service.chunks import chunk as answer  # noqa: PLC0415

    known = shape_of(shape)
    sizes = generate_sizes(known, count, chunk, to_pool=False)
    asked = generate_request(known, known_goal(fields.pop("goal"), known), pool=False, **fields)
    reader, request = ChunkReader(asked), asked.model_dump_json().encode()
    chunks = (reader.read(k, 0, answer(request, f"here:{k}", size, b"").answer, None) for k, size in enumerate(sizes))
    return asked, (made.boards for made in chunks if made.boards is not None)


def _made_by(job: Job) -> Iterator[NDArray[np.integer]]:
    """Take the boards of a job that generates."""
    for chunk in job.results():
        if chunk.boards is None:
            typer.echo(
                f"taquin: job {job.id} could not make all boards: `taquin job {job.id}` and `taquin dead list` say why",
                err=True,
            )
            raise typer.Exit(1)
        yield chunk.boards


def _write_boards(
    begin: Begin, asked: JobRequest, batches: Iterator[NDArray[np.integer]], count: int, bar: Bar
) -> None:
    from taquin.cli.writing import Boards  # noqa: PLC0415

    task = bar.add_task("Generated", total=count)
    write = begin(Boards(asked, count))
    for batch in batches:
        write(batch)
        bar.advance(task, len(batch))
