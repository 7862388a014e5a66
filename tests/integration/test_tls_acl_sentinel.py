"""TLS, users with few rights, and sentinels, each against real servers; and that no password shows anywhere."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import numpy as np
import pytest
from celery import Celery
from redis import Redis
from redis.exceptions import NoPermissionError, RedisError

from taquin import AsyncClient, Client, Settings, Unavailable
from taquin.address import celery_options, celery_url, tls_of
from taquin.connection import connect, reporting
from taquin.embedded import SERVERS, end, run_worker

pytestmark = pytest.mark.redis_server

UNSOLVABLE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]]
SECRET = "s3/cr?t+of#the:worker"
USERS = Path(__file__).parents[2] / "deploy" / "redis" / "users.acl"
QUICK = {"TAQUIN_RESEND_AFTER": "0.2", "TAQUIN_SWEEP_EVERY": "0.1"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port, **fields):
    try:
        with Redis(port=port, socket_timeout=1.0, **fields) as redis:
            return bool(redis.ping())
    except RedisError:
        return False


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


@contextmanager
def server(folder, *arguments, port=None, ready=answers):
    """Run a redis-server in a folder of its own; give its port and process."""
    folder.mkdir(exist_ok=True)
    port = port or free_port()
    program = next(filter(None, map(shutil.which, SERVERS)))
    ours = arguments if "--sentinel" in arguments else (*arguments, "--save", "", "--appendonly", "no")
    command = [program, *ours, *(() if "--tls-port" in ours else ("--port", str(port)))]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(lambda: ready(port) or process.poll() is not None)
        if process.poll() is not None:
            pytest.fail((folder / "log").read_text())
        yield port, process
    finally:
        process.send_signal(signal.SIGCONT)
        end(process)


@pytest.fixture
def secret_file(tmp_path):
    file = tmp_path / "password"
    file.write_text(SECRET + "\n")
    return file


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority, and what it signed for the server and for us; another authority that signed nothing."""
    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes the certificates, is not on the PATH")
    folder = tmp_path_factory.mktemp("tls")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name in ("ca", "other"):
        openssl(
            folder,
            "req",
            "-x509",
            *key,
            "-days",
            "2",
            "-subj",
            f"/CN={name}",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",  # which Python looks for from 3.13 on
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.crt",
        )
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1\n"
    (folder / "names").write_text(names + "authorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n")
    for name in ("server", "client"):
        openssl(folder, "req", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl(folder, "x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.crt")
    return folder


@pytest.fixture
def tls_server(tmp_path, certificates):
    """A server that speaks TLS alone, and only with those whose certificate the authority signed."""
    port = free_port()
    ours = {"ssl": True, "ssl_ca_certs": f"{certificates}/ca.crt"}
    ours |= {"ssl_certfile": f"{certificates}/client.crt", "ssl_keyfile": f"{certificates}/client.key"}
    arguments = ["--port", "0", "--tls-port", str(port), "--tls-auth-clients", "yes"]
    for option, file in (("cert", "server.crt"), ("key", "server.key"), ("ca-cert", "ca.crt")):
        arguments += [f"--tls-{option}-file", f"{certificates}/{file}"]
    arguments += ["--requirepass", SECRET]
    with server(tmp_path / "redis", *arguments, port=port, ready=lambda at: answers(at, password=SECRET, **ours)):
        yield port


@pytest.mark.slow
def test_tls_with_certificates_on_both_sides(tls_server, certificates, secret_file):
    files = {
        "redis_password_file": str(secret_file),
        "redis_ca_file": f"{certificates}/ca.crt",
        "redis_cert_file": f"{certificates}/client.crt",
        "redis_key_file": f"{certificates}/client.key",
    }
    environment = {f"TAQUIN_{name.upper()}": file for name, file in files.items()}
    url = f"rediss://127.0.0.1:{tls_server}/0"
    settings = Settings(redis_url=url, **files)

    async def ask():
        async with AsyncClient(settings=settings, timeout=60) as client:
            return await client.repair(UNSOLVABLE)

    with run_worker(url, environment=QUICK | environment) as worker, Client(settings=settings, timeout=60) as client:
        assert client.repair(UNSOLVABLE).status == "repaired"
        assert client.submit([UNSOLVABLE] * 10, kind="repair").wait(60).repaired == 10
        assert asyncio.run(ask()).status == "repaired"
        with Celery(
            "backend", broker=celery_url(settings), backend=celery_url(settings), set_as_current=False
        ) as plain:
            plain.conf.update(broker_use_ssl=tls_of(settings), redis_backend_use_ssl=tls_of(settings))
            answer = plain.send_task("taquin.repair", [{"board": UNSOLVABLE}], queue="interactive").get(timeout=60)
        assert answer["status"] == "repaired"
        shown = worker.log.read_text() + Path(f"/proc/{worker.process.pid}/cmdline").read_text()
    assert SECRET not in shown
    env = {**os.environ, **environment, "TAQUIN_REDIS_URL": url}
    done = subprocess.run(
        [sys.executable, "-m", "taquin", "doctor"], env=env, capture_output=True, text=True, check=False
    )
    assert "a password is used, and TLS" in done.stdout
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("wrong", [{"redis_ca_file": "other.crt"}, {"redis_cert_file": None, "redis_key_file": None}])
def test_a_server_or_a_client_that_nobody_vouches_for_is_refused(tls_server, certificates, secret_file, wrong):
    files = {"redis_ca_file": "ca.crt", "redis_cert_file": "client.crt", "redis_key_file": "client.key"} | wrong
    files = {name: file and f"{certificates}/{file}" for name, file in files.items()}
    settings = Settings(redis_url=f"rediss://127.0.0.1:{tls_server}/0", redis_password_file=secret_file, **files)
    with Client(settings=settings) as client, pytest.raises(Unavailable) as caught:
        client.repair(UNSOLVABLE)
    assert SECRET not in str(caught.value)


@pytest.fixture
def acl_server(tmp_path):
    """A server with the users of deploy/redis/users.acl."""
    file = tmp_path / "users.acl"
    text = USERS.read_text("utf-8").replace("WORKER_PASSWORD", SECRET).replace("CLIENT_PASSWORD", "for-clients")
    file.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("#")))
    ready = {"username": "taquin-worker", "password": SECRET}
    with server(tmp_path / "redis", "--aclfile", str(file), ready=lambda at: answers(at, **ready)) as (port, _):
        yield port


