"""The link of a result is an address that the page really understands, with the filters that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import dash
import pytest

from app import open_app
from chat.tools import TOOLS, call
from data.sources import Sources
from pages._efficiency_address import parse_efficiency_address
from pages._jobs_address import parse_jobs_address
from pages._metrics_address import parse_metrics_address
from pages._nodes_address import parse_nodes_address
from pages._overview_address import parse_address
from pages._policy_address import parse_policy_address
from tests.chat.small_cluster import ASKED, RANGE, as_asker
from tests.queries.cluster import STAFF
from tests.queries.history.attempts import COLLECTED
from tests.services.web import PREFIX

ZONE = "UTC"
# What no page shows as a whole.
NO_PAGE = ("compare_jobs", "sbatch_advice", "site_documents")


def link(sources: Sources, tool: str, **arguments: Any) -> str:
    found = call(as_asker(STAFF, sources), tool, arguments, "call_1")
    assert found.error == ""
    return found.link


def read(address: str) -> Any:
    """What the page makes of an address: its filters, and what of it was not understood."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    if parts.path == "/":
        return parse_address(query, COLLECTED, ZONE)
    if parts.path == "/nodes":
        return parse_nodes_address(query, COLLECTED, ZONE)
    if parts.path == "/jobs":
        return parse_jobs_address(query, COLLECTED, ZONE)
    if parts.path == "/metrics":
        return parse_metrics_address(query, COLLECTED, ZONE)
    reader = {"/efficiency": parse_efficiency_address, "/policy": parse_policy_address}[parts.path]
    return reader(query, COLLECTED, ZONE, parts.path)


@pytest.mark.parametrize("tool", [name for name in TOOLS if name not in NO_PAGE])
def test_every_link_is_a_page_that_answers(web_app: Any, sources: Sources, tool: str) -> None:
    open_app(web_app, sources)
    found = link(sources, tool, **ASKED[tool])
    client = web_app.server.test_client()
    answer = client.get(PREFIX.rstrip("/") + found, headers={"X-Remote-User": "sam"})
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    with web_app.server.test_request_context(PREFIX):
        page, _ = dash._pages._path_to_page(urlsplit(found).path.strip("/"))
    assert page.get("module", "").startswith("pages.")
    if urlsplit(found).query:
        assert read(found).ignored == ()


FILTERED: tuple[tuple[str, Mapping[str, Any], str, Mapping[str, Any]], ...] = (
    ("cluster_status", {"partition": "gpu"}, "chosen", {"partition": "gpu"}),
    ("find_nodes", {"partition": "gpu", "state": "mixed", "name": "gpu"}, "chosen",
     {"partition": "gpu", "state": "mixed"}),
    ("find_nodes", {"gpu_state": "idle"}, "chosen", {"state": "idle"}),
    ("find_jobs", {"user": "alice", "state": "RUNNING", "sort": "-gpus"}, "chosen",
     {"user": "alice", "state": "RUNNING"}),
    ("detailed_metrics", {"by": "user", "user": "alice", "sort": "-sm_activity", **RANGE}, "chosen",
     {"group": "user", "user": "alice", "sort": "-sm_activity"}),
)  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "where", "kept"), FILTERED)
def test_a_page_keeps_the_filters(
    sources: Sources, tool: str, arguments: dict[str, Any], where: str, kept: dict[str, Any]
) -> None:
    page = read(link(sources, tool, **arguments))
    assert page.ignored == () and kept.items() <= dict(getattr(page, where)).items()


def test_the_metrics_page_shows_the_same_range(sources: Sources) -> None:
    asked = read(link(sources, "detailed_metrics", **RANGE)).question
    assert (asked.since.isoformat(), asked.until.isoformat()) == (
        "2026-03-02T00:00:00+00:00",
        "2026-03-03T00:00:00+00:00",
    )


@pytest.mark.parametrize("tool", ["efficiency_report", "waste_ranking"])
def test_the_page_of_history_asks_the_same(sources: Sources, tool: str) -> None:
    page = read(link(sources, tool, by="partition", user="alice", model="H100", **RANGE))
    table = page.table
    assert (table.by.value, table.since.isoformat()[:10], table.until.isoformat()[:10]) == (
        "partition",
        "2026-03-02",
        "2026-03-03",
    )
    assert (table.filter.users, table.filter.models, page.ignored) == ({"alice"}, {"H100"}, ())
    assert table.sort == {"efficiency_report": "-gpu_hours_allocated", "waste_ranking": "-gpu_hours_wasted"}[tool]


def test_what_no_page_shows_has_no_link(sources: Sources) -> None:
    assert [link(sources, tool, **ASKED[tool]) for tool in NO_PAGE] == ["", "", ""]


def test_waits_are_shown_by_the_view_of_waits(sources: Sources) -> None:
    page = read(link(sources, "wait_by_gpu_count", partition="gpu", **RANGE))
    assert (page.address.value("view"), page.table.by.value, page.ignored) == ("waits", "size", ())
    assert page.table.filter.partitions == {"gpu"}


def test_the_policy_page_opens_the_job_and_keeps_the_filters(sources: Sources) -> None:
    assert read(link(sources, "policy_verdict", job_id="7")).address.value("job") == "7"
    found = read(link(sources, "policy_verdicts", status="ok", user="alice"))
    assert found.address.chosen == {"status": "ok", "user": "alice"} and found.ignored == ()


def test_a_users_other_ranges_are_shown_by_the_page_of_history(sources: Sources) -> None:
    assert link(sources, "user_efficiency", user="alice") == "/users/alice"
    found = read(link(sources, "user_efficiency", user="alice", since="7d"))
    assert (found.table.by.value, found.table.filter.users, found.table.length.days) == ("job", {"alice"}, 7)
