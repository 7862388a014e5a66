"""Ready boards: claim one for a player, keep the pools full, and hear what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from taquin.client.bulk import generate_request
from taquin.client.core import Core
from taquin.client.events import MIN_IDLE, look_at_events, read_events
from taquin.client.requests import Board, ShapeLike, known_goal, shape_of
from taquin.errors import BadInput
from taquin.messages import pool_name
from taquin.puzzle.bands import BANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from taquin.client.events import Event
    from taquin.pools import PoolCount, ReadyBoard
    from taquin.puzzle.bands import Band

HIGH_MOST: Final = 1_000_000
"""The highest high mark: a refill is written down at one go, during which Redis serves nobody else."""
TAKE_LEASE: Final = 30.0
"""Seconds after which a board comes back whose taking broke off in the middle."""


class PoolVerbs(Core):
    """The verbs for pools and events."""

    def claim(
        self, shape: ShapeLike, *, band: str, lease: float = 60.0, goal: Board = "blank-last"
    ) -> ReadyBoard | None:
        """Hand out one ready board for ``lease`` seconds; None if the pool is empty.

        ``confirm`` makes it the player's, ``release`` returns it, and it returns by itself when the lease is over.
        Two claims never get the same board.

        Args:
            shape: of the board, as ``"4x4"`` or ``(4, 4)``.
            band: ``easy``, ``medium``, ``hard`` or ``expert``.
            lease: seconds.
            goal: of the board.

        Raises:
            BadInput: there is no such shape, band or goal.
        """
        if not 0 < lease <= 30 * 86_400:
            raise BadInput(f"a lease takes more than 0 seconds and at most 30 days, not {lease!r}")
        return self._pools.claim(_pool(shape, band, goal), lease)

    def take(self, shape: ShapeLike, *, band: str, goal: Board = "blank-last") -> ReadyBoard | None:
        """Hand out one ready board for good; None if the pool is empty."""
        ready = self.claim(shape, band=band, lease=TAKE_LEASE, goal=goal)
        if ready is not None:
            self.confirm(ready)
        return ready

    def confirm(self, claim: ReadyBoard | str) -> None:
        """End a lease for good: the board is the player's.

        Raises:
            Unknown: the lease is over, and the board may be another player's by now.
        """
        self._pools.confirm(claim if isinstance(claim, str) else claim.claim)

    def release(self, claim: ReadyBoard | str) -> None:
        """Return a board to its pool.

        Raises:
            Unknown: the lease is over, and the board has returned by itself.
        """
        self._pools.release(claim if isinstance(claim, str) else claim.claim)

    def pools(self) -> list[PoolCount]:
        """Count all pools."""
        return self._pools.counts()

    def keep_pool(
        self, shape: ShapeLike, *, band: str, low: int, high: int, refill: bool = False, goal: Board = "blank-last"
    ) -> None:
        """Set the water marks of a pool.

        When a claim finds fewer than ``low`` boards left, the event ``pool.low`` is written, once until the pool is
        full again; with ``refill`` one job, never two at once, tops it up to ``high``.

        Args:
            shape: see ``claim``.
            band: see ``claim``.
            low: boards.
            high: boards.
            refill: whether the workers top it up by themselves.
            goal: see ``claim``.

        Raises:
            BadInput: the marks are no whole numbers with 0 <= low <= high, or no board of the shape is in the band.
        """
        if not (isinstance(low, int) and isinstance(high, int) and 0 <= low <= high <= HIGH_MOST):
            raise BadInput(
                f"water marks are whole numbers with 0 <= low <= high <= {HIGH_MOST:,}, not {low!r} and {high!r}"
            )
        pool = _pool(shape, band, goal)
        request = b""
        if refill:
            known = shape_of(shape)
            asked = generate_request(known, known_goal(goal, known), method="shuffle", band=_known_band(band))
            # Without a seed each refill draws from its own: the same boards again would fill nothing.
            request = asked.model_copy(update={"seed": None}).model_dump_json().encode()
        self._pools.set_marks(pool, low, high, request)

    def events(
        self, group: str, consumer: str, *, timeout: float | None = None, min_idle: float | None = MIN_IDLE
    ) -> Iterator[Event]:
        """Iterate over what happened: ``job.completed``, ``job.cancelled``, ``pool.low``, ``task.dead``.

        Each event reaches one consumer of each group, the oldest that is kept first; a backend that was away picks up
        where it left off. An event is acknowledged when the next one is asked for.

        Args:
            group: who listens, such as the name of the app.
            consumer: which of its processes.
            timeout: seconds without an event after which the iteration ends; None goes on for ever.
            min_idle: seconds after which an event that another consumer of the group has been given and has not
                acknowledged is taken over, since that process may be gone for good; longer than ten events take to be
                handled. None never does.

        Raises:
            BadInput: ``min_idle`` is not above 0.
        """
        return read_events(self._redis, self.settings, group, consumer, timeout, min_idle)

    def look(self, *, timeout: float | None = None) -> Iterator[Event]:
        """Iterate over the same events without a group, from the oldest that is kept: nothing is acknowledged.

        Args:
            timeout: see ``events``.
        """
        return look_at_events(self._redis, self.settings, timeout)


def _pool(shape: ShapeLike, band: str, goal: Any) -> str:
    known = shape_of(shape)
    return pool_name(known.rows, known.cols, _known_band(band), known_goal(goal, known))


def _known_band(band: str) -> Band:
    for known in BANDS:
        if band == known:
            return known
    raise BadInput(f"there is no band {str(band)[:50]!r}; the bands are {', '.join(BANDS)}")
