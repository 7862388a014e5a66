"""Every verb of pools.lua, on fakeredis and on a real server."""

from __future__ import annotations

import json
import threading
import time
from hashlib import blake2b

import numpy as np
import pytest

from taquin import puzzle, service
from taquin.connection import connect
from taquin.errors import Unknown
from taquin.jobs import Jobs
from taquin.ledger import Ledger, Overdue
from taquin.messages import pool_name
from taquin.pools import REFILL_CHUNK, PoolCount, Pools
from taquin.puzzle.shape import Shape
from taquin.service.chunks import chunk as answer_chunk
from taquin.service.records import ready_records

POOL = "2x2:easy"
KEY = f"taquin:pool:{POOL}"
REFILL = b'{"kind":"generate","rows":3,"cols":3,"form":"u4","pool":true,"band":"hard"}'


@pytest.fixture
def pools(redis, settings):
    return Pools(redis, settings)


@pytest.fixture
def jobs(redis, settings):
    return Jobs(redis, settings)


def record(number):
    """A record as the workers write it, told apart by its id."""
    fields = {"id": f"b{number}", "rows": 2, "cols": 2, "board": [[1, 2], [0, 3]], "goal": "blank-last"}
    return json.dumps(fields | {"band": "easy", "distance": 1, "moves": 1}).encode()


def fill(pools, count, first=0):
    return pools.fill(POOL, b"\n".join(record(number) for number in range(first, first + count)))


def end_lease(redis, claim):
    assert redis.zadd("taquin:leases", {claim: 1}, xx=True, ch=True) == 1


def low_events(redis):
    return [fields for _, fields in redis.xrange("taquin:events") if fields[b"event"] == b"pool.low"]


def test_a_board_is_handed_out_and_confirmed(pools, redis):
    assert fill(pools, 1) == 1
    ready = pools.claim(POOL, 60.0)
    assert (ready.id, ready.rows, ready.cols, ready.board) == ("b0", 2, 2, [[1, 2], [0, 3]])
    assert (ready.goal, ready.band, ready.distance, ready.moves) == ("blank-last", "easy", 1, 1)
    assert pools.claim(POOL, 60.0) is None
    pools.confirm(ready.claim)
    assert not redis.keys("taquin:*claims") + redis.keys("taquin:*leases") + redis.keys(KEY)


def test_boards_that_are_there_are_not_added_twice(pools, redis):
    assert fill(pools, 5) == 5
    assert fill(pools, 5, first=3) == 3
    assert redis.scard(KEY) == 8


def test_many_records_at_once(pools, redis):
    assert fill(pools, 2_500) == 2_500  # more than one SADD of the script takes
    assert redis.scard(KEY) == 2_500


def test_any_client_may_pop_a_record(pools, redis):
    fill(pools, 1)
    assert json.loads(redis.spop(KEY))["board"] == [[1, 2], [0, 3]]


def test_a_released_board_is_ready_again(pools):
    fill(pools, 1)
    first = pools.claim(POOL, 60.0)
    pools.release(first.claim)
    again = pools.claim(POOL, 60.0)
    assert (again.id, again.claim != first.claim) == (first.id, True)


def test_a_lease_that_is_over_returns_its_board_at_the_next_claim(pools, redis):
    fill(pools, 1)
    first = pools.claim(POOL, 60.0)
    assert pools.claim(POOL, 60.0) is None
    end_lease(redis, first.claim)
    assert pools.claim(POOL, 60.0).id == first.id


