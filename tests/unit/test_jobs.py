"""Every verb of jobs.lua, on fakeredis and on a real server; the chunks are done by the test itself."""

from __future__ import annotations

import itertools
import json
import random
import threading

import numpy as np
import pytest
from structlog.testing import capture_logs

from taquin import Client
from taquin.connection import connect
from taquin.errors import Busy, Conflict, Unknown
from taquin.jobs import OUTCOMES, ChunkRecord, Jobs
from taquin.ledger import Ledger, Overdue
from taquin.puzzle import pack
from taquin.puzzle.problem import Problem
from taquin.script import SCRIPT, call_of
from taquin.service.chunks import chunk as answer_chunk
from taquin.settings import Settings

REQUEST = b'{"kind":"validate","rows":2,"cols":2,"form":"u4"}'


@pytest.fixture
def jobs(redis, settings):
    return Jobs(redis, settings)


@pytest.fixture
def ledger(redis, settings):
    return Ledger(redis, settings)


def begin(jobs, *boards, job="j", seal=True):
    """Open a job whose chunks hold so many boards."""
    jobs.open(job, REQUEST)
    for k, count in enumerate(boards):
        jobs.add(job, k, count, b"x" * count)
    if seal:
        jobs.seal(job, len(boards), sum(boards))


def die(ledger, redis, settings, id):
    """Fail a unit until it is a dead letter."""
    for _ in range(settings.max_attempts):
        redis.zadd("taquin:due", {id: 0})
        ledger.fail(ledger.begin(id), "no")


def everything(redis):
    """Read all keys with what they hold, and which of them expire."""
    readers = {
        b"hash": redis.hgetall,
        b"set": redis.smembers,
        b"zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"stream": redis.xrange,
        b"string": redis.get,
    }
    return {key: (readers[redis.type(key)](key), redis.pttl(key) > 0) for key in sorted(redis.keys("*"))}


def told(redis, name):
    return [fields for _, fields in redis.xrange("taquin:events") if fields[b"event"] == name.encode()]


def test_a_job_goes_from_open_to_complete(jobs, ledger):
    assert jobs.open("j", REQUEST)
    assert jobs.add("j", 0, 3, b"abc")
    assert jobs.add("j", 1, 2, b"de", b'{"0":["not_a_board"]}')
    record = jobs.read("j")
    assert (record.state, record.request, record.chunks, record.boards) == ("open", REQUEST, 2, 5)
    unit = ledger.begin("j:1")
    assert (unit.kind, unit.payload, unit.asked, unit.boards, unit.attempt) == ("chunk", b"de", REQUEST, 2, 1)
    assert jobs.commit("j:1", b"answer 1", (1, 1, 0, 0), [])
    jobs.seal("j", 2, 5)
    assert jobs.read("j").state == "sealed"
    assert jobs.commit("j:0", b"answer 0", (0, 0, 2, 1), [])
    record = jobs.read("j")
    assert (record.state, record.committed, record.done) == ("complete", 2, 5)
    assert (record.solvable, record.unsolvable, record.repaired, record.invalid, record.dead) == (1, 1, 2, 1, 0)
    assert record.created <= record.finished
    assert jobs.read_chunk("j", 1) == ChunkRecord("complete", 2, None, b"answer 1", b'{"0":["not_a_board"]}')


def test_sealing_after_the_last_commit_completes_as_well(jobs):
    begin(jobs, 1, 1, seal=False)
    for k in (0, 1):
        jobs.commit(f"j:{k}", b"", (1, 0, 0, 0), [])
    assert jobs.read("j").state == "open"
    jobs.seal("j", 2, 2)
    assert jobs.read("j").state == "complete"


@pytest.mark.parametrize("seed", range(3))
def test_the_counters_always_add_up(jobs, ledger, redis, settings, seed):
    """Whatever the order of commits, deaths, duplicates and retries."""
    rng = random.Random(seed)
    sizes = [rng.randrange(1, 50) for _ in range(12)]
    begin(jobs, *sizes)
    outcomes = {}
    for k in rng.sample(range(12), 12):
        cuts = sorted(rng.randrange(sizes[k] + 1) for _ in range(3))
        outcomes[k] = tuple(b - a for a, b in itertools.pairwise([0, *cuts, sizes[k]]))
        if rng.random() < 0.4:
            die(ledger, redis, settings, f"j:{k}")
            if rng.random() < 0.5:
                ledger.retry(f"j:{k}")
        jobs.commit(f"j:{k}", b"", outcomes[k], [])
        jobs.commit(f"j:{k}", b"", outcomes[k], [])
        record = jobs.read("j")
        assert record.done == sum(sizes[k] for k in outcomes)
    dead = {int(id.split(b":")[1]) for id in redis.zrange("taquin:dead", 0, -1)}
    counts = [sum(counts) for counts in zip(*(outcomes[k] for k in outcomes if k not in dead), strict=True)]
    assert (record.state, record.done) == ("complete", sum(sizes))
    assert [getattr(record, name) for name in OUTCOMES] == [*counts, sum(sizes[k] for k in dead)]
    assert len(told(redis, "job.completed")) == 1


