"""``taquin dead`` and ``taquin sweep``, on a Redis without a worker."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from typer.testing import CliRunner

from taquin import messages
from taquin.cli import app, dead
from taquin.connection import connect
from taquin.ledger import Ledger
from taquin.messages import QUEUES


@pytest.fixture
def ledger(redis, settings):
    """Three dead letters: a board, a chunk (of no job that is there), and a message."""
    made = Ledger(redis, settings)
    for id, queue in (("a-board", "interactive"), ("a-job:3", "bulk")):
        made.submit(id, "repair", queue, b'{"board": 1}' if queue == "interactive" else b"\x01\x00")
        for _ in range(settings.max_attempts):
            made.fail(made.begin(id), f"ValueError: {queue} is odd")
    made.keep("interactive", b"hello", "it is not JSON")
    return made


@pytest.fixture
def taquin(settings, monkeypatch):
    monkeypatch.setenv("TAQUIN_REDIS_URL", settings.redis_url.get_secret_value())

    def run(*arguments, status=0):
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=True)
        if result.exit_code == 1 and result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output
        return result.stdout

    return run


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ((), 3),
        (("--kind", "message"), 1),
        (("--kind", "repair"), 2),
        (("--queue", "bulk"), 1),
        (("--job", "a-job"), 1),
        (("--cause", "not JSON"), 1),
        (("--cause", "is odd"), 2),
        (("--cause", "is odd", "--queue", "bulk"), 1),
        (("--limit", "2"), 2),
        (("--kind", "chunk"), 0),
    ],
)
def test_the_list_is_filtered(taquin, filters, count):
    lines = taquin("dead", "list", "--json", *filters).splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == count


@pytest.mark.usefixtures("ledger")
def test_the_list_for_people(taquin):
    shown = taquin("dead", "list")
    assert "a-board" in shown
    assert "it failed in each of 3 attempts" in shown
    assert "a-board" not in taquin("dead", "list", "--queue", "bulk")


@pytest.mark.usefixtures("redis")
def test_an_empty_list(taquin):
    assert taquin("dead", "list") == ""
    assert taquin("dead", "list", "--json") == ""
    assert taquin("dead", "drop", "--all") == "0 dropped\n"


@pytest.mark.usefixtures("ledger")
def test_one_letter_is_shown_whole(taquin):
    letter = json.loads(taquin("dead", "show", "a-board", "--json"))
    assert letter["payload"] == '{"board": 1}'
    assert letter["error"] == "ValueError: interactive is odd"
    assert letter["attempts"] == 3
    assert letter["died"] >= letter["created"]
    assert json.loads(taquin("dead", "show", "a-job:3", "--json"))["payload_base64"] == "AQA="
    assert "cause: it failed in each of 3 attempts\n" in taquin("dead", "show", "a-board")


def test_letters_are_retried_by_name(taquin, ledger):
    assert taquin("dead", "retry", "a-board", "a-job:3") == "2 retried\n"
    assert ledger.read("a-board").state == "waiting"
    assert ledger.read("a-board").attempts == 0
    assert len(list(ledger.dead())) == 1


def test_all_are_retried_or_those_that_filters_leave(taquin, ledger, redis):
    assert taquin("dead", "retry", "--all", "--kind", "message") == "1 retried\n"
    assert redis.lrange("interactive", 0, -1) == [b"hello"]
    assert taquin("dead", "retry", "--all") == "2 retried\n"
    assert list(ledger.dead()) == []


def test_letters_are_dropped(taquin, ledger, redis):
    assert taquin("dead", "drop", "a-board") == "1 dropped\n"
    assert taquin("dead", "drop", "--all", "--cause", "not JSON") == "1 dropped\n"
    assert [letter.id for letter in ledger.dead()] == ["a-job:3"]
    assert not redis.exists("taquin:work:a-board")


@pytest.mark.parametrize("verb", ["retry", "drop"])
def test_what_is_no_dead_letter_is_said_and_the_rest_is_done(taquin, ledger, verb):
    ledger.submit("alive", "repair", "interactive", b"{}")
    done = {"retry": "retried", "drop": "dropped"}[verb]
    assert taquin("dead", verb, "alive", "never", "a-board", status=2) == f"1 {done}\n"
    assert ledger.read("alive").state == "waiting"


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("verb", [("list",), ("retry", "--all"), ("drop", "--all")])
@pytest.mark.parametrize(("option", "known"), [("--kind", ("chunk", "message")), ("--queue", QUEUES)])
def test_a_kind_or_queue_that_is_not_there_is_refused(settings, monkeypatch, verb, option, known):
    """Otherwise a slip of the hand would look like having nothing to do."""
    monkeypatch.setenv("TAQUIN_REDIS_URL", settings.redis_url.get_secret_value())
    result = CliRunner().invoke(app, ["dead", *verb, option, "mesage"])
    assert result.exit_code == 2
    for name in (option, "mesage", *known):
        assert name in result.stderr


def test_every_kind_and_queue_may_be_asked_for():
    (kinds, _), (queues, _) = (get_args(get_args(option)[0]) for option in (dead.Kind, dead.Queue))
    assert set(get_args(kinds)) == {*get_args(messages.Kind), messages.CHUNK, "message"}
    assert get_args(queues) == QUEUES


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("arguments", [(), ("a-board", "--all"), ("a-board", "--kind", "repair"), ("--kind", "repair")])
def test_it_must_be_clear_which_letters_are_meant(taquin, arguments):
    from taquin.errors import BadInput

    with pytest.raises(BadInput, match="--all"):
        taquin("dead", "drop", *arguments, status=2)


def test_sweep_sends_what_is_overdue_once_at_a_time(taquin, ledger, redis, settings):
    ledger.submit("overdue", "repair", "interactive", b"{}")
    redis.zadd("taquin:due", {"overdue": 0})
    assert taquin("sweep") == "1 units of work were sent again\n"
    assert redis.llen("interactive") == 1
    with connect(settings) as other:
        other.set("taquin:sweeper", "somebody else", px=10_000)
    assert json.loads(taquin("sweep", "--json")) == {"swept": False, "sent": 0}
    assert taquin("sweep") == "a worker is sweeping: nothing is left to do here\n"
