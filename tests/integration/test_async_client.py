"""The same verbs under a running event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading

import numpy as np
import pytest

from taquin import AsyncClient, Client, TimedOut, Unknown

UNSOLVABLE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]
SOLVABLE = [[5, 1, 3, 4], [2, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 0]]


@pytest.fixture
def run(live_redis, live_worker):
    """Run a coroutine function with an AsyncClient in an event loop of its own."""
    del live_worker

    def run(scenario):
        async def scene():
            async with AsyncClient(live_redis.url, timeout=30.0) as client:
                return await scenario(client)

        return asyncio.run(scene())

    return run


def test_it_has_the_verbs_of_the_client():
    verbs = {name for name, value in inspect.getmembers(Client, callable) if not name.startswith("_")}
    assert verbs - {"send"} <= set(dir(AsyncClient))
    for name in ("validate", "repair", "submit", "claim"):
        assert inspect.signature(getattr(AsyncClient, name)) == inspect.signature(getattr(Client, name))
        assert getattr(AsyncClient, name).__doc__ == getattr(Client, name).__doc__


def test_boards_are_answered(run):
    async def scenario(client):
        assert (await client.validate(SOLVABLE)).status == "solvable"
        answer = await client.repair(UNSOLVABLE, swap=(1, 2))
        assert set(answer.swap.tiles) == {1, 2}
        handle = await client.send_repair(UNSOLVABLE)
        answer = await handle.answer()
        assert await handle.ready()
        assert await client.answer(handle.id) == answer

    run(scenario)


def test_hundreds_of_waits_at_once_cost_one_subscription_and_few_threads(run, live_redis):
    from redis import Redis

    async def scenario(client):
        answers = await asyncio.gather(*(client.validate(board) for board in [SOLVABLE, UNSOLVABLE] * 150))
        assert [answer.status for answer in answers] == ["solvable", "unsolvable"] * 150
        with Redis.from_url(live_redis.url, decode_responses=True) as redis:
            assert redis.pubsub_numsub(client._inbox.channel) == [(client._inbox.channel, 1)]
        assert not client._inbox._waits
        return threading.active_count()

    assert run(scenario) < 60


def test_a_wait_does_not_hold_the_loop_up(fresh_redis):
    async def scenario():
        async with AsyncClient(fresh_redis.url) as client:
            handle = await client.send_validate(SOLVABLE)
            waiting = asyncio.create_task(handle.answer(timeout=0.5))
            turns = 0
            while not waiting.done():
                await asyncio.sleep(0.01)
                turns += 1
            with pytest.raises(TimedOut, match=handle.id):
                await waiting
            return turns

    assert asyncio.run(scenario()) > 10


def test_a_cancelled_wait_leaves_nothing(fresh_redis):
    async def scenario():
        async with AsyncClient(fresh_redis.url) as client:
            handle = await client.send_validate(SOLVABLE)
            waiting = asyncio.create_task(handle.answer(timeout=30))
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert not client._inbox._waits

    asyncio.run(scenario())


def test_jobs(run):
    boards = np.array([SOLVABLE, UNSOLVABLE] * 500, np.uint8)

    async def scenario(client):
        job = await client.submit(boards, kind="repair", chunk=100)
        progress = await job.wait(30)
        assert (progress.solvable, progress.repaired, progress.done) == (500, 500, 1000)
        chunks = [chunk async for chunk in job.results(30)]
        assert [chunk.start for chunk in chunks] == list(range(0, 1000, 100))
        assert (np.concatenate([chunk.statuses for chunk in chunks]) == [0, 2] * 500).all()
        assert job.id in [listed.id for listed, _ in await client.jobs()]
        again = await client.job(job.id)
        assert (await again.progress()).state == "complete"

    run(scenario)


def test_waits_for_a_job_have_no_end_unless_they_are_given_one(fresh_redis):
    async def scenario():
        async with AsyncClient(fresh_redis.url) as client:
            job = await client.submit([UNSOLVABLE] * 10, kind="repair")
            for waiting in (job.wait(), anext(job.results())):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(waiting, 0.3)
            with pytest.raises(TimedOut, match=r"0 of 10 boards done after 0\.1 s"):
                await job.wait(0.1)
            with pytest.raises(TimedOut, match=r"0 of 10 boards done after 0\.1 s"):
                await anext(job.results(0.1))

    asyncio.run(scenario())


def test_pools_and_events(run):
    async def scenario(client):
        job = await client.generate("5x3", 20, band="medium", seed=5, to_pool=True)
        assert (await job.wait(30)).pooled == 20
        ready = await client.claim("5x3", band="medium")
        await client.release(ready)
        assert (await client.take("5x3", band="medium")).band == "medium"
        assert [pool.ready for pool in await client.pools() if pool.name == "5x3:medium"] == [19]
        seen = [event async for event in client.events("async-test", "one", timeout=0.2)]
        assert job.id in [event.fields.get("job") for event in seen if event.name == "job.completed"]
        assert [event async for event in client.events("async-test", "one", timeout=0.2)] == []
        assert {event.id for event in seen} <= {event.id async for event in client.look(timeout=0.2)}

    run(scenario)


def test_unknown_ids(run):
    async def scenario(client):
        for verb in (client.answer, client.ready, client.job):
            with pytest.raises(Unknown, match="never"):
                await verb("never")

    run(scenario)
