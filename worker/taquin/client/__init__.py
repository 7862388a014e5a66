"""What app backends import: ``Client``, for single boards, for jobs of millions, and for pools of ready ones."""

from __future__ import annotations

from taquin.client.boards import BoardVerbs, Handle
from taquin.client.bulk import JobVerbs
from taquin.client.events import Event
from taquin.client.job import Chunk, Job, Progress
from taquin.client.ready import PoolVerbs

__all__ = ["Chunk", "Client", "Event", "Handle", "Job", "Progress"]


class Client(BoardVerbs, JobVerbs, PoolVerbs):
    """Sends boards to the workers and reads their answers. One client serves many threads; make one and keep it.

    Args:
        url: of Redis, for instance ``redis://127.0.0.1:6379/0``; ``TAQUIN_REDIS_URL`` where it is left out.
        timeout: seconds that a verb waits for its answer unless it is told otherwise.
        settings: everything else that can be set; read from the environment where it is left out.

    Every verb raises ``Unavailable`` when Redis does not answer, and ``Busy`` when it takes no more work.
    """
