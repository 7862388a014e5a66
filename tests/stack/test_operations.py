"""The stack while it is hurt and watched: containers stopped, killed and scaled, and what an operator sees of it.

The tests share one stack, with three bulk workers and the profile `monitoring`, and run in this order. Prometheus is
Debian's package in a small image of its own, where the official image cannot be pulled.
"""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from engine import Stack, docker, image_of

from taquin import Client, puzzle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

UNSOLVABLE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]
MANY = 200_000
PROMETHEUS = """
FROM python:3.13-slim
RUN apt-get update && apt-get install --yes --no-install-recommends prometheus && mkdir -p /prometheus
ENTRYPOINT ["prometheus"]
"""
IN_THE_WORKER = "import os; main = int(open('/proc/1/task/1/children').read().split()[0]); os.kill(main, {signal})"
BACKEND = """
import os
from celery import Celery
url = os.environ["BACKEND_URL"]
app = Celery("backend", broker=url, backend=url)
request = {"board": [[1, 2, 3], [4, 5, 6], [8, 7, 0]]}
sent = [app.send_task("taquin.repair", [request], queue="interactive") for _ in range(20)]
print({answer.get(timeout=60)["status"] for answer in sent})
"""


def wait_for(condition: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Return what the condition gives as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.5)
    return found


def get(url: str, login: str | None = None, method: str = "GET") -> tuple[int, str]:
    """Return the status and the text of a page; 0 while nobody answers."""
    request = urllib.request.Request(url, method=method)
    if login:
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return 0, ""


@pytest.fixture(scope="module")
def stack(engine: None, secrets: Path) -> Iterator[Stack]:
    """Three bulk workers, watched by Prometheus and Flower."""
    del engine
    chosen = {"TAQUIN_CELERY_EVENTS": "true"}
    if "PROMETHEUS_IMAGE" not in os.environ:
        chosen["PROMETHEUS_IMAGE"] = image_of("prometheus", PROMETHEUS)
    stack = Stack(f"taquin-test-{uuid.uuid4().hex[:8]}", secrets, **chosen)
    watched = ("worker", "bulk", "redis", "prometheus", "flower")
    try:
        stack.compose("--profile", "monitoring", "build", "worker", "flower")
        stack.compose("--profile", "monitoring", "up", "--detach", "--wait", "--scale", "bulk=3", *watched)
        yield stack
    finally:
        stack.forget()


def published(stack: Stack, service: str, port: int) -> str:
    return "http://" + stack.compose("--profile", "monitoring", "port", service, str(port)).strip()


def test_a_job_whose_workers_are_stopped_killed_and_scaled(stack: Stack) -> None:
    """200,000 boards: whatever happens to the containers, every board has one outcome, and the right one."""
    boards = np.random.default_rng(7).permuted(np.tile(np.arange(16, dtype=np.uint8), (MANY, 1)), axis=1)
    solvable = int(puzzle.solvable(boards, "4x4").sum())
    with Client(stack.redis_url, timeout=120) as client:
        job = client.submit(boards, shape="4x4", kind="repair", chunk=500, in_flight=1_000)
        ids = [container["Id"] for container in stack.containers("bulk")]
        docker("kill", ids[0])
        docker("stop", ids[1])
        stack.compose("up", "--detach", "--no-recreate", "--scale", "bulk=1", "bulk")
        stack.compose("up", "--detach", "--no-recreate", "--scale", "bulk=4", "bulk")
        docker("kill", stack.containers("bulk")[0]["Id"])
        progress = job.wait(300)
        statuses = np.concatenate([chunk.statuses for chunk in job.results(timeout=60)])
    assert (progress.boards, progress.done, progress.dead, progress.invalid) == (MANY, MANY, 0, 0)
    assert (progress.solvable, progress.repaired) == (solvable, MANY - solvable)
    assert np.array_equal(statuses == 0, puzzle.solvable(boards, "4x4"))
    exits = {
        container["State"]["ExitCode"] for container in stack.containers("bulk") if not container["State"]["Running"]
    }
    assert exits <= {0, 137}
    stack.compose("up", "--detach", "--wait", "--no-recreate", "--scale", "bulk=3", "bulk")


def test_a_backend_that_knows_nothing_but_celery(stack: Stack) -> None:
    """A container on the same network, with the password and Celery's own library."""
    url = f"redis://:{stack.password}@redis:6379/0"
    where = ("--network", f"{stack.project}_default", "--env", f"BACKEND_URL={url}", "--entrypoint", "python")
    assert docker("run", "--rm", *where, stack.image, "-c", BACKEND).strip() == "{'repaired'}"


