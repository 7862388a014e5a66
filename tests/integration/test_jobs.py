"""Jobs as an app backend uses them, on a real worker; where no worker shall be, the client has a prefix of its own."""

from __future__ import annotations

import itertools
import json
import sys
import threading
import tracemalloc
from uuid import uuid4

import numpy as np
import pytest

from taquin import BadInput, Busy, Client, Conflict, Settings, TimedOut, Unknown, puzzle
from taquin.carrier import Carrier
from taquin.client.job import CANCELLED, DEAD
from taquin.connection import connect
from taquin.embedded import run_worker
from taquin.service.chunks import chunk as answer_chunk
from tests.integration.conftest import QUICK
from tests.integration.textbook import shuffled, solvable

BOARDS = shuffled(2_000, 4, 4)
GOOD = solvable(BOARDS, 4, 4)


@pytest.fixture
def alone(live_redis):
    """A client whose prefix no worker knows: nothing is done unless the test does it."""
    settings = Settings(redis_url=live_redis.url, key_prefix=f"alone-{uuid4().hex}:", resend_after=60)
    with Client(settings=settings, timeout=20.0) as client:
        yield client


def left_behind(client):
    """The keys of a client; the count of messages apart, which is no work."""
    prefix = client.settings.key_prefix
    with connect(client.settings) as redis:
        return [key for key in redis.keys(f"{prefix}*") if key != f"{prefix}queues".encode()]


def do(client, id):
    """Do one chunk, as a worker does."""
    unit = client._ledger.begin(id)
    client._jobs.commit(id, *answer_chunk(unit.asked, id, unit.boards, unit.payload))


def counts(progress):
    return [progress.solvable, progress.unsolvable, progress.repaired, progress.invalid, progress.dead]


def collect(job, timeout=60):
    chunks = list(job.results(timeout=timeout))
    assert [chunk.start for chunk in chunks] == [0, *itertools.accumulate(len(chunk) for chunk in chunks)][:-1]
    statuses = np.concatenate([chunk.statuses for chunk in chunks])
    with_boards = [chunk.boards for chunk in chunks if chunk.boards is not None]
    return chunks, statuses, np.concatenate(with_boards) if with_boards else None


def test_a_job_that_validates(client):
    job = client.submit(BOARDS, shape="4x4", chunk=300)
    progress = job.wait(timeout=60)
    assert (progress.state, progress.boards, progress.time_left) == ("complete", 2_000, 0.0)
    assert counts(progress) == [GOOD.sum(), 2_000 - GOOD.sum(), 0, 0, 0]
    chunks, statuses, boards = collect(job)
    assert [len(chunk) for chunk in chunks] == [300] * 6 + [200]
    assert ((statuses == 0) == GOOD).all()
    assert boards is None


def test_a_job_that_repairs(client):
    sent = BOARDS.copy()
    sent[5] = 0  # no tiles
    sent[6, 3] = 99  # beyond what the form holds
    job = client.submit(sent, shape="4x4", kind="repair", chunk=500)
    _, statuses, boards = collect(job)
    valid = np.ones(len(sent), bool)
    valid[[5, 6]] = False
    assert solvable(boards[valid], 4, 4).all()
    assert ((boards != sent).sum(axis=1)[valid] == np.where(GOOD, 0, 2)[valid]).all()
    assert (np.sort(boards[valid], axis=1) == np.arange(16)).all()
    assert (statuses[valid] == np.where(GOOD, 0, 2)[valid]).all()
    assert not boards[~valid].any()
    chunk = next(iter(job.results()))
    assert [chunk.status(index) for index in (5, 6)] == ["invalid", "invalid"]
    assert "several_blanks" in chunk.problems(5)
    assert "out_of_range" in chunk.problems(6)
    assert chunk.problems(7) == ()


