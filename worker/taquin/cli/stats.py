"""``taquin stats``: queues, workers, rates and pools, once or live."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from taquin.survey import Survey


def stats(
    seconds: Annotated[float, typer.Option(min=0.1, help="How long rates are measured.")] = 1.0,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object each time.")] = False,
) -> None:
    """Show queues, workers, rates and pools."""
    from taquin.connection import connect  # noqa: PLC0415
    from taquin.settings import Settings  # noqa: PLC0415
    from taquin.survey import take_survey  # noqa: PLC0415

    settings = Settings()
    with connect(settings) as redis:
        before = take_survey(redis, settings)

        def look() -> Survey:
            time.sleep(seconds)
            return take_survey(redis, settings)

        if not watch:
            _print(as_dict(before, look()), as_json=as_json)
            return
        try:
            _go_on(before, look, as_json=as_json)
        except KeyboardInterrupt:
            return


def as_dict(before: Survey, now: Survey) -> dict[str, Any]:
    """Return a survey as JSON has it, with the rates since the one before."""
    elapsed = max(now.time - before.time, 1e-6)
    said: dict[str, Any] = asdict(now)
    for queue, old in zip(said["queues"], before.queues, strict=True):
        queue["sent_per_second"] = round((queue.pop("sent") - old.sent) / elapsed, 1)
        queue["begun_per_second"] = round((queue.pop("begun") - old.begun) / elapsed, 1)
    return said


def _go_on(before: Survey, look: Any, *, as_json: bool) -> None:
    from rich.live import Live  # noqa: PLC0415

    from taquin.cli import drawing  # noqa: PLC0415

    if as_json:
        while True:
            now = look()
            _print(as_dict(before, now), as_json=True)
            before = now
    with Live(console=drawing.out(), auto_refresh=False) as live:
        while True:
            now = look()
            live.update(draw(as_dict(before, now)), refresh=True)
            before = now


def _print(said: dict[str, Any], *, as_json: bool) -> None:
    from taquin.cli import drawing  # noqa: PLC0415

    if as_json:
        typer.echo(json.dumps(said))
    else:
        drawing.out().print(draw(said))


def draw(said: dict[str, Any]) -> RenderableType:
    """Draw it for a person."""
    from rich.console import Group  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    limit = f" of {said['memory_limit'] / 1e6:,.0f}" if said["memory_limit"] else ""
    last = (
        f"{said['unfinished']:,} units unfinished, {said['overdue']:,} overdue, {said['dead']:,} dead letters; "
        f"Redis uses {said['memory'] / 1e6:,.0f}{limit} MB"
    )
    queues = [
        (queue["name"], queue["waiting"], queue["oldest"], queue["sent_per_second"], queue["begun_per_second"])
        for queue in said["queues"]
    ]
    workers = [
        (
            worker["name"],
            ", ".join(worker["queues"]),
            f"{worker['in_hand']} of {worker['concurrency']}",
            said["time"] - worker["started"],
        )
        for worker in said["workers"]
    ]
    pools = [
        (pool["name"], pool["ready"], pool["claimed"], pool["low"], pool["high"], "yes" if pool["refills"] else "no")
        for pool in said["pools"]
    ]
    parts: list[RenderableType] = [
        _table(("queue", "waiting", "oldest, s", "sent/s", "begun/s"), queues),
        _table(("worker", "queues", "at work", "up, s"), workers) if workers else Text("no worker is seen"),
    ]
    if pools:
        parts.append(_table(("pool", "ready", "claimed", "low mark", "high mark", "refills"), pools))
    return Group(*parts, Text(last))


def _table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> RenderableType:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD)
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number and rows and _is_number(rows[0][number]) else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else (f"{value:,}" if isinstance(value, int) else str(value))


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))
