"""The nemesis: what goes wrong, each as a function of the rig; it returns when the fault is over."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from tests.chaos.rig import children, kill_group

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.chaos.proxy import Mode
    from tests.chaos.rig import Rig

    Fault = Callable[[Rig, random.Random], None]


def kill_worker(rig: Rig, rng: random.Random) -> None:
    """SIGKILL a worker with all its processes."""
    kill_group(rng.choice(rig.workers.processes))


def kill_main(rig: Rig, rng: random.Random) -> None:
    """SIGKILL a worker's main process alone; its pool processes see a closed pipe."""
    rng.choice(rig.workers.processes).kill()
    time.sleep(0.5)


def kill_child(rig: Rig, rng: random.Random) -> None:
    """SIGKILL one pool process."""
    pool = children(rng.choice(rig.workers.processes).pid)
    if pool:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(pool), signal.SIGKILL)


def freeze_worker(rig: Rig, rng: random.Random) -> None:
    """SIGSTOP a worker for longer than a lease, then let it go on: a zombie."""
    pid = rng.choice(rig.workers.processes).pid
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGSTOP)
        time.sleep(7.0)
        os.killpg(pid, signal.SIGCONT)


def stop_worker(rig: Rig, rng: random.Random) -> None:
    """SIGTERM, as in a rolling deployment; impatient people send it more than once, and Ctrl-C as well."""
    process = rng.choice(rig.workers.processes)
    before = time.monotonic()
    process.send_signal(signal.SIGTERM)
    for _ in range(rng.randrange(4)):
        time.sleep(rng.uniform(0.0, 0.5))
        process.send_signal(rng.choice((signal.SIGTERM, signal.SIGINT)))
    process.wait(40)
    rig.took.append(time.monotonic() - before)


def kill_redis(rig: Rig, rng: random.Random) -> None:
    """SIGKILL redis-server and start it again on what its append-only file holds."""
    rig.server.end(signal.SIGKILL)
    time.sleep(rng.uniform(0.0, 2.0))
    rig.server.start()


def restart_redis(rig: Rig, rng: random.Random) -> None:
    """SIGTERM redis-server and start it again."""
    rig.server.end(signal.SIGTERM)
    time.sleep(rng.uniform(0.0, 2.0))
    rig.server.start()


def freeze_redis(rig: Rig, rng: random.Random) -> None:
    """SIGSTOP redis-server for five seconds."""
    del rng
    assert rig.server.process
    rig.server.process.send_signal(signal.SIGSTOP)
    time.sleep(5.0)
    rig.server.process.send_signal(signal.SIGCONT)


def kill_clients(rig: Rig, rng: random.Random) -> None:
    """CLIENT KILL every connection."""
    del rng
    rig.server.redis.client_kill_filter(_type="normal", skipme=True)


def flush_scripts(rig: Rig, rng: random.Random) -> None:
    """SCRIPT FLUSH."""
    del rng
    rig.server.redis.script_flush()


def cut(rig: Rig, rng: random.Random) -> None:
    """Reset every connection at the proxy."""
    del rng
    rig.proxy.cut()


def during(mode: Mode, seconds: float) -> Fault:
    """Return the fault of a proxy in this mode for some seconds; connections of before are cut if it refuses."""

    def fault(rig: Rig, rng: random.Random) -> None:
        del rng
        rig.proxy.mode = mode
        if mode == "refuse":
            rig.proxy.cut()
        time.sleep(seconds)
        rig.proxy.mode = "pass"
        if mode == "swallow":
            rig.proxy.cut()  # what was swallowed left both ends waiting for different replies

    fault.__name__ = f"{mode}_{seconds:g}_s"
    return fault


def slow_network(rig: Rig, rng: random.Random) -> None:
    """Add 100 ms to each packet for three seconds."""
    del rng
    rig.proxy.latency = 0.1
    time.sleep(3.0)
    rig.proxy.latency = 0.0


def fill_redis(rig: Rig, rng: random.Random) -> None:
    """Set maxmemory below what is in use for some seconds: every write is refused."""
    rig.server.redis.config_set("maxmemory", 1_000_000)
    time.sleep(rng.uniform(2.0, 4.0))
    rig.server.redis.config_set("maxmemory", 0)


def full_disk(rig: Rig, rng: random.Random) -> None:
    """Let redis-server's files grow no further for some seconds: with an append-only file it refuses every write."""
    assert rig.server.process
    pid, limit = rig.server.process.pid, resource.RLIMIT_FSIZE
    resource.prlimit(pid, limit, (1, resource.RLIM_INFINITY))
    time.sleep(rng.uniform(2.0, 4.0))
    resource.prlimit(pid, limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def lose_messages(rig: Rig, rng: random.Random) -> None:
    """Take some messages off the queue, as a worker does that dies before it has noted them (kombu issue 305)."""
    for _ in range(rng.randrange(3, 10)):
        rig.server.redis.brpop([rig.queues[0]], timeout=1)


def nothing(rig: Rig, rng: random.Random) -> None:
    """Leave everything alone: for what does its harm by itself."""
    del rig, rng


def wipe(rig: Rig, rng: random.Random) -> None:
    """FLUSHALL."""
    del rng
    with contextlib.suppress(RedisError):
        rig.server.redis.flushall()
