"""What can be said of the stack's files without an engine."""

from __future__ import annotations

import os
import re
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from engine import FILES, ROOT, Stack

if TYPE_CHECKING:
    from pathlib import Path


def test_every_variable_of_compose_is_in_the_example_with_its_default_and_a_sentence() -> None:
    """An operator finds everything that can be set in .env.example, and what it is if it is not set."""
    text = "".join((ROOT / file).read_text("utf-8") for file in FILES)
    used = dict(re.findall(r"\$\{(\w+):-([^}]*)}", text))
    needed = set(re.findall(r"\$\{(\w+):\?", text))
    lines = pairwise((ROOT / ".env.example").read_text("utf-8").splitlines())
    told = [(above, *line.split("=", 1)) for above, line in lines if re.match(r"\w+=", line)]

    assert {name: default for _, name, default in told if name not in needed} == used
    assert needed == {name for _, name, default in told if default} - used.keys()
    assert [name for above, name, _ in told if not above.startswith("# ")] == []


def test_every_dependency_is_pinned_and_no_place_is_named() -> None:
    """The constraints are names, versions and markers: where packages come from is the machine's own business."""
    pins = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]

    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [\w]+ (<|>=|==|!=) '[\w.]+')?", pin)] == []
    assert "://" not in "".join(pins)


def test_flower_has_the_releases_of_the_workers() -> None:
    """Celery's events and messages are its own; one release on both ends."""
    pins = set((ROOT / "constraints.txt").read_text("utf-8").splitlines())
    wanted = (ROOT / "deploy" / "flower" / "requirements.txt").read_text("utf-8").splitlines()
    assert {pin for pin in wanted if not pin.startswith(("#", "flower=="))} <= pins


@pytest.mark.docker
@pytest.mark.parametrize("profile", ["", "monitoring"])
def test_compose_accepts_the_files(engine: None, secrets: Path, profile: str) -> None:
    """`docker compose config -q`, with and without the profile, and with what .env.example says."""
    del engine
    stack = Stack("taquin-test-config", secrets)
    for files in (FILES, FILES[:1]):
        assert stack.compose(*(("--profile", profile) if profile else ()), "config", "--quiet", files=files) == ""


@pytest.mark.docker
def test_what_must_be_there_is_asked_for(engine: None, tmp_path: Path) -> None:
    """Without a password file `up` stops at once, and says what to do."""
    del engine
    env = {key: value for key, value in os.environ.items() if not key.startswith(("REDIS_", "COMPOSE_"))}
    (tmp_path / "docker-compose.yml").write_bytes((ROOT / "docker-compose.yml").read_bytes())
    done = subprocess.run(
        ["docker", "compose", "up", "--detach"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "REDIS_PASSWORD_FILE" in done.stderr
    assert "docs/how-to/compose.md" in done.stderr
