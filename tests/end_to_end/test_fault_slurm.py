"""slurmrestd is taken away and given back while people look (whole_site)."""

from __future__ import annotations

from tests.services.whole_site import WholeSite


def test_without_slurm_nodes_and_jobs_stay_with_their_age_and_come_back(whole_site: WholeSite) -> None:
    with whole_site.viewers() as people, whole_site.api_viewers() as scripts:
        people.until(lambda: whole_site.condition("slurm") == "ok")
        whole_site.slurm.mode = "cut"
        try:
            people.until(lambda: whole_site.condition("slurm") == "stale")
            assert whole_site.condition("metrics") == "ok"
            people.rounds(20)
        finally:
            whole_site.slurm.mode = "pass"
        people.until(lambda: whole_site.condition("slurm") == "ok")
        scripts.rounds(4)
    assert set(people.statuses) == {200} and set(scripts.statuses) == {200}
    assert scripts.complaints == []
