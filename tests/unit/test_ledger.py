"""Every verb of the ledger, on fakeredis and on a real server."""

from __future__ import annotations

import threading
import time

import pytest
from redis.exceptions import ResponseError

from taquin.connection import connect, reporting
from taquin.errors import Busy, Conflict, Unavailable, Unknown
from taquin.ledger import MESSAGE_MOST, RETURNS_MOST, Ledger, Overdue
from taquin.settings import Settings


@pytest.fixture
def ledger(redis, settings):
    return Ledger(redis, settings)


def submit(ledger, id="a", payload=b"{}"):
    return ledger.submit(id, "repair", "interactive", payload)


@pytest.fixture
def patient_ledger(redis, settings):
    """A ledger by which nothing is overdue unless a test says so, however slow the machine is."""
    return Ledger(redis, settings.model_copy(update={"resend_after": 60.0}))


def expire_lease(redis, id="a"):
    redis.zadd("taquin:due", {id: 0})


def test_a_unit_goes_from_waiting_to_done(ledger, redis):
    assert submit(ledger)
    assert ledger.read("a").state == "waiting"
    unit = ledger.begin("a")
    assert (unit.kind, unit.payload, unit.attempt) == ("repair", b"{}", 1)
    assert ledger.read("a").state == "running"
    assert ledger.finish("a", b"answer")
    record = ledger.read("a")
    assert (record.state, record.answer, record.attempts) == ("done", b"answer", 1)
    assert record.created <= record.settled
    assert redis.zcard("taquin:due") == 0


def test_finished_work_expires_and_nothing_else_does(ledger, redis, settings):
    submit(ledger, "a")
    submit(ledger, "b")
    assert redis.pttl("taquin:work:a") == -1
    ledger.begin("a")
    assert redis.pttl("taquin:work:a") == -1
    ledger.finish("a", b"x")
    assert 0 < redis.pttl("taquin:work:a") <= settings.keep_answers * 1000
    assert redis.pttl("taquin:due") == -1


def test_the_same_submitted_twice_is_one_unit(ledger):
    assert submit(ledger)
    assert not submit(ledger)
    ledger.begin("a")
    ledger.finish("a", b"x")
    assert not submit(ledger)
    assert ledger.read("a").state == "done"


def test_an_id_stands_for_one_request_only(ledger):
    submit(ledger)
    with pytest.raises(Conflict, match="a was already submitted"):
        submit(ledger, payload=b"[]")
    with pytest.raises(Conflict):
        ledger.submit("a", "validate", "interactive", b"{}")
    assert ledger.read("a").payload == b"{}"


def test_a_full_ledger_refuses_before_anything_is_written(redis, settings):
    ledger = Ledger(redis, settings.model_copy(update={"max_waiting": 2}))
    submit(ledger, "a")
    submit(ledger, "b")
    with pytest.raises(Busy, match="2 units of work are waiting already"):
        submit(ledger, "c")
    assert not redis.exists("taquin:work:c")
    assert not submit(ledger, "b")  # a retry of what is in is no new work
    ledger.begin("a")
    ledger.finish("a", b"")
    assert submit(ledger, "c")


def test_a_lease_is_exclusive(ledger):
    submit(ledger)
    assert ledger.begin("a")
    assert ledger.begin("a") is None
    assert ledger.read("a").attempts == 1


def test_a_lease_that_is_over_may_be_taken(ledger, redis):
    submit(ledger)
    ledger.begin("a")
    expire_lease(redis)
    assert ledger.begin("a").attempt == 2


def test_a_begin_whose_reply_was_lost_may_be_repeated(ledger, monkeypatch):
    class Same:
        hex = "token"

    monkeypatch.setattr("taquin.ledger.uuid4", Same)
    submit(ledger)
    assert ledger.begin("a") == ledger.begin("a")
    assert ledger.read("a").attempts == 1


@pytest.mark.parametrize("settled", ["done", "dead"])
def test_settled_work_is_not_begun_again(ledger, settings, settled):
    submit(ledger)
    for _ in range(settings.max_attempts if settled == "dead" else 1):
        unit = ledger.begin("a")
        if settled == "dead":
            ledger.fail(unit, "no")
        else:
            ledger.finish("a", b"x")
    assert ledger.begin("a") is None
    assert ledger.read("a").state == settled


