"""``taquin worker`` and ``health``: what an operator runs."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  typer reads the annotation at run time
from typing import Annotated, Any

import typer

from taquin.errors import BadInput, Busy, Unavailable


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
    """Start a worker: takes work from the queues until it is stopped. Settings are TAQUIN_REDIS_URL and its kin.

    Exit status: 0 it was told to stop, 1 it ended by itself, 2 wrong usage or settings.
    """
    from celery.worker import state  # noqa: PLC0415  Celery is imported only where it is used

    from taquin.app import make_app, worker_arguments  # noqa: PLC0415
    from taquin.health import check_heartbeat_file  # noqa: PLC0415
    from taquin.messages import QUEUES  # noqa: PLC0415
    from taquin.metrics import check_metrics_address  # noqa: PLC0415
    from taquin.settings import Settings  # noqa: PLC0415

    names = [name.strip() for name in queues.split(",")]
    unknown = [name for name in names if name not in QUEUES]
    if unknown:
        raise BadInput(f"--queues: there is no queue {unknown[0]!r}; the queues are {' and '.join(QUEUES)}")
    if pool not in {None, "prefork", "threads", "solo"}:
        raise BadInput(f"--pool: there is no pool {pool!r}; the pools are prefork, threads and solo")
    settings = Settings()
    check_metrics_address(settings)
    if settings.heartbeat_file is not None:
        check_heartbeat_file(settings.heartbeat_file)
    arguments = worker_arguments(",".join(names), concurrency=concurrency, pool=pool, events=settings.celery_events)
    app: Any = make_app(settings)
    app.worker_main(arguments)
    # Celery gives no exit status here. These are 0 when a signal asked for the end, and never when a fault brought it.
    if 0 not in {state.should_stop, state.should_terminate}:
        raise typer.Exit(1)


def health(
    heartbeat_file: Annotated[
        Path | None, typer.Option(envvar="TAQUIN_HEARTBEAT_FILE", help="The file that the worker touches.")
    ] = None,
    ready: Annotated[bool, typer.Option("--ready", help="Ask whether Redis answers as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say whether the worker beside this command is alive.

    A worker that waits for Redis to come back is alive, but not ready.

    Exit status: 0 it is, 1 it is not, 2 wrong usage, as when no heartbeat file is given.
    """
    if heartbeat_file is None:
        raise BadInput("--heartbeat-file or TAQUIN_HEARTBEAT_FILE must name the file that the worker touches")
    from taquin.health import read_health  # noqa: PLC0415

    worker = read_health(heartbeat_file)
    away = _why_away() if ready else ""
    good = worker.healthy and not away
    if as_json:
        said = {"healthy": worker.healthy, "age": worker.age, "reason": worker.reason}
        typer.echo(json.dumps(said | ({"ready": good, "redis": away or "answers"} if ready else {})))
    elif worker.healthy and away:
        typer.echo(f"not ready: {away}")
    else:
        typer.echo(f"{'healthy' if worker.healthy else 'not healthy'}: {worker.reason}")
    raise typer.Exit(int(not good))


def _why_away() -> str:
    """Say why Redis cannot be used; an empty string if it can."""
    from taquin.connection import connect, reporting  # noqa: PLC0415
    from taquin.settings import Settings  # noqa: PLC0415

    settings = Settings()
    try:
        with reporting(settings), connect(settings, retries=0) as redis:
            redis.ping()
    except (Busy, Unavailable) as error:
        return str(error)
    return ""
