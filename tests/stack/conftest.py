"""The compose stack of one test module, and its logs beside every failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest
from engine import Stack

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from pluggy import Result


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker engine: skipped on a laptop without one; in CI its absence is a failure."""
    if shutil.which("docker") and not subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        return
    if os.environ.get("CI"):
        pytest.fail("CI was told to run the stack tests, but no Docker engine answers `docker info`")
    pytest.skip("no Docker engine answers `docker info`")


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files with the passwords, which every container's user may enter."""
    folder = tmp_path_factory.mktemp("secrets")
    for above in (folder, *folder.parents[:2]):
        above.chmod(above.stat().st_mode | 0o711)
    return folder


@pytest.fixture(scope="module")
def stack(engine: None, secrets: Path) -> Iterator[Stack]:
    """The stack, built and up with two workers; nothing of it is left afterwards."""
    del engine
    stack = Stack(f"taquin-test-{uuid.uuid4().hex[:8]}", secrets)
    try:
        stack.compose("build", "worker")
        try:
            stack.compose("up", "--detach", "--wait", "--wait-timeout", "120", "--scale", "worker=2")
        except pytest.fail.Exception as failure:
            pytest.fail(f"{failure}\n{stack.logs()}")
        yield stack
    finally:
        stack.forget()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Result[pytest.TestReport], None]:
    """Show the containers' logs beside a failure."""
    outcome = yield
    report = outcome.get_result()
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and stack is not None:
        report.sections.append(("the containers", stack.logs()))
