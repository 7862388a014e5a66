"""Taquin: the worker behind a sliding-puzzle app.

The names below are the public ones; anything else may change without notice. Importing this package
opens no socket, reads no environment, and imports neither Celery nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from taquin.errors import (
    BadBoard,
    BadGoal,
    BadInput,
    BadSettings,
    BadShape,
    Busy,
    Conflict,
    GaveUp,
    StartFailed,
    TaquinError,
    TimedOut,
    Unavailable,
    Unknown,
)
from taquin.version import __version__

if TYPE_CHECKING:
    from taquin.client import Chunk, Client, Event, Handle, Job, Progress
    from taquin.client.aio import AsyncClient
    from taquin.messages import Answer, Request
    from taquin.pools import PoolCount, ReadyBoard
    from taquin.settings import Settings

_LAZY = {
    "Answer": "taquin.messages",
    "AsyncClient": "taquin.client.aio",
    "Chunk": "taquin.client",
    "Client": "taquin.client",
    "Event": "taquin.client",
    "Handle": "taquin.client",
    "Job": "taquin.client",
    "PoolCount": "taquin.pools",
    "Progress": "taquin.client",
    "ReadyBoard": "taquin.pools",
    "Request": "taquin.messages",
    "Settings": "taquin.settings",
}

__all__ = [
    "Answer",
    "AsyncClient",
    "BadBoard",
    "BadGoal",
    "BadInput",
    "BadSettings",
    "BadShape",
    "Busy",
    "Chunk",
    "Client",
    "Conflict",
    "Event",
    "GaveUp",
    "Handle",
    "Job",
    "PoolCount",
    "Progress",
    "ReadyBoard",
    "Request",
    "Settings",
    "StartFailed",
    "TaquinError",
    "TimedOut",
    "Unavailable",
    "Unknown",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
