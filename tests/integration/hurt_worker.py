"""A worker whose work does harm: ``taquin`` with one function replaced.

HURT says what happens on a 3x3 board (other work goes on as usual); each time it leaves a file in HURT_FOLDER.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

from taquin import cli, service

honest = service.work


def harmful(kind, payload, **limits):
    folder, fault = Path(os.environ["HURT_FOLDER"]), os.environ["HURT"]
    if b"[[1,2,3]" not in payload:
        return honest(kind, payload, **limits)
    first = not any(folder.iterdir())
    tempfile.mkstemp(dir=folder)
    if fault == "kill" or (fault == "kill-once" and first):
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "hang":
        time.sleep(3600)
    elif fault == "memory":
        raise MemoryError("on purpose")
    elif fault == "raise":
        raise RuntimeError("on purpose")
    return honest(kind, payload, **limits)


service.work = harmful
cli.main()
