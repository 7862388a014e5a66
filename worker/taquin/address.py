"""Where Redis is, and by which credentials: what the settings say of it, for redis-py and for Celery alike."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit, urlunsplit

from taquin.errors import BadSettings

if TYPE_CHECKING:
    from pathlib import Path

    from taquin.settings import Settings

PORT: Final = 6379
SENTINEL_PORT: Final = 26379
SENTINEL: Final = frozenset({"sentinel", "sentinels"})
TLS: Final = frozenset({"rediss", "sentinels"})


@dataclass(frozen=True, slots=True)
class Service:
    """A Redis that sentinels watch over: who they are, and what they know it by."""

    sentinels: tuple[tuple[str, int], ...]
    name: str
    db: int
    user: str | None
    password: str | None
    sentinel_password: str | None


def url_of(settings: Settings) -> str:
    """Return the URL with the password of the secret file in it.

    Raises:
        BadSettings: the file cannot be read, or the password stands in both places.
    """
    url = _parts(settings)
    password = _secret(settings.redis_password_file, "TAQUIN_REDIS_PASSWORD_FILE")
    if password is None:
        return urlunsplit(url)
    credentials, _, hosts = url.netloc.rpartition("@")
    user, colon, _ = credentials.partition(":")
    if colon:
        raise BadSettings("TAQUIN_REDIS_PASSWORD_FILE: TAQUIN_REDIS_URL holds a password already; use one of the two")
    return urlunsplit(url._replace(netloc=f"{user}:{quote(password, safe='')}@{hosts}"))


def service_of(settings: Settings) -> Service | None:
    """Return the service that sentinels watch over; None if the URL names the server itself.

    Raises:
        BadSettings: the URL names no service, or a port or database that is no number.
    """
    if _parts(settings).scheme not in SENTINEL:
        return None
    url = urlsplit(url_of(settings))
    name = parse_qs(url.query).get("service", [""])[0]
    if not name:
        raise BadSettings("TAQUIN_REDIS_URL: a sentinel URL names its service: sentinel://host,host/0?service=mymaster")
    credentials, _, hosts = url.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    try:
        sentinels = tuple(_host(host) for host in hosts.split(","))
        db = int(url.path.strip("/") or 0)
    except ValueError:
        raise BadSettings("TAQUIN_REDIS_URL: a port and a database are whole numbers") from None
    sentinel_password = _secret(settings.sentinel_password_file, "TAQUIN_SENTINEL_PASSWORD_FILE")
    return Service(sentinels, name, db, unquote(user) or None, unquote(password) or None, sentinel_password)


def tls_of(settings: Settings) -> dict[str, Any]:
    """Return what redis-py and kombu are to know of TLS; nothing if it is not used. Certificates are always checked."""
    if _parts(settings).scheme not in TLS:
        return {}
    files = {
        "ssl_ca_certs": settings.redis_ca_file,
        "ssl_certfile": settings.redis_cert_file,
        "ssl_keyfile": settings.redis_key_file,
    }
    return {"ssl_cert_reqs": ssl.CERT_REQUIRED} | {name: str(file) for name, file in files.items() if file}


def celery_url(settings: Settings) -> str:
    """Return the URL as Celery spells it."""
    service = service_of(settings)
    if service is None:
        # kombu spells Redis's own unix scheme differently.
        return url_of(settings).replace("unix://", "redis+socket://", 1)
    credentials = f"{quote(service.user or '', safe='')}:{quote(service.password or '', safe='')}@"
    known = credentials if credentials != ":@" else ""
    return ";".join(f"sentinel://{known}{host}:{port}/{service.db}" for host, port in service.sentinels)


def celery_options(settings: Settings) -> dict[str, Any]:
    """Return what Celery is to know of sentinels beside the URL."""
    service = service_of(settings)
    if service is None:
        return {}
    options = {"socket_timeout": settings.redis_timeout, **tls_of(settings)} | (
        {"ssl": True} if tls_of(settings) else {}
    )
    if service.sentinel_password is not None:
        options["password"] = service.sentinel_password
    return {"master_name": service.name, "sentinel_kwargs": options}


def place(settings: Settings) -> str:
    """Host and port, or the socket's path: what an error may show of the URL, which may hold a password."""
    url = _parts(settings)
    if url.scheme == "unix":
        return url.path
    hosts = url.netloc.rpartition("@")[2]
    if url.scheme in SENTINEL:
        return f"the sentinels {hosts}"
    host, port = (url.hostname or "127.0.0.1"), url.port or PORT
    return f"{host}:{port}"


def passwords(settings: Settings) -> tuple[str, ...]:
    """Return what must never be shown, as it is and as it stands in a URL."""
    files = (settings.redis_password_file, settings.sentinel_password_file)
    found = {_read(file) for file in files if file is not None}
    in_url = _parts(settings).netloc.rpartition("@")[0].partition(":")[2]
    found |= {in_url, unquote(in_url)}
    return tuple(sorted({form for secret in found if secret for form in (secret, quote(secret, safe=""))}, key=len))[
        ::-1
    ]


def _parts(settings: Settings) -> SplitResult:
    return urlsplit(settings.redis_url.get_secret_value())


def _host(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    return (host, int(port)) if colon else (text, SENTINEL_PORT)


def _secret(file: Path | None, name: str) -> str | None:
    if file is None:
        return None
    secret = _read(file)
    if not secret:
        raise BadSettings(f"{name}: {file} cannot be read, or is empty")
    return secret


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip("\r\n")
    except OSError:
        return ""
