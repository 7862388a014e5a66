"""Too much work, a Redis that is full, away or empty: refused, waited for or reported, and never half-done."""

from __future__ import annotations

import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taquin import Busy, Client, Unavailable, Unknown
from taquin.carrier import Carrier
from tests.chaos.checker import check, leftovers, read_units, wait_until_quiet
from tests.chaos.history import Asked, History
from tests.chaos.load import ask, random_board
from tests.chaos.rig import Rig, children, until
from tests.chaos.run import QUIET, RECOVERY, SHUTDOWN, in_time


@pytest.mark.short
def test_a_backlog_is_refused_at_its_cap_and_worked_off(seed, long, folder):
    """Workers are away while it builds up; what is refused is nowhere, and what waits is not sent twice over."""
    cap = 100_000 if long else 1_000
    rng = random.Random(seed)
    with Rig(folder, TAQUIN_MAX_WAITING=str(cap)) as rig:
        history = History(rig.runs)
        boards = [random_board(rng) for _ in range(cap + 200)]

        def send(part):
            with Client(settings=rig.direct) as client:
                for number in range(part, len(boards), 4):
                    id, request = f"plain-{number}", {"board": boards[number]}
                    history.note(
                        Asked(id, "validate", request, ask(history, client, id, "validate", request, patient=False))
                    )

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(send, range(4)))
        assert history.calls["refused"] == 200
        assert rig.server.redis.llen("interactive") == cap
        rig.workers.start()
        assert wait_until_quiet(rig.server.redis, QUIET) == []
        found = check(rig.server.redis, history, rig.direct)
        assert (found.lost, found.doubled, found.wrong, found.answered) == ([], [], [], cap)
        assert found.runs == cap
        assert rig.workers.log.count('"work.resent"') <= cap / 100


def test_busy_says_what_to_do(folder):
    with Rig(folder, TAQUIN_MAX_WAITING="1") as rig, Client(settings=rig.settings) as client:
        rig.server.redis.config_set("maxmemory", 1)
        with pytest.raises(Busy, match=r"free memory or raise its maxmemory, then send again"):
            client.send_validate([[1, 2], [3, 0]])
        rig.server.redis.config_set("maxmemory", 0)
        client.send_validate([[1, 2], [3, 0]])
        with pytest.raises(Busy, match="send again in some seconds"):
            client.send_validate([[1, 2], [3, 0]])


@pytest.mark.short
@pytest.mark.parametrize("trouble", ["full", "away"])
def test_a_worker_starts_while_redis_is(trouble, folder):
    """It waits, does not end, and works as soon as it can."""
    with Rig(folder, workers=1) as rig, Client(settings=rig.direct) as client:
        handle = client.send_validate([[1, 2], [3, 0]])
        if trouble == "full":
            rig.server.redis.config_set("maxmemory", 1)
        else:
            rig.proxy.mode = "refuse"
        rig.workers.start(wait=False)
        time.sleep(8.0)
        assert rig.workers.ended == []
        assert not handle.ready()
        rig.server.redis.config_set("maxmemory", 0)
        rig.proxy.mode = "pass"
        before = time.monotonic()
        assert handle.answer(timeout=60).status == "solvable"
        assert in_time(time.monotonic() - before, RECOVERY)
        assert rig.workers.ended == []


@pytest.mark.short
def test_a_full_redis_ends_no_wait(folder):
    """Whoever waits for work that was accepted before has its answer when there is memory again."""
    with Rig(folder, workers=1) as rig, Client(settings=rig.direct) as client:
        handle, job = client.send_validate([[1, 2], [3, 0]]), client.submit([[[1, 2], [3, 0]]])
        rig.server.redis.config_set("maxmemory", 1)
        rig.workers.start(wait=False)
        with ThreadPoolExecutor(2) as pool:
            waits = [pool.submit(handle.answer, 60), pool.submit(job.wait, 60)]
            time.sleep(2.0)
            assert not any(wait.done() for wait in waits)
            rig.server.redis.config_set("maxmemory", 0)
            assert waits[0].result().status == "solvable"
            assert waits[1].result().solvable == 1


