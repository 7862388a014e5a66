"""What can be said of the stack's files without an engine."""

from __future__ import annotations

import re
from itertools import pairwise

from engine import FILES, ROOT


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