def test_a_forged_id_is_no_work(ledger, redis):
    assert ledger.begin("never") is None
    assert not ledger.finish("never", b"x")
    assert redis.keys("*") == []


def test_the_first_answer_is_kept(ledger, redis):
    """A zombie that wakes after its lease neither overwrites nor counts twice."""
    submit(ledger)
    ledger.begin("a")
    expire_lease(redis)
    ledger.begin("a")
    assert ledger.finish("a", b"first")
    assert not ledger.finish("a", b"second")
    assert ledger.read("a").answer == b"first"


@pytest.mark.usefixtures("redis")
def test_many_who_finish_at_once_are_one(settings):
    ledgers = [Ledger(connect(settings), settings) for _ in range(8)]
    for round_ in range(20):
        id = f"r{round_}"
        submit(ledgers[0], id)
        kept = []
        start = threading.Barrier(len(ledgers))

        def finish(ledger, id=id, kept=kept, start=start):
            start.wait()
            kept.append(ledger.finish(id, b"x"))

        threads = [threading.Thread(target=finish, args=(ledger,)) for ledger in ledgers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(kept) == 1


def test_a_failed_attempt_is_followed_by_another_until_the_last(ledger, redis, settings):
    submit(ledger)
    for attempt in range(1, settings.max_attempts + 1):
        unit = ledger.begin("a")
        assert unit.attempt == attempt
        ledger.fail(unit, f"failure {attempt}")
        if attempt < settings.max_attempts:
            assert ledger.read("a").state == "waiting"
            redis.zadd("taquin:due", {"a": 0})
            assert ledger.sweep("s") == [Overdue("a", "interactive")]
    record = ledger.read("a")
    assert (record.state, record.error) == ("dead", "failure 3")
    assert "failed in each of 3 attempts" in record.cause
    assert [letter.id for letter in ledger.dead()] == ["a"]
    assert redis.zcard("taquin:due") == 0
    assert redis.pttl("taquin:work:a") == -1


def test_who_lost_the_lease_cannot_fail_the_work(ledger, redis):
    submit(ledger)
    zombie = ledger.begin("a")
    expire_lease(redis)
    ledger.begin("a")
    ledger.fail(zombie, "late")
    assert ledger.read("a").state == "running"
    assert ledger.read("a").error == ""


def test_work_that_ends_its_worker_dies_after_its_last_attempt(ledger, redis, settings):
    submit(ledger)
    for _ in range(settings.max_attempts):
        assert ledger.begin("a")
        expire_lease(redis)
        ledger.sweep("s")
    record = ledger.read("a")
    assert record.state == "dead"
    assert "died, hung or was stopped in each of 3 attempts" in record.cause


def test_a_message_of_work_without_attempts_left_buries_it(ledger, redis, settings):
    submit(ledger)
    for _ in range(settings.max_attempts):
        assert ledger.begin("a")
        expire_lease(redis)
    assert ledger.begin("a") is None
    assert ledger.read("a").state == "dead"


def test_a_holder_whose_process_died_gives_the_lease_up_and_is_charged(ledger, settings):
    submit(ledger)
    for attempt in range(1, settings.max_attempts + 1):
        assert ledger.begin("a").attempt == attempt
        ledger.give_back("a", counts=True)
    record = ledger.read("a")
    assert (record.state, record.attempts) == ("dead", settings.max_attempts)
    assert "died, hung or was stopped in each of 3 attempts" in record.cause


def test_what_a_worker_hands_back_costs_no_attempt_up_to_a_limit(ledger, redis, settings):
    submit(ledger)
    for _ in range(RETURNS_MOST):
        assert ledger.begin("a").attempt == 1
        ledger.give_back("a", counts=False)
        assert (ledger.read("a").state, ledger.read("a").attempts) == ("waiting", 0)
    redis.zadd("taquin:due", {"a": 0})
    assert ledger.sweep("s") == [Overdue("a", "interactive")]
    for attempt in range(1, settings.max_attempts + 1):  # it may well be the work that stops its workers
        assert ledger.begin("a").attempt == attempt
        ledger.give_back("a", counts=False)
    assert ledger.read("a").state == "dead"


def test_only_the_holder_gives_a_lease_up(ledger, redis, settings):
    submit(ledger)
    unit = ledger.begin("a")
    Ledger(redis, settings).give_back("a", counts=True)
    assert ledger.read("a").state == "running"
    Ledger(redis, settings, holder=ledger.holder).give_back("a", counts=True)
    assert ledger.read("a").state == "waiting"
    assert ledger.finish("a", b"late, and welcome")
    ledger.give_back("a", counts=False)
    ledger.fail(unit, "too late")
    assert ledger.read("a").state == "done"
    ledger.give_back("never", counts=True)


def test_bytes_that_are_no_task_are_kept(ledger, redis):
    id = ledger.keep("interactive", b"\xff{", "it is not JSON")
    (letter,) = ledger.dead()
    assert (letter.id, letter.kind, letter.queue, letter.state) == (id, "message", "interactive", "dead")
    assert (letter.payload, letter.cause, letter.attempts) == (b"\xff{", "it is not JSON", 0)
    assert ledger.begin(id) is None
    assert redis.zcard("taquin:due") == 0
    ledger.retry(id)
    assert redis.lrange("interactive", 0, -1) == [b"\xff{"]
    assert list(ledger.dead()) == []
    assert not redis.exists(f"taquin:work:{id}")


def test_a_message_is_kept_up_to_a_size_and_then_cannot_be_sent_again(ledger):
    id = ledger.keep("bulk", b"x" * (MESSAGE_MOST + 1), "too large")
    assert len(ledger.read(id).payload) == MESSAGE_MOST
    with pytest.raises(Conflict, match="only the first 10,000 bytes"):
        ledger.retry(id)
    ledger.drop(id)


def test_rubbish_does_not_fill_redis(ledger, monkeypatch):
    monkeypatch.setattr("taquin.ledger.MESSAGES_MOST", 2)
    kept = [ledger.keep("interactive", b"rubbish", "it is not JSON") for _ in range(3)]
    assert kept[2] is None
    assert {letter.id for letter in ledger.dead()} == set(kept[:2])


def test_what_is_not_yet_due_is_not_swept(redis, settings):
    ledger = Ledger(redis, settings.model_copy(update={"resend_after": 60.0}))
    submit(ledger)
    assert ledger.sweep("s") == []


def test_a_lost_message_is_sent_again_when_its_queue_is_empty(patient_ledger, redis):
    submit(patient_ledger)
    expire_lease(redis)
    assert patient_ledger.sweep("s") == [Overdue("a", "interactive")]
    assert patient_ledger.sweep("s") == []  # not at every sweep


def test_a_deep_backlog_is_not_multiplied(ledger, redis):
    """What stands in line is not sent again, but what the line has passed is."""
    for number in range(100):
        submit(ledger, f"u{number}")
        redis.lpush("interactive", f"message of u{number}")
    for id in redis.zrange("taquin:due", 0, -1):
        expire_lease(redis, id)
    assert ledger.sweep("s") == []
    # The message of u0 is lost; that of u1 is begun, so the line has passed u0.
    redis.rpop("interactive", 2)
    ledger.begin("u1")
    for number in [0, *range(2, 100)]:
        expire_lease(redis, f"u{number}")
    assert ledger.sweep("s") == [Overdue("u0", "interactive")]


def test_a_line_in_front_does_not_delay_what_is_not_in_it(ledger, redis, monkeypatch):
    """What stands in line is put off by its place in it, and a sweep does not end with the first of them."""
    monkeypatch.setattr("taquin.ledger.SWEEP_MOST", 100)
    redis.hset("taquin:queues", mapping={"bulk:sent": 10_000, "bulk:begun": 0})
    redis.lpush("bulk", "the line")
    for number in range(500):
        ledger.submit(f"b{number}", "repair", "bulk", b"{}")
        expire_lease(redis, f"b{number}")
    submit(ledger, "lost")
    redis.zadd("taquin:due", {"lost": 1})
    assert ledger.sweep("s") == [Overdue("lost", "interactive")]
    seconds, micros = redis.time()
    assert 9_000 < redis.zscore("taquin:due", "b0") - (seconds * 1_000 + micros // 1_000) <= 10_001


def test_beginning_whose_reply_was_lost_is_the_same_attempt(ledger):
    submit(ledger)
    first = ledger.begin("a", "one")
    assert ledger.begin("a", "one") == first
    assert ledger.begin("a", "two") is None
    assert ledger.finish("a", b"{}")


def test_a_second_message_does_not_have_the_whole_line_sent_again(patient_ledger, redis):
    """The first message of a unit that was sent again comes long before its second: the line has not passed that."""
    submit(patient_ledger, "first")
    expire_lease(redis, "first")
    for number in range(10):
        submit(patient_ledger, f"u{number}")
    assert patient_ledger.sweep("s") == [Overdue("first", "interactive")]
    redis.lpush("interactive", "the line")
    assert patient_ledger.begin("first")
    for number in range(10):
        expire_lease(redis, f"u{number}")
    assert patient_ledger.sweep("s") == []


def test_the_queues_are_counted_apart(ledger, redis):
    ledger.submit("i", "repair", "interactive", b"{}")
    ledger.submit("b", "repair", "bulk", b"{}")
    ledger.submit("b2", "repair", "bulk", b"{}")
    redis.lpush("interactive", "message")
    redis.lpush("bulk", "message")
    ledger.begin("b2")
    for id in ("i", "b"):
        expire_lease(redis, id)
    assert ledger.sweep("s") == [Overdue("b", "bulk")]


def test_resends_come_further_and_further_apart(ledger, redis):
    def now():
        seconds, micros = redis.time()
        return seconds * 1000 + micros // 1000

    submit(ledger)
    for factor in (2, 4, 8, 16, 32, 32, 32):
        expire_lease(redis)
        before = now()
        assert ledger.sweep("s")
        due = redis.zscore("taquin:due", "a")
        assert before <= due - factor * 50 <= now()


def test_one_sweeps_at_a_time(ledger, redis):
    assert ledger.sweep("one") == []
    assert ledger.sweep("two") is None
    redis.pexpire("taquin:sweeper", 1)
    time.sleep(0.05)
    assert ledger.sweep("two") == []


def test_a_unit_deleted_by_hand_stops_no_sweep(ledger, redis):
    submit(ledger, "a")
    submit(ledger, "b")
    redis.delete("taquin:work:a")
    redis.hdel("taquin:work:b", "seq", "attempts")
    expire_lease(redis, "a")
    expire_lease(redis, "b")
    assert ledger.sweep("s") == [Overdue("b", "interactive")]
    assert redis.zscore("taquin:due", "a") is None


def test_watchers_are_told(ledger, redis):
    pubsub = redis.pubsub(ignore_subscribe_messages=True)
    pubsub.subscribe("one", "two")
    submit(ledger)
    for channel in ("one", "two", "one"):
        ledger.watch("a", channel)
    ledger.begin("a")
    ledger.finish("a", b"x")
    told = []
    deadline = time.monotonic() + 5
    while len(told) < 2 and time.monotonic() < deadline:
        message = pubsub.get_message(timeout=0.1)
        if message:
            told.append((message["channel"], message["data"]))
    assert sorted(told) == [(b"one", b"a"), (b"two", b"a")]
    assert pubsub.get_message(timeout=0.1) is None
    pubsub.close()


def test_a_dead_letter_can_be_retried_and_its_count_starts_anew(ledger, settings):
    submit(ledger)
    for _ in range(settings.max_attempts):
        ledger.fail(ledger.begin("a"), "no")
    ledger.retry("a")
    assert list(ledger.dead()) == []
    assert ledger.sweep("s") == [Overdue("a", "interactive")]
    assert ledger.begin("a").attempt == 1
    ledger.finish("a", b"x")
    assert ledger.read("a").answer == b"x"


def test_a_dead_letter_can_be_dropped(ledger, settings, redis):
    submit(ledger)
    for _ in range(settings.max_attempts):
        ledger.fail(ledger.begin("a"), "no")
    ledger.drop("a")
    with pytest.raises(Unknown):
        ledger.read("a")
    assert redis.zcard("taquin:dead") == 0


@pytest.mark.parametrize("verb", ["retry", "drop"])
def test_only_dead_letters_are_retried_or_dropped(ledger, verb):
    submit(ledger)
    for id in ("a", "never"):
        with pytest.raises(Unknown, match=f"no dead letter {id}"):
            getattr(ledger, verb)(id)
    assert ledger.read("a").state == "waiting"


def test_unknown_work_is_an_error(ledger):
    with pytest.raises(Unknown, match="no work never"):
        ledger.read("never")
    with pytest.raises(Unknown, match="no work never"):
        ledger.watch("never", "channel")


def test_a_script_flush_is_survived(ledger, redis):
    submit(ledger, "a")
    redis.script_flush()
    assert submit(ledger, "b")


def test_a_prefix_keeps_two_ledgers_apart(redis, settings):
    one, two = (Ledger(redis, settings.model_copy(update={"key_prefix": prefix})) for prefix in ("one:", "two:"))
    submit(one)
    with pytest.raises(Unknown):
        two.read("a")
    assert all(key.startswith(b"one:") for key in redis.keys("*"))


def test_a_redis_that_is_away_is_named_without_its_password():
    settings = Settings(redis_url="redis://user:secret@127.0.0.1:1/0", redis_timeout=0.2)
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 does not answer") as caught:
        submit(Ledger(connect(settings, retries=0), settings))
    assert "secret" not in str(caught.value)


def test_a_full_redis_before_version_7_is_understood_too():
    """There the error of a command is wrapped in one of the script: `make test-servers` meets the real one."""
    wrapped = "Error running script (call to f_0e76): @user_script:145: @user_script: 145: -OOM command not allowed"
    with pytest.raises(Busy, match="is full"), reporting(Settings()):
        raise ResponseError(wrapped)
    with pytest.raises(Unavailable, match="MISCONF"), reporting(Settings()):
        raise ResponseError(wrapped.replace("OOM", "MISCONF"))


@pytest.mark.redis_server
def test_a_redis_that_is_nearly_full_takes_no_new_work_and_finishes_what_it_has():
    from taquin.embedded import run_redis

    with run_redis("server") as process:
        settings = Settings(redis_url=process.url)
        redis = connect(settings)
        ledger = Ledger(redis, settings)
        submit(ledger, "a")
        redis.set("ballast", b"x" * 50_000_000)
        redis.config_set("maxmemory", int(redis.info("memory")["used_memory"] / 0.95))
        assert ledger.sweep("s") == []
        with pytest.raises(Busy, match=r"nearly full .* send again in some seconds"):
            submit(ledger, "b")
        assert not redis.exists("taquin:work:b")
        assert not submit(ledger, "a")  # a retry of what is in is no new work
        ledger.begin("a")
        assert ledger.finish("a", b"x")
        redis.config_set("maxmemory", 0)
        ledger.sweep("s")
        assert submit(ledger, "b")
        redis.close()


@pytest.mark.redis_server
def test_a_full_redis_refuses_before_anything_is_written():
    from taquin.embedded import run_redis

    with run_redis("server", arguments=("--maxmemory", "2mb", "--maxmemory-policy", "noeviction")) as process:
        settings = Settings(redis_url=process.url)
        redis = connect(settings)
        ledger = Ledger(redis, settings)
        with pytest.raises(Busy, match="is full"):  # noqa: PT012  some fit in
            for number in range(100):
                submit(ledger, f"u{number}", b"x" * 100_000)
        written = {key.decode().removeprefix("taquin:work:") for key in redis.keys("taquin:work:*")}
        assert written == {id.decode() for id in redis.zrange("taquin:due", 0, -1)}
        assert ledger.read("u0").state == "waiting"
        redis.close()
