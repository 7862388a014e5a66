"""The guard: whatever bytes stand on a queue cost that message alone, and are kept as a dead letter.

Celery ends its worker over a message that is not JSON, has no envelope, or has a header of another type, and forgets
one that it refuses (celery issues 7975 and 4308). Two hooks close that, on the smallest surface that does:

- ``Guard.check`` reads what redis-py hands to kombu, as the callback of BRPOP's replies. A bad message becomes
  ``None``, which is how an empty queue looks; so it never comes near Celery's code.
- ``GuardedConsumer`` makes the consumer's own refusals (an unknown task, a body that cannot be decoded) dead
  letters, and holds whatever its task handler raises. ``GuardedQoS`` outlives a broken connection.

``tests/unit/test_guard.py`` pins every name of Celery, kombu and redis-py that is used here.
"""

from __future__ import annotations

import base64
from contextlib import contextmanager
from functools import partial
from json import JSONDecodeError
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import structlog
from celery import states
from celery.exceptions import NotRegistered
from celery.worker.consumer import Consumer
from kombu.transport.redis import QoS
from kombu.utils.json import dumps, loads
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from taquin.errors import TaquinError
from taquin.messages import WORK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kombu import Connection

    from taquin.ledger import Ledger

log = structlog.get_logger("taquin.guard")

MESSAGE_LIMIT: Final = 4_000_000
"""Bytes of the largest message that is parsed: the largest request, in base64, with room for headers."""

DEEPEST: Final = 50
"""Levels of lists and objects in a message or its body: Python's parser takes more than its writer can give back."""

PLAIN: Final = {
    "model_type": "must be a JSON object",
    "dict_type": "must be a JSON object",
    "tuple_type": "must be a list of the arguments, the keywords, and Celery's own part",
    "none_required": "is not served here: leave it out",
}
"""What pydantic says otherwise, in the words of the wire."""

RECONNECT: Final = 1
"""Seconds between two attempts to connect."""

Limit = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None


class _Part(BaseModel):
    """A part of a message; what Celery does not look at is not looked at here."""

    model_config = ConfigDict(strict=True, extra="ignore", hide_input_in_errors=True)


class _Task(_Part):
    """What Celery's worker reads of a task outside the pool, where a wrong type would end it."""

    task: str
    id: Annotated[str, Field(min_length=1, max_length=1_000)]
    timelimit: Annotated[list[Limit], Field(min_length=2, max_length=2)] | None = None
    expires: str | None = None
    eta: None = None
    compression: None = None
    retries: int | None = None
    shadow: str | None = None
    root_id: str | None = None
    parent_id: str | None = None
    group: str | None = None
    ignore_result: bool | None = None
    stamped_headers: list[str] | None = None
    stamps: dict[str, Any] | None = None


class _OldTask(_Task):
    """The body of protocol 1, which holds everything; other languages' clients still send it."""

    args: list[Any] = []
    keywords: dict[str, Any] = Field({}, validation_alias=AliasChoices("kwargs"))
    callbacks: list[dict[str, Any]] | None = None
    errbacks: list[dict[str, Any]] | None = None
    chord: dict[str, Any] | None = None


class _Embed(_Part):
    callbacks: list[dict[str, Any]] | None = None
    errbacks: list[dict[str, Any]] | None = None
    chain: list[dict[str, Any]] | None = None
    chord: dict[str, Any] | None = None


class _Delivery(_Part):
    exchange: str
    routing_key: str


class _Properties(_Part):
    delivery_tag: Annotated[str, Field(min_length=1, max_length=1_000)]
    delivery_info: _Delivery
    body_encoding: Literal["base64", "utf-8"] | None = None
    correlation_id: str | None = None
    reply_to: str | None = None


class _Message(_Part):
    body: str
    content_type: Literal["application/json"] = Field(alias="content-type")
    content_encoding: Literal["utf-8", "UTF-8", "utf8", "UTF8"] = Field(alias="content-encoding")
    headers: dict[str, Any] = {}
    properties: _Properties


_BODY: Final = TypeAdapter(tuple[list[Any], dict[str, Any], _Embed | None])


def fault_of(message: bytes) -> str:
    """Say why these bytes are no message that a worker may be given; an empty string if they are one."""
    if len(message) > MESSAGE_LIMIT:
        return f"it has {len(message):,} bytes; at most {MESSAGE_LIMIT:,} are taken"
    try:
        name, arguments = _task_of(_parsed(message))
    except ValidationError as error:
        return _first_of(error)
    except Exception as error:  # noqa: BLE001  kombu's decoders raise whatever they like
        return _unreadable(error)
    if name == WORK and (len(arguments) != 1 or not isinstance(arguments[0], str)):
        return f"{WORK} takes one argument, the id of a unit of work"
    return ""


def _parsed(text: bytes) -> Any:
    """Parse JSON that can be written again: kombu writes each message down once more, in the worker's main process."""
    value = loads(text)
    if text.count(b"[") + text.count(b"{") > DEEPEST and _is_deep(value):
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    if b"\\u" in text:
        dumps(value, ensure_ascii=False).encode()  # a half of a surrogate pair is in no encoding
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        children = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in children if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _task_of(raw: Any) -> tuple[str, list[Any]]:
    """Return the task's name and its arguments."""
    envelope = _Message.model_validate(raw)
    body = envelope.body.encode()
    if envelope.properties.body_encoding == "base64":
        body = base64.b64decode(body)
    content = _parsed(body)
    if "task" in envelope.headers:
        task = _Task.model_validate(envelope.headers)
        arguments, _, _ = _BODY.validate_python(tuple(content) if isinstance(content, list) else content)
        return task.task, arguments
    old_task = _OldTask.model_validate(content)
    return old_task.task, old_task.args


