"""Bytes of every kind among good work: each costs itself alone."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from redis import Redis

from tests.chaos.load import IN_FLIGHT
from tests.chaos.plain import run_plain
from tests.chaos.rig import until
from tests.chaos.run import row, run
from tests.unit.test_guard import BAD, GOOD, OLD, message


def rubbish(rng):
    """Bad messages, mutilated good ones, and noise."""
    yield from (bad for bad, _ in BAD.values())
    good = list(GOOD.values())
    for _ in range(200):
        whole = bytearray(rng.choice(good))
        for _ in range(rng.randrange(1, 4)):
            whole[rng.randrange(len(whole))] = rng.randrange(256)
        yield bytes(whole)
    for _ in range(100):
        yield rng.randbytes(rng.randrange(1, 2_000))


@pytest.mark.short
def test_bad_messages_cost_themselves_alone(seed, long, beside, folder, record_property):
    sent = []

    def push(rig, rng):
        some = list(rubbish(rng))
        sent.extend(some)
        for bad in some:
            rig.server.redis.lpush(rng.choice(rig.queues), bad)
        until(lambda: rig.server.redis.llen(rig.queues[0]) < IN_FLIGHT + 10, "the queue to be worked off", 600.0)

    outcome = run(
        "bad messages", push, folder, seed=seed, units=5_000 if long else 300, times=5 if long else 1, workers=1
    )
    refused, pushed, plain = outcome.log.count('"message.refused"'), len(sent), None
    if beside:
        (folder / "plain").mkdir()
        plain = run_plain(push, folder / "plain", seed=seed, units=1_000, times=1, workers=1)
    remark = f"{len(sent) - pushed} bad messages ended {plain.restarts} workers" if plain else ""
    record_property("row", row(outcome, plain, remark))
    outcome.must_hold()
    assert outcome.restarts == 0
    assert "Unrecoverable error" not in outcome.log
    assert "Connection to broker lost" not in outcome.log
    assert len(BAD) <= refused <= pushed


@pytest.mark.short
def test_messages_of_other_clients_are_answered(seed, folder):
    """Of both protocols, as short as they can be, and all with one delivery tag, as one such client sends them."""
    answers = {}

    def push(rig, _):
        with Redis(port=rig.server.port) as redis:
            for number in range(100):
                id = str(uuid4())
                if number % 2:
                    redis.lpush("interactive", message(headers={"task": "taquin.validate", "id": id}))
                else:
                    redis.lpush("interactive", message(headers={}, body=json.dumps(OLD | {"id": id})))
                answers[id] = None

            def all_there():
                for id in [id for id, answer in answers.items() if answer is None]:
                    answers[id] = redis.get(f"celery-task-meta-{id}")
                return None not in answers.values()

            until(all_there, "every answer")

    run("other clients", push, folder, seed=seed, units=100, times=1).must_hold()
    assert {json.loads(answer)["result"]["status"] for answer in answers.values()} == {"solvable"}
