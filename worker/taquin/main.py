"""For ``celery -A taquin.main worker``: the one import that reads the environment."""

from taquin.app import make_app
from taquin.settings import Settings

app = make_app(Settings())
