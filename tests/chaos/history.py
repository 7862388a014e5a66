"""What clients asked and what they were told: kept in this process and its files, never in the Redis under test."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

Outcome = Literal["acknowledged", "refused", "unknown"]
"""``unknown``: the call failed, so the work may have been written down or not, and nobody asked again."""


@dataclass
class Asked:
    """One unit of work as its client knows it."""

    id: str
    kind: str
    request: Any
    outcome: Outcome
    seen: bytes | None = None
    """The first answer that was read."""


@dataclass
class History:
    """Everything that one run must account for."""

    runs_file: Path
    """Workers append a line for each attempt: the id of the unit, and the process."""
    asked: dict[str, Asked] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    """Ids whose answer was read twice and was not the same."""
    calls: Counter[str] = field(default_factory=Counter)
    """What the calls of clients came to, by name."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    in_flight: int = 0
    """Requests that were acknowledged and whose answers nobody has seen yet."""

    def note(self, asked: Asked) -> None:
        """Note what a client was told of its request."""
        with self.lock:
            self.asked[asked.id] = asked
            self.calls[asked.outcome] += 1
            self.in_flight += asked.outcome == "acknowledged"

    def see(self, id: str, answer: bytes) -> None:
        """Note an answer; a second one must be the same to the byte."""
        asked = self.asked[id]
        if asked.seen is None:
            asked.seen = answer
            with self.lock:
                self.in_flight -= asked.outcome == "acknowledged"
        elif asked.seen != answer:
            self.changed.append(id)

    def runs(self) -> Counter[str]:
        """How often each unit was worked on."""
        if not self.runs_file.exists():
            return Counter()
        return Counter(line.split()[0] for line in self.runs_file.read_text().splitlines() if line)
