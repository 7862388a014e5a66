"""``taquin demo``: what a newcomer sees first, on each kind of Redis."""

from __future__ import annotations

import subprocess
import sys

import pytest

from taquin import cli
from tests.conftest import BOTH


@pytest.mark.parametrize("redis", BOTH)
@pytest.mark.slow
def test_the_demo_shows_the_whole_way_and_checks_it(redis):
    command = [sys.executable, "-m", "taquin", "demo", "--seed", "1", "--redis", redis]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    for words in ("verdict and evidence", "generated: ", "broken by swapping two tiles", "claimed for a player"):
        assert words in done.stdout
    assert "All answers agree with an independent count" in done.stderr


@pytest.mark.slow
def test_the_demo_fails_when_an_answer_is_wrong(monkeypatch, capsys):
    from taquin.cli import bulk_demo

    monkeypatch.setattr(bulk_demo, "MANY", 1_000)
    count = bulk_demo._solvable
    monkeypatch.setattr(bulk_demo, "_solvable", lambda boards: ~count(boards))
    monkeypatch.setattr(sys, "argv", ["taquin", "demo", "--boards", "1", "--redis", "fake", "--seed", "3"])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 1
    err = capsys.readouterr().err
    for words in ("a generated board cannot be solved", "the repair job's answers are wrong", "--seed 3 makes"):
        assert words in err