@pytest.mark.parametrize(
    ("shape", "goal"),
    [("3x3", "snail"), ("5x5", "blank-first"), ("17x17", "snake"), ("2x3", [[5, 4, 3], [2, 1, 0]]), ("1x5", "snake")],
)
def test_every_form_and_goal(client, shape, goal):
    rows, cols = map(int, shape.split("x"))
    boards = np.random.default_rng(1).permuted(np.tile(np.arange(rows * cols), (60, 1)), axis=1)
    _, statuses, served = collect(client.submit(boards, shape=shape, kind="repair", goal=goal, swap="gentle", chunk=25))
    before = puzzle.solvable(boards, shape, goal)
    assert ((statuses == 0) == before).all()
    if rows > 1:
        assert (statuses[~before] == 2).all()
        assert puzzle.solvable(served, shape, goal).all()
    else:
        assert (statuses[~before] == 1).all()


def test_lines_that_are_no_boards_keep_their_place(client, tmp_path):
    file = tmp_path / "boards.jsonl"
    lines = [json.dumps(board.reshape(4, 4).tolist()) for board in BOARDS[:50]]
    lines[3], lines[20], lines[49] = "nonsense", '{"board": [[1]]}', "[[1, 2], [3, true]]"
    file.write_text("\n".join(lines))
    job = client.submit(file, kind="repair", chunk=20)
    chunks, statuses, _ = collect(job)
    bad = {3: ("not_a_board",), 20: chunks[1].problems(0), 49: chunks[2].problems(9)}
    assert set(np.flatnonzero(statuses >= 128)) == set(bad)
    assert chunks[0].problems(3) == bad[3]
    assert all(bad.values())
    assert counts(job.progress())[3] == 3


def test_results_are_there_as_soon_as_they_are_done(alone):
    job = alone.submit(BOARDS[:30], shape="4x4", chunk=10)
    do(alone, f"{job.id}:0")
    results = job.results(timeout=0.1)
    assert len(next(results)) == 10
    with pytest.raises(TimedOut, match=rf"job {job.id} is sealed with 10 of 30 boards done after 0\.1 s"):
        next(results)
    do(alone, f"{job.id}:2")
    do(alone, f"{job.id}:1")
    assert [chunk.start for chunk in alone.job(job.id).results(timeout=5)] == [0, 10, 20]
    assert alone.job(job.id).request == job.request


def test_every_message_doubled_changes_nothing(client, monkeypatch, live_redis):
    send = Carrier.send

    def send_thrice(self, id, queue):
        for _ in range(3):
            send(self, id, queue)

    monkeypatch.setattr(Carrier, "send", send_thrice)
    band_of = puzzle.band(BOARDS[GOOD], "4x4")
    job = client.submit(BOARDS, shape="4x4", kind="repair", to_pool=True, chunk=100)
    progress = job.wait(timeout=60)
    assert counts(progress) == [GOOD.sum(), 0, 2_000 - GOOD.sum(), 0, 0]
    assert progress.pooled == 2_000
    assert len(band_of) == GOOD.sum()
    with connect(client.settings) as redis:
        events = [fields for _, fields in redis.xrange("taquin:events") if fields.get(b"job") == job.id.encode()]
        assert [event[b"event"] for event in events] == [b"job.completed"]
        names = [key for key in redis.keys("taquin:pool:4x4:*") if key.count(b":") == 3]
        pooled = [json.loads(record)["board"] for name in names for record in redis.smembers(name)]
        redis.delete(*names)
    _, _, served = collect(job)
    wanted = {tuple(board) for board in served.tolist()}
    assert wanted <= {tuple(np.ravel(board).tolist()) for board in pooled}
    assert solvable(pooled, 4, 4).all()
    del live_redis