def test_nothing_of_a_job_expires_before_it_is_complete(jobs, redis, settings):
    begin(jobs, 1, 1)
    redis.hset("taquin:notes:j", "0", "{}")
    jobs.commit("j:0", b"a", (1, 0, 0, 0), [])
    keys = [f"taquin:{name}:j" for name in ("job", "answers", "chunks", "notes")]
    assert [redis.pttl(key) for key in keys] == [-1] * 4
    jobs.commit("j:1", b"a", (1, 0, 0, 0), [])
    assert all(0 < redis.pttl(key) <= settings.keep_answers * 1000 for key in keys)


def test_a_job_whose_submission_was_abandoned_expires_in_a_week(jobs, redis, settings):
    """Each chunk that comes in or is done begins the week anew, and sealing ends it."""
    week = 7 * 86_400_000
    keys = [f"taquin:{name}:j" for name in ("job", "answers", "chunks", "notes")]
    jobs.open("j", REQUEST)
    assert week - 60_000 < redis.pttl(keys[0]) <= week
    for k in range(2):
        redis.pexpire(keys[0], 1_000)
        jobs.add("j", k, 1, b"x", b"{}")
        jobs.commit(f"j:{k}", b"a", (1, 0, 0, 0), [])
        assert all(week - 60_000 < redis.pttl(key) <= week for key in keys)
    redis.pexpire(keys[0], 1_000)
    with pytest.raises(Busy):
        Jobs(redis, settings.model_copy(update={"max_waiting": 0})).add("j", 2, 1, b"x")
    assert redis.pttl(keys[0]) > week - 60_000
    jobs.add("j", 2, 1, b"x")
    jobs.seal("j", 3, 3)
    assert {redis.pttl(key) for key in keys} == {-1}


def test_a_late_answer_to_a_chunk_of_another_submission_is_dropped(jobs, ledger):
    """A submission whose source turned out to be wrong is discarded, and comes again under the same key."""
    jobs.open("j", REQUEST)
    jobs.add("j", 0, 1, b"x")
    old = ledger.begin("j:0")
    jobs.discard("j")
    begin(jobs, 2)
    assert not jobs.commit("j:0", b"old", (1, 0, 0, 0), [], stamp=old.stamp)
    assert jobs.read("j").done == 0
    new = ledger.begin("j:0")
    assert jobs.commit("j:0", b"new", (2, 0, 0, 0), [], stamp=new.stamp)
    assert (jobs.read("j").state, jobs.read("j").done) == ("complete", 2)


def test_an_answer_that_comes_after_the_lease_is_kept(jobs, ledger, redis):
    begin(jobs, 1)
    late = ledger.begin("j:0")
    redis.zadd("taquin:due", {"j:0": 0})
    ledger.begin("j:0")
    assert jobs.commit("j:0", b"a", (1, 0, 0, 0), [], stamp=late.stamp)


def test_a_dead_letter_of_an_expired_job_does_not_outlive_another_of_its_name(jobs, ledger, redis, settings):
    begin(jobs, 1)
    die(ledger, redis, settings, "j:0")
    redis.delete("taquin:job:j", "taquin:chunks:j")  # what expiry does
    begin(jobs, 1)
    assert list(ledger.dead()) == []
    assert redis.zcard("taquin:dead") == 0
    assert ledger.begin("j:0").attempt == 1
    assert jobs.commit("j:0", b"a", (1, 0, 0, 0), [])


@pytest.mark.redis_server
def test_a_job_can_be_cancelled_in_a_full_redis():
    from taquin.embedded import run_redis

    with run_redis("server") as process:
        settings = Settings(redis_url=process.url)
        with connect(settings) as redis:
            jobs = Jobs(redis, settings)
            begin(jobs, 1, 1)
            redis.config_set("maxmemory", 1)
            jobs.cancel("j")
            assert jobs.read("j").state == "cancelled"
            assert not redis.keys("taquin:work:*")


