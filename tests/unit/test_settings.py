"""Settings: from the environment, frozen, and clear about what is wrong."""

from __future__ import annotations

import pytest

from taquin.address import celery_url, place, url_of
from taquin.connection import connect, connect_async
from taquin.errors import BadSettings
from taquin.settings import Settings


def test_arguments_win_over_the_environment(monkeypatch):
    monkeypatch.setenv("TAQUIN_MAX_ATTEMPTS", "7")
    assert Settings().max_attempts == 7
    assert Settings(max_attempts=2).max_attempts == 2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TAQUIN_MAX_ATTEMPTS", "many", "TAQUIN_MAX_ATTEMPTS: Input should be a valid integer"),
        ("TAQUIN_MAX_ATTEMPTS", "0", "TAQUIN_MAX_ATTEMPTS: Input should be greater than or equal to 1"),
        (
            "TAQUIN_REDIS_URL",
            "http://x",
            "TAQUIN_REDIS_URL: must begin with redis://, rediss://, unix://, sentinel:// or sentinels://",
        ),
        ("TAQUIN_KEEP_ANSWERS", "inf", "TAQUIN_KEEP_ANSWERS: Input should be a finite number"),
        ("TAQUIN_RESEND_AFTER", "nan", "TAQUIN_RESEND_AFTER: Input should be a finite number"),
        ("TAQUIN_KEEP_ANSWERS", "1e30", "TAQUIN_KEEP_ANSWERS: Input should be less than or equal to 31622400"),
        ("TAQUIN_LOG_LEVEL", "loud", "TAQUIN_LOG_LEVEL: Input should be 'debug', 'info'"),
    ],
)
def test_a_bad_variable_is_named(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings, match=message.replace("(", r"\(")):
        Settings()


def test_an_unknown_setting_is_named():
    with pytest.raises(BadSettings, match="nonsense: no such setting"):
        Settings(nonsense=1)


def test_a_bad_url_does_not_show_its_password():
    with pytest.raises(BadSettings) as caught:
        Settings(redis_url="http://user:secret@host")
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(Settings(redis_url="redis://user:secret@host"))


@pytest.mark.parametrize("name", [name for name, field in Settings.model_fields.items() if field.annotation is float])
@pytest.mark.parametrize("value", [1e30, float("inf"), float("nan"), 0.0, -1.0])
def test_no_duration_is_endless(name, value):
    with pytest.raises(BadSettings, match=f"TAQUIN_{name.upper()}: "):
        Settings(**{name: value})


