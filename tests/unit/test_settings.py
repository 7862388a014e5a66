"""Settings: from the environment, frozen, and clear about what is wrong."""

from __future__ import annotations

import pytest

from taquin.address import place
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


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Settings().max_attempts = 5


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://", "127.0.0.1:6379"),
        ("redis://u:p@host:1234/3", "host:1234"),
        ("rediss://host", "host:6379"),
        ("unix:///run/redis.sock", "/run/redis.sock"),
    ],
)
def test_where_redis_is_without_its_password(url, shown):
    assert place(Settings(redis_url=url)) == shown


def test_a_lease_outlasts_its_time_limit():
    settings = Settings()
    for queue in ("interactive", "bulk"):
        assert settings.soft_time_limit(queue) < settings.time_limit(queue) < settings.lease(queue)
