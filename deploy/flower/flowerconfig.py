"""Flower may look and do nothing, and only those who know the login may look."""

import secrets
from pathlib import Path

read_only = True
# Workers serve no remote control: Flower shows what they send by themselves, where TAQUIN_CELERY_EVENTS is true.
enable_events = False
# Without a login nobody gets in, rather than everybody.
basic_auth = [Path("/run/secrets/flower-login").read_text().strip() or f"nobody:{secrets.token_urlsafe(32)}"]