def test_the_lease_is_counted_by_the_clock_of_redis(pools, redis):
    fill(pools, 1)
    seconds, micros = redis.time()
    ready = pools.claim(POOL, 60.0)
    left = redis.zscore("taquin:leases", ready.claim) - (seconds * 1000 + micros // 1000)
    assert 60_000 <= left < 120_000
    pools.release(ready.claim)
    pools.claim(POOL, 0.001)
    time.sleep(0.01)
    assert pools.claim(POOL, 60.0) is not None


def test_confirming_when_the_lease_is_over_returns_the_board(pools, redis):
    fill(pools, 1)
    ready = pools.claim(POOL, 60.0)
    end_lease(redis, ready.claim)
    with pytest.raises(Unknown, match=f"no claim {ready.claim}: its lease is over"):
        pools.confirm(ready.claim)
    assert redis.scard(KEY) == 1
    assert redis.hlen("taquin:claims") == 0


def test_a_claim_is_ended_once(pools, redis):
    fill(pools, 2)
    released = pools.claim(POOL, 60.0)
    pools.release(released.claim)
    for late in (pools.confirm, pools.release):
        with pytest.raises(Unknown):
            late(released.claim)
    confirmed = pools.claim(POOL, 60.0)
    pools.confirm(confirmed.claim)
    with pytest.raises(Unknown):
        pools.release(confirmed.claim)
    assert redis.scard(KEY) == 1


def test_a_confirmation_whose_reply_was_lost_may_be_repeated(pools, redis):
    """redis-py does so by itself."""
    fill(pools, 1)
    ready = pools.claim(POOL, 60.0)
    pools.confirm(ready.claim)
    pools.confirm(ready.claim)
    assert redis.scard(KEY) == 0
    assert 0 < redis.pttl(f"taquin:confirmed:{ready.claim}") <= 60_000


def test_boards_of_one_name_are_added_once(pools, redis):
    """A task that is run again does not bring back a board that was handed out meanwhile."""
    assert pools.fill(POOL, record(1), name="a-task") == 1
    pools.confirm(pools.claim(POOL, 60.0).claim)
    assert pools.fill(POOL, record(1), name="a-task") == 0
    assert redis.scard(KEY) == 0
    assert pools.fill(POOL, record(1), name="another") == 1
    assert 0 < redis.pttl("taquin:filled:a-task") <= 3_600_000


def test_a_claim_that_passed_on_is_not_the_old_ones_to_confirm(pools, redis):
    fill(pools, 1)
    first = pools.claim(POOL, 60.0)
    end_lease(redis, first.claim)
    second = pools.claim(POOL, 60.0)
    with pytest.raises(Unknown):
        pools.confirm(first.claim)
    with pytest.raises(Unknown):
        pools.release(first.claim)
    pools.confirm(second.claim)
    assert redis.scard(KEY) == 0


def test_a_claim_whose_reply_was_lost_may_be_repeated(pools, monkeypatch, redis):
    class Same:
        hex = "claim"

    monkeypatch.setattr("taquin.pools.uuid4", Same)
    fill(pools, 2)
    assert pools.claim(POOL, 60.0) == pools.claim(POOL, 60.0)
    assert redis.scard(KEY) == 1


def test_many_who_claim_at_once_never_get_the_same(pools, settings, redis):
    fill(pools, 60)
    got = []
    start = threading.Barrier(6)

    def claim():
        mine = Pools(connect(settings), settings)
        start.wait()
        while (ready := mine.claim(POOL, 60.0)) is not None:
            got.append(ready.id)

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(f"b{number}" for number in range(60))
    assert redis.hlen("taquin:claims") == redis.zcard("taquin:leases") == 60


def test_a_pool_that_runs_low_says_so_once(pools, redis):
    pools.set_marks(POOL, 0, 0, b"")
    fill(pools, 5)
    pools.set_marks(POOL, 3, 10, b"")
    for _ in range(2):
        pools.claim(POOL, 60.0)
    assert low_events(redis) == []
    for _ in range(3):
        pools.claim(POOL, 60.0)
    (event,) = low_events(redis)
    assert (event[b"pool"], event[b"left"], event[b"low"]) == (POOL.encode(), b"2", b"3")
    # Full enough again, and low again.
    fill(pools, 3, first=10)
    pools.claim(POOL, 60.0)
    assert len(low_events(redis)) == 2


def test_marks_are_looked_at_when_they_are_set(pools, redis):
    pools.set_marks(POOL, 1, 5, b"")
    assert len(low_events(redis)) == 1


def test_one_job_tops_a_pool_up_and_never_two(pools, jobs, redis, settings):
    pool, high = "3x3:hard", REFILL_CHUNK + 500
    pools.set_marks(pool, 10, high, REFILL)
    (job,) = jobs.all()
    assert (job.state, job.boards, job.chunks) == ("sealed", high, 2)
    for _ in range(5):
        pools.claim(pool, 60.0)
    assert len(list(jobs.all())) == 1
    # Its chunks are due at once, and a sweeper sends them.
    ledger = Ledger(redis, settings)
    ids = [f"{job.id}:{k}" for k in range(2)]
    assert sorted(ledger.sweep("s"), key=lambda unit: unit.id) == [Overdue(id, "bulk") for id in ids]
    for id in ids:
        unit = ledger.begin(id)
        jobs.commit(id, *answer_chunk(unit.asked, id, unit.boards, unit.payload))
    done = jobs.read(job.id)
    assert (done.state, done.solvable) == ("complete", high)
    assert redis.scard(f"taquin:pool:{pool}") == done.pooled > high * 0.9  # a few were drawn twice
    # Low again: another job, with boards of its own.
    redis.delete(f"taquin:pool:{pool}")
    pools.claim(pool, 60.0)
    assert len(list(jobs.all())) == 2
    again = ledger.begin(f"{next(iter(jobs.all())).id}:0")
    assert answer_chunk(again.asked, again.id, 50, b"").filled != answer_chunk(REFILL, ids[0], 50, b"").filled


def test_a_pool_that_cannot_be_filled_is_left_alone_for_a_while(pools, jobs, redis, settings):
    """3x3 has 362,880 arrangements, and a small part of them is easy: a high mark may ask for more than there are."""
    pools.set_marks(POOL, 10, 20, REFILL)
    (job,) = jobs.all()
    Ledger(redis, settings).begin(f"{job.id}:0")
    jobs.commit(f"{job.id}:0", b"", (20, 0, 0, 0), [(POOL, record(1))])
    assert jobs.read(job.id).pooled == 1
    for _ in range(3):
        pools.claim(POOL, 60.0)
    assert len(list(jobs.all())) == 1
    redis.hincrby(f"taquin:job:{job.id}", "finished", -300_000)
    pools.claim(POOL, 60.0)
    assert len(list(jobs.all())) == 2


def test_a_refill_is_what_is_missing_to_the_high_mark(pools, jobs):
    fill(pools, 4)
    pools.set_marks(POOL, 4, 10, REFILL)
    assert list(jobs.all()) == []
    pools.claim(POOL, 60.0)
    (job,) = jobs.all()
    assert job.boards == 7


def test_marks_without_a_request_refill_nothing(pools, jobs):
    pools.set_marks(POOL, 4, 10, REFILL)
    pools.set_marks(POOL, 5, 10, b"")
    (job,) = jobs.all()
    jobs.cancel(job.id)
    pools.claim(POOL, 60.0)
    assert len(list(jobs.all())) == 1


def test_all_pools_are_counted(pools):
    fill(pools, 3)
    pools.fill("3x3:hard:snail", b"{}")
    pools.set_marks("4x4:expert", 0, 9, b"")
    pools.claim(POOL, 60.0)
    assert pools.counts() == [
        PoolCount("2x2:easy", ready=2, claimed=1, low=None, high=None, refills=False),
        PoolCount("3x3:hard:snail", ready=1, claimed=0, low=None, high=None, refills=False),
        PoolCount("4x4:expert", ready=0, claimed=0, low=0, high=9, refills=False),
    ]


def test_a_pool_whose_boards_are_all_claimed_is_counted(pools):
    fill(pools, 1)
    pools.claim(POOL, 60.0)
    assert pools.counts() == [PoolCount(POOL, ready=0, claimed=1, low=None, high=None, refills=False)]


def test_nothing_of_a_pool_expires(pools, redis):
    fill(pools, 2)
    pools.claim(POOL, 60.0)
    pools.set_marks(POOL, 1, 2, REFILL)
    assert all(redis.pttl(key) == -1 for key in redis.keys("*"))


@pytest.mark.parametrize(
    ("shape", "goal"),
    [
        ("3x3", "blank-last"),
        ("2x3", "snail"),
        ("3x4", [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 0]]),
        ("17x17", "snake"),
    ],
)
def test_records_say_what_an_app_serves(shape, goal):
    boards = puzzle.shuffle(shape, 200, seed=5, goal=goal)
    known = Shape(*map(int, shape.split("x")))
    bands = ready_records(boards, known, goal)
    records = [json.loads(line) for _, lines in bands for line in lines.split(b"\n")]
    assert sorted(record["board"] for record in records) == sorted(boards.reshape(-1, *known).tolist())
    assert {record["band"] for record in records} == {band for band, _ in bands}
    for one in records[:20]:
        board = np.array(one["board"]).reshape(1, -1)
        assert (one["rows"], one["cols"], one["goal"]) == (*known, goal)
        assert one["distance"] == puzzle.linear_conflict(board, known, goal)[0]
        assert puzzle.BANDS[puzzle.band(board, known, goal)[0]] == one["band"]
        if known.cells <= 9:
            assert one["moves"] == puzzle.moves(board, known, goal)[0]
        else:
            assert one["moves"] is None


