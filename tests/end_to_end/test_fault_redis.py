"""Redis is taken away and given back while people look (whole_site)."""

from __future__ import annotations

from tests.services.whole_site import WholeSite


def test_without_redis_each_worker_goes_on_by_itself_and_shares_again(whole_site: WholeSite) -> None:
    with whole_site.viewers() as people, whole_site.api_viewers() as scripts:
        people.rounds(8)
        whole_site.redis.cut()
        try:
            people.rounds(30)
            scripts.rounds(10)
            sources = whole_site.condition("slurm"), whole_site.condition("metrics")
        finally:
            whole_site.redis.mend()
        people.rounds(20)
    assert sources == ("ok", "ok")
    assert set(people.statuses) == {200} and set(scripts.statuses) == {200}
    assert scripts.complaints == []
    same = {whole_site.by_token("api/v1/status").json["time"] for _ in range(8)}
    assert len(same) <= 2  # two workers, one picture: a new one may come in between
