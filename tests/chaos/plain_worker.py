"""The same work as plain Celery tasks, with every setting that is recommended against loss."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery, signals

from taquin import service
from tests.chaos import harm

NOTES = os.open(os.environ.get("CHAOS_RUNS", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def make_app(url: str) -> Celery:
    """Return the app of this worker and of its clients."""
    made = Celery("plain", broker=url, backend=url, set_as_current=False)
    sockets = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "socket_keepalive": True}
    made.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_time_limit=3,
        task_soft_time_limit=2,
        worker_prefetch_multiplier=1,
        result_backend_always_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,
        worker_cancel_long_running_tasks_on_connection_loss=True,
        worker_lost_wait=1.0,
        broker_transport_options={
            **sockets,
            "visibility_timeout": 15,
            "health_check_interval": 3,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "unacked_mutex_expire": 30,
        },
        redis_socket_timeout=5.0,
        redis_socket_connect_timeout=5.0,
        worker_enable_remote_control=False,
    )
    return made


app = make_app(os.environ.get("TAQUIN_REDIS_URL", "redis://127.0.0.1:1/0"))


@app.task(name="plain.work", bind=True)
def work(task, kind, request):
    os.write(NOTES, f"{task.request.id} {os.getpid()}\n".encode())
    harm.do(task.request.id)
    answer, _ = service.respond(kind, request, max_cells=1_024)
    return answer.model_dump(mode="json")


@signals.worker_ready.connect
def ready(**_):
    Path(os.environ["TAQUIN_HEARTBEAT_FILE"]).touch()
