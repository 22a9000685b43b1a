"""PostgreSQL, which keeps tokens and exemptions, is taken away and given back while people look (whole_site)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from data.state.engine import CONNECTIONS, MORE_CONNECTIONS
from tests.services.relay import Relay
from tests.services.viewers import ask
from tests.services.whole_site import PREFIX, SECRET, WholeSite, is_little, serving

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


def test_a_server_that_starts_while_the_database_is_silent_serves_pages(whole_site: WholeSite) -> None:
    whole_site.postgres.hush()
    try:
        given = {
            "FULLWARP_SERVE__BIND": f"127.0.0.1:{whole_site.tcp_port}",
            "FULLWARP_SERVE__WORKERS": "1",
            "FULLWARP_IDENTITY__SECRET": SECRET,
        }
        with serving(whole_site, "late", **given) as late:
            said = late.log.read_text()
            words = {"X-Fullwarp-Secret": SECRET, "X-Remote-User": "sam"}
            page = ask(whole_site.tcp_port, PREFIX + "jobs", **words)
    finally:
        whole_site.postgres.speak()
    assert "the application store does not answer" in said and "Traceback" not in said
    assert page.status == 200
