"""A Docker engine and one compose project on it: what an operator can type."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("docker-compose.yml", "docker-compose.override.example.yml")
CHOSEN = ("REDIS_IMAGE", "REDIS_SERVER", "PYTHON_IMAGE", "GRAFANA_IMAGE")
"""What may be chosen from outside: other images than the defaults. All else is as in .env.example."""


def docker(*arguments: str, env: dict[str, str] | None = None) -> str:
    """Return what a docker command prints; fail with what it complains of."""
    done = subprocess.run(
        ["docker", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.fail(f"docker {' '.join(arguments)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def image_of(name: str, dockerfile: str) -> str:
    """Build a small image from the text of a Dockerfile, skipping the test where its packages cannot be had."""
    image = f"taquin-test-{name}:local"
    done = subprocess.run(
        ["docker", "build", "--quiet", "--tag", image, "-"],
        input=dockerfile,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no image of {name} can be built here: {done.stderr[-500:]}")
    return image


def inspect(*names: str) -> list[dict[str, Any]]:
    """What `docker inspect` says of containers or images."""
    return json.loads(docker("inspect", *names)) if names else []


class Stack:
    """One compose project, and an image that is only its own."""

    def __init__(self, project: str, secrets: Path, **chosen: str) -> None:
        self.project = project
        self.image = f"{project}:test"
        self.password = uuid.uuid4().hex
        self.login = f"operator:{uuid.uuid4().hex}"
        ours = ("TAQUIN_", "REDIS_", "COMPOSE_", "PYTHON_IMAGE", "PROMETHEUS_", "GRAFANA_", "FLOWER_")
        self._env = {key: value for key, value in os.environ.items() if not key.startswith(ours) or key in CHOSEN}
        # Port 0: any free one, so that runs can be beside each other.
        self._env |= {"TAQUIN_IMAGE": self.image, "TAQUIN_REDIS_PORT": "0", "PROMETHEUS_PORT": "0", "FLOWER_PORT": "0"}
        self._env |= {"FLOWER_IMAGE": f"{project}-flower:test"} | chosen
        for name, secret in (("REDIS_PASSWORD_FILE", self.password), ("FLOWER_LOGIN_FILE", self.login)):
            file = secrets / name
            file.write_text(f"{secret}\n", "utf-8")
            file.chmod(0o644)
            self._env[name] = str(file)

    def compose(self, *arguments: str, files: tuple[str, ...] = FILES) -> str:
        """Return what a docker compose command prints."""
        named = [part for file in files for part in ("--file", file)]
        where = ("--ansi", "never", "--project-name", self.project, *named, "--env-file", ".env.example")
        return docker("compose", *where, *arguments, env=self._env)

    def services(self, *files: str) -> dict[str, Any]:
        """What compose makes of the services in these files."""
        config: dict[str, dict[str, Any]] = json.loads(self.compose("config", "--format", "json", files=files))
        return config["services"]

    @property
    def redis_url(self) -> str:
        """How this host reaches the stack's Redis."""
        return f"redis://:{self.password}@{self.compose('port', 'redis', '6379').strip()}/0"

    def forget(self) -> None:
        """Take everything down and away."""
        self.compose("--profile", "monitoring", "down", "--volumes", "--remove-orphans", "--timeout", "20")
        docker("image", "rm", "--force", self.image, self._env["FLOWER_IMAGE"])

    def containers(self, *services: str) -> list[dict[str, Any]]:
        """What `docker inspect` says of the containers of these services, also of stopped ones."""
        return inspect(*self.compose("ps", "--all", "--quiet", *services).split())

    def left(self) -> dict[str, list[str]]:
        """The containers, volumes and networks of the project that are there, running or not."""
        label = ("--quiet", "--filter", f"label=com.docker.compose.project={self.project}")
        return {
            "containers": docker("ps", "--all", *label).split(),
            "volumes": docker("volume", "ls", *label).split(),
            "networks": docker("network", "ls", *label).split(),
        }

    def logs(self) -> str:
        """Return the containers and the end of what each said."""
        return self.compose("ps", "--all") + self.compose("logs", "--no-color", "--tail", "200")