def test_what_is_left_of_a_job_does_not_stand_in_the_way_of_the_next(jobs, redis):
    begin(jobs, 2, 1)
    jobs.commit("j:0", b"old", (2, 0, 0, 0), [])
    redis.delete("taquin:job:j")
    begin(jobs, 1)
    record = jobs.read("j")
    assert (record.state, record.chunks, record.boards) == ("sealed", 1, 1)
    assert jobs.read_chunk("j", 0).answer is None


def test_a_job_that_lost_its_chunks_says_so_and_is_not_taken_for_a_short_one(jobs, redis, settings):
    begin(jobs, 1, 1)
    redis.delete("taquin:chunks:j")
    with Client(settings=settings) as client, pytest.raises(Unknown, match="chunk 0 of job j is gone"):
        next(client.job("j").results(1))


def test_the_list_of_jobs_does_not_grow_though_nobody_reads_it(jobs, redis):
    for number in range(15):
        jobs.open(f"j{number}", REQUEST)
        redis.delete(f"taquin:job:j{number - 2}")  # what expiry does
    assert set(redis.zrange("taquin:jobs", 0, -1)) == {b"j12", b"j13", b"j14"}


def test_a_chunk_is_committed_once(jobs, ledger, redis):
    begin(jobs, 2, 2)
    ledger.begin("j:0")
    ledger.begin("j:1")
    assert jobs.commit("j:0", b"a", (2, 0, 0, 0), [("2x2:easy", b"{1}\n{2}")])
    before = everything(redis)
    assert not jobs.commit("j:0", b"b", (0, 2, 0, 0), [("2x2:easy", b"{3}")])
    assert ledger.begin("j:0") is None
    assert everything(redis) == before


@pytest.mark.usefixtures("redis")
def test_many_who_commit_at_once_are_one(settings, redis):
    """Every process that runs a chunk has a connection of its own, as here every thread."""
    everyone = [Jobs(connect(settings), settings) for _ in range(6)]
    for round_ in range(8):
        job = f"j{round_}"
        begin(everyone[0], 3, job=job)
        kept = []
        start = threading.Barrier(len(everyone))

        def commit(jobs, job=job, kept=kept, start=start):
            start.wait()
            kept.append(jobs.commit(f"{job}:0", b"a", (1, 1, 1, 0), [("2x2:easy", b"{1}\n{2}")]))

        threads = [threading.Thread(target=commit, args=(jobs,)) for jobs in everyone]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        record = everyone[0].read(job)
        assert (sum(kept), record.done, record.committed) == (1, 3, 1)
    assert len(told(redis, "job.completed")) == 8
    assert redis.scard("taquin:pool:2x2:easy") == 2


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "validate"},
        {"kind": "repair", "swap": "random"},
        {"kind": "repair", "pool": True},
        {"kind": "generate", "seed": "7"},
        {"kind": "generate", "seed": "7", "method": "walk", "pool": True},
        {"kind": "generate", "band": "hard"},
    ],
)
def test_a_chunk_that_runs_twice_gives_the_same(more):
    asked = json.dumps({"rows": 3, "cols": 3, "form": "u4"} | more).encode()
    boards = np.random.default_rng(1).permuted(np.tile(np.arange(9), (200, 1)), axis=1)
    payload = b"" if more["kind"] == "generate" else pack(boards, "u4")
    first = answer_chunk(asked, "j:3", 200, payload)
    assert sum(first.counts) == 200
    assert answer_chunk(asked, "j:3", 200, payload) == first
    if more["kind"] == "generate":
        assert answer_chunk(asked, "j:4", 200, payload) != first


def test_what_must_not_be_served_is_not_in_an_answer():
    asked = b'{"kind":"repair","rows":2,"cols":2,"form":"u4"}'
    boards = np.array([[1, 2, 3, 0], [2, 1, 3, 0], [1, 1, 3, 0]])
    done = answer_chunk(asked, "j:0", 3, pack(boards, "u4"))
    assert list(done.answer[:3]) == [0, 2, 128 | Problem.DUPLICATE_TILES | Problem.MISSING_TILES]
    assert done.answer[3:] == bytes([0x12, 0x30, *done.answer[5:7], 0, 0])
    assert done.counts == (1, 0, 1, 1)


def test_a_key_stands_for_one_request(jobs):
    assert jobs.open("j", REQUEST)
    assert not jobs.open("j", REQUEST)
    with pytest.raises(Conflict, match="job j was already submitted with another request"):
        jobs.open("j", b"{}")
    assert jobs.read("j").request == REQUEST