def test_a_key_makes_a_submission_safe_to_repeat(client):
    key = uuid4().hex
    job = client.submit(BOARDS, shape="4x4", key=key, chunk=300)
    first = job.wait(timeout=60)
    again = client.submit(BOARDS, shape="4x4", key=key, chunk=300)
    assert (again.id, again.progress().done) == (job.id, first.done)
    with pytest.raises(Conflict, match=f"job {job.id} was already submitted with another request or other boards"):
        client.submit(BOARDS, shape="4x4", kind="repair", key=key, chunk=300)
    with pytest.raises(Conflict):
        client.submit(BOARDS[::-1], shape="4x4", key=key, chunk=300)
    with pytest.raises(Conflict):
        client.submit(BOARDS[:600], shape="4x4", key=key, chunk=300)
    assert job.progress() == first


def test_a_submission_that_broke_off_is_taken_up_where_it_ended(client):
    def breaks_off():
        yield from BOARDS[:700].reshape(-1, 4, 4)
        raise RuntimeError("the source is gone")

    key = uuid4().hex
    with pytest.raises(RuntimeError, match="the source is gone"):
        client.submit(breaks_off(), key=key, chunk=100)
    job = client.job(f"key-{key}")
    assert (job.progress().state, job.progress().boards) == ("open", 700)
    assert client.submit(iter(BOARDS.reshape(-1, 4, 4)), key=key, chunk=100).id == job.id
    assert counts(job.wait(timeout=60)) == [GOOD.sum(), 2_000 - GOOD.sum(), 0, 0, 0]


def test_without_a_key_a_submission_that_broke_off_leaves_nothing(alone):
    def breaks_off():
        yield from BOARDS[:700].reshape(-1, 4, 4)
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError):
        alone.submit(breaks_off(), chunk=100)
    assert left_behind(alone) == []


def test_no_more_than_so_many_chunks_are_on_their_way(alone):
    drawn = itertools.count()
    endless = (BOARDS[next(drawn) % 2_000].reshape(4, 4) for _ in itertools.count())
    with pytest.raises(Busy, match=r"4 chunks of job .* are on their way"):
        alone.submit(endless, chunk=10, in_flight=4, wait=False)
    assert next(drawn) == 50
    with pytest.raises(TimedOut, match=r"no room for more of job .* for 0\.1 s: is a worker running"):
        alone.submit(endless, chunk=10, in_flight=4, timeout=0.1)
    assert left_behind(alone) == []


def test_an_endless_source_takes_the_same_memory_however_long_it_runs(client):
    many = np.tile(BOARDS, (5, 1))

    def peak(batches):
        source = (np.roll(many, batch, axis=0) for batch in range(batches))
        tracemalloc.start()
        job = client.submit(source, shape="4x4", in_flight=4)
        for chunk in job.results(timeout=60):
            assert len(chunk) == len(many)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert job.progress().done == batches * len(many)
        return size

    peak(2)
    # What was sent are 2.4 MB in all.
    assert peak(30) < peak(6) + 1_000_000


def test_cancel(alone):
    job = alone.submit(BOARDS[:40], shape="4x4", kind="repair", chunk=10)
    do(alone, f"{job.id}:2")
    job.cancel()
    job.cancel()
    progress = job.wait(timeout=5)
    assert (progress.state, progress.finished, progress.done) == ("cancelled", True, 10)
    chunks, statuses, _ = collect(job)
    assert (statuses.reshape(4, 10) == CANCELLED).all(axis=1).tolist() == [True, True, False, True]
    assert (chunks[0].status(0), chunks[0].problems(0), chunks[0].boards) == ("cancelled", (), None)
    assert alone._ledger.begin(f"{job.id}:0") is None


def test_a_job_that_is_cancelled_while_it_is_submitted(alone):
    failed = []

    def submit():
        try:
            alone.submit(iter(BOARDS.reshape(-1, 4, 4)), chunk=10, in_flight=2, key="mine", timeout=30)
        except Unknown as error:
            failed.append(str(error))

    thread = threading.Thread(target=submit)
    thread.start()
    while True:
        try:
            if alone.job("key-mine").progress().boards >= 20:
                break
        except Unknown:
            pass
    alone.job("key-mine").cancel()
    thread.join(30)
    assert failed == ["job key-mine takes no more boards: it was cancelled or has expired"]


