"""``AsyncClient``: the same verbs for backends with an event loop.

Sending is short and runs in a thread; waiting is long and runs in the loop, so that hundreds of waits cost one
connection and no thread.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from contextlib import asynccontextmanager, suppress
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar
from uuid import uuid4

from redis.exceptions import RedisError

from taquin.client import Client
from taquin.client.boards import answer_of, no_answer
from taquin.client.core import pause
from taquin.client.events import BATCH, IN_HAND, MIN_IDLE, Position, parse_events, stream_of, suppress_known_group
from taquin.client.inbox import LOOK_UP, PAUSE
from taquin.client.job import still_at_work
from taquin.connection import connect_async, reporting
from taquin.errors import Unknown
from taquin.ledger import parse_record
from taquin.script import SCRIPT, call_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from types import TracebackType

    from redis.asyncio import Redis

    from taquin.client.events import Event
    from taquin.client.job import Chunk, Job, Progress
    from taquin.messages import Answer
    from taquin.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(
    verb: Callable[Concatenate[Client, P], R],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    """Return the same verb to be awaited; it runs in a thread."""

    async def run(self: AsyncClient, /, *args: P.args, **fields: P.kwargs) -> R:
        return await asyncio.to_thread(verb, self._client, *args, **fields)

    update_wrapper(run, verb)
    return run


def _handled(
    verb: Callable[Concatenate[Client, P], Any], handle: type[R]
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    """Return the same verb to be awaited, with a handle that is waited for in the loop."""

    async def run(self: AsyncClient, /, *args: P.args, **fields: P.kwargs) -> R:
        made: Any = handle
        return made(self, await asyncio.to_thread(verb, self._client, *args, **fields))  # type: ignore[no-any-return]

    update_wrapper(run, verb)
    return run


def _answered(
    verb: Callable[Concatenate[Client, P], Answer], send: Callable[..., Any]
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, Answer]]:
    """Return the same verb to be awaited: ``send`` runs in a thread, the wait in the loop."""

    async def run(self: AsyncClient, /, *args: P.args, **fields: P.kwargs) -> Answer:
        timeout: Any = fields.pop("timeout", None)
        handle = await asyncio.to_thread(send, self._client, *args, **fields)
        return await self.answer(handle.id, timeout)

    update_wrapper(run, verb)
    return run


class AsyncHandle:
    """A board that was sent: await its answer when you like."""

    def __init__(self, client: AsyncClient, handle: Any) -> None:
        """Belong to the client that sent the board."""
        self._client = client
        self.id: str = handle.id

    async def ready(self) -> bool:
        """Whether ``answer`` would return (or raise ``GaveUp``) at once."""
        return await self._client.ready(self.id)

    async def answer(self, timeout: float | None = None) -> Answer:  # noqa: ASYNC109  the same word as in Client
        """Wait for the answer: see ``AsyncClient.answer``."""
        return await self._client.answer(self.id, timeout)


class AsyncJob:
    """A job: see ``taquin.client.Job``."""

    def __init__(self, client: AsyncClient, job: Job) -> None:
        """Belong to the client that submitted or found it."""
        self._client = client
        self._job = job
        self.id = job.id

    async def progress(self) -> Progress:
        """Say how far it is."""
        return await asyncio.to_thread(self._job.progress)

    async def wait(self, timeout: float | None = None) -> Progress:  # noqa: ASYNC109
        """Wait until it is complete or cancelled; raises ``TimedOut`` if it is not in time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        async with self._client.expect(self.id, "watch_job") as told:
            while True:
                told.clear()
                progress = await self.progress()
                if progress.finished:
                    return progress
                await _sleep(told, pause(deadline, partial(still_at_work, self.id, timeout, progress)))

    async def results(self, timeout: float | None = None) -> AsyncIterator[Chunk]:  # noqa: ASYNC109
        """Iterate over the answers in order, each chunk as soon as it is there: see ``taquin.client.Job.results``."""
        k = start = 0
        async with self._client.expect(self.id, "watch_job") as told:
            while True:
                deadline = None if timeout is None else time.monotonic() + timeout
                told.clear()
                while (chunk := await asyncio.to_thread(self._job.chunk, k, start)) is None:
                    too_late = partial(still_at_work, self.id, timeout, await self.progress())
                    await _sleep(told, pause(deadline, too_late))
                    told.clear()
                if chunk == "end":
                    return
                if not isinstance(chunk, str):
                    start += len(chunk)
                    yield chunk
                k += 1

    async def cancel(self) -> None:
        """Drop what is not done yet."""
        await asyncio.to_thread(self._job.cancel)