@pytest.mark.parametrize("name", [name for name, field in Settings.model_fields.items() if field.annotation is int])
def test_no_count_is_endless(name):
    with pytest.raises(BadSettings, match=f"TAQUIN_{name.upper()}: "):
        Settings(**{name: 10**12})


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("redis://localhost:abc/0", "a port is a whole number"),
        ("redis://localhost:99999/0", "a port is a whole number"),
        ("redis://localhost:0/0", "a port is a whole number"),
        ("redis://[::1/0", "its host or port is wrong"),
        ("redis://", "it names no host"),
        ("redis:///", "it names no host"),
        ("redis://user@/0", "it names no host"),
        ("redis://localhost/abc", "its database is no whole number"),
        ("redis://localhost/0?foo=bar", "something follows its database"),
        ("redis://localhost/0?socket_timeout=abc", "something follows its database"),
        ("redis://:hunter2/xx@localhost/0", "a port is a whole number"),
        ("redis://:hunter2#xx@localhost/0", "a port is a whole number"),
        ("redis://:hunter2?xx@localhost/0", "a port is a whole number"),
        ("redis://:12/hunter2@localhost/0", "it names no host"),
        ("redis://hunter2\u2100@localhost/0", "its host or port is wrong"),
        ("rediss://localhost:abc/0", "it must look like rediss://"),
        ("unix://run/redis.sock", "it names no socket by its whole path"),
        ("unix:///", "it names no socket by its whole path"),
        ("unix://:hunter2/xx@/run/redis.sock", "it names no socket by its whole path"),
        ("unix:///run/redis.sock?db=abc", "its database is no whole number"),
        ("unix:///run/redis.sock?virtual_host=1", "something follows its database"),
        ("sentinel://one,two:abc/0?service=boards", "a port is a whole number"),
        ("sentinel://one,/0?service=boards", "it names no host"),
        ("sentinel://one,two/abc?service=boards", "its database is no whole number"),
        ("sentinel://one,two/0", "a sentinel URL names its service"),
        ("sentinel://one,two/0?service=", "a sentinel URL names its service"),
    ],
)
def test_a_mistyped_url_is_refused_and_not_shown(url, what):
    """Whatever is wrong with it, a part of its password may stand anywhere in it."""
    with pytest.raises(BadSettings) as caught:
        Settings(redis_url=url)
    said = str(caught.value)
    assert said.startswith("TAQUIN_REDIS_URL: ")
    assert what in said
    assert "hunter2" not in said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("url", "ours", "celerys"),
    [
        ("redis://localhost", "redis://localhost", "redis://localhost"),
        ("redis://me:p%40%3B@[::1]:1/3", "redis://me:p%40%3B@[::1]:1/3", "redis://me:p%40%3B@[::1]:1/3"),
        ("redis://:a;b@localhost/0", "redis://:a%3Bb@localhost/0", "redis://:a%3Bb@localhost/0"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock", "redis+socket:///run/redis.sock?virtual_host=0"),
        ("unix://:pw@/a%20b;c?db=3", "unix://:pw@/a%20b;c?db=3", "redis+socket://:pw@/a%20b%3Bc?virtual_host=3"),
        (
            "sentinel://me:pw@one,two:1/2?service=boards",
            "sentinel://me:pw@one,two:1/2?service=boards",
            "sentinel://me:pw@one:26379/2;sentinel://me:pw@two:1/2",
        ),
    ],
)
def test_one_url_is_spelled_for_redis_and_for_celery(url, ours, celerys):
    settings = Settings(redis_url=url)
    assert (url_of(settings), celery_url(settings)) == (ours, celerys)


def test_the_password_of_the_file_is_put_into_either(tmp_path):
    file = tmp_path / "password"
    file.write_text("a/b;c\n")
    for url, ours, celerys in (
        ("redis://me@localhost/0", "redis://me:a%2Fb%3Bc@localhost/0", "redis://me:a%2Fb%3Bc@localhost/0"),
        ("unix:///a", "unix://:a%2Fb%3Bc@/a", "redis+socket://:a%2Fb%3Bc@/a?virtual_host=0"),
    ):
        settings = Settings(redis_url=url, redis_password_file=file)
        assert (url_of(settings), celery_url(settings)) == (ours, celerys)


@pytest.mark.parametrize(
    ("variable", "url"),
    [("redis_password_file", "redis://localhost"), ("sentinel_password_file", "sentinel://localhost/0?service=boards")],
)
def test_a_password_file_that_is_no_text_is_named(tmp_path, variable, url):
    file = tmp_path / "picture"
    file.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(BadSettings, match=f"TAQUIN_{variable.upper()}: .*picture is no text in UTF-8"):
        connect(Settings(redis_url=url, **{variable: file}))


@pytest.mark.parametrize("variable", ["redis_ca_file", "redis_cert_file", "redis_key_file"])
def test_a_file_for_tls_that_is_not_there_is_named(tmp_path, variable):
    settings = Settings(redis_url="rediss://localhost", **{variable: tmp_path / "nowhere"})
    for open_one in (connect, connect_async):
        with pytest.raises(BadSettings, match=f"TAQUIN_{variable.upper()}: .*nowhere cannot be read: No such file"):
            open_one(settings)


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Settings().max_attempts = 5


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://127.0.0.1", "127.0.0.1:6379"),
        ("redis://u:p@host:1234/3", "host:1234"),
        ("rediss://host", "host:6379"),
        ("unix:///run/redis.sock", "/run/redis.sock"),
        ("unix://u:p@/run/a%20b.sock?db=1", "/run/a b.sock"),
    ],
)
def test_where_redis_is_without_its_password(url, shown):
    assert place(Settings(redis_url=url)) == shown


def test_a_lease_outlasts_its_time_limit():
    settings = Settings()
    for queue in ("interactive", "bulk"):
        assert settings.soft_time_limit(queue) < settings.time_limit(queue) < settings.lease(queue)
