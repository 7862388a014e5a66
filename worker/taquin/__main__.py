"""``python -m taquin``: the same as ``taquin``."""

from taquin.cli import main

main()
