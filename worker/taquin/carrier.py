"""Celery, the carrier: takes the ids of work to the workers. What both ends must agree on stands here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from celery import Celery
from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

from taquin.address import celery_options, celery_url, place, tls_of
from taquin.connection import KEEPALIVE_PROBES
from taquin.errors import Unavailable
from taquin.messages import QUEUES, REQUEST_ID, WORK

if TYPE_CHECKING:
    from taquin.settings import Settings


def carrier_config(settings: Settings) -> dict[str, Any]:
    """Celery's configuration of the connection, the same for those who send and those who consume."""
    sockets = {
        "socket_timeout": settings.redis_timeout,
        "socket_connect_timeout": settings.redis_timeout,
        "socket_keepalive": True,
        "health_check_interval": KEEPALIVE_PROBES,
    }
    return {
        "broker_url": celery_url(settings),
        "broker_use_ssl": tls_of(settings) or None,
        "accept_content": ["json"],
        "task_serializer": "json",
        "result_serializer": "json",
        "task_default_queue": QUEUES[0],
        # The exchange without a name needs no binding in Redis: a worker starts without a write, and so on a full one.
        "task_default_exchange": "",
        "task_queues": [Queue(name, Exchange(""), routing_key=name) for name in QUEUES],
        "task_routes": None,
        "broker_transport_options": {
            **sockets,
            **celery_options(settings),
            # Five times the longest task: what a worker holds goes back only when that worker is surely gone.
            "visibility_timeout": 5 * max(settings.time_limit(queue) for queue in QUEUES),
            # Look for such messages every 5 s instead of every 100 s, and do not wait 300 s for a dead looker's mutex.
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "unacked_mutex_expire": 30,
            # In the order in which the queues are named: a waiting player comes before a chunk.
            "queue_order_strategy": "priority",
        },
    }


class Carrier:
    """Sends the ids of work. Threads may share it."""

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._app = Celery("taquin-carrier", set_as_current=False, autofinalize=False)
        self._app.config_from_object(carrier_config(settings))

    def send(self, id: str, queue: str) -> None:
        """Send one message; the ledger, not this call, is what guarantees the work.

        Raises:
            Unavailable: Redis does not answer.
        """
        try:
            self._app.send_task(
                WORK,
                args=[id],
                task_id=id,
                queue=queue,
                headers=_names_of_the_sender(),
                ignore_result=True,
                time_limit=self._settings.time_limit(queue),
                soft_time_limit=self._settings.soft_time_limit(queue),
                retry=False,
            )
        except OperationalError as error:
            raise Unavailable(f"Redis at {place(self._settings)} does not answer: {error}") from error

    def close(self) -> None:
        """Close the connections."""
        self._app.close()


def _names_of_the_sender() -> dict[str, str]:
    """Return what the sender calls its own request, where it keeps that in structlog's context; workers log it."""
    request_id = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    return {REQUEST_ID: request_id} if isinstance(request_id, str) else {}
