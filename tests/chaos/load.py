"""What apps ask for while things break: many clients, each sending boards and noting what it was told."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any

from taquin import Busy, Client, Unavailable
from tests.chaos.history import Asked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from taquin import Settings
    from tests.chaos.history import History, Outcome

IN_FLIGHT = 50
"""Units that are on the way at the same time at most, so that a probe stands in no long line."""
RETRIES = 200
"""How often a client asks again, with the same id, when it was told neither yes nor no; some never do."""


class Load:
    """Threads that send ``units`` boards through clients of their own, and go on until they are told to stop."""

    def __init__(
        self,
        settings: Settings,
        history: History,
        seed: int,
        units: int,
        *,
        threads: int = 2,
        pace: float = 0.0,
        special: Iterable[str] = (),
        every: int = 10,
    ) -> None:
        """Start nothing yet.

        Args:
            settings: of the clients.
            history: what is sent and told goes there.
            seed: of the boards.
            units: how many are sent at least.
            threads: how many clients send at the same time.
            pace: seconds that each of them pauses after each unit.
            special: first words of the ids of units that do harm.
            every: one of so many units is a special one, until there are none left.
        """
        self._settings, self._history, self._units, self._pace = settings, history, units, pace
        self._special, self._every = list(special), every
        self._seed = seed
        self._enough = threading.Event()
        self._threads = [
            threading.Thread(target=self._send, args=(number, units // threads), daemon=True)
            for number in range(threads)
        ]
        self.faults: list[BaseException] = []

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def finish(self, patience: float = 1_800.0) -> None:
        """Let the threads end once they have sent what they must."""
        self._enough.set()
        for thread in self._threads:
            thread.join(patience)
            assert not thread.is_alive(), "a client hangs"
        if self.faults:
            raise self.faults[0]

    def _send(self, number: int, most: int) -> None:
        rng = random.Random(f"{self._seed}/{number}")
        sent = 0
        try:
            with Client(settings=self._settings) as client:
                while sent < most or not self._enough.is_set():
                    word = self._special.pop() if self._special and sent % self._every == 0 else "plain"
                    self._ask(client, rng, f"{word}-{number}-{sent}")
                    sent += 1
                    time.sleep(self._pace)
                    while self._history.in_flight > IN_FLIGHT:
                        time.sleep(0.01)
        except BaseException as fault:  # noqa: BLE001  the run's main thread raises it
            self.faults.append(fault)

    def _ask(self, client: Client, rng: random.Random, id: str) -> None:
        kind = rng.choice(("validate", "repair"))
        request = {"board": random_board(rng)}
        patient = rng.random() < 0.95
        self._history.note(Asked(id, kind, request, ask(self._history, client, id, kind, request, patient=patient)))


def ask(history: History, client: Client, id: str, kind: Any, request: Any, *, patient: bool = True) -> Outcome:
    """Send one request, again with the same id while it is unknown whether it was taken."""
    for _ in range(RETRIES if patient else 1):
        try:
            client.send(kind, request, id=id)
        except Busy:
            history.calls["Busy"] += 1
            if not patient:
                return "refused"
            time.sleep(0.2)
        except Unavailable:
            history.calls["Unavailable"] += 1
            time.sleep(0.05)
        else:
            return "acknowledged"
    return "unknown"


def random_board(rng: random.Random) -> list[list[int]]:
    """Return any arrangement of a board of 3x3 or 4x4."""
    side = rng.choice((3, 4))
    tiles = rng.sample(range(side * side), side * side)
    return [tiles[row * side : (row + 1) * side] for row in range(side)]
