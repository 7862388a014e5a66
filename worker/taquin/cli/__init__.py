"""The ``taquin`` command. Results go to standard output, everything else to standard error.

Exit status:

- 0: all is well;
- 1: the answer is no: a board is unsolvable or invalid, a pool is empty, work was given up, something is unhealthy;
- 2: wrong usage, input or settings; a file or an output that cannot be read or written;
- 3: it could not be done for now: Redis does not answer or is full, or no answer came in time;
- 141: whoever read the output has gone (128 + SIGPIPE, as a shell says it).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated, Final, NoReturn

import typer

from taquin.cli import boards, bulk, dead, demo, doctor, operate, ready, stats
from taquin.errors import BadInput, Conflict, GaveUp, TaquinError, Unknown
from taquin.version import __version__

# NumPy's linear algebra is not used; without this it would start a thread a core in every process.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

CLOSED: Final = 141
"""The exit status of a command whose output was closed."""

app = typer.Typer(
    name="taquin",
    help="Validate and repair sliding-puzzle boards, here or through workers on a Redis-backed queue.\n\n"
    "Exit status: 0 all is well, 1 the answer is no, 2 wrong usage or input, 3 it could not be done for now: Redis "
    "does not answer or is full, or no answer came in time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(boards.check)
app.command()(boards.repair)
app.command()(boards.send)
app.command()(bulk.submit)
# A negative count is a count that is wrong, not an unknown option.
app.command(context_settings={"ignore_unknown_options": True})(bulk.generate)
app.command()(bulk.jobs)
app.command()(bulk.job)
app.command()(bulk.results)
app.command()(ready.claim)
app.command()(ready.confirm)
app.command()(ready.release)
app.command()(ready.pools)
app.command()(ready.events)
app.command()(operate.worker)
app.command()(operate.health)
app.command()(doctor.doctor)
app.command()(stats.stats)
app.command()(dead.sweep)
app.add_typer(dead.dead)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"taquin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command; every error is one line on standard error, and its kind an exit status."""
    try:
        try:
            app()
        finally:
            # Here, where an error can still be told; the interpreter's own flush would be too late.
            _flush()
    except TaquinError as error:
        _end(_status(error), str(error))
    except BrokenPipeError:
        _end(CLOSED)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        if error.encoding.startswith("utf"):
            _end(2, f"{letter!r} is no text in UTF-8: see that the arguments are")
        _end(2, f"the output takes no {letter!a} in its encoding {sys.stdout.encoding}: set PYTHONIOENCODING=utf-8")
    except OSError as error:
        what = f"{error.filename} cannot be used" if error.filename else "the output cannot be written"
        _end(2, f"{what}: {error.strerror}; see that there is room for it, and that it may be written")
    except SystemExit as end:
        # What typer makes of a BrokenPipeError.
        if isinstance(end.__context__, BrokenPipeError):
            _end(CLOSED)
        raise


def _flush() -> None:
    if sys.stdout is not None:  # as after `>&-`
        sys.stdout.flush()


def _status(error: TaquinError) -> int:
    if isinstance(error, (BadInput, Conflict, Unknown)):
        return 2
    return 1 if isinstance(error, GaveUp) else 3


def _end(status: int, message: str = "") -> NoReturn:
    """Say it and end. Output that could not be written is given up: the interpreter would try again as it ends."""
    with suppress(OSError):
        if message:
            typer.echo(f"taquin: {message}", err=True)
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
