"""``python -m taquin`` and the ``taquin`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command. ``taquin health`` alone, asked every few seconds, does without the command line's imports."""
    if sys.argv[1:] == ["health"]:
        from taquin.health import main as run  # noqa: PLC0415
    else:
        from taquin.cli import main as run  # noqa: PLC0415
    run()


if __name__ == "__main__":
    main()