def test_the_same_board_is_the_same_record_always():
    shape, board = Shape(3, 3), np.array([[1, 2, 3, 4, 5, 6, 0, 7, 8]], np.uint8)
    ((band, line),) = ready_records(board, shape, "blank-last")
    assert band == "easy"
    id = blake2b(b'3x3"blank-last"' + bytes([1, 2, 3, 4, 5, 6, 0, 7, 8]), digest_size=12).hexdigest()
    assert id == "025030e1bc02542b26c75b8a"
    assert line == (
        b'{"id":"025030e1bc02542b26c75b8a","rows":3,"cols":3,"board":[[1,2,3],[4,5,6],[0,7,8]],"goal":"blank-last",'
        b'"band":"easy","distance":2,"moves":2}'
    )
    request = {"board": [[1, 2, 3], [4, 5, 6], [0, 7, 8]], "pool": True}
    assert service.respond("repair", request).ready == ("3x3:easy", line)
    assert ready_records(board, shape, [[1, 2, 3], [4, 5, 6], [7, 8, 0]])[0][1][:32] != line[:32]  # another goal


def test_the_solved_board_is_no_puzzle():
    solved = np.array([[1, 2, 3, 0], [1, 2, 0, 3]], np.uint8)
    ((_, line),) = ready_records(solved, Shape(2, 2), "blank-last")
    assert b"[[1,2],[0,3]]" in line
    assert ready_records(solved[:1], Shape(2, 2), "blank-last") == []


def test_names_of_pools():
    assert pool_name(4, 4, "hard") == "4x4:hard"
    assert pool_name(3, 4, "easy", "snail") == "3x4:easy:snail"
    board = [[1, 2], [0, 3]]
    assert pool_name(2, 2, "easy", board) == pool_name(2, 2, "easy", [row[:] for row in board])
    assert pool_name(2, 2, "easy", board) != pool_name(2, 2, "easy", [[2, 1], [0, 3]])