@pytest.mark.parametrize("mode", ["refuse", "blackhole", "swallow"])
def test_a_client_is_told_in_time_that_redis_is_away(mode, folder):
    """With host and port, and without the password."""
    with Rig(folder, workers=0, TAQUIN_REDIS_TIMEOUT="1") as rig:
        url = rig.url.replace("redis://", "redis://:a-secret@")
        rig.server.redis.config_set("requirepass", "a-secret")
        rig.server.redis.auth("a-secret")
        with Client(url, settings=rig.settings) as client:
            client.send_validate([[1, 2], [3, 0]])
            rig.proxy.mode = mode
            if mode == "refuse":
                rig.proxy.cut()
            before = time.monotonic()
            with pytest.raises(Unavailable, match=rf"127\.0\.0\.1:{rig.proxy.port}") as caught:
                client.send_validate([[1, 2], [3, 0]])
            # Two attempts of a second each, on a connection that may have to be made anew.
            assert in_time(time.monotonic() - before, RECOVERY)
            assert "a-secret" not in repr(caught.value)


@pytest.mark.short
def test_an_emptied_redis_is_reported_and_not_silent(folder):
    """FLUSHALL loses work, as an operator who types it wants: whoever asks for it is told so, and new work goes on."""
    with Rig(folder, workers=1) as rig, Client(settings=rig.settings) as client:
        handle = client.send_validate([[1, 2], [3, 0]])
        rig.server.redis.flushall()
        with pytest.raises(Unknown, match=handle.id):
            handle.answer(timeout=5)
        rig.workers.start()
        rig.probe()
        rig.server.redis.flushall()
        assert in_time(rig.probe(), RECOVERY)
        assert rig.workers.ended == []


@pytest.mark.short
def test_the_same_request_by_many_at_once_is_one(seed, folder):
    """Duplicate submits of the same id, and messages of it that are sent over and over."""
    rng = random.Random(seed)
    with Rig(folder) as rig:
        history = History(rig.runs)
        rig.workers.start()
        requests = {f"plain-{number}": {"board": random_board(rng)} for number in range(200)}

        def send(_):
            carrier = Carrier(rig.settings)
            with Client(settings=rig.settings) as client:
                for id, request in requests.items():
                    client.send("validate", request, id=id)
                    carrier.send(id, "interactive")
            carrier.close()

        for id, request in requests.items():
            history.note(Asked(id, "validate", request, "acknowledged"))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(send, range(4)))
        assert wait_until_quiet(rig.server.redis, QUIET) == []
        found = check(rig.server.redis, history, rig.direct)
        assert (found.lost, found.doubled, found.wrong, found.answered) == ([], [], [], 200)
        assert found.runs == 200


@pytest.mark.short
def test_a_zombie_neither_overwrites_nor_counts_twice(folder):
    """In threads nothing ends work that takes longer than its lease: it ends after somebody else has done it."""
    with Rig(folder) as rig, Client(settings=rig.direct) as client:
        rig.workers.program += ["--pool", "threads"]
        rig.workers.start()
        history = History(rig.runs)
        for id in ("late-0", "late-1"):
            client.send("validate", {"board": [[1, 2], [3, 0]]}, id=id)
            history.note(Asked(id, "validate", {"board": [[1, 2], [3, 0]]}, "acknowledged"))
        until(lambda: _answers(rig, history) == 2, "every answer", patience=60)
        zombies = folder / "late"
        assert not zombies.exists()
        until(lambda: zombies.exists() and zombies.read_text().count("late") == 2, "the zombies to end")
        assert wait_until_quiet(rig.server.redis, QUIET) == []
        assert _answers(rig, history) == 2
        found = check(rig.server.redis, history, rig.direct)
        assert (found.lost, found.doubled, found.wrong, found.answered) == ([], [], [], 2)
        assert found.runs == 4


def _answers(rig, history):
    """See all answers; return how many there are."""
    answers = [(id, fields["answer"]) for id, fields in read_units(rig.server.redis, list(history.asked))]
    for id, answer in answers:
        if answer is not None:
            history.see(id, answer)
    return sum(answer is not None for _, answer in answers)


