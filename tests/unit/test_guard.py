"""What may come near Celery, and that Celery, kombu and redis-py still have the parts by which the guard holds them."""

from __future__ import annotations

import base64
import inspect
import json
from itertools import islice
from types import SimpleNamespace

import pytest
from celery import Celery
from celery.worker import loops, state
from celery.worker.components import Consumer as ConsumerStep
from celery.worker.consumer import Consumer
from celery.worker.consumer import connection as connection_step
from celery.worker.consumer import consumer as consumer_module
from celery.worker.consumer import tasks as tasks_step
from celery.worker.request import Request
from kombu import Connection, Exchange, Queue
from kombu.message import Message
from kombu.transport import redis as transport
from kombu.utils.functional import fxrange
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from taquin.app import make_app
from taquin.connection import connect
from taquin.guard import MESSAGE_LIMIT, Guard, GuardedConsumer, GuardedQoS, fault_of, guarded_consumer
from taquin.ledger import Ledger
from taquin.settings import Settings

BOARD = {"board": [[1, 2], [3, 0]]}


def message(**changes):
    """The smallest message that a worker takes, with changes; a change to `...` leaves the field out."""
    whole = {
        "body": json.dumps([[BOARD], {}, {}]),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": "taquin.validate", "id": "an-id"},
        "properties": {"delivery_tag": "a-tag", "delivery_info": {"exchange": "", "routing_key": "interactive"}},
    }
    whole |= {name.replace("_", "-"): value for name, value in changes.items()}
    return json.dumps({name: value for name, value in whole.items() if value is not ...}).encode()


def headers(**changes):
    return message(headers={"task": "taquin.validate", "id": "an-id"} | changes)


def properties(**changes):
    whole = {"delivery_tag": "a-tag", "delivery_info": {"exchange": "", "routing_key": "interactive"}} | changes
    return message(properties={name: value for name, value in whole.items() if value is not ...})


def body(*parts):
    return message(body=json.dumps(list(parts)))


OLD = {"task": "taquin.validate", "id": "an-id", "args": [BOARD], "kwargs": {}}

GOOD = {
    "smallest": message(),
    "base64": properties(body_encoding="base64").replace(
        json.dumps(json.dumps([[BOARD], {}, {}])).encode(),
        json.dumps(base64.b64encode(json.dumps([[BOARD], {}, {}]).encode()).decode()).encode(),
    ),
    "limits": headers(timelimit=[60, 48], retries=0, expires="2100-01-01T00:00:00", eta=None),
    "no limits": headers(timelimit=[None, None]),
    "canvas": body([BOARD], {}, {"callbacks": None, "errbacks": [{}], "chain": [], "chord": None}),
    "no embed": body([BOARD], {}, None),
    "50 deep": message(body=json.dumps([[json.loads("[" * 48 + "]" * 48)], {}, {}])),
    "brackets in a text": message(body=json.dumps([["[" * 1_000], {}, {}])),
    "a whole character": message(body=json.dumps([["\N{GRINNING FACE}"], {}, {}])),
    "protocol 1": message(headers={}, body=json.dumps(OLD)),
    "protocol 1 without headers": message(headers=..., body=json.dumps(OLD)),
    "unknown task": headers(task="some.other"),  # Celery says so itself, and tells the sender
    "work": message(headers={"task": "taquin.work", "id": "an-id"}, body=json.dumps([["an-id"], {}, {}])),
}

