"""What importing the mathematics costs, and that its names mean what they should."""

from __future__ import annotations

import subprocess
import sys
from types import FunctionType

import pytest

from taquin import puzzle


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    "statement",
    [
        "import taquin.puzzle",
        "import taquin.puzzle.text, taquin.puzzle.evidence, taquin.puzzle.shape, taquin.puzzle.problem",
        "from taquin.puzzle import Evidence, Finding, Problem, Shape, GOALS, parse_shape, parse_board, format_board",
    ],
)
def test_numpy_is_not_imported_before_an_array_is_needed(statement):
    assert run(f"import sys; {statement}; print('numpy' in sys.modules)") == "False"


def test_the_mathematics_needs_numpy_and_nothing_else():
    code = "import sys, taquin.puzzle as p; [getattr(p, name) for name in p.__all__]; print(*sys.modules)"
    modules = set(run(code).split())
    assert "numpy" in modules
    assert not modules & {"celery", "redis", "pydantic", "kombu", "structlog", "typer"}


def test_a_name_stays_a_function_though_a_module_is_called_the_same():
    code = (
        "import taquin.puzzle.repair, taquin.puzzle.evidence, taquin.puzzle.examine\n"
        "from taquin.puzzle import evidence, examine, repair\n"
        "from taquin.puzzle.repair import repair as same\n"
        "print(callable(evidence), callable(examine), repair is same)"
    )
    assert run(code) == "True True True"


def test_every_public_name_is_there_and_documented():
    for name in puzzle.__all__:
        value = getattr(puzzle, name)
        if isinstance(value, FunctionType | type):
            assert value.__doc__, name
    assert set(puzzle.__all__) <= set(dir(puzzle))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = puzzle.nothing
