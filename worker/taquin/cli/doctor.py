"""``taquin doctor``: what is wrong with this installation, and what to do about it."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from taquin.pools import PoolCount
    from taquin.settings import Settings
    from taquin.survey import Survey

Status = Literal["ok", "warning", "problem"]

OLDEST_REDIS: Final = (6, 2)
PINGS: Final = 21
SLOW: Final = 0.005
"""Seconds for one exchange with Redis from which on it costs throughput."""
SKEW: Final = 1.0
"""Seconds that two clocks may differ; the ledger keeps Redis's time alone, but logs are read side by side."""
FULL: Final = 0.8
"""The share of Redis's memory from which on it is time to act."""
OVERDUE: Final = 10.0
"""Seconds that work may be overdue: a sweeper looks every second or so."""
WAITED: Final = {"interactive": 10.0, "bulk": 3_600.0}
"""Seconds that the oldest work of a queue may have waited."""
DEAD_LETTERS: Final = "taquin dead list shows them; retry or drop them"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    status: Status
    message: str
    advice: str = ""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a check, a line each.")] = False,
) -> None:
    """Look at settings, Redis, queues and workers.

    Exit status: 0 nothing is wrong, or there are warnings alone; 1 there is a problem; 2 wrong usage.
    """
    findings = list(examine())
    if as_json:
        for finding in findings:
            typer.echo(json.dumps(asdict(finding)))
    else:
        _show(findings)
    raise typer.Exit(int(any(finding.status == "problem" for finding in findings)))


def examine() -> Iterator[Finding]:
    """Look at everything; where Redis does not answer, nothing more can be said."""
    from taquin.address import place  # noqa: PLC0415
    from taquin.connection import connect, reporting  # noqa: PLC0415
    from taquin.errors import BadSettings, TaquinError  # noqa: PLC0415
    from taquin.settings import Settings  # noqa: PLC0415
    from taquin.survey import take_survey  # noqa: PLC0415

    try:
        settings = Settings()
        redis = connect(settings, retries=0)
    except BadSettings as error:
        yield Finding("settings", "problem", str(error), "set the variable that is named, or unset it")
        return
    yield Finding("settings", "ok", f"Redis at {place(settings)}, keys under {settings.key_prefix!r}")
    yield _credentials(settings)
    with redis:
        try:
            with reporting(settings):
                delays, skew = _ping(redis)
                info: Any = redis.info("all")
            survey = take_survey(redis, settings)
        except TaquinError as error:
            yield Finding("redis", "problem", str(error), "start it, or mend the address or the credentials")
            return
    yield _latency(delays)
    yield from examine_server(info)
    yield from examine_survey(survey)
    yield _clock("clock", "this machine's clock", skew)


def examine_server(info: dict[str, Any]) -> Iterator[Finding]:
    """Say what is wrong with a server; ``info`` is what INFO says."""
    yield _version(info)
    if info.get("role", "master") != "master":
        yield Finding("role", "problem", "it is a replica, which takes no work", "name the primary, or use sentinel://")
    if info.get("cluster_enabled"):
        yield Finding("cluster", "problem", "it is a Redis Cluster, which carries no Celery", "use a single server")
    yield _persistence(info)
    yield from _memory(info)


def examine_survey(survey: Survey) -> Iterator[Finding]:
    """Say what is wrong with what stands in Redis."""
    served = {queue for worker in survey.workers for queue in worker.queues}
    for queue in survey.queues:
        said = f"{queue.waiting:,} messages wait"
        if queue.name not in served:
            yield Finding(
                f"queue {queue.name}",
                "problem",
                f"{said}, and no worker takes from it",
                f"start one: taquin worker --queues {queue.name}",
            )
        elif (queue.oldest or 0.0) > WAITED[queue.name]:
            said = f"{said}, the oldest for {queue.oldest:,.0f} s"
            yield Finding(f"queue {queue.name}", "warning", said, "add workers (docs/how-to/scale.md)")
        else:
            yield Finding(f"queue {queue.name}", "ok", said)
    yield from _workers(survey)
    if survey.overdue_by > OVERDUE:
        said = f"{survey.overdue:,} units are overdue, the first for {survey.overdue_by:,.0f} s: nobody sweeps"
        yield Finding("sweeper", "problem", said, "start a worker, or read its log for `sweep.failed`")
    if survey.dead:
        yield Finding("dead letters", "warning", f"{survey.dead:,} units were given up", DEAD_LETTERS)
    for pool in survey.pools:
        if pool.low is not None and pool.ready < pool.low:
            said = f"{pool.ready:,} boards are ready, less than its low mark {pool.low:,}"
            advice = "see that a worker serves bulk" if pool.refills else f"fill it: {_filling(pool)}"
            yield Finding(f"pool {pool.name}", "warning", said, advice)


def _filling(pool: PoolCount) -> str:
    """Return the command that fills a pool up; of a goal that is a board the pool's name has the digest alone."""
    shape, band, *goal = pool.name.split(":")
    missing = max(1, (pool.high or pool.low or 0) - pool.ready)
    named = " --goal " + ("BOARD" if goal[0].startswith("goal-") else goal[0]) if goal else ""
    return f"taquin generate {shape} {missing} --band {band}{named} --pool"


