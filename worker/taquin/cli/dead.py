"""``taquin dead`` and ``sweep``: what was given up, and what is overdue."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from taquin.errors import BadInput, Conflict, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from taquin.ledger import Ledger, Record

dead = typer.Typer(
    name="dead",
    help="Dead letters: work that was given up after its last attempt, and messages that were no task.",
    no_args_is_help=True,
)

Kind = Annotated[Literal["validate", "repair", "chunk", "message"] | None, typer.Option(help="Only of this kind.")]
Queue = Annotated[Literal["interactive", "bulk"] | None, typer.Option(help="Only of this queue.")]
Job = Annotated[str | None, typer.Option(help="Only chunks of this job.")]
Cause = Annotated[str | None, typer.Option(help="Only those whose cause or last error holds this text.")]
AsJson = Annotated[bool, typer.Option("--json", help="A JSON object a line, and nothing else.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Dead letters, as `taquin dead list` shows.")]
All = Annotated[bool, typer.Option("--all", help="All of them, or all that the filters leave.")]


@dead.command("list")
def show_list(
    kind: Kind = None,
    queue: Queue = None,
    job: Job = None,
    cause: Cause = None,
    limit: Annotated[int, typer.Option(min=1, help="How many are shown at most, the oldest first.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List dead letters, the oldest first."""
    from taquin.cli import drawing  # noqa: PLC0415  only what a command needs is imported

    letters = list(islice(_matching(_ledger(), kind, queue, job, cause), limit))
    if as_json:
        for letter in letters:
            typer.echo(json.dumps(_fields(letter)))
        return
    if not letters:
        drawing.err().print("there are no dead letters" + (" like that" if kind or queue or job or cause else ""))
        return
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None)
    for name in ("died", "id", "kind", "attempts", "cause"):
        table.add_column(name, overflow="fold")
    for letter in letters:
        table.add_row(_when(letter.settled), letter.id, letter.kind, str(letter.attempts), letter.cause)
    drawing.show_table(table)


@dead.command()
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="A dead letter.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, and nothing else.")] = False,
) -> None:
    """Show one dead letter with its last error and what it asked for."""
    letter = _ledger().read(id)
    if letter.state != "dead":
        raise Unknown(f"{id} is no dead letter: it is {letter.state}")
    fields = _fields(letter) | _payload(letter.payload)
    if as_json:
        typer.echo(json.dumps(fields))
        return
    for name, value in fields.items():
        typer.echo(f"{name}: {value}")


@dead.command()
def retry(
    ids: Ids = None,
    every: All = False,
    kind: Kind = None,
    queue: Queue = None,
    job: Job = None,
    cause: Cause = None,
) -> None:
    """Give dead letters their attempts anew. Work keeps its id.

    A message goes back to its queue as it came; if it is bad again, it is a new dead letter with a new id.

    Exit status: 0 all of them, 2 some are no dead letters or cannot be retried, or wrong usage.
    """
    ledger = _ledger()
    _each("retried", ledger.retry, _chosen(ledger, ids, every, kind, queue, job, cause))


@dead.command()
def drop(
    ids: Ids = None,
    every: All = False,
    kind: Kind = None,
    queue: Queue = None,
    job: Job = None,
    cause: Cause = None,
) -> None:
    """Forget dead letters for good.

    Exit status: 0 all of them, 2 some are no dead letters, or wrong usage.
    """
    ledger = _ledger()
    _each("dropped", ledger.drop, _chosen(ledger, ids, every, kind, queue, job, cause))


def sweep(as_json: Annotated[bool, typer.Option("--json", help="One JSON object, and nothing else.")] = False) -> None:
    """Send overdue work again and bury what has no attempts left, once, as every worker does each second.

    Useful where no worker runs, or to see what workers would do.

    Exit status: 0 it is done, or a worker does it; 2 wrong usage; 3 Redis does not answer.
    """
    from uuid import uuid4  # noqa: PLC0415

    from taquin.carrier import Carrier  # noqa: PLC0415
    from taquin.settings import Settings  # noqa: PLC0415

    settings = Settings()
    overdue = _ledger().sweep(uuid4().hex)
    carrier = Carrier(settings)
    for unit in overdue or []:
        carrier.send(unit.id, unit.queue)
    carrier.close()
    sent = len(overdue or [])
    if as_json:
        typer.echo(json.dumps({"swept": overdue is not None, "sent": sent}))
    elif overdue is None:
        typer.echo("a worker is sweeping: nothing is left to do here")
    else:
        typer.echo(f"{sent:,} units of work were sent again")


def _ledger() -> Ledger:
    from taquin.connection import connect  # noqa: PLC0415
    from taquin.ledger import Ledger  # noqa: PLC0415
    from taquin.settings import Settings  # noqa: PLC0415

    settings = Settings()
    return Ledger(connect(settings), settings)


def _matching(
    ledger: Ledger, kind: str | None, queue: str | None, job: str | None, cause: str | None
) -> Iterator[Record]:
    for letter in ledger.dead():
        if (
            kind in {None, letter.kind}
            and queue in {None, letter.queue}
            and (job is None or letter.id.rpartition(":")[0] == job)
            and (cause is None or cause in letter.cause or cause in letter.error)
        ):
            yield letter


def _chosen(ledger: Ledger, ids: list[str] | None, every: bool, *filters: str | None) -> list[str]:
    if bool(ids) == every or (ids and any(filters)):
        raise BadInput("name dead letters, or say --all, which filters narrow down")
    return ids or [letter.id for letter in _matching(ledger, *filters)]


def _each(done: str, verb: Callable[[str], None], ids: list[str]) -> None:
    failed = 0
    for id in ids:
        try:
            verb(id)
        except (Unknown, Conflict) as error:
            failed += 1
            typer.echo(f"taquin: {error}", err=True)
    typer.echo(f"{len(ids) - failed:,} {done}")
    raise typer.Exit(2 if failed else 0)


def _fields(letter: Record) -> dict[str, Any]:
    return {
        "id": letter.id,
        "kind": letter.kind,
        "queue": letter.queue,
        "attempts": letter.attempts,
        "cause": letter.cause,
        "error": letter.error,
        "created": _when(letter.created),
        "died": _when(letter.settled),
        "size": len(letter.payload),
    }


def _payload(payload: bytes) -> dict[str, str]:
    """Return what was asked for: as text where it is text, else in base64."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable():
        return {"payload": text}
    return {"payload_base64": base64.b64encode(payload).decode()}


def _when(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