@pytest.mark.slow
def test_a_client_with_few_rights(acl_server, secret_file):
    """It enqueues, reads answers, submits jobs and claims boards, and can neither look at other keys nor flush."""
    worker_url = f"redis://taquin-worker@127.0.0.1:{acl_server}/0"
    client_url = f"redis://taquin-client:for-clients@127.0.0.1:{acl_server}/0"
    environment = QUICK | {"TAQUIN_REDIS_PASSWORD_FILE": str(secret_file)}
    with run_worker(worker_url, environment=environment) as worker, Client(client_url, timeout=60) as client:
        assert client.repair(UNSOLVABLE).status == "repaired"
        job = client.submit([UNSOLVABLE] * 10, kind="repair")
        assert job.wait(60).repaired == 10
        assert sum(len(chunk) for chunk in job.results()) == 10
        client.generate("3x3", count=200, to_pool=True).wait(60)
        band = next(pool.name.split(":")[1] for pool in client.pools() if pool.ready)
        assert client.claim("3x3", band=band) is not None
        assert "job.completed" in {event.name for event in client.events("app", "one", timeout=0.2)}
        with Celery("backend", broker=client_url, backend=client_url, set_as_current=False) as plain:
            answer = plain.send_task("taquin.repair", [{"board": UNSOLVABLE}], queue="interactive").get(timeout=60)
        assert answer["status"] == "repaired"
        with Redis.from_url(client_url) as raw, Redis.from_url(worker_url, password=SECRET) as own:
            for refused in (
                lambda: raw.get("another-app"),
                lambda: raw.set("another-app", 1),
                lambda: raw.get("unacked"),
                raw.flushall,
                raw.flushdb,
                lambda: raw.config_get("*"),
                lambda: raw.keys("*"),
                raw.acl_list,
                raw.shutdown,
                lambda: raw.brpop("interactive", 1),
            ):
                with pytest.raises(NoPermissionError):
                    refused()
            for refused in (own.flushall, lambda: own.get("another-app"), lambda: own.config_set("maxmemory", 1)):
                with pytest.raises(NoPermissionError):
                    refused()
        assert SECRET not in worker.log.read_text()