def test_a_dead_chunk_completes_its_job_and_can_be_retried(alone):
    job = alone.submit(BOARDS[:30], shape="4x4", kind="repair", chunk=10)
    for k in (0, 2):
        do(alone, f"{job.id}:{k}")
    id = f"{job.id}:1"
    for _ in range(alone.settings.max_attempts):
        alone._ledger.fail(alone._ledger.begin(id), "no")
    progress = job.wait(timeout=5)
    assert (progress.state, progress.dead, progress.done) == ("complete", 10, 30)
    chunks, statuses, _ = collect(job)
    assert (statuses.reshape(3, 10) == DEAD).all(axis=1).tolist() == [False, True, False]
    assert (chunks[1].status(0), chunks[1].problems(0)) == ("dead", ())
    alone._ledger.retry(id)
    do(alone, id)
    assert counts(job.wait(timeout=5))[4] == 0
    assert solvable(collect(job)[2], 4, 4).all()


def test_a_dead_chunk_that_was_dropped_ends_no_wait(alone):
    job = alone.submit(BOARDS[:10], shape="4x4")
    for _ in range(alone.settings.max_attempts):
        alone._ledger.fail(alone._ledger.begin(f"{job.id}:0"), "no")
    alone._ledger.drop(f"{job.id}:0")
    assert (collect(job, timeout=5)[1] == DEAD).all()


def test_a_chunk_that_no_worker_can_read_is_dead_and_the_rest_goes_on(client):
    """The bytes are no boards: each attempt fails."""
    id = uuid4().hex
    request = client.submit(BOARDS[:10], shape="4x4").request
    client._jobs.open(id, request.model_dump_json().encode())
    client._jobs.add(id, 0, 5, b"123")
    client._jobs.add(id, 1, 2, puzzle.pack(BOARDS[:2], "u4"))
    client._jobs.seal(id, 2, 7)
    for k in (0, 1):
        client._carrier.send(f"{id}:{k}", "bulk")
    progress = client.job(id).wait(timeout=60)
    assert (progress.state, progress.dead, progress.done) == ("complete", 5, 7)
    letter = next(letter for letter in client._ledger.dead() if letter.id == f"{id}:0")
    assert "BadInput" in letter.error
    client._ledger.drop(letter.id)


def test_jobs_are_listed_with_how_far_they_are(alone):
    first = alone.submit(BOARDS[:20], shape="4x4", chunk=10)
    second = alone.generate("3x3", 5)
    do(alone, f"{first.id}:0")
    listed = {job.id: (progress.state, progress.done, progress.boards) for job, progress in alone.jobs()}
    assert listed == {first.id: ("sealed", 10, 20), second.id: ("sealed", 0, 5)}


def test_unknown_jobs_and_waits_that_take_too_long(alone):
    with pytest.raises(Unknown, match="no job never"):
        alone.job("never")
    job = alone.submit(BOARDS[:10], shape="4x4")
    with pytest.raises(TimedOut, match=rf"job {job.id} is sealed with 0 of 10 boards done after 0\.1 s"):
        job.wait(timeout=0.1)


@pytest.mark.parametrize("more", [{}, {"method": "walk", "steps": 30}, {"band": "hard"}, {"band": "easy"}])
def test_the_same_seed_gives_the_same_boards_whoever_makes_them(client, alone, more):
    fields = {"seed": 7, "chunk": 150, **more}
    _, statuses, boards = collect(client.generate("4x4", 1_000, **fields))
    assert not statuses.any()
    assert solvable(boards, 4, 4).all()
    if "band" in more:
        assert (puzzle.band(boards, "4x4") == puzzle.BANDS.index(more["band"])).all()
    # One worker, and the last chunk first.
    job = alone.generate("4x4", 1_000, **fields)
    for k in reversed(range(7)):
        do(alone, f"{job.id}:{k}")
    assert (collect(job)[2] == boards).all()
    assert (collect(client.generate("4x4", 1_000, **fields | {"seed": 8}))[2] != boards).any()


