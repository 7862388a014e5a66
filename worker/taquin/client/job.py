"""A job from the app's side: how far it is, its results, the end of it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from taquin.client.core import pause
from taquin.errors import TimedOut, Unknown
from taquin.messages import JobRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from taquin.client.inbox import Inbox
    from taquin.jobs import JobRecord, Jobs, JobState

DEAD: Final = 3
"""The status of every board of a chunk that is a dead letter (``taquin.puzzle.packed`` has the others)."""
CANCELLED: Final = 4
"""The status of every board of a chunk that its job, being cancelled, did not come to."""
STATUSES: Final = ("solvable", "unsolvable", "repaired", "dead", "cancelled")
"""Their names, by number; 128 and more is ``invalid``."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; counts are boards. When ``state`` is complete, the five outcomes add up to ``boards``."""

    state: JobState
    boards: int
    done: int
    solvable: int
    unsolvable: int
    repaired: int
    invalid: int
    dead: int
    pooled: int
    rate: float
    """Boards a second since the job began."""
    time_left: float | None
    """Seconds until it is complete at that rate; None where nothing is known of it."""

    @property
    def finished(self) -> bool:
        """Whether it is complete or was cancelled."""
        return self.state in ("complete", "cancelled")


class Chunk:
    """The answers to one chunk, as arrays."""

    def __init__(
        self, k: int, start: int, statuses: NDArray[np.uint8], boards: NDArray[Any] | None, notes: Any
    ) -> None:
        """Hold what was unpacked."""
        self.k = k
        """Its number, from 0."""
        self.start = start
        """The index of its first board in the job."""
        self.statuses = statuses
        """(n,) ``uint8``: 0 solvable, 1 unsolvable, 2 repaired, 3 dead, 4 cancelled, 128 and more invalid."""
        self.boards = boards
        """(n, cells): the boards to serve, all 0 where it is neither solvable nor repaired; None if the job has none
        to give, since it only validates or fills a pool."""
        self._notes = notes

    def __len__(self) -> int:
        """How many boards it holds."""
        return len(self.statuses)

    def status(self, index: int) -> str:
        """The status of one board by name: that of an answer, or ``dead``, or ``cancelled``."""
        code = int(self.statuses[index])
        return STATUSES[code] if code < len(STATUSES) else "invalid"

    def problems(self, index: int) -> tuple[str, ...]:
        """The names of what is wrong with one board."""
        from taquin.puzzle.problem import problem_names  # noqa: PLC0415  numbers are needed only now

        noted = self._notes.get(str(index))
        if noted is not None:
            return tuple(noted)
        code = int(self.statuses[index])
        return problem_names(code & 127) if code & 128 else ()


