"""No property may fail for being slow: machines are shared, and times are never asserted."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("taquin", deadline=None)
settings.load_profile("taquin")
