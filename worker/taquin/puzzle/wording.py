"""How messages show what came in: in JSON's words, and short whatever it was."""

from __future__ import annotations

import json
import math
from typing import Final

LONGEST_TEXT: Final = 20
LARGEST_NUMBER: Final = 10**12
MOST_LISTED: Final = 10


def shown(value: object) -> str:  # noqa: PLR0911 - one for each kind of value
    """Show any value in at most about 40 characters, without ever writing out a huge one first."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if abs(value) < LARGEST_NUMBER:
            return str(int(value))
        case int():
            # Python refuses to write numbers of more than 4,300 digits, so their length is estimated.
            digits = int(value.bit_length() * math.log10(2)) + 1
            return f"a {'negative ' if value < 0 else ''}number of about {digits:,} digits"
        case float():
            return json.dumps(float(value))
        case str() if len(value) <= LONGEST_TEXT:
            return json.dumps(value)
        case str():
            return f"a text of {len(value):,} characters ({json.dumps(value[:LONGEST_TEXT])}...)"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
    return f"a value of type {type(value).__name__[:LONGEST_TEXT]}"


def listed(values: list[int]) -> str:
    """List numbers as in a sentence: "3", "3 and 7", "3, 7 and 9", and beyond ten "... and 30 more"."""
    named = [shown(value) for value in values[:MOST_LISTED]]
    if len(values) > MOST_LISTED:
        named.append(f"{len(values) - MOST_LISTED:,} more")
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def count(number: int, noun: str) -> str:
    """Count things: "1 inversion", "2 inversions"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