def test_the_same_chunk_added_twice_is_one(jobs, redis):
    begin(jobs, 2, seal=False)
    before = everything(redis)
    assert not jobs.add("j", 0, 2, b"xx")
    assert everything(redis) == before
    jobs.commit("j:0", b"", (2, 0, 0, 0), [])
    assert not jobs.add("j", 0, 2, b"xx")
    assert jobs.read("j").done == 2


@pytest.mark.parametrize(("boards", "payload", "notes"), [(2, b"yy", b""), (3, b"xx", b""), (2, b"xx", b"{}")])
def test_other_boards_under_the_same_key_are_a_conflict(jobs, redis, boards, payload, notes):
    begin(jobs, 2, seal=False)
    before = everything(redis)
    with pytest.raises(Conflict, match="other boards"):
        jobs.add("j", 0, boards, payload, notes)
    assert everything(redis) == before


def test_a_sealed_job_takes_no_more(jobs):
    begin(jobs, 1)
    with pytest.raises(Conflict):
        jobs.add("j", 1, 1, b"x")
    assert not jobs.add("j", 0, 1, b"x")  # a submission that is repeated
    jobs.seal("j", 1, 1)
    for chunks, boards in ((2, 1), (1, 2)):
        with pytest.raises(Conflict):
            jobs.seal("j", chunks, boards)


def test_a_job_that_never_was(jobs, redis):
    with pytest.raises(Unknown, match="job j takes no more boards"):
        jobs.add("j", 0, 1, b"x")
    with pytest.raises(Unknown, match="job j was cancelled or has expired"):
        jobs.seal("j", 0, 0)
    for verb in (jobs.read, jobs.cancel, lambda job: jobs.watch(job, "c"), lambda job: jobs.read_chunk(job, 0)):
        with pytest.raises(Unknown, match="no job j: it was never submitted, or it has expired"):
            verb("j")
    assert not jobs.commit("j:0", b"", (1, 0, 0, 0), [])
    assert redis.keys("*") == []


def test_a_full_ledger_takes_no_chunk(redis, settings):
    jobs = Jobs(redis, settings.model_copy(update={"max_waiting": 2}))
    begin(jobs, 1, 1, seal=False)
    before = everything(redis)
    with pytest.raises(Busy, match="2 units of work are waiting already"):
        jobs.add("j", 2, 1, b"x", b"{}")
    assert everything(redis) == before
    jobs.commit("j:0", b"", (1, 0, 0, 0), [])
    assert jobs.add("j", 2, 1, b"x")


@pytest.mark.redis_server
def test_a_full_redis_takes_no_chunk_by_halves():
    from taquin.embedded import run_redis

    with run_redis("server", arguments=("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")) as process:
        settings = Settings(redis_url=process.url)
        with connect(settings) as redis:
            jobs = Jobs(redis, settings)
            jobs.open("j", REQUEST)
            added = 0
            with pytest.raises(Busy, match="is full"):  # noqa: PT012  some fit in
                for added in range(100):
                    jobs.add("j", added, 1, b"x" * 100_000, b"{}")
            record = jobs.read("j")
            assert (record.chunks, record.boards) == (added, added)
            for key in ("chunks:j", "notes:j"):
                assert redis.hlen(f"taquin:{key}") == added
            assert redis.zcard("taquin:due") == len(redis.keys("taquin:work:*")) == added


def test_an_expired_job_drops_its_late_duplicates_with_a_log_line(jobs, ledger, redis):
    begin(jobs, 1, 1)
    redis.delete("taquin:job:j", "taquin:chunks:j")  # what expiry does
    with capture_logs() as logs:
        assert ledger.begin("j:0") is None
    assert [(line["event"], line["id"], line["because"]) for line in logs] == [("work.dropped", "j:0", "gone")]
    assert not jobs.commit("j:1", b"a", (1, 0, 0, 0), [("2x2:easy", b"{}")])
    assert redis.keys("taquin:work:*") == []
    assert redis.keys("taquin:pool*") == []
    assert redis.zcard("taquin:due") == 0