BAD = {
    # What ended the worker, or had it connect again, without the guard:
    "empty": (b"", "it is not JSON: "),
    "not JSON": (b"hello", "it is not JSON: "),
    "not text": (b"\xff\xfe\x00", "UnicodeDecodeError"),
    "a number": (b"5", "must be a JSON object"),
    "a list": (b"[]", "must be a JSON object"),
    "null": (b"null", "must be a JSON object"),
    "an unknown type of kombu's": (b'{"__type__": "spell", "__value__": 1}', "Unsupported type"),
    "a type of kombu's with a wrong value": (b'{"__type__": "uuid", "__value__": 1}', "cannot be read"),
    "no content-type": (message(content_type=...), "content-type: Field required"),
    "no content-encoding": (message(content_encoding=...), "content-encoding: Field required"),
    "a foreign content-encoding": (message(content_encoding="rot13"), "content-encoding"),
    "no body": (message(body=...), "body: Field required"),
    "a body that is no text": (message(body=[1]), "body: Input should be a valid string"),
    "a body that is not JSON": (message(body="{"), "it is not JSON: "),
    "a body of half a character": (message(body="\ud800"), "UnicodeEncodeError"),
    "bad base64": (properties(body_encoding="base64"), "cannot be read"),
    "an unknown body_encoding": (properties(body_encoding="rot13"), "properties.body_encoding"),
    "two parts": (body([BOARD], {}), "Field required"),
    "arguments that are an object": (body({}, {}, {}), "0: Input should be a valid list"),
    "keywords that are a list": (body([], [], {}), "1: must be a JSON object"),
    "embed that is a list": (body([], {}, []), "2: must be a JSON object"),
    "a text as the first part": (body("args", {}, {}), "0: Input should be a valid list"),
    "a callback that is a number": (body([], {}, {"callbacks": [5]}), "callbacks"),
    "timelimit of one": (headers(timelimit=[1]), "timelimit"),
    "timelimit as text": (headers(timelimit="soon"), "timelimit"),
    "timelimit of texts": (headers(timelimit=["1", "2"]), "timelimit"),
    "a negative timelimit": (headers(timelimit=[-1, None]), "timelimit"),
    "an endless timelimit": (headers(timelimit=[float("inf"), None]), "timelimit"),
    "stamped_headers": (headers(stamped_headers=5), "stamped_headers"),
    "stamps": (headers(stamps=[]), "stamps: must be a JSON object"),
    "task that is no text": (headers(task=5), "task: Input should be a valid string"),
    "id that is no text": (headers(id=["a"]), "id: Input should be a valid string"),
    "no id": (message(headers={"task": "taquin.validate"}), "id: Field required"),
    "an endless id": (headers(id="x" * 1_001), "id: String should have at most 1000"),
    "headers that are a list": (message(headers=[]), "headers: must be a JSON object"),
    "headers that are null": (message(headers=None), "headers: must be a JSON object"),
    "no properties": (message(properties=...), "properties: Field required"),
    "no delivery_tag": (properties(delivery_tag=...), "properties.delivery_tag"),
    "delivery_tag of a number": (properties(delivery_tag=1), "properties.delivery_tag"),
    "no delivery_info": (properties(delivery_info=...), "properties.delivery_info"),
    "delivery_info as text": (properties(delivery_info="here"), "properties.delivery_info: must be a JSON object"),
    "no routing_key": (properties(delivery_info={"exchange": ""}), "properties.delivery_info.routing_key"),
    "no exchange": (properties(delivery_info={"routing_key": "a"}), "properties.delivery_info.exchange"),
    # What is refused besides:
    "pickle": (message(content_type="application/x-python-serialize"), "'application/json'"),
    "deep": (b"[" * 100_000, "RecursionError"),
    "deep in the body": (message(body="[" * 100_000), "RecursionError"),
    # Python's parser takes these, and its writer, or what Celery does with them, does not.
    "a bit less deep": (headers(x=json.loads("[" * 900 + "]" * 900)), "nested more than 50 deep"),
    "51 deep in the body": (message(body="[" * 52 + "]" * 52), "nested more than 50 deep"),
    "half a character in the routing key": (
        properties(delivery_info={"exchange": "", "routing_key": "\ud800"}),
        "UnicodeEncodeError",
    ),
    "half a character in the body": (message(body=json.dumps([["\ud800"], {}, {}])), "UnicodeEncodeError"),
    "a number without end": (b'{"a": ' + b"9" * 100_000 + b"}", "4300 digits"),
    "too large": (b" " * (MESSAGE_LIMIT + 1), "4,000,001 bytes; at most 4,000,000"),
    "compressed": (
        headers(compression="gzip"),
        "compression: is not served here",
    ),  # a small one may unpack to gigabytes
    "a time to come": (headers(eta="2100-01-01T00:00:00"), "eta: is not served here"),  # would be held in memory
    "neither protocol": (message(headers={}), "it: must be a JSON object"),
    "protocol 1 without a task": (message(headers={}, body="{}"), "task: Field required"),
    "protocol 1 with wrong arguments": (message(headers={}, body=json.dumps(OLD | {"args": 5})), "args"),
    "work without an id": (message(headers={"task": "taquin.work", "id": "a"}), "taquin.work takes one argument"),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_celery_can_take_goes_through_as_it_came(name):
    assert fault_of(GOOD[name]) == ""
    reply = [b"interactive", GOOD[name]]
    assert Guard(None).check(reply) is reply


@pytest.mark.parametrize("name", BAD)
def test_a_bad_message_looks_like_an_empty_queue_and_is_kept(name, redis, settings):
    bad, reason = BAD[name]
    ledger = Ledger(redis, settings)
    assert Guard(ledger).check([b"interactive", bad]) is None
    (letter,) = ledger.dead()
    assert reason in letter.cause
    assert len(letter.cause) < 500
    assert (letter.kind, letter.queue, letter.payload) == ("message", "interactive", bad[:10_000])


def test_no_message_is_no_message():
    assert Guard(None).check(None) is None


def test_a_message_that_cannot_be_kept_is_logged_without_what_is_in_it():
    away = Settings(redis_url="redis://127.0.0.1:1/0", redis_timeout=0.2)
    with capture_logs() as logged:
        Guard(Ledger(connect(away, retries=0), away)).check([b"interactive", b"my secret"])
    (line,) = logged
    assert (line["event"], line["queue"], line["size"]) == ("message.lost", "interactive", 9)
    assert "secret" not in str(line)


def test_the_reason_does_not_show_what_is_in_the_message():
    assert "a secret" not in fault_of(b'{"__type__": "spell", "__value__": "a secret"}')
    assert "a secret" not in fault_of(message(body="a secret"))
    assert "a secret" not in fault_of(headers(timelimit="a secret"))


# The surface: what follows fails when an upgrade changes what the guard holds on to.


def test_redis_py_has_a_callback_for_every_reply():
    redis = Redis()
    redis.set_response_callback("BRPOP", lambda reply, **_: ("seen", reply))
    connection = SimpleNamespace(read_response=lambda **_: [b"q", b"m"])
    assert redis.parse_response(connection, "BRPOP") == ("seen", [b"q", b"m"])


def test_kombu_reads_a_queue_by_brpop_through_that_callback_and_takes_none_for_empty():
    source = inspect.getsource(transport.Channel._brpop_read)
    assert "self.client.parse_response(self.client.connection,\n" in source
    assert "'BRPOP'" in source
    assert "if dest__item:" in source
    assert "raise Empty()" in source
    assert list(inspect.signature(transport.Channel._create_client).parameters) == ["self", "asynchronous"]


def test_kombu_checks_nothing_before_it_delivers():
    """If it does one day, the guard may become smaller."""
    assert "loads(bytes_to_str(item))" in inspect.getsource(transport.Channel._brpop_read)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("connection_for_read", ["self", "heartbeat"]),
        ("ensure_connected", ["self", "conn"]),
        ("create_task_handler", ["self", "promise"]),
        ("on_unknown_message", ["self", "body", "message"]),
        ("on_unknown_task", ["self", "body", "message", "exc"]),
        ("on_invalid_task", ["self", "body", "message", "exc"]),
        ("on_decode_error", ["self", "message", "exc"]),
    ],
)
def test_celery_calls_what_the_guard_overrides(method, parameters):
    assert list(inspect.signature(getattr(Consumer, method)).parameters) == parameters
    source = "".join(inspect.getsource(module) for module in (consumer_module, connection_step, tasks_step, loops))
    assert any(f"{holder}.{method}" in source for holder in ("self", "c", "obj"))


