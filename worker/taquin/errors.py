"""The errors that Taquin raises, one tree::

    TaquinError
    ├── BadInput (also a ValueError)      what was passed in is wrong: says what, where, and what to do
    │   ├── BadShape                      rows and columns
    │   ├── BadGoal                       the board to be reached
    │   ├── BadBoard                      a board, or one of many; ``problems`` names everything wrong
    │   └── BadSettings                   an environment variable or an argument of ``Settings``
    ├── Busy                              Redis or the queue is full; nothing was written; send again later
    ├── Conflict                          an id is already in use for another request
    ├── Unknown (also a LookupError)      no such work: never submitted, or expired
    ├── GaveUp                            the work is a dead letter; ``cause`` says why
    ├── TimedOut (also a TimeoutError)    no answer yet; the work goes on
    ├── Unavailable (also a ConnectionError)  Redis does not answer, or refuses
    └── StartFailed                       a process of the embedded stack did not start in time

Every message says what was wrong, where, and what to do about it. A bad board that arrives over the
queue raises none of these: it is answered with the status ``invalid``.
"""

from __future__ import annotations


class TaquinError(Exception):
    """The root: ``except TaquinError`` catches everything that Taquin raises on purpose."""


class BadInput(TaquinError, ValueError):
    """What was passed in is wrong."""


class BadShape(BadInput):
    """A shape that is not two positive whole numbers, or has too many cells."""


class BadGoal(BadInput):
    """A goal that is neither a known name nor a board of the right shape with one blank."""


class BadBoard(BadInput):
    """A board that is not an arrangement of the goal's tiles.

    ``problems`` holds the names of everything wrong with it (see ``taquin.puzzle.Problem``), and
    ``index`` the row of the batch in which it stands (None for a single board).
    """

    def __init__(self, message: str, problems: tuple[str, ...] = (), index: int | None = None) -> None:
        """Keep what is wrong and where beside the sentence about it."""
        super().__init__(message)
        self.problems = problems
        self.index = index


class BadSettings(BadInput):
    """A setting that is missing, of the wrong kind, or contradicts another."""


class Busy(TaquinError):
    """Redis or the queue is full; nothing was written, and the same request may be sent again later."""


class Conflict(TaquinError):
    """The id is already in use for another request."""


class Unknown(TaquinError, LookupError):
    """No such work: it was never submitted, or it has expired."""


class GaveUp(TaquinError):
    """The work failed at its last attempt and is kept as a dead letter."""

    def __init__(self, id: str, cause: str, error: str = "") -> None:
        """Name the dead letter and why it died."""
        super().__init__(f"{id} is a dead letter: {cause}" + (f" (last error: {error})" if error else ""))
        self.id = id
        self.cause = cause
        self.error = error


class TimedOut(TaquinError, TimeoutError):
    """No answer within the time given; the work goes on and can be asked for again by its id."""


class Unavailable(TaquinError, ConnectionError):
    """Redis did not answer, or refused; the message names host and port and never a password."""


class StartFailed(TaquinError):
    """A process of the embedded stack did not start in time, or ended at once."""