def test_the_end_is_told_once(jobs, ledger, redis, settings):
    begin(jobs, 1, 2, 3)
    jobs.commit("j:0", b"", (1, 0, 0, 0), [])
    jobs.commit("j:1", b"", (0, 0, 2, 0), [])
    assert told(redis, "job.completed") == []
    die(ledger, redis, settings, "j:2")
    (event,) = told(redis, "job.completed")
    assert {name.decode(): value.decode() for name, value in event.items()} == {
        "event": "job.completed", "job": "j", "boards": "6",
        "solvable": "1", "unsolvable": "0", "repaired": "2", "invalid": "0", "dead": "3",
    }  # fmt: skip
    assert [event[b"id"] for event in told(redis, "task.dead")] == [b"j:2"]
    ledger.retry("j:2")
    jobs.commit("j:2", b"", (3, 0, 0, 0), [])
    assert jobs.read("j").state == "complete"
    assert len(told(redis, "job.completed")) == 1


def test_a_dead_chunk_is_counted_and_can_be_retried(jobs, ledger, redis, settings):
    begin(jobs, 4, 3)
    jobs.commit("j:0", b"", (4, 0, 0, 0), [])
    die(ledger, redis, settings, "j:1")
    record = jobs.read("j")
    assert (record.state, record.dead, record.done) == ("complete", 3, 7)
    assert jobs.read_chunk("j", 1) == ChunkRecord("complete", 3, "dead", None, None)
    assert redis.pttl("taquin:job:j") > 0
    ledger.retry("j:1")
    record = jobs.read("j")
    assert (record.state, record.dead, record.done, record.finished) == ("sealed", 0, 4, None)
    assert [redis.pttl(f"taquin:{name}:j") for name in ("job", "answers", "chunks")] == [-1] * 3
    assert ledger.sweep("s") == [Overdue("j:1", "bulk")]
    assert ledger.begin("j:1").attempt == 1
    jobs.commit("j:1", b"late", (0, 3, 0, 0), [])
    record = jobs.read("j")
    assert (record.state, record.unsolvable, record.dead) == ("complete", 3, 0)
    assert redis.pttl("taquin:job:j") > 0
    assert jobs.read_chunk("j", 1).answer == b"late"


def test_a_dead_chunk_that_was_dropped_stays_counted(jobs, ledger, redis, settings):
    begin(jobs, 3)
    die(ledger, redis, settings, "j:0")
    ledger.drop("j:0")
    assert jobs.read("j").dead == 3
    assert jobs.read_chunk("j", 0) == ChunkRecord("complete", 3, None, None, None)


def test_a_dead_chunk_of_a_job_that_is_gone_cannot_be_retried(jobs, ledger, redis, settings):
    begin(jobs, 3)
    die(ledger, redis, settings, "j:0")
    redis.delete("taquin:job:j")
    with pytest.raises(Unknown, match="the job of j:0 was cancelled or has expired"):
        ledger.retry("j:0")
    ledger.drop("j:0")


def test_a_cancelled_job_drops_what_is_not_done(jobs, ledger, redis, settings):
    begin(jobs, 1, 2, 3, 4)
    jobs.commit("j:0", b"a", (1, 0, 0, 0), [])
    ledger.begin("j:1")
    die(ledger, redis, settings, "j:2")
    jobs.cancel("j")
    record = jobs.read("j")
    assert (record.state, record.done, record.boards) == ("cancelled", 4, 10)
    assert redis.keys("taquin:work:*") == [b"taquin:work:j:2"]  # the dead letter stays to be looked at
    assert redis.zcard("taquin:due") == 0
    before = everything(redis)
    assert not jobs.commit("j:1", b"a", (2, 0, 0, 0), [("2x2:easy", b"{}")])
    assert ledger.begin("j:3") is None
    assert everything(redis) == before
    assert redis.pttl("taquin:job:j") > 0
    assert [jobs.read_chunk("j", k).answer for k in range(4)] == [b"a", None, None, None]
    assert [event[b"job"] for event in told(redis, "job.cancelled")] == [b"j"]
    before = everything(redis)
    jobs.cancel("j")
    assert everything(redis) == before
    with pytest.raises(Unknown):
        jobs.add("j", 4, 1, b"x")
    with pytest.raises(Unknown):
        ledger.retry("j:2")
    assert told(redis, "job.completed") == []


def test_a_complete_job_cannot_be_cancelled(jobs, redis):
    begin(jobs, 1)
    jobs.commit("j:0", b"", (1, 0, 0, 0), [])
    before = everything(redis)
    with pytest.raises(Conflict, match="it is complete"):
        jobs.cancel("j")
    assert everything(redis) == before