class Job:
    """Many boards that were submitted as one. Ask ``client.job(id)`` for it again, from wherever."""

    def __init__(self, id: str, jobs: Jobs, inbox: Inbox) -> None:
        """Belong to the client that submitted or found it."""
        self.id = id
        self._jobs = jobs
        self._inbox = inbox

    def __repr__(self) -> str:
        """Show the id."""
        return f"Job({self.id!r})"

    def progress(self) -> Progress:
        """Say how far it is.

        Raises:
            Unknown: the job has expired.
        """
        return progress_of(self._jobs.read(self.id), self._jobs.now())

    def wait(self, timeout: float | None = None) -> Progress:
        """Wait until it is complete or cancelled.

        Args:
            timeout: seconds; None waits as long as it takes.

        Raises:
            TimedOut: it is not; the work goes on.
            Unknown: the job has expired.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._inbox.expect(self.id) as told:
            self._jobs.watch(self.id, self._inbox.channel)
            while True:
                told.clear()
                progress = self.progress()
                if progress.finished:
                    return progress
                told.wait(pause(deadline, lambda p=progress: still_at_work(self.id, timeout, p)))  # type: ignore[misc]

    def results(self, timeout: float | None = None) -> Iterator[Chunk]:
        """Iterate over the answers, chunk by chunk in the order of submission, each as soon as it is there.

        Every board has its place: a chunk that is a dead letter, or that a cancelled job did not come to, has the
        status ``dead`` or ``cancelled`` for each of its boards.

        Args:
            timeout: seconds to wait for each chunk; None waits as long as it takes.

        Raises:
            TimedOut: the next chunk is not there; the work goes on.
            Unknown: the job has expired.
        """
        k = start = 0
        with self._inbox.expect(self.id) as told:
            self._jobs.watch(self.id, self._inbox.channel)
            while True:
                deadline = None if timeout is None else time.monotonic() + timeout
                told.clear()
                while (chunk := self.chunk(k, start)) is None:
                    told.wait(pause(deadline, lambda: still_at_work(self.id, timeout, self.progress())))
                    told.clear()
                if chunk == "end":
                    return
                yield chunk
                k, start = k + 1, start + len(chunk)

    def cancel(self) -> None:
        """Drop what is not done yet; what is done stays readable until it expires.

        Raises:
            Conflict: it is complete.
            Unknown: the job has expired.
        """
        self._jobs.cancel(self.id)

    @cached_property
    def request(self) -> JobRequest:
        """What was asked."""
        return JobRequest.model_validate_json(self._jobs.read(self.id).request)

    @cached_property
    def _reader(self) -> ChunkReader:
        return ChunkReader(self.request)

    def chunk(self, k: int, start: int) -> Chunk | Literal["end"] | None:
        """Return the answers to chunk ``k``, whose first board is number ``start``, without waiting.

        Returns:
            None if they are still to come, ``end`` behind the last chunk.

        Raises:
            Unknown: the job has expired, or a part of it is gone.
        """
        record = self._jobs.read_chunk(self.id, k)
        if record.answer is not None:
            return self._reader.read(k, start, record.answer, record.notes)
        if record.boards is None:
            if record.job == "open":
                return None
            if k < self._jobs.read(self.id).chunks:
                raise Unknown(f"chunk {k} of job {self.id} is gone: keys were deleted or evicted; submit it again")
            return "end"
        if record.state == "dead" or (record.state is None and record.job != "cancelled"):
            return self._reader.without(k, start, record.boards, DEAD)
        return None if record.state else self._reader.without(k, start, record.boards, CANCELLED)


class ChunkReader:
    """Unpacks the answers of one job."""

    def __init__(self, request: JobRequest) -> None:
        """Know what was asked."""
        from taquin.puzzle.packed import packed_size  # noqa: PLC0415  results are arrays: NumPy is needed now

        self._request = request
        self._cells = request.rows * request.cols
        with_boards = request.kind == "repair" or (request.kind == "generate" and not request.pool)
        self._bytes = 1 + (packed_size(self._cells, request.form) if with_boards else 0)

    def read(self, k: int, start: int, answer: bytes, notes: bytes | None) -> Chunk:
        """Unpack one answer: a status byte a board, then the boards where there are any."""
        import numpy as np  # noqa: PLC0415

        from taquin.puzzle.packed import unpack  # noqa: PLC0415

        boards = len(answer) // self._bytes
        statuses = np.frombuffer(answer, np.uint8, boards)
        served = unpack(memoryview(answer)[boards:], self._cells, self._request.form) if self._bytes > 1 else None
        return Chunk(k, start, statuses, served, json.loads(notes) if notes else {})

    def without(self, k: int, start: int, boards: int, status: int) -> Chunk:
        """Return a chunk that has no answer, and will have none."""
        import numpy as np  # noqa: PLC0415

        return Chunk(k, start, np.full(boards, status, np.uint8), None, {})


def progress_of(record: JobRecord, now: float) -> Progress:
    """Return what a record says of the progress at the time ``now`` of Redis's clock."""
    elapsed = max((record.finished or now) - record.created, 1e-3)
    rate = record.done / elapsed
    known = record.state == "sealed" and rate > 0
    return Progress(
        state=record.state,
        boards=record.boards,
        done=record.done,
        solvable=record.solvable,
        unsolvable=record.unsolvable,
        repaired=record.repaired,
        invalid=record.invalid,
        dead=record.dead,
        pooled=record.pooled,
        rate=rate,
        time_left=(record.boards - record.done) / rate if known else (0.0 if record.finished else None),
    )


def still_at_work(job: str, timeout: float | None, progress: Progress) -> TimedOut:
    """Say that a job needs more time."""
    return TimedOut(
        f"job {job} is {progress.state} with {progress.done:,} of {progress.boards:,} boards done after {timeout:g} s: "
        f"is a worker running on the queue bulk? The work goes on: look again by `taquin job {job}`, in Python by "
        f"client.job({job!r})"
    )
