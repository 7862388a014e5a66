"""``taquin claim``, ``confirm``, ``release``, ``pools`` and ``events``: ready boards, and what happened."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taquin.cli.boards import Goal, read_goal
from taquin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from taquin.client import Client, Event

AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]
WHAT_IS_THERE: Final = 0.05
"""Seconds without an event after which all that is there was read."""


def claim(
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="Rows and columns, such as 4x4.")],
    band: Annotated[str, typer.Option(help="easy, medium, hard or expert.")],
    goal: Goal = "blank-last",
    lease: Annotated[float, typer.Option(help="Seconds after which the board returns by itself.")] = 60.0,
    confirm: Annotated[bool, typer.Option("--confirm", help="Take the board for good.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take one ready board out of a pool, for a lease or for good.

    Exit status: 0 here is a board, 1 the pool is empty, 2 wrong usage, 3 Redis does not answer.
    """
    from taquin.cli import drawing  # noqa: PLC0415  only what a command needs is imported
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client:
        named = {"band": band, "goal": read_goal(goal)}
        ready = client.take(shape, **named) if confirm else client.claim(shape, lease=lease, **named)
    if ready is None:
        drawing.err().print(f"the pool of {band} boards of {shape} is empty", soft_wrap=True)
        raise typer.Exit(1)
    if as_json:
        typer.echo(json.dumps(asdict(ready) | {"confirmed": confirm}))
        return
    console = drawing.out()
    console.print(drawing.grid(ready.board))
    moves = f", solved in {ready.moves} moves" if ready.moves is not None else ""
    console.print(f"board {ready.id}: {ready.band}, distance {ready.distance}{moves}")
    console.print("taken for good" if confirm else f"claim {ready.claim}: returns to its pool in {lease:g} s")


Claim = Annotated[str, typer.Argument(metavar="CLAIM", help="As `taquin claim` showed it.")]


def confirm(claim: Claim) -> None:
    """Take a claimed board for good, before its lease is over.

    Exit status: 0 it is yours, 2 the lease is over or there is no such claim, 3 Redis does not answer.
    """
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client:
        client.confirm(claim)


def release(claim: Claim) -> None:
    """Return a claimed board to its pool.

    Exit status: 0 it is back, 2 the lease is over or there is no such claim, 3 Redis does not answer.
    """
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client:
        client.release(claim)


def pools(as_json: AsJson = False) -> None:
    """Count the ready boards of each pool."""
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client:
        counts = client.pools()
    if as_json:
        for count in counts:
            typer.echo(json.dumps(asdict(count)))
        return
    from rich.table import Table  # noqa: PLC0415

    from taquin.cli import drawing  # noqa: PLC0415

    table = Table("pool", box=None, pad_edge=False)
    for name in ("ready", "claimed", "low", "high", "refills"):
        table.add_column(name, justify="right")
    for count in counts:
        marks = ("-" if mark is None else f"{mark:,}" for mark in (count.low, count.high))
        table.add_row(count.name, f"{count.ready:,}", f"{count.claimed:,}", *marks, "yes" if count.refills else "no")
    drawing.show_table(table)


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens from now on.")] = False,
    group: Annotated[
        str | None,
        typer.Option(help="Read for this group, which gets each event once; without it, only look."),
    ] = None,
    consumer: Annotated[str | None, typer.Option(help="Which process of the group; this machine's name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened: completed and cancelled jobs, pools that ran low, dead letters."""
    if consumer is not None and group is None:
        raise BadInput("--consumer is one of a group: say which by --group")
    from taquin.client import Client  # noqa: PLC0415

    with Client() as client:
        for event in _events(client, group, consumer or socket.gethostname(), follow=follow):
            if as_json:
                typer.echo(json.dumps({"id": event.id, "event": event.name} | event.fields))
            else:
                typer.echo(f"{_moment(event.id)}  {event.name:<15}{_told(event.fields)}")


def _events(client: Client, group: str | None, consumer: str, *, follow: bool) -> Iterator[Event]:
    timeout = None if follow else WHAT_IS_THERE
    return client.look(timeout=timeout) if group is None else client.events(group, consumer, timeout=timeout)


def _moment(id: str) -> str:
    from datetime import datetime  # noqa: PLC0415

    return datetime.fromtimestamp(int(id.partition("-")[0]) / 1000).astimezone().isoformat(" ", "seconds")


def _told(fields: dict[str, str]) -> str:
    return "  ".join(f"{name} {value}" for name, value in fields.items() if value)