def test_a_discarded_job_never_was(jobs, ledger, redis):
    begin(jobs, 1, 2, seal=False)
    jobs.add("j", 2, 1, b"x", b"{}")
    jobs.commit("j:0", b"a", (1, 0, 0, 0), [])
    ledger.begin("j:1")
    jobs.discard("j")
    # Of the messages only the count is left, and the ids of chunks that no worker finds.
    assert redis.keys("*") == [b"taquin:queues"]
    assert not jobs.commit("j:1", b"a", (2, 0, 0, 0), [])


def test_what_was_sealed_is_not_discarded(jobs, redis):
    begin(jobs, 1)
    before = everything(redis)
    jobs.discard("j")
    assert everything(redis) == before


def test_a_backlog_of_10_000_chunks_is_not_multiplied(jobs, ledger, redis, redis_process, settings):
    """What stands in line is not sent again; what the line has passed is. (Fewer on fakeredis, which is slow.)"""
    count = 10_000 if redis_process.process else 300
    jobs.open("j", REQUEST)
    script = redis.register_script(SCRIPT)
    with redis.pipeline(transaction=False) as at_once:
        for k in range(count):
            script(*call_of(settings, "add", ("j", k, 1, b"x", "", "", 60_000, count + 1)), client=at_once)
        assert set(at_once.execute()) == {b"new"}
    redis.lpush("bulk", *range(count))
    everything_is_due(redis)
    for _ in range(count // 1_000 + 1):
        assert ledger.sweep("s") == []
    # The line moves on; the messages of 0 and 1 are lost.
    redis.rpop("bulk", 4)
    for k in (2, 3):
        ledger.begin(f"j:{k}")
        jobs.commit(f"j:{k}", b"", (1, 0, 0, 0), [])
    everything_is_due(redis)
    sent = [overdue.id for _ in range(count // 1_000 + 1) for overdue in ledger.sweep("s")]
    assert sorted(sent) == ["j:0", "j:1"]


def everything_is_due(redis):
    redis.zadd("taquin:due", dict.fromkeys(redis.zrange("taquin:due", 0, -1), 0))


def test_watchers_are_told_of_each_chunk_and_of_the_end(jobs, redis):
    pubsub = redis.pubsub(ignore_subscribe_messages=True)
    pubsub.subscribe("here")
    begin(jobs, 1, 1, seal=False)
    jobs.watch("j", "here")
    jobs.watch("j", "here")
    heard = []

    def listen():
        while (message := pubsub.get_message(timeout=0.05)) is not None:
            heard.append(message["data"])

    listen()
    jobs.commit("j:0", b"", (1, 0, 0, 0), [])
    jobs.seal("j", 2, 2)
    jobs.commit("j:1", b"", (1, 0, 0, 0), [])
    for _ in range(100):
        listen()
        if len(heard) >= 3:
            break
    assert heard == [b"j"] * 3
    pubsub.close()


def test_the_list_of_jobs_is_the_newest_first_and_forgets_what_expired(jobs, redis):
    for number, id in enumerate(("a", "b", "c")):
        jobs.open(id, REQUEST)
        redis.zadd("taquin:jobs", {id: number})
    redis.delete("taquin:job:b")
    assert [record.id for record in jobs.all()] == ["c", "a"]
    assert redis.zrange("taquin:jobs", 0, -1) == [b"a", b"c"]


def test_the_stream_of_events_is_trimmed(redis, settings):
    ledger = Ledger(redis, settings.model_copy(update={"keep_events": 10}))
    for _ in range(230):
        ledger.keep("bulk", b"rubbish", "an event for each")
    # Redis removes events by the hundred.
    assert 10 <= redis.xlen("taquin:events") <= 130


def test_two_prefixes_are_two_worlds(redis, settings, jobs):
    other = Jobs(redis, settings.model_copy(update={"key_prefix": "other:"}))
    begin(other, 1)
    with pytest.raises(Unknown):
        jobs.read("j")
    assert not jobs.commit("j:0", b"", (1, 0, 0, 0), [])
    assert {key.split(b":")[0] for key in redis.keys("*")} == {b"other"}


@pytest.mark.parametrize("key", ["j:answers", "j:0", "j:chunks", "answers"])
def test_no_key_of_one_job_is_that_of_another(jobs, key):
    begin(jobs, 1, job="j")
    begin(jobs, 1, job=key)
    for job in ("j", key):
        assert jobs.commit(f"{job}:0", job.encode(), (1, 0, 0, 0), [])
    assert [jobs.read_chunk(job, 0).answer for job in ("j", key)] == [b"j", key.encode()]
