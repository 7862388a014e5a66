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
    from taquin.client import Client, Handle
    from taquin.messages import Answer, Request
    from taquin.settings import Settings

_LAZY = {
    "Answer": "taquin.messages",
    "Client": "taquin.client",
    "Handle": "taquin.client",
    "Request": "taquin.messages",
    "Settings": "taquin.settings",
}

__all__ = [
    "Answer",
    "BadBoard",
    "BadGoal",
    "BadInput",
    "BadSettings",
    "BadShape",
    "Busy",
    "Client",
    "Conflict",
    "GaveUp",
    "Handle",
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
