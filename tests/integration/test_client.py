"""An app backend's view: send a board, read its answer."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from taquin import Answer, BadInput, Client, Conflict, TimedOut, Unknown

UNSOLVABLE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]
FLAT = [tile for row in UNSOLVABLE for tile in row]
SOLVABLE = [[5, 1, 3, 4], [2, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 0]]


def test_a_solvable_board_is_validated(client):
    answer = client.validate(SOLVABLE)
    assert isinstance(answer, Answer)
    assert (answer.status, answer.board, answer.swap) == ("solvable", SOLVABLE, None)
    assert answer.evidence.inversions == 6
    assert answer.evidence.solvable


def test_an_unsolvable_board_is_never_handed_back_to_be_served(client):
    answer = client.validate(UNSOLVABLE)
    assert (answer.status, answer.board) == ("unsolvable", None)
    assert answer.evidence.inversions == 1


def test_an_unsolvable_board_is_repaired(client):
    answer = client.repair(UNSOLVABLE)
    assert answer.status == "repaired"
    (a, b), (c, d) = answer.swap.cells
    assert (UNSOLVABLE[a][b], UNSOLVABLE[c][d]) == answer.swap.tiles
    mended = [row[:] for row in UNSOLVABLE]
    mended[a][b], mended[c][d] = mended[c][d], mended[a][b]
    assert answer.board == mended
    assert client.validate(answer.board).status == "solvable"


def test_what_is_wrong_with_a_board_is_answered(client):
    answer = client.repair([[1, 2], [True, 7]])
    assert (answer.status, answer.board, answer.evidence) == ("invalid", None, None)
    assert {(problem.problem, problem.where) for problem in answer.problems} >= {
        ("not_integers", "board[1][0]"),
        ("out_of_range", "board[1][1]"),
    }


@pytest.mark.parametrize(
    ("board", "shape"),
    [
        (UNSOLVABLE, None),
        (tuple(map(tuple, UNSOLVABLE)), None),
        (FLAT, "4x4"),
        (FLAT, (4, 4)),
        (np.array(UNSOLVABLE), None),
        (np.array(UNSOLVABLE, np.uint8).ravel(), (4, 4)),
        ([list(row) for row in np.array(UNSOLVABLE)], None),
        ("1 2 3 4\n5 6 7 8\n9 10 11 12\n13 15 14 _", None),
        ("1,2,3,4/5,6,7,8/9,10,11,12/13,15,14,x", None),
    ],
)
def test_every_way_to_write_a_board(client, board, shape):
    answer = client.validate(board, shape=shape)
    assert answer.status == "unsolvable"
    assert answer.evidence.inversions == 1


def test_goals(client):
    board = [[1, 2, 3], [4, 5, 6], [8, 7, 0]]
    assert client.validate(board).status == "unsolvable"
    assert client.validate(board, goal="snail").status == "solvable"
    assert client.validate(board, goal="1 2 3/8 0 4/7 6 5").status == "solvable"
    assert client.validate(board, goal=np.array([[1, 2, 3], [8, 0, 4], [7, 6, 5]])).status == "solvable"
    assert client.validate(board, goal="nowhere").problems[0].where == "goal"


def test_other_ways_to_write_the_blank(client):
    assert client.validate([[1, 2], [3, None]], blank=None).board == [[1, 2], [3, 0]]
    assert client.validate([[1, 2], [3, ""]], blank="").status == "solvable"
    assert client.validate([[1, 2], [3, 4]], blank=4).status == "solvable"


def test_swap_and_pinned_are_obeyed(client):
    assert set(client.repair(UNSOLVABLE, swap=(1, 2)).swap.tiles) == {1, 2}
    assert not set(client.repair(UNSOLVABLE, pinned=[12, 11]).swap.tiles) & {11, 12}
    assert client.repair(UNSOLVABLE, swap=(14, 15)).problems[0].problem == "unrepairable"


def test_an_answer_can_be_asked_for_later_and_from_elsewhere(client, live_redis):
    handle = client.send_repair(UNSOLVABLE)
    first = handle.answer()
    assert handle.ready()
    assert client.answer(handle.id) == first
    program = f"""
from taquin import Client
with Client({live_redis.url!r}) as client:
    print(client.answer({handle.id!r}).model_dump_json())
"""
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert Answer.model_validate_json(other.stdout) == first


def test_an_id_of_ones_own_makes_sending_safe_to_repeat(client):
    first = client.send_validate(SOLVABLE, id="order-4711")
    assert client.send_validate(SOLVABLE, id="order-4711").answer() == first.answer()
    with pytest.raises(Conflict):
        client.send_validate(UNSOLVABLE, id="order-4711")


def test_unknown_ids(client):
    for verb in (client.answer, client.ready):
        with pytest.raises(Unknown, match="no work never"):
            verb("never")


@pytest.mark.parametrize("id", ["", "a b", "x" * 201, "new\nline"])
def test_bad_ids(client, id):
    with pytest.raises(BadInput, match="an id is"):
        client.send_validate(SOLVABLE, id=id)


@pytest.mark.parametrize(
    ("board", "shape", "message"),
    [
        ([{1, 2}], None, "cannot be written as JSON"),
        ([object()], None, "cannot be written as JSON"),
        ([1, 2, 3, 0], "2x3", "2x3 has 6 cells, this one has 4"),
        ([1, 2, 3, 0], "2by2", "2by2"),
        ([[1] * 600_000], None, "bytes as JSON; at most 1,000,000"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once(client, board, shape, message):
    with pytest.raises(BadInput, match=message):
        client.validate(board, shape=shape)


def test_one_client_serves_many_threads(client):
    boards = [SOLVABLE, UNSOLVABLE] * 25
    answers = [None] * len(boards)

    def ask(index):
        answers[index] = client.validate(boards[index]).status

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(len(boards))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["solvable", "unsolvable"] * 25


def test_waiting_leaves_no_subscription_and_one_thread(client, live_redis):
    from redis import Redis

    for _ in range(20):
        client.validate(SOLVABLE)
    with Redis.from_url(live_redis.url, decode_responses=True) as redis:
        assert redis.pubsub_numsub(client._inbox.channel) == [(client._inbox.channel, 1)]
    assert sum(thread.name == "taquin-inbox" for thread in threading.enumerate()) == 1
    assert not client._inbox._waits


def test_a_wait_that_is_told_nothing_still_ends(client, monkeypatch):
    """The ledger counts, not the word of the channel."""
    monkeypatch.setattr("taquin.client.core.READ_AGAIN", 0.1)
    monkeypatch.setattr(client._inbox, "_wake", lambda _: None)
    assert client.validate(SOLVABLE).status == "solvable"


def test_a_client_goes_on_in_a_forked_child(live_redis, live_worker):
    program = f"""
import os
from taquin import Client
client = Client({live_redis.url!r}, timeout=20)
assert client.validate([[1, 2], [3, 0]]).status == "solvable"
if os.fork() == 0:
    ok = client.validate([[2, 1], [3, 0]]).status == "unsolvable"
    os._exit(0 if ok else 1)
_, status = os.wait()
assert client.validate([[1, 2], [0, 3]]).status == "solvable"
client.close()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    del live_worker
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_without_a_worker_the_wait_ends_in_time(fresh_redis):
    with Client(fresh_redis.url) as client:
        handle = client.send_validate(SOLVABLE)
        assert not handle.ready()
        before = time.monotonic()
        with pytest.raises(TimedOut, match=rf"no answer to {handle.id} within 0\.3 s"):
            handle.answer(timeout=0.3)
        assert time.monotonic() - before >= 0.3
