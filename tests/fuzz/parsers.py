"""Feed every parser of foreign bytes with whatever atheris finds to reach more of its code."""

from __future__ import annotations

import contextlib
import json
import sys

import atheris

with atheris.instrument_imports(include=["taquin"]):
    from taquin import service
    from taquin.errors import BadInput
    from taquin.guard import fault_of
    from taquin.puzzle.shape import parse_shape
    from taquin.puzzle.text import parse_boards
    from taquin.service.chunks import chunk

JOB = json.dumps({"kind": "repair", "rows": 3, "cols": 3, "form": "u8"}).encode()


def parse(data: bytes) -> None:
    """Let each of them read the same bytes; a refusal is one of ours, whatever else is a find."""
    fault_of(data)
    service.work("repair", data)
    text = data.decode(errors="replace")
    for read in (
        lambda: list(parse_boards(text.splitlines())),
        lambda: parse_shape(text),
        lambda: chunk(JOB, "job:0", len(data) // 9, data),
    ):
        with contextlib.suppress(BadInput):
            read()


if __name__ == "__main__":
    atheris.Setup(sys.argv, parse)
    atheris.Fuzz()
