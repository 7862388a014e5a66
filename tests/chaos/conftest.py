"""Options of the chaos tests, their seeds, and the table that they print."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from taquin.embedded import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ("fault", "acknowledged", "lost", "doubled", "dead", "recovery, s")
PLAIN = ("plain Celery: acknowledged", "lost", "run twice", "recovery, s", "remarks")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaos")
    group.addoption("--long", action="store_true", help="Loads of hours' worth of faults, beside plain Celery.")
    group.addoption("--no-plain", action="store_true", help="Leave plain Celery out of a long run.")
    group.addoption("--minutes", type=float, default=2.0, help="How long the soak lasts.")
    group.addoption("--seed", type=int, default=None, help="Of boards and faults; drawn and printed if left out.")
    group.addoption("--keep", action="store_true", help="Keep the folders of runs that failed.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.chaos)
            item.add_marker(pytest.mark.timeout(3_600))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    rows = [
        value for report in reports if report.when == "call" for name, value in report.user_properties if name == "row"
    ]
    if rows:
        terminalreporter.section("chaos")
        head = ["| " + " | ".join(COLUMNS + PLAIN) + " |", "| " + " | ".join(["---"] * len(COLUMNS + PLAIN)) + " |"]
        terminalreporter.write_line("\n".join([*head, *rows]))


@pytest.fixture(scope="session", autouse=True)
def _needs_a_server() -> None:
    if not any(map(shutil.which, SERVERS)):
        pytest.skip(f"none of {', '.join(SERVERS)} is on the PATH")


@pytest.fixture
def long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long"))


@pytest.fixture
def beside(request: pytest.FixtureRequest, long: bool) -> bool:
    """Whether plain Celery is held against it."""
    return long and not request.config.getoption("--no-plain")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Printed, and shown by pytest when the test fails."""
    given = request.config.getoption("--seed")
    drawn: int = random.SystemRandom().randrange(1_000_000) if given is None else given
    print(f"seed: --seed {drawn}")  # noqa: T201  shown when the test fails
    return drawn


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the files of one run; it goes with the test unless it is asked to stay."""
    made = tmp_path_factory.mktemp("chaos")
    yield made
    if request.config.getoption("--keep"):
        print(f"kept: {made}")  # noqa: T201  shown when the test fails
    else:
        shutil.rmtree(made, ignore_errors=True)