@pytest.mark.slow
def test_three_workers_make_the_same_boards_as_one(fresh_redis):
    with (
        run_worker(fresh_redis.url, concurrency=3, environment=QUICK),
        Client(fresh_redis.url, timeout=30) as client,
    ):
        job = client.generate("3x3", 1_000, seed=9, chunk=50)
        boards = collect(job)[2]
        asked = job.request.model_dump_json().encode()
    one = [answer_chunk(asked, f"here:{k}", 50, b"").answer[50:] for k in range(20)]
    assert puzzle.pack(boards, "u4") == b"".join(one)


def test_a_key_stands_for_one_seed(client):
    key = uuid4().hex
    job = client.generate("3x3", 20, key=key)
    assert client.generate("3x3", 20, key=key).id == job.id
    assert client.generate("3x3", 20).request.seed != job.request.seed


def test_boards_to_serve_go_into_pools(client):
    boards = shuffled(500, 3, 4, seed=3)
    solved = np.append(np.arange(1, 12), 0)
    job = client.submit([*boards.reshape(-1, 3, 4), solved.reshape(3, 4)], kind="repair", to_pool=True)
    progress = job.wait(timeout=60)
    assert (progress.done, progress.pooled) == (501, 500)
    assert client.submit(boards, shape="3x4", kind="repair", to_pool=True).wait(timeout=60).pooled == 0
    taken = []
    for band in puzzle.BANDS:
        while (ready := client.take("3x4", band=band)) is not None:
            taken.append(ready.board)
            assert ready.band == band == puzzle.BANDS[puzzle.band(np.ravel(ready.board)[None, :], "3x4")[0]]
    assert len(taken) == 500
    assert solvable(taken, 3, 4).all()


def test_a_single_board_goes_into_a_pool_as_well(client, live_redis):
    from celery import Celery

    board = [[1, 2, 3, 4, 5], [6, 7, 8, 9, 0]]
    assert client.repair(board[::-1], to_pool=True).status in ("solvable", "repaired")
    app = Celery("app", broker=live_redis.url, backend=live_redis.url, set_as_current=False)
    request = {"board": [board[0][::-1], board[1]], "pool": True}
    answer = app.send_task("taquin.repair", args=[request], queue="interactive").get(timeout=30)
    app.close()
    taken = [client.take("2x5", band=band) for band in puzzle.BANDS for _ in range(2)]
    found = [ready.board for ready in taken if ready is not None]
    assert answer["board"] in found
    assert len(found) == 2
    assert solvable(found, 2, 5).all()
    assert client.repair(board[::-1]).status in ("solvable", "repaired")  # and only where it is asked for
    assert all(client.take("2x5", band=band) is None for band in puzzle.BANDS)


FLAT = BOARDS[:3]


