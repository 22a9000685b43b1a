"""Redis is taken away and given back while people look (whole_site)."""

from __future__ import annotations

import pytest

from tests.services.relay import Relay
from tests.services.viewers import Viewers
from tests.services.whole_site import WholeSite, is_little


@pytest.mark.parametrize("fault", ["cut", "silent"])
def test_without_redis_each_worker_goes_on_by_itself_and_shares_again(whole_site: WholeSite, fault: str) -> None:
    redis = whole_site.redis
    with whole_site.viewers() as people, whole_site.api_viewers() as scripts:
        _until_used(people, redis)
        connected = redis.accepted
        (redis.cut if fault == "cut" else redis.hush)()
        try:
            people.until(lambda: redis.accepted > connected or fault == "cut")  # it was found silent and tried anew
            people.rounds(30)
            scripts.rounds(10)
            sources = whole_site.condition("slurm"), whole_site.condition("metrics")
            asked = redis.accepted - connected
        finally:
            (redis.mend if fault == "cut" else redis.speak)()
        _until_used(people, redis)
        people.until(lambda: len(moments(whole_site)) <= 2)  # two workers, one picture: a new one may come in between
        held = whole_site.held()
    assert sources == ("ok", "ok")
    assert set(people.statuses) == {200} and set(scripts.statuses) == {200}
    assert scripts.complaints == []
    assert asked <= people.answered // 2, "a server that does not answer is not asked by everybody"
    assert is_little(held)


def _until_used(people: Viewers, redis: Relay) -> None:
    """More than what one worker passes when it tries whether Redis answers again."""
    wanted = redis.passed + 100
    people.until(lambda: redis.passed >= wanted)


def moments(site: WholeSite) -> set[str]:
    return {site.by_token("api/v1/status").json["time"] for _ in range(8)}
