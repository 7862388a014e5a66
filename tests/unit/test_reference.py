"""The reference of the settings says what the settings are, row by row."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from taquin.settings import PREFIX, Settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def row(name, field):
    """The row of the table for one setting."""
    default = field.default
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    shown = "" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"
    return f"| `{PREFIX}{name.upper()}` | {shown} | {field.description} |"


def test_the_page_has_a_row_for_every_setting_and_no_other():
    """To mend it, paste the rows that this test shows."""
    told = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| `{PREFIX}")]
    expected = [row(name, field) for name, field in Settings.model_fields.items()]
    assert told == expected, "\n" + "\n".join(expected)
