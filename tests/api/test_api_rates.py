"""How often one may ask: each user for themselves, and the answer says how long to wait."""

from __future__ import annotations

from dataclasses import replace

from pydantic import SecretStr

from api.rates import Rates
from settings import CacheSettings
from tests.api.conftest import BASE, STAFF, USER, named, server_of, settings_for
from tests.queries.cluster import open_fakes


def redis(url: str) -> CacheSettings:
    return CacheSettings(kind="redis", redis_url=SecretStr(url))


def test_who_asks_too_often_waits_and_others_do_not() -> None:
    settings = settings_for(per_minute=3)
    client = server_of(settings, replace(open_fakes(), settings=settings)).test_client()
    statuses = [client.get(f"{BASE}status", headers=named(USER)).status_code for _ in range(4)]
    assert statuses in ([200, 200, 200, 429], [200, 200, 200, 200])  # the minute may end in between
    if statuses[-1] == 429:
        answer = client.get(f"{BASE}jobs", headers=named(USER))
        assert answer.json["error"]["code"] == "too_many_requests"
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert client.get(f"{BASE}status", headers=named(STAFF)).status_code == 200


def test_without_redis_each_worker_has_its_part() -> None:
    rates = Rates(1, workers=4)
    waits = [rates.wait_seconds("alice") for _ in range(3)]
    assert waits[0] == 0 and any(waits[1:])
    assert [Rates(0, workers=1).wait_seconds("alice") for _ in range(100)] == [0] * 100


def test_workers_that_share_redis_count_together(redis_url: str) -> None:
    one, two = (Rates(2, workers=2, cache=redis(redis_url)) for _ in range(2))
    waits = [rates.wait_seconds("carol") for rates in (one, two, one, two, one)]
    assert waits[:2] == [0, 0] and any(waits[2:])


def test_a_store_that_does_not_answer_stops_nobody() -> None:
    assert Rates(1, workers=1, cache=redis("redis://127.0.0.1:1/0")).wait_seconds("alice") == 0
