"""``taquin worker`` and ``health``: what an operator runs."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer reads the annotation at run time
from typing import Annotated

import typer

from taquin.errors import BadInput


def worker(
    queues: Annotated[str, typer.Option(help="Queues to take work from, the most urgent first.")] = "interactive,bulk",
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that work at the same time; one a core if left out."),
    ] = None,
    pool: Annotated[
        str | None, typer.Option(help="prefork, threads or solo; prefork where the platform can fork, else threads.")
    ] = None,
) -> None:
    """Start a worker: takes work from the queues until it is stopped. Settings are TAQUIN_REDIS_URL and its kin."""
    from taquin.app import make_app, worker_arguments  # noqa: PLC0415  Celery is imported only where it is used
    from taquin.messages import QUEUES  # noqa: PLC0415
    from taquin.settings import Settings  # noqa: PLC0415

    names = [name.strip() for name in queues.split(",")]
    unknown = [name for name in names if name not in QUEUES]
    if unknown:
        raise BadInput(f"--queues: there is no queue {unknown[0]!r}; the queues are {' and '.join(QUEUES)}")
    if pool not in {None, "prefork", "threads", "solo"}:
        raise BadInput(f"--pool: there is no pool {pool!r}; the pools are prefork, threads and solo")
    app = make_app(Settings())
    app.worker_main(worker_arguments(queues=",".join(names), concurrency=concurrency, pool=pool))


def health(
    heartbeat_file: Annotated[
        Path | None, typer.Option(envvar="TAQUIN_HEARTBEAT_FILE", help="The file that the worker touches.")
    ] = None,
) -> None:
    """Say whether the worker beside this command is alive. Exit status: 0 it is, 1 it is not."""
    if heartbeat_file is None:
        raise BadInput("--heartbeat-file or TAQUIN_HEARTBEAT_FILE must name the file that the worker touches")
    from taquin.health import STALE_AFTER, age  # noqa: PLC0415

    seconds = age(heartbeat_file)
    if seconds is None:
        typer.echo(f"not healthy: no worker has touched {heartbeat_file}")
        raise typer.Exit(1)
    if seconds > STALE_AFTER:
        typer.echo(f"not healthy: the worker's last sign of life was {seconds:.0f} s ago")
        raise typer.Exit(1)
    typer.echo(f"healthy: the worker's last sign of life was {seconds:.0f} s ago")