def test_health_turns_with_the_worker_and_not_with_redis(stack: Stack) -> None:
    """A container whose worker hangs turns unhealthy, and healthy again; without Redis it stays healthy, not ready."""

    def health(service: str) -> set[str]:
        return {container["State"]["Health"]["Status"] for container in stack.containers(service)}

    stack.compose("exec", "worker", "python", "-c", IN_THE_WORKER.format(signal=19))
    (redis,) = stack.containers("redis")
    docker("pause", redis["Id"])
    try:
        wait_for(lambda: health("worker") == {"unhealthy"})
        assert health("bulk") == {"healthy"}
        said = json.loads(
            stack.compose(
                "exec", "bulk", "sh", "-c", "taquin health --ready --json || true", files=("docker-compose.yml",)
            )
        )
        assert (said["healthy"], said["ready"]) == (True, False)
    finally:
        docker("unpause", redis["Id"])
        stack.compose("exec", "worker", "python", "-c", IN_THE_WORKER.format(signal=18))
    wait_for(lambda: health("worker") == {"healthy"})
    with Client(stack.redis_url, timeout=60) as client:
        assert client.repair(UNSOLVABLE).status == "repaired"


def test_doctor_finds_nothing_wrong(stack: Stack) -> None:
    """In a container of the stack, with the secrets as they are."""

    def look() -> list[dict[str, str]]:
        return [json.loads(line) for line in stack.compose("exec", "worker", "taquin", "doctor", "--json").splitlines()]

    wait_for(lambda: sum(finding["check"].startswith("worker ") for finding in look()) == 4)
    assert [finding for finding in look() if finding["status"] != "ok"] == []


def test_prometheus_sees_every_worker(stack: Stack) -> None:
    """All containers of both services are asked, the rules are loaded, and what they need is there."""
    base = published(stack, "prometheus", 9090)

    def query(expression: str) -> list[Any]:
        status, text = get(f"{base}/api/v1/query?query={urllib.parse.quote(expression)}")
        return json.loads(text)["data"]["result"] if status == 200 else []

    def value(expression: str) -> float:
        result = query(expression)
        return float(result[0]["value"][1]) if result else 0.0

    wait_for(lambda: value("count(up == 1)") == 4)
    assert wait_for(lambda: value('sum(taquin_tasks_total{task="taquin.repair", outcome="success"})')) >= 20
    # Each says so in Redis by itself, and Prometheus asks every few seconds: it may take a moment.
    wait_for(lambda: value("max(taquin_workers)") == 4)
    groups = json.loads(get(f"{base}/api/v1/rules")[1])["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 10
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    assert not [rule["name"] for rule in rules if rule["state"] == "firing"]


def test_flower_shows_tasks_to_those_who_know_the_login(stack: Stack) -> None:
    """And lets nobody do anything."""
    base = published(stack, "flower", 5555)
    wait_for(lambda: get(base)[0] == 401)
    with Client(stack.redis_url, timeout=60) as client:
        client.repair(UNSOLVABLE)
    wait_for(lambda: "taquin.work" in get(f"{base}/api/tasks", stack.login)[1])
    assert get(f"{base}/api/tasks")[0] == 401
    (worker,) = (container["Config"]["Hostname"] for container in stack.containers("worker"))
    assert get(f"{base}/api/worker/shutdown/celery@{worker}", stack.login, method="POST")[0] == 403


def test_no_password_is_shown(stack: Stack) -> None:
    """Neither by the engine, nor in a list of processes, nor in a log."""
    everything = stack.compose("ps", "--all", "--quiet").split()
    shown = docker("inspect", *everything) + stack.compose("--profile", "monitoring", "logs", "--no-color")
    for container in everything:
        shown += docker("top", container, "-eo", "pid,args")
    assert stack.password not in shown
    assert stack.login.partition(":")[2] not in shown


def test_monitoring_is_hardened_and_for_this_host_alone(stack: Stack) -> None:
    """As all the others: no rights, a read-only root, 127.0.0.1."""
    for container in stack.containers("prometheus", "flower"):
        host = container["HostConfig"]
        assert host["ReadonlyRootfs"]
        assert host["CapDrop"] == ["ALL"]
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert {binding["HostIp"] for bindings in host["PortBindings"].values() for binding in bindings} == {
            "127.0.0.1"
        }
