"""The ``taquin`` command. Results go to standard output, everything else to standard error.

Exit status: 0 all is well; 1 some board is unsolvable or invalid, or the work failed; 2 wrong usage or input.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from taquin.cli import boards, bulk, dead, demo, doctor, operate, ready, stats
from taquin.errors import BadInput, Conflict, TaquinError, Unknown
from taquin.version import __version__

# NumPy's linear algebra is not used; without this it would start a thread a core in every process.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    name="taquin",
    help="Validate and repair sliding-puzzle boards, here or through workers on a Redis-backed queue.",
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
    """Run the command; every error of ours is one line on standard error."""
    try:
        app()
    except TaquinError as error:
        typer.echo(f"taquin: {error}", err=True)
        sys.exit(2 if isinstance(error, (BadInput, Conflict, Unknown)) else 1)
