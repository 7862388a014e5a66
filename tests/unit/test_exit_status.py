"""What the command ends with: an exit status that says what kind of end it was, and one line about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taquin import cli, errors
from taquin.errors import GaveUp

STATUSES = {
    "BadInput": 2, "BadShape": 2, "BadGoal": 2, "BadBoard": 2, "BadSettings": 2, "Conflict": 2, "Unknown": 2,
    "GaveUp": 1, "Busy": 3, "TimedOut": 3, "Unavailable": 3, "StartFailed": 3,
}  # fmt: skip
BOARDS = "1 2 3/4 5 6/8 7 0\n" * 2_000
FULL = Path("/dev/full")


def taquin(*arguments, stdin=BOARDS, stdout=subprocess.PIPE, **environment):
    return subprocess.run(
        [sys.executable, "-m", "taquin", *arguments],
        env={**os.environ, **environment},
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def test_every_error_has_its_exit_status(monkeypatch, capsys):
    known = {name: error for name, error in vars(errors).items() if isinstance(error, type)}
    del known["TaquinError"]
    assert set(known) == set(STATUSES)
    for name, error in known.items():

        def fail(error=error):
            raise error("some-id", "it failed") if error is GaveUp else error("it failed")

        monkeypatch.setattr(cli, "app", fail)
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        assert exit_.value.code == STATUSES[name], name
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("taquin: ")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("check", "--json"), ("--version",), ("--help",)])
def test_a_full_disk_is_one_line_and_exit_2(arguments, unbuffered):
    with FULL.open("w") as full:
        done = taquin(*arguments, stdout=full, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    assert done.stderr.startswith("taquin: the output cannot be written: No space left on device; ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("check", "--json"), ("--version",), ("--help",)])
def test_a_reader_that_has_gone_is_no_fault(arguments, unbuffered):
    """As with every Unix tool before `| head`."""
    read, write = os.pipe()
    os.close(read)
    done = taquin(*arguments, stdout=write, PYTHONUNBUFFERED=unbuffered)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_output_that_cannot_take_a_letter_is_one_line_and_exit_2():
    done = taquin("doctor", PYTHONIOENCODING="cp1252", TAQUIN_MAX_ATTEMPTS="many")
    assert done.returncode == 2
    said = "taquin: the output takes no '\\u2192' in its encoding cp1252: set PYTHONIOENCODING=utf-8\n"
    assert done.stderr == said


def test_an_argument_that_is_no_text_is_one_line_and_exit_2():
    done = taquin("dead", "show", os.fsdecode(b"\xff"), TAQUIN_REDIS_URL="redis://127.0.0.1:1")
    assert done.returncode in {2, 3}
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TAQUIN_HEARTBEAT_FILE", "/nowhere/beat"),
        ("TAQUIN_METRICS_HOST", "203.0.113.5"),
        ("TAQUIN_REDIS_URL", "redis://:hunter2/xx@localhost/0"),
        ("TAQUIN_REDIS_PASSWORD_FILE", "/nowhere"),
        ("TAQUIN_KEEP_ANSWERS", "inf"),
    ],
)
def test_a_worker_with_a_bad_setting_does_not_start(variable, value):
    done = taquin("worker", "--concurrency", "1", **{"TAQUIN_METRICS_PORT": "0", variable: value})
    assert done.returncode == 2
    assert done.stderr.startswith(f"taquin: {variable}: ")
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr


ENDED = """
import sys
from celery import bootsteps
from taquin import app as module
from taquin.cli import main

make_app = module.make_app

def broken(settings):
    app = make_app(settings)

    class Broken(bootsteps.StartStopStep):
        requires = ("celery.worker.components:Pool",)

        def start(self, parent):
            raise MemoryError("on purpose")

    app.steps["worker"].add(Broken)
    return app

module.make_app = broken
sys.argv = ["taquin", "worker", "--pool", "solo"]
main()
"""


def test_a_worker_that_ends_by_itself_says_so():
    """Celery's own end over a fault is 0 here, and whoever watches the worker would leave it at that."""
    done = subprocess.run(
        [sys.executable, "-c", ENDED],
        env={**os.environ, "TAQUIN_REDIS_URL": "redis://127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "on purpose" in done.stderr
