"""Any Celery client, in any language: the task by its name, one JSON object, the answer from the result backend."""

from __future__ import annotations

import json
import math
import uuid

import pytest
from celery import Celery
from redis import Redis

BOARD = [[1, 2, 3], [4, 5, 6], [8, 7, 0]]


@pytest.fixture(scope="module")
def plain(live_redis, live_worker):
    del live_worker
    app = Celery("somebody-else", broker=live_redis.url, backend=live_redis.url, set_as_current=False)
    yield app
    app.close()


def ask(plain, task, *args, **fields):
    return plain.send_task(task, args=args, kwargs=fields, queue="interactive").get(timeout=20)


def test_a_board_is_validated_and_repaired(plain):
    assert ask(plain, "taquin.validate", {"board": BOARD})["status"] == "unsolvable"
    answer = ask(plain, "taquin.repair", {"board": BOARD, "swap": "last", "pinned": []})
    assert answer["status"] == "repaired"
    assert ask(plain, "taquin.validate", {"board": answer["board"]})["status"] == "solvable"


@pytest.mark.parametrize("task", ["taquin.validate", "taquin.repair"])
@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ("a string", "request"),
        ([1, 2], "request"),
        (None, "request"),
        (7, "request"),
        ({}, "board"),
        ({"goal": "snail"}, "board"),
        ({"board": BOARD, "extra": 1}, "extra"),
        ({"board": BOARD, "swap": "first"}, "swap"),
        ({"board": BOARD, "swap": [1]}, "swap"),
        ({"board": BOARD, "pinned": ["1"]}, "pinned[0]"),
        ({"board": BOARD, "goal": "home"}, "goal"),
        ({"board": BOARD, "goal": [[1, 2], [3, 0]]}, "goal"),
        ({"board": [[1, 2], [3, True]]}, "board[1][1]"),
        ({"board": [[1, 2], [3, 0.0]]}, "board[1][1]"),
        ({"board": [[1, 2], [3, "0"]]}, "board[1][1]"),
        ({"board": [[1, -2], [3, 0]]}, "board[0][1]"),
        ({"board": [[1, math.nan], [3, 0]]}, "board[0][1]"),
        ({"board": [[1, 10**400], [3, 0]]}, "board[0][1]"),
        ({"board": [[1, 2], [3]]}, "board[1]"),
        ({"board": "1 2/3 0"}, "board"),
        ({"board": []}, "board"),
        ({"board": [[]]}, "board"),
        ({"board": [[[[]]]]}, "board[0][0]"),
        ({"board": [list(range(300_000))]}, "board"),
    ],
    ids=lambda value: str(value)[:30] if not isinstance(value, str) else value,
)
def test_whatever_is_no_good_request_is_an_answer(plain, task, request_, where):
    answer = ask(plain, task, request_)
    assert answer["status"] == "invalid"
    assert answer["board"] is None
    assert where in [problem["where"] for problem in answer["problems"]]
    assert len(json.dumps(answer)) < 20_000


def test_another_number_of_arguments_is_an_answer(plain):
    for answer in (
        ask(plain, "taquin.validate"),
        ask(plain, "taquin.validate", 1, 2),
        ask(plain, "taquin.repair", board=BOARD),
    ):
        assert answer["status"] == "invalid"
        assert "one argument" in answer["problems"][0]["message"]


def test_the_smallest_message_that_any_language_can_write(plain, live_redis):
    """What docs/reference/contract.md shows, pushed by hand."""
    id = str(uuid.uuid4())
    message = {
        "body": json.dumps([[{"board": BOARD}], {}, {}]),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": "taquin.validate", "id": id},
        "properties": {
            "delivery_tag": str(uuid.uuid4()),
            "delivery_info": {"exchange": "", "routing_key": "interactive"},
        },
    }
    with Redis.from_url(live_redis.url) as redis:
        redis.lpush("interactive", json.dumps(message))
    assert plain.AsyncResult(id).get(timeout=20)["status"] == "unsolvable"


def test_a_forged_id_of_work_is_dropped(plain, client, live_redis):
    plain.send_task("taquin.work", args=["never-submitted"], queue="interactive", ignore_result=True)
    assert client.validate(BOARD).status == "unsolvable"
    with Redis.from_url(live_redis.url) as redis:
        assert not redis.exists("taquin:work:never-submitted")