def test_a_lost_connection_is_tried_each_second(consumer):
    parameters = inspect.signature(Connection._ensure_connection).parameters
    assert {"interval_start", "interval_step", "interval_max"} <= set(parameters)
    waits = []
    connection = SimpleNamespace(ensure_connection=lambda *_, **how: waits.append(how) or connection)
    consumer.app = SimpleNamespace(conf=SimpleNamespace(broker_connection_retry_on_startup=True))
    consumer.app.conf.broker_connection_max_retries = None
    assert consumer.ensure_connected(connection) is connection
    (how,) = waits
    assert {how["interval_start"], how["interval_step"], how["interval_max"]} == {1}
    assert list(islice(retry_waits(**how), 5)) == [1] * 5


def retry_waits(interval_start, interval_step, interval_max, **_):
    """As `kombu.utils.functional.retry_over_time` counts them."""
    return (
        min(value, interval_max)
        for value in fxrange(interval_start, interval_max + interval_start, interval_step, repeatlast=True)
    )


def test_celery_makes_the_consumer_that_the_setting_names(settings):
    app = make_app(settings)
    assert issubclass(app.conf.worker_consumer, GuardedConsumer)
    assert "w.consumer_cls" in inspect.getsource(ConsumerStep.create)


def test_the_consumer_reads_by_the_default_channel():
    from kombu.connection import maybe_channel

    assert maybe_channel(SimpleNamespace(default_channel="this")) == SimpleNamespace(default_channel="this")
    assert "default_channel" in inspect.getsource(maybe_channel)


