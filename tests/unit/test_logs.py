"""Logs: names that stay, no boards, no passwords; and a reference that cannot lie."""

from __future__ import annotations

import ast
import json
import logging
import re
import warnings
from pathlib import Path

import pytest
import structlog

import taquin
from taquin.logs import configure_logging
from taquin.settings import Settings

SOURCE = Path(taquin.__file__).parent
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "logs.md"
METHODS = {"debug", "info", "warning", "error", "exception", "critical"}


@pytest.fixture
def configured():
    """Configure logging, and put everything back afterwards."""
    root = logging.getLogger()
    before, level, shown = root.handlers[:], root.level, warnings.showwarning
    levels = {name: logging.getLogger(name).level for name in ("celery.app.trace", "celery.worker.strategy")}
    yield configure_logging
    root.handlers[:] = before
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    warnings.showwarning = shown
    for name, old in levels.items():
        logging.getLogger(name).setLevel(old)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def fail(message):
    raise ValueError(message)


def events_in_the_code():
    """Every first argument of a call ``log.<method>(…)``, with the levels it is logged at."""
    found = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in METHODS
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "log"
            ):
                assert isinstance(node.args[0], ast.Constant), f"{file}:{node.lineno}: an event's name is a literal"
                level = "error" if node.func.attr == "exception" else node.func.attr
                found.setdefault(node.args[0].value, set()).add(level)
    return found


def test_the_reference_lists_what_the_code_logs():
    """A row is the name, the levels, what happened: operators build alerts on these names."""
    rows = re.findall(r"^\| `([a-z_.]+)` \| ([a-z, ]+) \| \S", REFERENCE.read_text("utf-8"), re.MULTILINE)
    told = {name: set(levels.split(", ")) for name, levels in rows}
    assert told.pop("library") == {"debug", "info", "warning", "error"}
    assert len(rows) == len(told) + 1
    assert told == events_in_the_code()


def test_names_have_one_form():
    assert [name for name in events_in_the_code() if not re.fullmatch(r"[a-z]+\.[a-z_]+", name)] == []


def test_a_line_is_one_json_object(configured, capsys):
    configured(Settings(log_format="json"))
    structlog.contextvars.bind_contextvars(id="7")
    structlog.get_logger("taquin.test").info("work.resent", queue="bulk")
    (line,) = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert said.pop("timestamp").endswith("Z")
    assert said == {"event": "work.resent", "queue": "bulk", "id": "7", "level": "info", "logger": "taquin.test"}


def test_what_a_library_says_has_one_name(configured, capsys):
    configured(Settings(log_format="json"))
    structlog.contextvars.bind_contextvars(id="7")
    logging.getLogger("celery.worker").warning("%s is odd", "this", extra={"data": {"args": [[1, 2], [3, 0]]}})
    (line,) = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert (said["event"], said["message"], said["id"]) == ("library", "this is odd", "7")
    assert "data" not in said


def test_what_celery_says_of_a_setting_that_is_meant_is_left_out(configured, capsys):
    from celery.worker.consumer.consumer import CANCEL_TASKS_BY_DEFAULT

    configured(Settings(log_format="json"))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(CANCEL_TASKS_BY_DEFAULT, PendingDeprecationWarning, stacklevel=1)
        warnings.warn("another thing", PendingDeprecationWarning, stacklevel=1)
    (line,) = capsys.readouterr().err.splitlines()
    assert "another thing" in json.loads(line)["message"]


def test_a_traceback_stays_in_its_line(configured, capsys):
    configured(Settings(log_format="json"))
    try:
        fail("on purpose")
    except ValueError:
        structlog.get_logger("taquin.test").exception("sweep.failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: on purpose" in json.loads(line)["exception"]


def test_a_terminal_gets_plain_lines(configured, capsys):
    configured(Settings(log_format="console"))
    structlog.get_logger("taquin.test").info("work.resent", queue="bulk")
    (line,) = capsys.readouterr().err.splitlines()
    assert "work.resent" in line
    assert not line.startswith("{")


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_password_is_shown_whoever_says_it(configured, capsys, tmp_path, form):
    """Neither as it is nor as it stands in a URL: a library that prints a URL whole must not give it away."""
    secret = tmp_path / "secret"
    secret.write_text("s3/cr?et\n")
    configured(Settings(redis_url="redis://worker@redis:1/0", redis_password_file=secret, log_format=form))
    logging.getLogger("kombu").error("cannot reach redis://worker:s3%2Fcr%3Fet@redis:1/0 (s3/cr?et)")
    try:
        fail("s3/cr?et")
    except ValueError:
        structlog.get_logger("taquin.test").exception("sweep.failed", said="s3/cr?et")
    said = capsys.readouterr().err
    assert "redis://worker:***@redis:1/0" in said
    assert "cr?et" not in said
    assert "cr%3Fet" not in said


def test_events_below_the_level_are_not_shown_but_counted(configured, capsys):
    counted = []
    configured(Settings(log_format="json", log_level="error"), counted.append)
    log = structlog.get_logger("taquin.test")
    log.info("work.resent")
    log.debug("survey.failed")
    assert capsys.readouterr().err == ""
    assert counted == ["work.resent", "survey.failed"]
