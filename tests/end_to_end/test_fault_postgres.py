"""PostgreSQL, which keeps tokens and exemptions, is taken away and given back while people look (whole_site)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from data.state.engine import CONNECTIONS, MORE_CONNECTIONS
from tests.services.relay import Relay
from tests.services.whole_site import WholeSite, is_little

AWAY: dict[str, tuple[Callable[[Relay], None], Callable[[Relay], None]]] = {
    "cut": (Relay.cut, Relay.mend),
    "silent": (Relay.hush, Relay.speak),
}
WORKERS, ENGINES = 2, 4


@pytest.mark.parametrize("fault", AWAY)
def test_without_the_database_pages_go_on_tokens_wait_and_come_back(whole_site: WholeSite, fault: str) -> None:
    take_away, give_back = AWAY[fault]
    with whole_site.viewers() as people, whole_site.api_viewers() as scripts:
        people.rounds(8)
        connected = whole_site.postgres.accepted
        take_away(whole_site.postgres)
        try:
            people.rounds(40)
            refused = [whole_site.by_token("api/v1/status") for _ in range(4)]
            watched = whole_site.own_metrics()
            during = whole_site.held()
        finally:
            give_back(whole_site.postgres)
        people.until(lambda: {whole_site.by_token("api/v1/status").status for _ in range(12)} == {200}, 60)
        scripts.until(lambda: scripts.statuses[200] > 4, 60)
        people.rounds(8)
        after = whole_site.held()
    assert {(one.status, one.json["error"]["code"]) for one in refused} == {(503, "source_unreachable")}
    assert "pg-password" not in "".join(one.text for one in refused)
    assert watched.status == 200 and "fullwarp_http_requests_total" in watched.text
    assert set(people.statuses) == {200} and set(scripts.statuses) <= {200, 503}
    most = WORKERS * ENGINES * (CONNECTIONS + MORE_CONNECTIONS)
    assert whole_site.postgres.accepted - connected <= 2 * most and whole_site.postgres.standing <= most
    assert is_little(during) and is_little(after)