def test_what_kombu_says_of_a_message():
    made = Message(body=b"[]", headers={"a": 1}, delivery_info={"routing_key": "q"})
    assert made.delivery_info == {"routing_key": "q"}
    assert made.acknowledged is False
    assert callable(made.reject_log_error)
    assert "def serializable" in inspect.getsource(transport.virtual.Message)


def test_what_the_handover_holds_on_to():
    parameters = list(inspect.signature(Request.on_failure).parameters)
    assert parameters == ["self", "exc_info", "send_failed_event", "return_ok"]
    assert isinstance(inspect.getattr_static(Request, "type"), property)
    assert isinstance(inspect.getattr_static(Request, "args"), property)
    assert hasattr(state, "active_requests")
    assert hasattr(state, "reserved_requests")
    assert state.should_terminate is None
    assert "symbol_by_name(task.Request)" in inspect.getsource(__import__("celery.worker.strategy", fromlist=["a"]))


def test_the_exchange_without_a_name_needs_no_binding(settings):
    app = make_app(settings)
    assert {queue.exchange.name for queue in app.amqp.queues.values()} == {""}
    plain = Celery(set_as_current=False, task_queues=[Queue("q", Exchange(""))])
    assert plain.amqp.queues["q"].exchange.name != ""  # why `task_default_exchange` is set


# The net below the check.


class Asked:
    """A message that counts how often it was refused."""

    delivery_info = {"routing_key": "interactive"}  # noqa: RUF012
    headers = {"task": "some.other", "id": "an-id"}  # noqa: RUF012
    acknowledged = False

    def __init__(self):
        self.refused = 0

    def serializable(self):
        return {"body": "…"}

    def reject_log_error(self, *_):
        self.refused += 1


@pytest.fixture
def consumer(redis, settings):
    ledger = Ledger(redis, settings)
    made = object.__new__(guarded_consumer(Guard(ledger)))
    made.connection_errors, made.channel_errors = (RedisConnectionError,), ()
    made.ledger = ledger
    return made


@pytest.mark.parametrize(
    ("method", "arguments", "reason"),
    [
        ("on_unknown_message", (None, ...), "names no task"),
        ("on_invalid_task", (None, ..., ValueError("odd")), "ValueError: odd"),
        ("on_decode_error", (..., ValueError("odd")), "ValueError: odd"),
    ],
)
def test_what_celery_refuses_itself_is_kept(consumer, method, arguments, reason):
    message = Asked()
    getattr(consumer, method)(*(message if argument is ... else argument for argument in arguments))
    (letter,) = consumer.ledger.dead()
    assert reason in letter.cause
    assert json.loads(letter.payload) == {"body": "…"}
    assert message.refused == 1


