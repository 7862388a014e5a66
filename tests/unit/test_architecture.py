"""docs/architecture.md draws what the code is: its layers, and every module."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_page_shows_the_layers_that_import_linter_enforces():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    assert "\n".join(f"    {layer}" for layer in layers) in PAGE


def test_the_page_names_every_room():
    house = PAGE.partition("## The house")[2].partition("## Which way")[0]
    package = ROOT / "worker" / "taquin"
    rooms = {path.name for path in package.iterdir() if path.suffix in {".py", ".lua"}}
    rooms |= {f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    rooms |= {path.name for path in (package / "puzzle").glob("*.py")}
    missing = {room for room in rooms if room not in house} - {"__main__.py", "version.py"}
    assert not missing
