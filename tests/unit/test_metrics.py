"""Counting: once, in every process, also when processes die; and what Redis holds, as Prometheus wants it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request

import pytest
from prometheus_client import values
from prometheus_client.parser import text_string_to_metric_families

from taquin import metrics as module
from taquin.errors import BadSettings, Unavailable
from taquin.metrics import Metrics, PrometheusMetrics, check_metrics_address, make_metrics
from taquin.pools import PoolCount
from taquin.settings import Settings
from taquin.survey import Queue, Survey

# The server's thread runs beside the forks here, as it does beside those of a pool.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

WORK = "taquin.work"


def survey(pools=(), queues=()):
    return Survey(
        time=0.0, queues=list(queues), unfinished=3, overdue=1, overdue_by=2.5, dead=4, pools=list(pools), workers=[],
        memory=10, memory_limit=20,
    )  # fmt: skip


@pytest.fixture
def surveyed():
    return [survey()]


@pytest.fixture
def metrics(monkeypatch, surveyed):
    """Metrics that are served on a free port, in multiprocess mode."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    monkeypatch.setattr(values, "ValueClass", values.MutexValue)

    def look():
        if isinstance(surveyed[0], Exception):
            raise surveyed[0]
        return surveyed[0]

    metrics = PrometheusMetrics(Settings(metrics_port=0), look)
    metrics.start()
    yield metrics
    metrics.stop()


def read(metrics):
    """Return every sample: the name with its labels, and the value."""
    url = f"http://127.0.0.1:{metrics._server.server_port}/metrics"
    with urllib.request.urlopen(url) as reply:
        text = reply.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(sample.name, *sorted(sample.labels.values())): sample.value for sample in samples}
    assert len(found) == len(samples), "a sample stands there twice"
    return found


def in_a_child(do):
    """Do something in a forked process, which dies without a word; return its id."""
    pid = os.fork()
    if not pid:
        do()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    return pid


def test_nothing_is_made_where_no_port_is_set():
    assert type(make_metrics(Settings(), None)) is Metrics


def test_children_count_and_what_they_counted_outlives_them(metrics):
    def do():
        for _ in range(10):
            metrics.task(WORK, "success", 0.3)
        metrics.boards({"solvable": 3, "repaired": 4}, 7)

    for _ in range(5):
        in_a_child(do)
    metrics.task(WORK, "lost")
    for _ in range(2):  # reading adds the files of the dead up, and must not add them twice
        found = read(metrics)
        assert found["taquin_tasks_total", "success", WORK] == 50
        assert found["taquin_tasks_total", "lost", WORK] == 1
        assert found["taquin_task_seconds_count", WORK] == 50
        assert found["taquin_task_seconds_bucket", "0.25", WORK] == 0
        assert found["taquin_task_seconds_bucket", "0.5", WORK] == 50
        assert found["taquin_task_seconds_sum", WORK] == pytest.approx(15.0)
        assert found["taquin_boards_total", "repaired"] == 20
        assert found["taquin_chunk_boards_sum",] == 35


def test_the_files_of_the_dead_do_not_pile_up(metrics):
    for _ in range(20):
        in_a_child(metrics.refused)
    metrics.absorb()
    left = {file.name for file in metrics._folder.iterdir()}
    assert left == {f"{kind}_{who}.db" for kind in ("counter", "histogram") for who in (os.getpid(), "dead")}
    assert read(metrics)["taquin_begins_refused_total",] == 20


def test_a_fork_beside_a_thread_that_counts_does_not_hang(metrics):
    """A child that inherits a lock which some other thread held would wait for ever."""
    done = threading.Event()

    def count():
        while not done.is_set():
            metrics.event("work.resent")

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for _ in range(60):
            in_a_child(metrics.refused)
    finally:
        done.set()
        thread.join()
    assert read(metrics)["taquin_begins_refused_total",] == 60


def test_names_and_units_are_those_of_prometheus(metrics):
    names = {name for name, *_ in read(metrics)}
    assert all(re.fullmatch(r"taquin(_[a-z]+)+", name) for name in names)
    units = ("_total", "_seconds", "_bytes", "_boards", "_info", "_messages", "_bucket", "_sum", "_count", "_created")
    plain = {name for name in names if not name.endswith(units)}
    assert plain == {
        "taquin_redis_up", "taquin_units_unfinished", "taquin_units_overdue", "taquin_dead_letters", "taquin_workers",
    }  # fmt: skip


def test_what_stands_in_redis(metrics, surveyed):
    marked = PoolCount("4x4:hard", ready=5, claimed=2, low=10, high=20, refills=True)
    surveyed[0] = survey([marked], [Queue("bulk", 7, 1.5, 9, 8), Queue("interactive", 1, None, 9, 8)])
    found = read(metrics)
    assert found["taquin_queue_messages", "bulk"] == 7
    assert found["taquin_queue_oldest_seconds", "bulk"] == 1.5
    assert ("taquin_queue_oldest_seconds", "interactive") not in found
    pool = {
        name.removeprefix("taquin_pool_"): value for (name, *labels), value in found.items() if labels == ["4x4:hard"]
    }
    assert pool == {"ready_boards": 5, "claimed_boards": 2, "low_mark_boards": 10, "high_mark_boards": 20}
    assert (found["taquin_redis_up",], found["taquin_dead_letters",], found["taquin_units_overdue_seconds",]) == (
        1,
        4,
        2.5,
    )


def test_pools_that_anyone_can_make_are_no_labels_without_end(metrics, surveyed):
    """A client that asks for a million goals makes a million pools; those with water marks are always told."""
    made = [PoolCount(f"2x2:easy:goal-{n}", 1, 0, None, None, refills=False) for n in range(5_000)]
    surveyed[0] = survey([*made, PoolCount("4x4:hard", 0, 0, 1, 2, refills=False)])
    pools = [pool for name, *pool in read(metrics) if name == "taquin_pool_ready_boards"]
    assert len(pools) == module.POOLS_MOST
    assert ["4x4:hard"] in pools


def test_a_redis_that_is_away_takes_nothing_else_along(metrics, surveyed):
    metrics.refused()
    surveyed[0] = Unavailable("away")
    found = read(metrics)
    assert found["taquin_redis_up",] == 0
    assert found["taquin_begins_refused_total",] == 1
    assert not any(name.startswith("taquin_queue") for name, *_ in found)


def test_a_port_that_is_taken_is_named(metrics):
    taken = PrometheusMetrics(Settings(metrics_port=metrics._server.server_port), survey)
    with pytest.raises(BadSettings, match=r"TAQUIN_METRICS_PORT: .* cannot be served on"):
        taken.start()
    taken.stop()


def test_an_address_is_tried_before_a_worker_starts(metrics):
    port = metrics._server.server_port
    check_metrics_address(Settings())
    check_metrics_address(Settings(metrics_port=0))
    for host, variable in (("127.0.0.1", "PORT"), ("203.0.113.5", "HOST"), ("no.such.invalid", "HOST"), ("..", "HOST")):
        with pytest.raises(BadSettings, match=f"TAQUIN_METRICS_{variable}: {host}:{port} cannot be served on: [^;]+; "):
            check_metrics_address(Settings(metrics_host=host, metrics_port=port))


def test_nothing_is_left_behind(metrics):
    folder = metrics._folder
    metrics.stop()
    assert not folder.exists()


def test_a_worker_without_metrics_does_not_load_them():
    loaded = (
        "import sys; from taquin import Settings; from taquin.app import make_app; make_app(Settings()); "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert "prometheus_client" not in done.stdout.split()