@pytest.mark.short
def test_rolling_deploys_do_not_use_up_attempts(folder):
    """Work that takes longer than a worker has to end is handed back each time, and never charged for it."""
    with Rig(folder, workers=1, TAQUIN_TIME_LIMIT_INTERACTIVE="60") as rig, Client(settings=rig.direct) as client:
        rig.workers.start()
        (rig.folder / "patient").touch()
        handle = client.send("validate", {"board": [[1, 2], [3, 0]]}, id="patient-0")
        for number in range(1, 4):
            until(
                lambda n=number: rig.runs.exists() and rig.runs.read_text().count("patient-0") == n, "the next attempt"
            )
            process = rig.workers.processes[0]
            before = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(40)
            assert in_time(time.monotonic() - before, SHUTDOWN)
        until(lambda: rig.runs.read_text().count("patient-0") == 4, "the last attempt")
        assert client._ledger.read("patient-0").attempts == 1
        (rig.folder / "patient").unlink()
        assert handle.answer(timeout=30).status == "solvable"
        assert wait_until_quiet(rig.server.redis, QUIET) == []


@pytest.mark.short
@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_other_pools_end_in_time_and_lose_nothing(pool, folder):
    with Rig(folder, workers=1) as rig, Client(settings=rig.direct) as client:
        rig.workers.program += ["--pool", pool]
        rig.workers.start()
        handles = [client.send("validate", {"board": [[1, 2], [3, 0]]}, id=f"slow-{number}") for number in range(20)]
        until(handles[0].ready, "the first answer")
        process = rig.workers.processes[0]
        before = time.monotonic()
        for how in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            process.send_signal(how)
            time.sleep(0.1)
        process.wait(40)
        assert in_time(time.monotonic() - before, SHUTDOWN)
        assert {handle.answer(timeout=60).status for handle in handles} == {"solvable"}


def test_a_worker_ends_in_time_while_redis_is_away(folder):
    """Also with more in hand than can be handed back one after the other to a Redis that does not answer."""
    for mode in ("refuse", "blackhole", "swallow"):
        (folder / mode).mkdir()
        with Rig(folder / mode, workers=1, concurrency=10, TAQUIN_TIME_LIMIT_INTERACTIVE="60") as rig:
            rig.workers.start()
            rig.probe()
            (rig.folder / "patient").touch()
            with Client(settings=rig.settings) as client:
                for number in range(10):
                    client.send("validate", {"board": [[1, 2], [3, 0]]}, id=f"patient-{number}")
                until(lambda rig=rig: rig.runs.read_text().count("patient") == 10, "all of it to be begun")
            rig.proxy.mode = mode
            time.sleep(3.0)
            process = rig.workers.processes[0]
            before = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(40)
            assert in_time(time.monotonic() - before, SHUTDOWN), mode


def test_a_soak(request, seed, folder):
    """For `--minutes`: memory, connections and keys stay flat, also when connections are cut now and then."""
    seconds = 60 * request.config.getoption("--minutes")
    rng, figures = random.Random(seed), []
    stop = threading.Event()
    with Rig(folder, TAQUIN_KEEP_ANSWERS="20") as rig:
        rig.workers.start()

        def send(number):
            boards = random.Random(f"{seed}/{number}")
            with Client(settings=rig.settings) as client:
                while not stop.is_set():
                    try:
                        client.repair(random_board(boards), timeout=30)
                    except (Unavailable, TimeoutError):
                        time.sleep(0.1)

        threads = [threading.Thread(target=send, args=(number,), daemon=True) for number in range(2)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + max(seconds, 90)
        while time.monotonic() < end:
            time.sleep(10)
            rig.server.redis.memory_purge()
            info = rig.server.redis.info()
            figures.append(
                (info["used_memory"] / 1e6, info["connected_clients"], rig.server.redis.dbsize(), _memory(rig))
            )
            if rng.random() < 0.1:
                rig.proxy.cut()
        stop.set()
        for thread in threads:
            thread.join(60)
        assert wait_until_quiet(rig.server.redis, QUIET) == [], leftovers(rig.server.redis)
        assert rig.workers.ended == []
    # From the first half minute on, when answers have begun to expire.
    settled, last = figures[3:6], figures[-3:]
    for name, before, after, room in zip(
        ("Redis's memory, MB", "connections", "keys", "workers' memory, MB"),
        map(max, zip(*settled, strict=True)),
        map(min, zip(*last, strict=True)),
        (10, 20, 5_000, 60),
        strict=True,
    ):
        assert after <= before * 1.3 + room, f"{name}: {before:.0f} became {after:.0f}; all: {figures}"


def _memory(rig):
    pids = [pid for process in rig.workers.processes for pid in (process.pid, *children(process.pid))]
    kilobytes = 0
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        kilobytes += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return kilobytes / 1_000
