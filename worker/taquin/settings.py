"""What an operator may set: read once, frozen, from ``TAQUIN_*`` environment variables or arguments."""

from __future__ import annotations

import re
from pathlib import Path  # noqa: TC003  pydantic reads the annotation at run time
from typing import Any, Final, Literal
from urllib.parse import SplitResult, parse_qs, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from taquin.errors import BadSettings

PREFIX = "TAQUIN_"
SCHEMES = ("redis", "rediss", "unix", "sentinel", "sentinels")
"""Plain and by TLS, a socket's path, and by way of sentinels, plain and by TLS."""
FORMS: Final = {
    "redis": "redis://user@host:6379/0",
    "rediss": "rediss://user@host:6379/0",
    "unix": "unix:///path/to/socket?db=0",
    "sentinel": "sentinel://host:26379,host:26379/0?service=mymaster",
    "sentinels": "sentinels://host:26379,host:26379/0?service=mymaster",
}
QUERIES: Final = {"unix": {"db"}, "sentinel": {"service"}, "sentinels": {"service"}}
"""What may stand after the question mark; all else has a variable of its own."""
DAY: Final = 86_400


class Settings(BaseSettings):
    """Everything that can be set. Times are seconds; each field is the variable ``TAQUIN_<FIELD>``.

    Raises:
        BadSettings: a value is of the wrong kind or out of its range; the message names the variable.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    redis_url: SecretStr = Field(
        SecretStr("redis://127.0.0.1:6379/0"),
        description="The Redis (or Valkey) that carries the queues and keeps the ledger.",
    )
    redis_password_file: Path | None = Field(
        None, description="A file that holds the password, where the URL has none."
    )
    redis_ca_file: Path | None = Field(None, description="The authority that signed the server's certificate (TLS).")
    redis_cert_file: Path | None = Field(None, description="Our own certificate, where the server asks for one (TLS).")
    redis_key_file: Path | None = Field(None, description="The key of our own certificate (TLS).")
    sentinel_password_file: Path | None = Field(None, description="A file that holds the password of the sentinels.")
    key_prefix: str = Field("taquin:", description="What every key of the ledger begins with.", max_length=64)
    redis_timeout: float = Field(5.0, gt=0, le=300, description="How long one Redis command may take.")

    max_cells: int = Field(1024, ge=1, le=65_536, description="The largest board that is looked at, in cells.")

    time_limit_interactive: int = Field(
        5, ge=2, le=3_600, description="One board may take this long; then it is stopped."
    )
    time_limit_bulk: int = Field(60, ge=2, le=3_600, description="One chunk may take this long; then it is stopped.")
    max_attempts: int = Field(3, ge=1, le=100, description="Attempts before work becomes a dead letter.")
    max_waiting: int = Field(
        1_000_000, ge=1, le=10**9, description="Unfinished units in the ledger before new work is refused."
    )
    keep_answers: float = Field(
        86_400.0, gt=0, le=366 * DAY, description="How long finished work and its answer are kept."
    )

    keep_events: int = Field(10_000, ge=1, le=10**9, description="About how many events the stream keeps.")

    resend_after: float = Field(2.0, gt=0, le=DAY, description="Work that nobody began is sent again after this long.")
    sweep_every: float = Field(1.0, gt=0, le=DAY, description="How often a worker looks for overdue work.")

    heartbeat_file: Path | None = Field(None, description="A file the worker touches while it consumes.")
    metrics_port: int | None = Field(None, ge=0, le=65_535, description="The port of the metrics; not served if unset.")
    celery_events: bool = Field(default=False, description="Whether a worker sends Celery's events, for Flower.")
    metrics_host: str = Field("127.0.0.1", description="The address that the metrics are served on.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="How much a worker says.")
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="auto: console on a terminal, else json."
    )

    def __init__(self, **values: Any) -> None:
        """Read the environment; arguments win over it."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise BadSettings(_explain(error)) from None

    @field_validator("redis_url")
    @classmethod
    def _well_formed(cls, url: SecretStr) -> SecretStr:
        fault = _fault_of(url.get_secret_value())
        if fault:
            raise ValueError(fault)
        return url

    def time_limit(self, queue: str) -> int:
        """Seconds after which a task of this queue is stopped by force."""
        return self.time_limit_bulk if queue == "bulk" else self.time_limit_interactive

    def soft_time_limit(self, queue: str) -> int:
        """Seconds after which it is asked to stop, so that it can say so in the ledger."""
        return max(1, int(0.8 * self.time_limit(queue)))

    def lease(self, queue: str) -> float:
        """Seconds that one attempt holds its unit of work: the time limit and the time that stopping takes."""
        return self.time_limit(queue) + 2.0


def _fault_of(url: str) -> str:
    """Say what is wrong with a URL and show nothing of it: a password may stand anywhere in one that is wrong."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        *most, last = (f"{known}://" for known in SCHEMES)
        return f"must begin with {', '.join(most)} or {last}"
    fault = _fault_after(scheme, url)
    if not fault:
        return ""
    return f"{fault}; it must look like {FORMS[scheme]}, and of a password / ? # [ ] @ : and % are percent-encoded"


def _fault_after(scheme: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        return _fault_of_hosts(scheme, parts) or _fault_of_the_rest(scheme, parts)
    except ValueError:
        return "its host or port is wrong: a port is a whole number from 1 to 65535"


def _fault_of_hosts(scheme: str, parts: SplitResult) -> str:
    hosts = parts.netloc.rpartition("@")[2]
    if scheme == "unix":
        return "" if not hosts and parts.path.strip("/") else "it names no socket by its whole path"
    servers = [urlsplit(f"//{host}") for host in (hosts.split(",") if "service" in FORMS[scheme] else [hosts])]
    if any(server.port == 0 for server in servers):  # or raises, where it is no number or too large
        raise ValueError
    return "" if all(server.hostname for server in servers) else "it names no host"


def _fault_of_the_rest(scheme: str, parts: SplitResult) -> str:
    query = parse_qs(parts.query, keep_blank_values=True)
    if parts.fragment or set(query) - QUERIES.get(scheme, set()):
        return "something follows its database that has no meaning here"
    db = query.get("db", [""])[0] if scheme == "unix" else parts.path.removeprefix("/")
    if not re.fullmatch("[0-9]{0,9}", db):
        return "its database is no whole number"
    if "service" in FORMS[scheme] and not query.get("service", [""])[0]:
        return "a sentinel URL names its service"
    return ""


def _explain(error: ValidationError) -> str:
    """Name each variable and what is wrong with it; values are left out, since one of them holds a password."""
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        field = ".".join(str(part) for part in problem["loc"])
        known = field in Settings.model_fields
        name = f"{PREFIX}{field.upper()}" if known else field
        what = problem["msg"].removeprefix("Value error, ") if known else "no such setting"
        lines.append(f"{name}: {what}")
    return "; ".join(lines)