class AsyncClient:
    """The verbs of ``taquin.Client``, to be awaited. Use one for each event loop, and keep it.

    Args:
        url: of Redis; ``TAQUIN_REDIS_URL`` where it is left out.
        timeout: seconds that a verb waits for its answer unless it is told otherwise.
        settings: everything else that can be set.
    """

    validate = _answered(Client.validate, Client.send_validate)
    repair = _answered(Client.repair, Client.send_repair)
    send_validate = _handled(Client.send_validate, AsyncHandle)
    send_repair = _handled(Client.send_repair, AsyncHandle)
    ready = _in_thread(Client.ready)
    submit = _handled(Client.submit, AsyncJob)
    generate = _handled(Client.generate, AsyncJob)
    job = _handled(Client.job, AsyncJob)
    claim = _in_thread(Client.claim)
    take = _in_thread(Client.take)
    confirm = _in_thread(Client.confirm)
    release = _in_thread(Client.release)
    pools = _in_thread(Client.pools)
    keep_pool = _in_thread(Client.keep_pool)

    def __init__(self, url: str | None = None, *, timeout: float = 10.0, settings: Settings | None = None) -> None:
        """Open nothing yet."""
        self._client = Client(url, timeout=timeout, settings=settings)
        self._settings = self._client.settings
        self._redis = connect_async(self._settings)
        self._script = self._redis.register_script(SCRIPT)
        self._inbox = AsyncInbox(self._redis, self._settings)
        self.timeout = timeout

    async def answer(self, id: str, timeout: float | None = None) -> Answer:  # noqa: ASYNC109
        """Wait for the answer to the request of this id: see ``Client.answer``."""
        timeout = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        async with self.expect(id, "watch") as told:
            while True:
                told.clear()
                with reporting(self._settings):
                    fields: Any = await self._redis.hgetall(f"{self._settings.key_prefix}work:{id}")
                answer = answer_of(parse_record(id, fields))
                if answer is not None:
                    return answer
                await _sleep(told, pause(deadline, lambda: no_answer(id, timeout)))

    async def jobs(self) -> list[tuple[AsyncJob, Progress]]:
        """List the jobs that have not expired, the newest first, each with how far it is."""
        listed = await asyncio.to_thread(lambda: list(self._client.jobs()))
        return [(AsyncJob(self, job), progress) for job, progress in listed]

    async def events(
        self,
        group: str,
        consumer: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        min_idle: float | None = MIN_IDLE,
    ) -> AsyncIterator[Event]:
        """Iterate over what happened: see ``Client.events``."""
        stream, position = stream_of(self._settings), Position(timeout, self._settings, min_idle=min_idle)
        with reporting(self._settings), suppress_known_group():
            await self._redis.xgroup_create(stream, group, id="0", mkstream=True)
        while not position.over():
            with reporting(self._settings):
                if idle := position.min_idle():
                    position.took_over(
                        await self._redis.xautoclaim(stream, group, consumer, idle, count=IN_HAND, justid=True)
                    )
                reply = await self._redis.xreadgroup(
                    group, consumer, {stream: position.at}, count=IN_HAND, block=position.block
                )
            events = parse_events(reply)
            for event in events:
                yield event
                with reporting(self._settings):
                    await self._redis.xack(stream, group, event.id)
            position.advance(events)

    async def look(self, *, timeout: float | None = None) -> AsyncIterator[Event]:  # noqa: ASYNC109
        """Iterate over the same events without a group: see ``Client.look``."""
        position, last = Position(timeout, self._settings, at=">"), "0"
        while not position.over():
            with reporting(self._settings):
                reply = await self._redis.xread({stream_of(self._settings): last}, count=BATCH, block=position.block)
            events = parse_events(reply)
            for event in events:
                yield event
            last = events[-1].id if events else last
            position.advance(events)

    @asynccontextmanager
    async def expect(self, id: str, verb: str) -> AsyncIterator[asyncio.Event]:
        """Within this context the event is set whenever ``id`` may be settled; for the classes of this module."""
        async with self._inbox.expect(id) as told:
            with reporting(self._settings):
                keys, arguments = call_of(self._settings, verb, (id, self._inbox.channel))
                state = await self._script(keys=keys, args=arguments)
            if state == b"gone":
                what = "work" if verb == "watch" else "job"
                raise Unknown(f"there is no {what} {id}: it was never submitted, or it has expired")
            yield told

    async def close(self) -> None:
        """Close every connection; what was sent goes on."""
        await self._inbox.close()
        await self._redis.aclose()
        await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()


class AsyncInbox:
    """``taquin.client.inbox.Inbox`` in an event loop: one subscription and one task for all waits."""

    def __init__(self, redis: Redis, settings: Settings) -> None:
        """Open nothing yet."""
        self._redis = redis
        self._settings = settings
        self.channel = f"{settings.key_prefix}told:{uuid4().hex}"
        self._waits: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @asynccontextmanager
    async def expect(self, id: str) -> AsyncIterator[asyncio.Event]:
        """Within this context the event is set whenever ``id`` may be settled."""
        async with self._starting:
            if self._listener is None:
                await self._listen()
        told = asyncio.Event()
        self._waits[id].add(told)
        try:
            yield told
        finally:
            self._waits[id].discard(told)
            if not self._waits[id]:
                del self._waits[id]

    async def close(self) -> None:
        """End the task and the subscription."""
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
            self._listener = None

    async def _listen(self) -> None:
        pubsub = self._redis.pubsub()
        with reporting(self._settings):
            await pubsub.subscribe(self.channel)
            await pubsub.get_message(timeout=self._settings.redis_timeout)
        self._listener = asyncio.create_task(self._run(pubsub), name="taquin-inbox")

    async def _run(self, pubsub: Any) -> None:
        try:
            while True:
                try:
                    message = await pubsub.get_message(timeout=LOOK_UP)
                except (RedisError, OSError):
                    await asyncio.sleep(PAUSE)
                    continue
                if message is None:
                    continue
                # A confirmation of the subscription means that the connection was new: words may have been missed.
                id = None if message["type"] == "subscribe" else message["data"].decode(errors="replace")
                for told in [told for name, group in self._waits.items() if id in (None, name) for told in group]:
                    told.set()
        finally:
            await pubsub.aclose()


async def _sleep(told: asyncio.Event, seconds: float) -> None:
    # Not wait_for: on Python 3.11 that loses a cancellation that comes together with the word.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await told.wait()
