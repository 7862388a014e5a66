"""The Celery app that Flower looks through: it knows where Redis is, and no task. The password stays in its file."""

import os
from pathlib import Path
from urllib.parse import quote

from celery import Celery
from kombu import Queue

password = quote(Path("/run/secrets/redis-password").read_text().strip(), safe="")
url = f"redis://:{password}@{os.environ.get('FLOWER_REDIS', 'redis:6379')}/0"
app = Celery("flower", broker=url, backend=url)
app.conf.broker_transport_options = {"socket_timeout": 10, "socket_connect_timeout": 10, "socket_keepalive": True}
app.conf.task_queues = [Queue("interactive"), Queue("bulk")]
app.conf.task_default_queue = "interactive"
