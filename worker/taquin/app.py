"""The one place where the parts are wired together."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from celery import Celery, signals
from celery.worker import state

from taquin import tasks
from taquin.address import celery_options, celery_url, is_socket, tls_of
from taquin.carrier import Carrier, carrier_config
from taquin.connection import connect
from taquin.guard import Guard, guarded_consumer
from taquin.handover import Handover, handover_request, handover_step
from taquin.health import Heartbeat, beating_consumer, heartbeat_step
from taquin.jobs import Jobs
from taquin.ledger import Ledger
from taquin.logs import configure_logging
from taquin.messages import INTERACTIVE, QUEUES, WORK
from taquin.metrics import make_metrics
from taquin.observe import ObservedWork, metrics_step, observed_task
from taquin.pools import Pools
from taquin.presence import Presence, presence_step
from taquin.sweeper import Sweeper, sweeper_step

if TYPE_CHECKING:
    from taquin.settings import Settings

QUICK = 1.0
"""Seconds that the main process of a worker waits for one reply of Redis."""


def make_app(settings: Settings) -> Celery:
    """Return the Celery app of a worker. Nothing is opened, and no other app of this process is touched."""
    metrics = make_metrics(settings, connect(_quick(settings), retries=0))
    app = Celery("taquin", set_as_current=False, autofinalize=False, task_cls=observed_task(metrics))
    app.config_from_object(carrier_config(settings) | _worker_config(settings))
    ledger = Ledger(connect(settings), settings)
    redis = connect(settings)
    tasks.register(app, ObservedWork(metrics, ledger, Jobs(redis, settings), Pools(redis, settings), settings))
    quick = _quick(settings)
    overseer = Ledger(connect(quick, retries=0), quick, holder=ledger.holder)
    app.conf.worker_consumer = guarded_consumer(Guard(overseer))
    handover = Handover(overseer)
    app.steps["worker"].add(handover_step(handover))
    # Connections of its own: pool processes are forked while the sweeper's thread may hold a lock of its pool.
    sweeper = Sweeper(Ledger(connect(settings), settings), Carrier(settings), settings)
    app.steps["worker"].add(sweeper_step(sweeper))
    app.steps["worker"].add(presence_step(Presence(connect(quick, retries=0), settings)))
    app.steps["worker"].add(metrics_step(metrics))
    if settings.heartbeat_file is not None:
        longest = max(settings.time_limit(queue) for queue in QUEUES)
        heartbeat = Heartbeat(settings.heartbeat_file, longest, lambda: state.reserved_requests)
        app.conf.worker_consumer = beating_consumer(app.conf.worker_consumer, heartbeat)
        app.steps["consumer"].add(heartbeat_step(heartbeat))
    configure = partial(configure_logging, settings, metrics.event)
    signals.setup_logging.connect(lambda **_: configure(), weak=False, dispatch_uid="taquin")
    app.finalize()
    work: Any = app.tasks[WORK]
    work.Request = handover_request(handover, work.Request)
    return app


def _quick(settings: Settings) -> Settings:
    """For the main process, whose event loop must not wait long."""
    return settings.model_copy(update={"redis_timeout": min(settings.redis_timeout, QUICK)})


def worker_arguments(
    queues: str, *, concurrency: int | None = None, pool: str | None = None, events: bool = False
) -> list[str]:
    """Return what follows ``celery`` on the command line of a worker."""
    if pool is None:
        pool = "prefork" if hasattr(os, "fork") else "threads"
    arguments = ["--quiet", "worker", "--queues", queues, "--pool", pool]
    if concurrency is not None:
        arguments += ["--concurrency", str(concurrency)]
    # Nobody listens to these, and without them the first task runs a second sooner.
    arguments += ["--without-mingle", "--without-gossip", "--without-heartbeat"]
    # Celery sends each event from the worker's event loop, which waits half a minute where Redis is away: tasks only.
    return [*arguments, "--task-events"] if events else arguments


def _worker_config(settings: Settings) -> dict[str, Any]:
    sockets = {
        "socket_timeout": settings.redis_timeout,
        "socket_connect_timeout": settings.redis_timeout,
        "socket_keepalive": True,
    }
    return {
        "result_backend": celery_url(settings),
        "redis_backend_use_ssl": tls_of(settings) or None,
        "result_expires": 3_600,
        # Otherwise an answer is lost when Redis is away at the moment a task ends (celery issue 8588).
        "result_backend_always_retry": True,
        "result_backend_transport_options": sockets | celery_options(settings),
        "redis_socket_timeout": settings.redis_timeout,
        "redis_socket_connect_timeout": settings.redis_timeout,
        "redis_socket_keepalive": not is_socket(settings),
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        # For the open door, which carries one board; the carrier names the limit of each unit of the ledger itself.
        "task_time_limit": settings.time_limit(INTERACTIVE),
        "task_soft_time_limit": settings.soft_time_limit(INTERACTIVE),
        "worker_prefetch_multiplier": 1,
        # A killed process may have sent its answer; the ledger has it, so there is little to wait for.
        "worker_lost_wait": 1.0,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        # What a broken connection interrupts is finished, and told to the ledger as soon as Redis answers again.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # A backstop: nothing of ours grows, but a library might.
        "worker_max_tasks_per_child": 100_000,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_channel_error_retry": True,
        # A remote control that nobody uses is one more open door and three more keys.
        "worker_enable_remote_control": False,
    }