def _credentials(settings: Settings) -> Finding:
    from taquin.address import passwords, place, tls_of  # noqa: PLC0415

    here = place(settings).startswith(("127.", "localhost", "/", "[::1]"))
    if passwords(settings):
        return Finding("credentials", "ok", "a password is used" + (", and TLS" if tls_of(settings) else ""))
    if here:
        return Finding("credentials", "ok", "no password; Redis is on this machine")
    advice = "set one, and TAQUIN_REDIS_PASSWORD_FILE (docs/how-to/tls-acl-sentinel.md)"
    return Finding("credentials", "warning", "no password: whoever reaches Redis can do everything", advice)


def _ping(redis: Redis) -> tuple[list[float], float]:
    """Return the seconds of some exchanges, and those that this machine's clock is ahead."""
    redis.ping()
    delays = []
    for _ in range(PINGS):
        began = time.perf_counter()
        redis.ping()
        delays.append(time.perf_counter() - began)
    before = time.time()
    seconds, micros = redis.time()
    return delays, (before + time.time()) / 2 - (float(seconds) + float(micros) / 1e6)


def _latency(delays: list[float]) -> Finding:
    median = statistics.median(delays)
    said = f"{1000 * median:.2f} ms for one exchange, {1000 * max(delays):.2f} ms at most"
    if median > SLOW:
        advice = "run workers near Redis: each board takes five exchanges"
        return Finding("latency", "warning", said, advice)
    return Finding("latency", "ok", said)


def _version(info: dict[str, Any]) -> Finding:
    if "valkey_version" in info:
        return Finding("version", "ok", f"Valkey {info['valkey_version']}")
    version = str(info.get("redis_version", "0"))
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST_REDIS:
        return Finding("version", "problem", f"Redis {version}", "6.2 or newer is needed, or Valkey")
    return Finding("version", "ok", f"Redis {version}")


def _persistence(info: dict[str, Any]) -> Finding:
    if info.get("aof_last_write_status", "ok") != "ok" or info.get("aof_last_bgrewrite_status", "ok") != "ok":
        said = "the append-only file cannot be written"
        return Finding("persistence", "problem", said, "look for a full disk, and into the server's log")
    if not info.get("aof_enabled"):
        said = "no append-only file: what was accepted is lost when Redis stops"
        return Finding("persistence", "warning", said, "start it with --appendonly yes --appendfsync everysec")
    return Finding("persistence", "ok", "append-only file")


def _memory(info: dict[str, Any]) -> Iterator[Finding]:
    policy, limit, used = info.get("maxmemory_policy"), info.get("maxmemory", 0), info.get("used_memory", 0)
    if policy != "noeviction":
        said = f"{policy}: queues and answers are thrown away when memory is short"
        yield Finding("eviction", "problem", said, "start it with --maxmemory-policy noeviction")
    else:
        yield Finding("eviction", "ok", "noeviction: a full Redis refuses new work")
    mb = 1_000_000
    if not limit:
        said = f"{used / mb:,.0f} MB, without a limit"
        yield Finding("memory", "warning", said, "start it with --maxmemory, below what the machine has")
    elif used > FULL * limit:
        said = f"{used / mb:,.0f} of {limit / mb:,.0f} MB"
        yield Finding("memory", "warning", said, "raise maxmemory, lower TAQUIN_KEEP_ANSWERS, or add workers")
    else:
        yield Finding("memory", "ok", f"{used / mb:,.0f} of {limit / mb:,.0f} MB")


def _workers(survey: Survey) -> Iterator[Finding]:
    from taquin.version import __version__  # noqa: PLC0415

    if not survey.workers:
        yield Finding("workers", "problem", "none was seen in the last 30 s", "start one: taquin worker")
    for worker in survey.workers:
        name = f"worker {worker.name}"
        if abs(worker.skew) > SKEW:
            yield _clock(name, "its clock", worker.skew)
        elif worker.version != __version__:
            said = f"it is release {worker.version}, this command {__version__}"
            yield Finding(name, "warning", said, "bring all to one release")
        else:
            said = f"{', '.join(worker.queues)}; {worker.in_hand} of {worker.concurrency} at work"
            yield Finding(name, "ok", said)


def _clock(check: str, what: str, skew: float) -> Finding:
    said = f"{what} is {abs(skew):.2f} s {'ahead of' if skew > 0 else 'behind'} that of Redis"
    if abs(skew) > SKEW:
        return Finding(check, "warning", said, "synchronise it (NTP): only logs suffer, the ledger keeps Redis's time")
    return Finding(check, "ok", said)


def _show(findings: list[Finding]) -> None:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from taquin.cli import drawing  # noqa: PLC0415

    styles = {"ok": "green", "warning": "yellow", "problem": "bold red"}
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        said = Text(finding.message)
        if finding.advice:
            said.append(f"\n→ {finding.advice}", style="italic")
        table.add_row(Text(finding.status, style=styles[finding.status]), finding.check, said)
    drawing.out().print(table)
    counts = {status: sum(finding.status == status for finding in findings) for status in ("problem", "warning")}
    drawing.out().print(f"{counts['problem']} problems, {counts['warning']} warnings")