class Guard:
    """Keeps what no worker may be given. The event loop of the worker waits meanwhile, so its ledger must be quick."""

    def __init__(self, ledger: Ledger) -> None:
        """Open nothing yet."""
        self._ledger = ledger

    def check(self, reply: Any) -> Any:
        """Return a reply to BRPOP as it came; None, as if no message had come, if its message is bad."""
        if not reply:
            return None
        queue, message = reply
        fault = fault_of(message)
        if fault:
            self.keep(queue.decode(errors="replace"), message, fault)
            return None
        return reply

    def keep(self, queue: str, message: bytes, cause: str) -> None:
        """Keep a message as a dead letter. Where that fails, the log is all that remains of it."""
        try:
            id = self._ledger.keep(queue, message, f"no task for a worker: {cause}")
        except TaquinError as error:
            log.error("message.lost", queue=queue, cause=cause, size=len(message), error=str(error))  # noqa: TRY400
        else:
            log.warning("message.refused", id=id, queue=queue, cause=cause, size=len(message))


class GuardedQoS(QoS):
    """kombu's account of unacknowledged messages, without two ways to break over a broken connection."""

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge; where that fails, another worker may have the message, but this one is free again.

        kombu counts the message on as being worked on: once that has happened to as many as may be prefetched, the
        worker takes nothing any more, and nobody notices.
        """
        with self._freeing(delivery_tag):
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Reject; the same holds."""
        with self._freeing(delivery_tag):
            super().reject(delivery_tag, requeue)

    def restore_unacked(self, client: Any = None) -> None:
        """Put messages back, unless the transport is torn down already, as after a restart of Redis (kombu issue 582).

        They stay unacknowledged in Redis then, where other workers find them in time, and in the ledger.
        """
        try:
            super().restore_unacked(client)
        except AttributeError as error:
            log.warning("messages.not_restored", error=str(error))

    @contextmanager
    def _freeing(self, delivery_tag: str) -> Iterator[None]:
        try:
            yield
        except Exception:
            super(QoS, self).ack(delivery_tag)
            raise


class GuardedConsumer(Consumer):
    """Celery's consumer, which no message can end."""

    guard: ClassVar[Guard]
    connection_errors: tuple[type[Exception], ...]
    channel_errors: tuple[type[Exception], ...]

    def ensure_connected(self, conn: Connection) -> Connection:
        """Try again each second, for as long as it takes; Celery waits up to 30 s once Redis was away for long."""
        conn.ensure_connection = partial(  # type: ignore[method-assign]
            conn.ensure_connection, interval_start=RECONNECT, interval_step=RECONNECT, interval_max=RECONNECT
        )
        connected: Connection = super().ensure_connected(conn)
        return connected

    def connection_for_read(self, heartbeat: float | None = None) -> Connection:
        """Connect, with a look at every message before kombu has it."""
        connection: Connection = super().connection_for_read(heartbeat=heartbeat)
        channel: Any = connection.default_channel
        channel.QoS = GuardedQoS
        channel.client.set_response_callback("BRPOP", self.guard.check)
        return connection

    def create_task_handler(self, *arguments: Any, **fields: Any) -> Callable[[Any], Any]:
        """Hold whatever the handler of messages raises, unless it is Redis's trouble."""
        handle = super().create_task_handler(*arguments, **fields)

        def guarded(message: Any) -> None:
            try:
                handle(message)
            except (*self.connection_errors, *self.channel_errors):
                raise
            except Exception as error:  # noqa: BLE001  that is what a guard is for
                self._refuse(message, _unreadable(error))

        return guarded

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """Keep what names no task."""
        del body
        self._refuse(message, "it names no task")

    def on_unknown_task(self, body: Any, message: Any, exc: Any) -> None:
        """Keep what names another task, and tell whoever sent it through Celery and waits."""
        del body, exc
        name = str(message.headers.get("task"))[:200]
        self._refuse(message, f"there is no task {name!r}")
        if "id" in message.headers:
            self.app.backend.store_result(message.headers["id"], NotRegistered(name), states.FAILURE)

    def on_invalid_task(self, body: Any, message: Any, exc: Any) -> None:
        """Keep what Celery itself refuses."""
        del body
        self._refuse(message, _unreadable(exc))

    def on_decode_error(self, message: Any, exc: Any) -> None:
        """Keep what cannot be decoded."""
        self._refuse(message, _unreadable(exc))

    def _refuse(self, message: Any, cause: str) -> None:
        queue = str(message.delivery_info.get("routing_key"))
        try:
            self.guard.keep(queue, dumps(message.serializable()).encode(), cause)
        except Exception:
            # Nothing that is known does this; but a message must not end its worker.
            log.exception("message.lost", queue=repr(queue), cause=cause)
        if not message.acknowledged:
            message.reject_log_error(log, self.connection_errors)


def guarded_consumer(guard: Guard) -> type[Consumer]:
    """Return the consumer class of a worker that this guard keeps."""
    return type("GuardedConsumer", (GuardedConsumer,), {"guard": guard})


def _first_of(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part)[:80] for part in first["loc"]) or "it"
    return f"{where}: {PLAIN.get(first['type'], first['msg'])}"


def _unreadable(error: BaseException) -> str:
    # Only its first words: kombu's errors bring the content along, which no log may show.
    words = str(error.args[0])[:200] if error.args else ""
    if isinstance(error, JSONDecodeError) or isinstance(error.__cause__, JSONDecodeError):
        return f"it is not JSON: {words}"
    return f"it cannot be read: {type(error).__name__}: {words}"
