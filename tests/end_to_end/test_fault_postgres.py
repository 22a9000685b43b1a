"""PostgreSQL, which keeps tokens and exemptions, is taken away and given back while people look (whole_site)."""

from __future__ import annotations

from tests.services.whole_site import WholeSite


def test_without_the_database_pages_go_on_tokens_wait_and_come_back(whole_site: WholeSite) -> None:
    with whole_site.viewers() as people:
        people.rounds(8)
        whole_site.postgres.cut()
        try:
            people.rounds(20)
            refused = whole_site.by_token("api/v1/status")
        finally:
            whole_site.postgres.mend()
        people.until(lambda: whole_site.by_token("api/v1/status").status == 200)
        people.rounds(8)
    assert (refused.status, refused.json["error"]["code"]) == (503, "source_unreachable")
    assert "pg-password" not in refused.text
    assert set(people.statuses) == {200}
