"""Where Redis is, and by which credentials: what the settings say of it, for redis-py and for Celery alike."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from taquin.errors import BadSettings

if TYPE_CHECKING:
    from pathlib import Path

    from taquin.settings import Settings

PORT: Final = 6379
SENTINEL_PORT: Final = 26379
SENTINEL: Final = frozenset({"sentinel", "sentinels"})
TLS: Final = frozenset({"rediss", "sentinels"})
TLS_FILES: Final = ("TAQUIN_REDIS_CA_FILE", "TAQUIN_REDIS_CERT_FILE", "TAQUIN_REDIS_KEY_FILE")


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
    hosts = url.netloc.rpartition("@")[2]
    # By hand: before Python 3.12 urlunsplit takes two of the three slashes of a socket's URL.
    return f"{url.scheme}://{_quoted(settings)}{hosts}{url.path}" + (f"?{url.query}" if url.query else "")


def service_of(settings: Settings) -> Service | None:
    """Return the service that sentinels watch over; None if the URL names the server itself.

    Raises:
        BadSettings: as ``url_of``.
    """
    url = _parts(settings)
    if url.scheme not in SENTINEL:
        return None
    sentinels = tuple(_host(host) for host in url.netloc.rpartition("@")[2].split(","))
    sentinel_password = _secret(settings.sentinel_password_file, "TAQUIN_SENTINEL_PASSWORD_FILE")
    (name,) = parse_qs(url.query)["service"][:1]
    return Service(sentinels, name, int(url.path.strip("/") or 0), *_credentials(settings), sentinel_password)


def is_socket(settings: Settings) -> bool:
    """Whether Redis is reached by a socket's path, where no probes keep a connection alive."""
    return _parts(settings).scheme == "unix"


def tls_of(settings: Settings) -> dict[str, Any]:
    """Return what redis-py and kombu are to know of TLS; nothing if it is not used. Certificates are always checked.

    Raises:
        BadSettings: a file cannot be read.
    """
    if _parts(settings).scheme not in TLS:
        return {}
    files = {
        "ssl_ca_certs": settings.redis_ca_file,
        "ssl_certfile": settings.redis_cert_file,
        "ssl_keyfile": settings.redis_key_file,
    }
    for variable, file in zip(TLS_FILES, files.values(), strict=True):
        if file is not None:
            _check_readable(file, variable)
    return {"ssl_cert_reqs": ssl.CERT_REQUIRED} | {name: str(file) for name, file in files.items() if file}


def celery_url(settings: Settings) -> str:
    """Return the URL as Celery spells it."""
    service = service_of(settings)
    known = _quoted(settings)
    if service is not None:
        return ";".join(f"sentinel://{known}{host}:{port}/{service.db}" for host, port in service.sentinels)
    if not is_socket(settings):
        return url_of(settings)
    url = _parts(settings)
    # A semicolon would begin a second URL.
    path, db = quote(unquote(url.path)), parse_qs(url.query).get("db", ["0"])[0]
    return f"redis+socket://{known}{path}?virtual_host={db}"


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
        return unquote(url.path)
    hosts = url.netloc.rpartition("@")[2]
    if url.scheme in SENTINEL:
        return f"the sentinels {hosts}"
    return f"{url.hostname}:{url.port or PORT}"


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


def _credentials(settings: Settings) -> tuple[str | None, str | None]:
    """Return user and password as they are, not as they stand in a URL."""
    user, _, password = map(unquote, _parts(settings).netloc.rpartition("@")[0].partition(":"))
    secret = _secret(settings.redis_password_file, "TAQUIN_REDIS_PASSWORD_FILE")
    if secret and password:
        raise BadSettings("TAQUIN_REDIS_PASSWORD_FILE: TAQUIN_REDIS_URL holds a password already; use one of the two")
    return user or None, secret or password or None


def _quoted(settings: Settings) -> str:
    """Return user and password as they stand in a URL, with what divides them from the host."""
    user, password = (quote(part or "", safe="") for part in _credentials(settings))
    return (user + (f":{password}" if password else "") + "@") if user or password else ""


def _check_readable(file: Path, variable: str) -> None:
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise BadSettings(f"{variable}: {file} cannot be read: {error.strerror}") from None


def _secret(file: Path | None, name: str) -> str | None:
    if file is None:
        return None
    try:
        secret = _read(file)
    except UnicodeDecodeError:
        raise BadSettings(f"{name}: {file} is no text in UTF-8; put the password in it, and nothing else") from None
    if not secret:
        raise BadSettings(f"{name}: {file} cannot be read, or is empty")
    return secret


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip("\r\n")
    except OSError:
        return ""
