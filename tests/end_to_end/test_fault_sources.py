"""Each source is taken away and given back while people look (whole_site)."""

from __future__ import annotations

import pytest

from tests.services.whole_site import WholeSite


@pytest.mark.parametrize(("name", "other", "fault"), [("metrics", "slurm", "refuse"), ("slurm", "metrics", "cut")])
def test_the_last_good_part_stays_with_its_age_and_new_ones_come_back(
    whole_site: WholeSite, name: str, other: str, fault: str
) -> None:
    source = getattr(whole_site, name)
    with whole_site.viewers() as people, whole_site.api_viewers() as scripts:
        people.until(lambda: whole_site.condition(name) == "ok")
        source.mode = fault
        try:
            people.until(lambda: whole_site.condition(name) == "stale")
            assert whole_site.condition(other) == "ok"
            people.rounds(20)
        finally:
            source.mode = "pass"
        people.until(lambda: whole_site.condition(name) == "ok")
        scripts.rounds(4)
    assert set(people.statuses) == {200} and set(scripts.statuses) == {200}
    assert scripts.complaints == []