@pytest.mark.parametrize(
    ("boards", "fields", "message"),
    [
        (FLAT, {}, r"an array of flat boards needs their shape: say it, such as --shape 3x3, in Python shape=\(3, 3\)"),
        (FLAT, {"shape": "3x3"}, r"boards of 3x3 come as an array of \(n, 9\) or \(n, 3, 3\), not \(3, 16\)"),
        (FLAT.astype(float), {"shape": "4x4"}, "whole numbers, not of float64"),
        (FLAT, {"shape": "0x4"}, "at least one row and one column, not 0 and 4"),
        (FLAT, {"shape": "4x"}, "4x"),
        (FLAT, {"shape": "9999x9999"}, "9999 rows of 9999 columns are too many"),
        (FLAT[:0], {"shape": "4x4"}, "there is no board to submit"),
        ([], {}, "shape"),
        (7, {"shape": "4x4"}, "not a int"),
        (FLAT, {"shape": "4x4", "goal": "home"}, "home"),
        (FLAT, {"shape": "4x4", "goal": [[1, 0]]}, "goal"),
        (FLAT, {"shape": "4x4", "kind": "generate"}, "kind"),
        (FLAT, {"shape": "4x4", "kind": "repair", "swap": "first"}, "swap"),
        (FLAT, {"shape": "4x4", "kind": "repair", "swap": (1, 99)}, "99"),
        (FLAT, {"shape": "4x4", "kind": "repair", "pinned": [99]}, "99"),
        (FLAT, {"shape": "4x4", "to_pool": True}, "swap, pinned and to_pool go with the kind repair"),
        (FLAT, {"shape": "4x4", "swap": "gentle"}, "swap, pinned and to_pool go with the kind repair"),
        (FLAT, {"shape": "4x4", "pinned": [1]}, "swap, pinned and to_pool go with the kind repair"),
        ("/nowhere.npy", {}, "/nowhere.npy cannot be read"),
        (FLAT, {"shape": "4x4", "chunk": 0}, "chunk is a whole number from 1 on, not 0"),
        (
            FLAT,
            {"shape": "4x4", "chunk": 10**9},
            "a chunk of this job holds at most 4,000,000 boards, not 1,000,000,000",
        ),
        (FLAT, {"shape": "4x4", "kind": "repair", "to_pool": True, "chunk": 10**6}, "at most 50,000 boards"),
        (FLAT, {"shape": "4x4", "in_flight": -1}, "in_flight is a whole number from 1 on, not -1"),
        (FLAT, {"shape": "4x4", "key": "a b"}, "a key is 1 to 200 printable characters without spaces, not 'a b'"),
        (lambda: iter([FLAT.reshape(-1, 4, 4), FLAT.astype(float)]), {"shape": "4x4"}, "not of float64"),
        ("/nowhere", {}, "/nowhere cannot be read"),
        (sys.executable, {"shape": "4x4"}, "is no text"),
    ],
)
def test_bad_input_is_one_clear_error_and_leaves_nothing(alone, boards, fields, message):
    with pytest.raises(BadInput, match=message):
        alone.submit(boards() if callable(boards) else boards, **fields)
    assert left_behind(alone) == []


@pytest.mark.parametrize(
    ("shape", "count", "fields", "message"),
    [
        ("4x", 5, {}, "4x"),
        ("0x4", 5, {}, "not 0 and 4"),
        ("9999x9999", 5, {}, "too many"),
        ("4x4", -1, {}, "count is a whole number from 1 to 1,000,000,000,000, not -1"),
        ("4x4", 0, {}, "not 0"),
        ("4x4", 1.5, {}, r"not 1\.5"),
        ("4x4", 5, {"band": "cruel"}, "band: .*'easy', 'medium', 'hard' or 'expert', not 'cruel'"),
        ("4x4", 5, {"method": "magic"}, "method: .*not 'magic'"),
        ("4x4", 5, {"method": "walk", "steps": 0}, "steps: .*not '0'"),
        ("4x4", 5, {"seed": -1}, r"a seed is a whole number from 0 to 2\*\*128 - 1, not -1"),
        ("4x4", 5, {"goal": "home"}, "home"),
        ("1x2", 5, {"band": "expert"}, "expert"),
        ("1x1", 5, {}, "1x1"),
        ("33x33", 5, {"band": "easy"}, "33x33"),
    ],
)
def test_bad_wishes_of_boards_are_one_clear_error(alone, shape, count, fields, message):
    with pytest.raises(BadInput, match=message):
        alone.generate(shape, count, **fields)
    assert left_behind(alone) == []


def test_a_source_that_is_wrong_far_in_leaves_nothing(alone, tmp_path):
    file = tmp_path / "boards.jsonl"
    line = json.dumps(BOARDS[0].reshape(4, 4).tolist()).encode() + b"\n"
    file.write_bytes(line * 1_000 + b"\xff\xfe\n")
    for key in (None, "mine"):
        with pytest.raises(BadInput, match="is no text"):
            alone.submit(file, chunk=100, key=key)
        assert left_behind(alone) == []
