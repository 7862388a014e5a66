"""The compose stack as an operator runs it: built, started, used from outside, stopped, and gone without a trace.

The tests share one stack and run in this order.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from celery import Celery
from engine import FILES, inspect

from taquin import Client

if TYPE_CHECKING:
    from engine import Stack

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

SOLVABLE = [[1, 2, 3], [4, 5, 6], [0, 7, 8]]
UNSOLVABLE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]
OURS = {"worker": 2, "bulk": 1}
"""The services that run our image, and how many containers of each the fixture starts."""


def test_two_workers_are_healthy(stack: Stack) -> None:
    """`up --wait --scale worker=2` ends with every container running and healthy."""
    health = {
        service: [container["State"]["Health"]["Status"] for container in stack.containers(service)] for service in OURS
    }

    assert health == {service: ["healthy"] * number for service, number in OURS.items()}


def test_a_board_is_validated_and_one_repaired_from_outside(stack: Stack) -> None:
    """An app backend on this host asks through the client."""
    with Client(stack.redis_url) as client:
        validated = client.validate(SOLVABLE, timeout=30)
        repaired = client.repair(UNSOLVABLE, timeout=30)

    assert validated.status == "solvable"
    assert repaired.status == "repaired"
    assert repaired.board is not None
    cells = zip(chain(*UNSOLVABLE), chain(*repaired.board), strict=True)
    assert sum(before != after for before, after in cells) == 2


def test_a_plain_celery_client_is_answered(stack: Stack) -> None:
    """A backend that knows nothing but Celery sends a dict by the task's name."""
    url = stack.redis_url
    with Celery("backend", broker=url, backend=url, set_as_current=False) as app:
        answer = app.send_task("taquin.repair", [{"board": UNSOLVABLE}], queue="interactive").get(timeout=30)

    assert answer["status"] == "repaired"


def test_our_containers_have_no_rights(stack: Stack) -> None:
    """They run as a user without capabilities on a read-only root, and publish nothing."""
    for container in stack.containers(*OURS):
        host = container["HostConfig"]
        assert container["Config"]["User"] == "10001:10001"
        assert host["ReadonlyRootfs"]
        assert host["CapDrop"] == ["ALL"]
        assert not host["CapAdd"]
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert host["Init"]
        assert not host["PortBindings"]


def test_redis_is_published_to_this_host_alone(stack: Stack) -> None:
    """The base file publishes nothing; the development override binds the loopback address."""
    (redis,) = stack.containers("redis")

    bindings = list(chain(*redis["HostConfig"]["PortBindings"].values()))

    assert [binding["HostIp"] for binding in bindings] == ["127.0.0.1"]
    assert "ports" not in stack.services("docker-compose.yml")["redis"]


def test_the_image_is_small_and_starts_without_a_shell(stack: Stack) -> None:
    """Less than 300 MB over its base, and nothing between the engine and the worker."""
    base_image = stack.services(*FILES)["worker"]["build"]["args"]["PYTHON_IMAGE"]
    image, base = inspect(stack.image, base_image)

    assert image["Size"] - base["Size"] < 300_000_000
    assert image["Config"]["Entrypoint"] == ["taquin"]
    assert image["Config"]["Healthcheck"]["Test"] == ["CMD", "python", "-m", "taquin.health"]


def test_stopped_workers_exit_by_themselves_and_lose_nothing(stack: Stack) -> None:
    """SIGTERM ends busy workers inside their grace (137 would be a kill after it), and the next ones go on."""
    with Client(stack.redis_url) as client:
        sent = [client.send_repair(UNSOLVABLE) for _ in range(300)]
        stack.compose("stop", *OURS)
        states = [container["State"] for container in stack.containers(*OURS)]
        sent.append(client.send_repair(UNSOLVABLE))
        assert not sent[-1].ready()
        stack.compose("start", *OURS)
        answers = [handle.answer(timeout=60).status for handle in sent]

    assert [(state["Status"], state["ExitCode"], state["OOMKilled"]) for state in states] == [("exited", 0, False)] * 3
    assert answers == ["repaired"] * 301


def test_down_leaves_nothing(stack: Stack) -> None:
    """`down --volumes` takes containers, volumes and networks along."""
    assert all(stack.left().values())

    stack.compose("down", "--volumes")

    assert stack.left() == {"containers": [], "volumes": [], "networks": []}
