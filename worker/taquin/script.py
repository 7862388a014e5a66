"""One Lua script for everything that must happen whole or not at all, and the calling of it.

The verbs stand in ``ledger.lua``, ``jobs.lua`` and ``pools.lua``, each beside its Python and with its keys at the top;
joined, they can use each other, and Redis holds one script.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from taquin.address import place
from taquin.connection import reporting
from taquin.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis import Redis

    from taquin.settings import Settings

PARTS: Final = ("ledger.lua", "jobs.lua", "pools.lua")
DISPATCH: Final = "return verbs[ARGV[3]](unpack(ARGV, 4))\n"
SCRIPT: Final = "\n".join([*(files("taquin").joinpath(part).read_text(encoding="utf-8") for part in PARTS), DISPATCH])


class Script:
    """The script on one Redis. Threads may share it; every verb may be repeated after a lost reply."""

    def __init__(self, redis: Redis, settings: Settings) -> None:
        """Open nothing yet."""
        self.redis = redis
        self.settings = settings
        self.prefix = settings.key_prefix
        self._script = redis.register_script(SCRIPT)

    def __call__(self, verb: str, *arguments: str | bytes | float) -> Any:
        """Call one verb; replies are bytes.

        Raises:
            Unavailable: Redis does not answer.
            Busy: Redis is full.
        """
        with reporting(self.settings):
            keys, values = call_of(self.settings, verb, arguments)
            return self._script(keys=keys, args=values)


def call_of(settings: Settings, verb: str, arguments: Sequence[str | bytes | float]) -> tuple[list[str], list[Any]]:
    """Return the keys and arguments with which the script is called."""
    prefix = settings.key_prefix
    keys = [prefix + name for name in ("due", "dead", "queues")]
    return keys, [prefix, settings.keep_events, verb, *arguments]


def refuse_overload(reply: bytes, settings: Settings) -> None:
    """Raise what a verb that takes new work in says of too much of it.

    Raises:
        Busy: nothing was written.
    """
    if reply == b"busy":
        raise Busy(
            f"{settings.max_waiting:,} units of work are waiting already: send again in some seconds, or add workers "
            f"(TAQUIN_MAX_WAITING sets the limit)"
        )
    if reply == b"full":
        raise Busy(
            f"Redis at {place(settings)} is nearly full and keeps the rest of its memory to finish what it has: send "
            f"again in some seconds, or raise its maxmemory (nothing was written)"
        )


def ms(seconds: float) -> int:
    """Seconds as the script counts them: whole milliseconds, at least one."""
    return max(1, round(seconds * 1000))
