"""A worker is killed while people look (whole_site)."""

from __future__ import annotations

import os
import signal

from tests.services.whole_site import WholeSite


def test_a_killed_worker_is_replaced_and_people_go_on(whole_site: WholeSite) -> None:
    """nginx asks again what the dead worker had not answered, but for what could change something."""
    with whole_site.viewers(paths=("", "jobs", "nodes", "health")) as people, whole_site.api_viewers() as scripts:
        people.rounds(8)
        killed = whole_site.server.workers()[0]
        os.kill(killed, signal.SIGKILL)
        people.until(lambda: killed not in (now := whole_site.server.workers()) and len(now) == 2)
        people.rounds(30)
    assert set(people.statuses) == {200} and set(scripts.statuses) == {200}
    assert scripts.complaints == []
    found = whole_site.by_token("api/v1/self/metrics", "scrape").text
    assert f'worker="{killed}"' not in found
