"""Holds what clients were told against what is in Redis when all is quiet again."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

from taquin import Settings, service

if TYPE_CHECKING:
    from redis import Redis

    from tests.chaos.history import Asked, History

LASTING = ("taquin:queues", "taquin:events", "taquin:jobs", "taquin:dead")
"""Keys of a bounded size that stay: counters, the stream (which is cut), the lists of jobs and of dead letters."""


@dataclass
class Findings:
    """What a run came to; everything in ``wrong`` breaks a promise."""

    acknowledged: int = 0
    answered: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    runs: int = 0
    wrong: list[str] = field(default_factory=list)


class Watcher:
    """Reads answers as they come in, in a thread, so that one that is replaced later is noticed."""

    def __init__(self, redis: Redis, history: History) -> None:
        """Start nothing yet."""
        self._redis, self._history = redis, history
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            with self._history.lock:
                open_ids = [asked.id for asked in self._history.asked.values() if asked.seen is None]
            try:
                for id, fields in read_units(self._redis, open_ids[:5_000]):
                    if fields["answer"] is not None:
                        self._history.see(id, fields["answer"])
            except RedisError:
                continue


def wait_until_quiet(redis: Redis, patience: float) -> list[str]:
    """Wait until nothing is due, queued or unacknowledged; return what is left after ``patience`` without progress."""
    fewest, deadline = float("inf"), time.monotonic() + patience
    while left := leftovers(redis):
        due = redis.zcard("taquin:due")
        if due < fewest:
            fewest, deadline = due, time.monotonic() + patience
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return left


def leftovers(redis: Redis) -> list[str]:
    """Name what still waits, and how much of it."""
    counts: dict[str, Any] = {
        "due": redis.zcard("taquin:due"),
        "interactive": redis.llen("interactive"),
        "bulk": redis.llen("bulk"),
        "unacked": redis.hlen("unacked"),
        "unacked_index": redis.zcard("unacked_index"),
        "leases": redis.zcard("taquin:leases"),
    }
    return [f"{name}: {count}" for name, count in counts.items() if count]


def check(redis: Redis, history: History, settings: Settings, *, may_die: tuple[str, ...] = ()) -> Findings:
    """Account for every request.

    Args:
        redis: the Redis under test, when all is quiet.
        history: of the clients.
        settings: of the workers.
        may_die: first words of the ids of units that may (and must) end as dead letters.
    """
    found = Findings(runs=history.runs().total())
    runs = history.runs()
    for id, fields in read_units(redis, list(history.asked)):
        asked = history.asked[id]
        found.acknowledged += asked.outcome == "acknowledged"
        if fields["state"] is not None:
            _check_unit(found, history, asked, fields, settings.max_attempts, poison=id.partition("-")[0] in may_die)
        elif asked.outcome == "acknowledged":
            found.lost.append(id)
    found.doubled += history.changed
    found.wrong += [f"{id} was worked on and never sent" for id in runs if id not in history.asked and _is_ours(id)]
    found.wrong += [f"{id} was worked on {count} times" for id, count in runs.items() if count > 3 + 10]
    found.wrong += _stray_keys(redis, history)
    return found


def _check_unit(
    found: Findings, history: History, asked: Asked, fields: dict[str, Any], most: int, *, poison: bool
) -> None:
    id, state, answer = asked.id, fields["state"], fields["answer"]
    if asked.outcome == "refused":
        found.wrong.append(f"{id} was refused and yet written down")
    if int(fields["attempts"] or 0) > most:
        found.wrong.append(f"{id} was begun {fields['attempts']!r} times")
    if state == b"dead":
        found.dead.append(id)
        if not poison:
            found.wrong.append(f"{id} is dead and was no poison: {fields['cause']!r} {fields['error']!r}")
    elif state != b"done":
        found.lost.append(f"{id} is {state!r}")
    else:
        found.answered += 1
        if poison:
            found.wrong.append(f"{id} is poison and was answered")
        history.see(id, answer)
        if unmarked(answer) != expected(asked.kind, asked.request):
            found.wrong.append(f"{id} has another answer than it should: {answer[:300]!r}")


def read_units(redis: Redis, ids: list[str]) -> Any:
    """Iterate over units: their id, and what is needed of their hashes."""
    names = ("state", "answer", "attempts", "cause", "error")
    for at in range(0, len(ids), 500):
        part = ids[at : at + 500]
        pipe = redis.pipeline(transaction=False)
        for id in part:
            pipe.hmget(f"taquin:work:{id}", *names)
        for id, values in zip(part, pipe.execute(), strict=True):
            yield id, dict(zip(names, values, strict=True))


def expected(kind: str, request: Any) -> Any:
    """Compute the answer here, where nothing breaks."""
    answer, _ = service.work(kind, json.dumps(request).encode(), max_cells=Settings.model_fields["max_cells"].default)
    return json.loads(answer.model_dump_json())


def unmarked(answer: bytes) -> Any:
    """Take the mark of the attempt off an answer."""
    fields = json.loads(answer)
    fields["problems"] = [problem for problem in fields["problems"] if problem["problem"] != "chaos"]
    return fields


def _is_ours(id: str) -> bool:
    return "-" in id  # the ids of probes and of chunks are made by the client


def _stray_keys(redis: Redis, history: History) -> list[str]:
    stray: Counter[str] = Counter()
    keys = [key.decode() for key in redis.scan_iter(count=1_000)]
    pipe = redis.pipeline(transaction=False)
    for key in keys:
        pipe.ttl(key)
    dead = {f"taquin:work:{id.decode()}" for id in redis.zrange("taquin:dead", 0, -1)}
    for key, ttl in zip(keys, pipe.execute(), strict=True):
        if ttl == -1 and key not in LASTING and key not in dead and not key.startswith("taquin:pool"):
            stray[key if len(stray) < 5 else "more"] += 1
        id = key.removeprefix("taquin:work:")
        if key.startswith("taquin:work:") and _is_ours(id) and id not in history.asked and key not in dead:
            stray[f"{key}, which nobody sent"] += 1
    return [f"a key without expiry, or unknown: {key}" for key in stray]
