"""Taquin: the worker behind a sliding-puzzle app."""

from taquin.version import __version__

__all__ = ["__version__"]
