"""A Redis that takes connections and never answers: who waits, how often it is asked, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from api.rates import Rates
from data.errors import SettingsError
from data.shared_redis import SharedRedis, redis_address
from settings import CacheSettings
from tests.services.relay import Relay

QUESTIONS, THREADS = 200, 8


@pytest.fixture
def relay(redis_url: str) -> Iterator[Relay]:
    with Relay(urlsplit(redis_url).port or 0) as made:
        yield made


def through(relay: Relay) -> CacheSettings:
    return CacheSettings(kind="redis", redis_url=SecretStr(f"redis://127.0.0.1:{relay.port}/0"))


def until(is_so) -> None:
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_silent_redis_is_asked_by_few_and_answers_again(relay: Relay) -> None:
    name = f"silent-{time.time_ns()}"
    cache = SharedRedis(redis_address(through(relay)), timeout_seconds=1.0, rest_seconds=0.5)
    cache.set(name, b"shared")
    before = relay.accepted
    relay.hush()
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(lambda _: cache.get(name), range(QUESTIONS)))
    assert set(seen) == {None} and cache.fault is not None
    rests = (time.monotonic() - began) / 0.5 + 1
    assert relay.accepted - before <= THREADS + 2 * rests
    cache.set(name, b"own")
    assert cache.get(name) == b"own"
    relay.speak()
    until(lambda: cache.get(name) == b"shared")  # what it missed is not made up for; the next picture comes soon
    assert cache.fault is None


def test_what_a_process_kept_to_itself_does_not_come_up_again(relay: Relay) -> None:
    name = f"kept-{time.time_ns()}"
    cache = SharedRedis(redis_address(through(relay)), timeout_seconds=1.0, rest_seconds=0.1)
    relay.cut()
    cache.set(name, b"of the first outage")
    relay.mend()
    until(lambda: cache.get(name) is None)
    cache.set(name, b"newer")
    relay.cut()
    assert cache.get(name) is None


def test_a_silent_redis_stops_nobody_and_is_counted_in_again(relay: Relay) -> None:
    rates = Rates(10_000, workers=1, cache=through(relay), name=f"silent-{time.time_ns()}")
    assert rates.wait_seconds("alice") == 0
    before = relay.accepted
    relay.hush()
    with ThreadPoolExecutor(THREADS) as pool:
        waits = list(pool.map(lambda _: rates.wait_seconds("alice"), range(QUESTIONS)))
    assert set(waits) == {0}
    assert relay.accepted - before <= 2 * THREADS
    relay.speak()
    once = Rates(1, workers=1, cache=through(relay), name=f"again-{time.time_ns()}")
    until(lambda: once.wait_seconds("bob") > 0)


def test_the_address_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "redis-url"
    file.write_text("redis://:pass@host:6379/0\n")
    settings = CacheSettings(kind="redis", redis_url_file=file)
    assert redis_address(settings) == "redis://:pass@host:6379/0"
    assert redis_address(CacheSettings(kind="files", redis_url_file=file)) == ""


@pytest.mark.parametrize("written", [None, "", "http://:canary-word@host"])
def test_a_file_without_an_address_is_named_and_its_text_is_not_shown(tmp_path: Path, written: str | None) -> None:
    file = tmp_path / "redis-url"
    if written is not None:
        file.write_text(written)
    with pytest.raises(SettingsError, match=r"cache\.redis_url_file") as told:
        redis_address(CacheSettings(kind="redis", redis_url_file=file))
    assert "canary" not in str(told.value)