def test_an_unknown_task_is_kept_and_whoever_sent_it_is_told(consumer):
    told = []
    backend = SimpleNamespace(store_result=lambda *what: told.append(what))
    consumer.app = SimpleNamespace(backend=backend)
    consumer.on_unknown_task(None, Asked(), KeyError("some.other"))
    (letter,) = consumer.ledger.dead()
    assert letter.cause.endswith("there is no task 'some.other'")
    assert [(id, status) for id, _, status in told] == [("an-id", "FAILURE")]


def test_whatever_the_handler_raises_costs_that_message_alone(consumer, monkeypatch):
    def handle(_):
        raise ZeroDivisionError("in Celery")

    monkeypatch.setattr(Consumer, "create_task_handler", lambda _: handle)
    message = Asked()
    consumer.create_task_handler()(message)
    assert message.refused == 1
    (letter,) = consumer.ledger.dead()
    assert "ZeroDivisionError: in Celery" in letter.cause


def test_a_message_that_cannot_even_be_written_down_ends_nothing(consumer):
    message = Asked()
    message.delivery_info = {"routing_key": "\ud800"}
    with capture_logs() as logs:
        consumer.on_unknown_message("body", message)
    assert message.refused == 1
    assert [(line["event"], line["queue"]) for line in logs] == [("message.lost", "'\\ud800'")]


def test_a_broken_connection_is_not_the_messages_fault(consumer, monkeypatch):
    def handle(_):
        raise RedisConnectionError("gone")

    monkeypatch.setattr(Consumer, "create_task_handler", lambda _: handle)
    with pytest.raises(RedisConnectionError):
        consumer.create_task_handler()(Asked())
    assert list(consumer.ledger.dead()) == []


@pytest.fixture
def qos():
    """The account of a channel whose connection is broken."""

    class Broken:
        unacked_key, unacked_index_key, unacked_mutex_key, unacked_mutex_expire = "u", "i", "m", 30
        do_restore = False
        broken: Exception = RedisConnectionError("gone")

        def conn_or_acquire(self, _=None):
            raise self.broken

    made = GuardedQoS(Broken(), prefetch_count=1)
    made._delivered["tag"] = "a message"
    return made


def test_kombu_lets_a_worker_starve_after_an_acknowledgement_that_failed(qos):
    """If it does not any more, `GuardedQoS.ack` may go."""
    with pytest.raises(RedisConnectionError):
        transport.QoS.ack(qos, "tag")
    assert not qos.can_consume()


@pytest.mark.parametrize(("verb", "arguments"), [("ack", ()), ("reject", ()), ("reject", (True,))])
def test_a_worker_goes_on_after_an_acknowledgement_that_failed(qos, verb, arguments):
    assert not qos.can_consume()
    with pytest.raises(RedisConnectionError):
        getattr(qos, verb)("tag", *arguments)
    assert qos.can_consume()


def test_a_channel_whose_transport_is_gone_can_be_closed(qos):
    qos.channel.broken = AttributeError("'NoneType' object has no attribute 'hostname'")
    qos.restore_unacked()
    qos.channel.broken = RedisConnectionError("gone")
    with pytest.raises(RedisConnectionError):
        qos.restore_unacked()


def test_the_account_is_made_only_after_the_guard_has_named_its_class():
    source = inspect.getsource(transport.virtual.Channel.qos.fget)
    assert "self.QoS(self)" in source
    assert "if self._qos is None" in source
    connected = inspect.getsource(Consumer.connect)
    assert connected.index("self.connection_for_read(") < connected.index("register_with_event_loop")
    for method, parameters in {"ack": ["self", "delivery_tag"], "reject": ["self", "delivery_tag", "requeue"]}.items():
        assert list(inspect.signature(getattr(transport.QoS, method)).parameters) == parameters
