"""The package from outside: what it exports and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import taquin
from taquin import errors


def modules_after(statement):
    program = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_every_public_name_is_there():
    for name in taquin.__all__:
        assert getattr(taquin, name) is not None
    assert set(dir(taquin)) == set(taquin.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = taquin.nonsense


def test_every_error_is_public_and_drawn_in_the_tree():
    own = [value for value in vars(errors).values() if isinstance(value, type) and value.__module__ == "taquin.errors"]
    assert len(own) > 10
    for error in own:
        assert issubclass(error, taquin.TaquinError)
        assert error.__name__ in taquin.__all__
        assert error.__name__ in errors.__doc__


def test_importing_the_package_is_cheap():
    assert not {"celery", "numpy", "redis", "pydantic"} & modules_after("import taquin")


def test_importing_the_client_needs_no_numpy_and_no_tasks():
    loaded = modules_after("from taquin import Client; Client('redis://127.0.0.1:1/0')._carrier")
    assert "celery" in loaded
    assert not {"numpy", "taquin.tasks", "taquin.service", "taquin.app"} & loaded


def test_importing_opens_no_socket_and_reads_no_environment():
    """Import everything but `main` with sockets forbidden and a setting that would be refused."""
    program = """
import os, socket, pkgutil, importlib
def refuse(*a, **k): raise AssertionError("a socket was opened")
socket.socket.connect = refuse
os.environ["TAQUIN_REDIS_URL"] = "nonsense"
import taquin
for module in pkgutil.walk_packages(taquin.__path__, "taquin."):
    if module.name not in ("taquin.main", "taquin.__main__"):
        importlib.import_module(module.name)
from celery import _state
assert not list(_state._apps), list(_state._apps)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_health_imports_neither_celery_nor_numpy():
    assert not {"celery", "numpy", "rich.console"} & modules_after("import taquin.cli, taquin.health")
