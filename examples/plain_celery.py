"""Taquin from a plain Celery client, with no import of Taquin: python examples/plain_celery.py."""

import os

from celery import Celery

redis = os.environ.get("TAQUIN_REDIS_URL", "redis://127.0.0.1:6379/0")
app = Celery("my-backend", broker=redis, backend=redis)

result = app.send_task("taquin.repair", args=[{"board": [[1, 2, 3], [4, 5, 6], [8, 7, 0]]}], queue="interactive")
answer = result.get(timeout=10)
print(answer["status"], answer["board"])