def test_a_wrong_password_is_said_without_saying_it(acl_server, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("not-the-password")
    settings = Settings(redis_url=f"redis://taquin-worker@127.0.0.1:{acl_server}/0", redis_password_file=wrong)
    with Client(settings=settings) as client, pytest.raises(Unavailable) as caught:
        client.repair(UNSOLVABLE)
    assert "not-the-password" not in str(caught.value)
    assert f"{acl_server} refused the credentials" in str(caught.value)
    assert "TAQUIN_REDIS_PASSWORD_FILE" in str(caught.value)


def test_a_password_that_is_missing_is_said(acl_server):
    with Client(f"redis://127.0.0.1:{acl_server}/0") as client, pytest.raises(Unavailable) as caught:
        client.repair(UNSOLVABLE)
    assert "refused the credentials" in str(caught.value)


def test_sentinels_that_refuse_their_password_are_said(acl_server):
    """What a sentinel answers then is what any server does."""
    with Client(f"sentinel://127.0.0.1:{acl_server}/0?service=boards") as client, pytest.raises(Unavailable) as caught:
        client.repair(UNSOLVABLE)
    assert "refused the credentials" in str(caught.value)
    assert "TAQUIN_SENTINEL_PASSWORD_FILE" in str(caught.value)


def test_a_user_who_may_not_is_told_so(acl_server):
    """Neither read what the server says of itself, nor, by the script, what others wrote."""
    settings = Settings(redis_url=f"redis://taquin-client:for-clients@127.0.0.1:{acl_server}/0", key_prefix="another:")
    with connect(settings) as redis, pytest.raises(Unavailable) as caught, reporting(settings):
        redis.config_get("*")
    assert "does not let this user do that" in str(caught.value)
    with Client(settings=settings) as client, pytest.raises(Unavailable) as caught:
        client.repair(UNSOLVABLE)
    assert "does not let this user do that" in str(caught.value)
    assert "for-clients" not in str(caught.value)


@pytest.mark.parametrize("where", ["in no place", "in the file", "in the url"])
@pytest.mark.slow
def test_a_socket_instead_of_a_port(secret_file, where):
    """Our client, the one for event loops, the worker, and a plain Celery client, all in a database of their own."""
    with TemporaryDirectory(prefix="taquin-") as home:  # a socket's path is 107 bytes at most
        path = Path(home, "redis; and more.sock")
        password = None if where == "in no place" else SECRET
        secured = ("--requirepass", SECRET) if password else ()
        ready = {"password": password}
        socket_ = ("--unixsocket", str(path), "--unixsocketperm", "700")
        with server(Path(home, "redis"), *socket_, *secured, ready=lambda at: answers(at, **ready)) as (port, _):
            credentials = f":{quote(SECRET, safe='')}@" if where == "in the url" else ""
            file = {"redis_password_file": str(secret_file)} if where == "in the file" else {}
            url = f"unix://{credentials}{quote(str(path))}?db=2"
            settings = Settings(redis_url=url, **file)
            environment = QUICK | {f"TAQUIN_{name.upper()}": value for name, value in file.items()}

            async def ask():
                async with AsyncClient(settings=settings, timeout=60) as client:
                    return await client.repair(UNSOLVABLE)

            with run_worker(url, environment=environment) as worker, Client(settings=settings, timeout=60) as client:
                assert client.repair(UNSOLVABLE).status == "repaired"
                assert asyncio.run(ask()).status == "repaired"
                known = {"broker": celery_url(settings), "backend": celery_url(settings)}
                with Celery("backend", **known, set_as_current=False) as plain:
                    opened = plain.send_task("taquin.repair", [{"board": UNSOLVABLE}], queue="interactive")
                    assert opened.get(timeout=60)["status"] == "repaired"
                with Redis(port=port, password=password) as redis:
                    assert set(redis.info("keyspace")) == {"db2"}
                text = worker.log.read_text()
    assert SECRET not in text
    assert "Traceback" not in text


@contextmanager
def watched(folder):
    """A primary, a replica, and three sentinels that watch them; give the sentinels' ports, and the servers by port."""
    with ExitStack() as stack:
        secured = ("--requirepass", SECRET, "--masterauth", SECRET)
        ready = {"password": SECRET}
        primary, first = stack.enter_context(server(folder / "a", *secured, ready=lambda at: answers(at, **ready)))
        follow = (*secured, "--replicaof", "127.0.0.1", str(primary))
        replica, second = stack.enter_context(server(folder / "b", *follow, ready=lambda at: answers(at, **ready)))
        with Redis(port=primary, password=SECRET) as redis:
            wait_for(lambda: redis.info("replication")["connected_slaves"] == 1)
            wait_for(lambda: redis.info("replication")["slave0"]["state"] == "online")
        ports = []
        for number in range(3):
            home = folder / f"s{number}"
            home.mkdir()
            (home / "conf").write_text(
                f"sentinel monitor boards 127.0.0.1 {primary} 2\n"
                f"sentinel auth-pass boards {SECRET}\n"
                "sentinel down-after-milliseconds boards 1000\n"
                "sentinel failover-timeout boards 5000\n"
            )
            ports.append(stack.enter_context(server(home, "conf", "--sentinel"))[0])
        with Redis(port=ports[0]) as sentinel:
            wait_for(lambda: sentinel.sentinel_master("boards")["num-other-sentinels"] == 2)
            wait_for(lambda: sentinel.sentinel_master("boards")["num-slaves"] == 1)
        yield ports, {primary: first, replica: second}


@pytest.mark.timeout(240)
@pytest.mark.slow
def test_a_failover_in_the_middle_of_a_job(tmp_path, secret_file):
    """Workers, clients and the open door find the new primary by themselves, and every board has its answer."""
    with watched(tmp_path) as (sentinels, servers):
        hosts = ",".join(f"127.0.0.1:{port}" for port in sentinels)
        url = f"sentinel://{hosts}/0?service=boards"
        settings = Settings(redis_url=url, redis_password_file=secret_file, redis_timeout=2.0)
        environment = QUICK | {"TAQUIN_REDIS_PASSWORD_FILE": str(secret_file), "TAQUIN_REDIS_TIMEOUT": "2"}
        rng = np.random.default_rng(3)
        boards = rng.permuted(np.tile(np.arange(16), (40_000, 1)), axis=1)
        with run_worker(url, environment=environment) as worker, Client(settings=settings, timeout=60) as client:
            assert client.repair(UNSOLVABLE).status == "repaired"
            # A key makes a submission that breaks off repeatable.
            primary = min(servers)
            with connect(settings) as redis:
                primary = redis.info("server")["tcp_port"]
                job = client.submit(boards, shape="4x4", kind="repair", key="one", chunk=200, in_flight=1_000)
                replicated(redis)
            servers[primary].kill()
            progress = wait_out(lambda: client.job(job.id).wait(90))
            answer = wait_out(lambda: client.repair(UNSOLVABLE, timeout=60))
            with connect(settings) as redis:
                assert redis.info("server")["tcp_port"] != primary
            options = {"broker_transport_options": celery_options(settings)}
            options["result_backend_transport_options"] = celery_options(settings)
            with Celery(
                "backend", broker=celery_url(settings), backend=celery_url(settings), set_as_current=False
            ) as plain:
                plain.conf.update(options)
                opened = plain.send_task("taquin.repair", [{"board": UNSOLVABLE}], queue="interactive").get(timeout=60)
            text = worker.log.read_text()
    assert progress.state == "complete"
    assert (progress.done, progress.dead, progress.invalid) == (40_000, 0, 0)
    assert progress.solvable + progress.repaired == 40_000
    assert (answer.status, opened["status"]) == ("repaired", "repaired")
    assert SECRET not in text


def replicated(redis):
    """Wait until the replica has what the primary acknowledged: a failover may lose what it has not."""
    assert redis.execute_command("WAIT", 1, 10_000) == 1


def wait_out(call, seconds=90.0):
    """Do it once Redis answers again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except Unavailable:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_a_password_file_that_is_not_there_is_named(tmp_path):
    settings = Settings(redis_password_file=tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"TAQUIN_REDIS_PASSWORD_FILE: .*nowhere cannot be read, or is empty"):
        connect(settings)


def test_two_passwords_are_one_too_many(secret_file):
    settings = Settings(redis_url="redis://me:one@localhost/0", redis_password_file=secret_file)
    with pytest.raises(ValueError, match="TAQUIN_REDIS_URL holds a password already") as caught:
        connect(settings)
    assert SECRET not in str(caught.value)


def test_a_sentinel_url_without_a_service_is_named():
    with pytest.raises(ValueError, match="a sentinel URL names its service"):
        connect(Settings(redis_url="sentinel://localhost:1/0"))
