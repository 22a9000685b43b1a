"""Addresses, CSV and callbacks of the job pages, called as functions."""

from __future__ import annotations

import csv
import importlib
import io
from typing import Any

import dash
import pytest
from dash import html
from flask import g

from components.as_html import as_html
from data.errors import SourceUnreachable
from data.model import Role, Viewer, Visibility
from data.queries.job_list import Show
from pages._jobs_address import parse_jobs_address
from tests.live.builders import NOW, make_job
from tests.queries.cluster import ALICE, STAFF, open_fakes, scheduler
from tests.services.web import PREFIX, USER, open_still
from tests.services.web import STAFF as SAM


def asked(**query: str) -> Any:
    return parse_jobs_address(query, NOW, "UTC")


def test_an_address_is_read_and_written_back() -> None:
    found = asked(show="finished", days="7", user="alice", q="train", sort="-gpus", offset="50")
    assert (found.question.show, found.question.days, found.question.offset) == (Show.FINISHED, 7, 50)
    assert found.question.filter.users == {"alice"} and found.question.filter.text == "train"
    assert found.query() == "show=finished&days=7&sort=-gpus&user=alice&q=train"


@pytest.mark.parametrize(
    "query",
    [
        {"show": "luck"},
        {"days": "900"},
        {"sort": "idle", "show": "finished"},
        {"sort": "--gpus"},
        {"offset": "-1"},
        {"offset": "\u0665"},
        {"offset": "9" * 30},
        {"at": "tomorrow"},
    ],
)
def test_what_cannot_be_used_is_named_and_ignored(query: dict[str, str]) -> None:
    found = asked(**query)
    assert len(found.ignored) == 1 and found.question.offset == 0 and found.question.at is None


def test_a_state_is_understood_in_small_letters() -> None:
    assert asked(state="running").question.filter.states == {"RUNNING"}
    assert "state=RUNNING" in asked(state="running").query()


def client_of(web_app: Any, sources: Any) -> Any:
    open_still(web_app, sources)
    return web_app.server.test_client()


def rows_of(answer: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_the_csv_is_scoped_like_the_page(web_app: Any) -> None:
    client = client_of(web_app, open_fakes())
    mine = client.get(f"{PREFIX}jobs.csv", headers={"X-Remote-User": USER})
    assert [row["job"] for row in rows_of(mine)] == ["7", "8"] and "mallory" not in mine.text
    every = client.get(f"{PREFIX}jobs.csv?show=pending&user=mallory", headers={"X-Remote-User": SAM})
    assert [row["user"] for row in rows_of(every)] == ["mallory"]


def test_nobody_gets_the_csv_without_a_name(web_app: Any) -> None:
    assert client_of(web_app, open_fakes()).get(f"{PREFIX}jobs.csv").status_code == 401


def test_a_name_that_a_spreadsheet_would_run_is_defused(web_app: Any) -> None:
    slurm = scheduler()
    slurm.job_rows = [make_job(7, name='=HYPERLINK("http://x")'), make_job(8, name="@x\n1,2")]
    answer = client_of(web_app, open_fakes(slurm)).get(f"{PREFIX}jobs.csv", headers={"X-Remote-User": SAM})
    assert sorted(row["name"] for row in rows_of(answer)) == ['\'=HYPERLINK("http://x")', "'@x\n1,2"]


def test_not_measured_is_empty_in_the_csv_and_never_zero(web_app: Any) -> None:
    slurm = scheduler()
    slurm.job_rows = [make_job(7, "gpu04", 2)]
    answer = client_of(web_app, open_fakes(slurm)).get(f"{PREFIX}jobs.csv", headers={"X-Remote-User": SAM})
    row = rows_of(answer)[0]
    assert (row["gpu_utilization"], row["gpus_idle"], row["gpus_measured"]) == ("", "", "0")


def test_a_failing_source_gives_no_empty_csv(web_app: Any) -> None:
    slurm = scheduler()
    sources = open_fakes(slurm)
    sources.live.snapshot()

    def refuse(since: Any, until: Any) -> Any:
        raise SourceUnreachable("no slurmdbd")

    slurm.finished_jobs = refuse  # type: ignore[method-assign]
    answer = client_of(web_app, sources).get(f"{PREFIX}jobs.csv?show=finished", headers={"X-Remote-User": SAM})
    assert answer.status_code == 503 and "slurmdbd" in answer.text


def called(web_app: Any, viewer: Viewer, function: str, *given: Any, sources: Any = None) -> Any:
    module, name = function.rsplit(".", 1)
    if sources is not None:
        open_still(web_app, sources)
    with web_app.server.test_request_context(PREFIX):
        g.fullwarp_viewer = viewer
        return getattr(importlib.import_module(f"pages.{module}"), name)(*given)


def test_a_tick_without_news_changes_no_list_no_job_and_no_user(web_app: Any) -> None:
    sources = open_fakes()
    lists = called(
        web_app, ALICE, "jobs.refresh", 1, 0, "running", "", "0", "", "", "", "", "1", "", "", "", sources=sources
    )
    job = called(web_app, ALICE, "job.refresh", 1, None, "", "7", "", "")
    user = called(web_app, ALICE, "me.refresh", 1, "alice", "", "")
    again = [
        ("jobs.refresh", (2, 0, "running", "", "0", "", "", "", "", "1", "", lists.version, "")),
        ("job.refresh", (2, None, "", "7", "", job.version)),
        ("me.refresh", (2, "alice", "", user.version)),
    ]
    for function, given in again:
        with pytest.raises(dash.exceptions.PreventUpdate):
            called(web_app, ALICE, function, *given)


def test_the_callbacks_of_a_job_and_a_user_refuse_what_the_pages_refuse(web_app: Any) -> None:
    from data.errors import NotFound

    stranger = Viewer("stranger", Role.USER)
    with pytest.raises(NotFound):
        called(web_app, stranger, "job.refresh", 1, None, "", "90210", "", "", sources=open_fakes())
    with pytest.raises(NotFound):
        called(web_app, stranger, "me.refresh", 1, "mallory", "", "")
    month, left = called(web_app, stranger, "me.read_on", 1, "mallory")
    assert left == 0 and "mallory" not in repr(month)


@pytest.mark.parametrize("job_id", ["90210", "4711", "abc", "<script>", "7" * 40, "", "90212"])
def test_a_page_of_no_job_is_friendly_and_gives_nothing_away(web_app: Any, job_id: str) -> None:
    tree = repr(called(web_app, ALICE, "job.layout", job_id, sources=open_fakes()))
    assert "fw-state" in tree
    assert [name for name in ("mallory", "secret-run", "chemistry") if name in tree] == []


def test_staff_open_anybodys_page(web_app: Any) -> None:
    tree = repr(called(web_app, STAFF, "user.layout", "mallory", sources=open_fakes()))
    assert "90210" in tree and "user-month" in tree


def test_a_script_is_asked_for_only_when_its_panel_is_unfolded(web_app: Any) -> None:
    sources = open_fakes()
    assert "job-script-asked" in repr(called(web_app, ALICE, "job.layout", "7", sources=sources))
    assert "job_script" not in sources.scheduler.calls  # type: ignore[attr-defined]
    sources.scheduler.job_script = lambda job: "#!/bin/sh\n- <script>alert(1)</script>\n"  # type: ignore[method-assign]
    shown = as_html(html.Div(called(web_app, ALICE, "job.show_script", 1.0, "7")))
    assert "- &lt;script&gt;alert(1)&lt;/script&gt;" in shown and "<script>" not in shown


def test_a_script_that_one_may_not_read_is_neither_offered_nor_given(web_app: Any) -> None:
    everyone = Viewer("stranger", Role.USER, visibility=Visibility.ALL)
    assert "job-script" not in repr(called(web_app, everyone, "job.layout", "90210", sources=open_fakes()))
    assert "#!/bin/bash" not in repr(called(web_app, everyone, "job.show_script", 1.0, "90210"))
    assert "#!/bin/bash" in repr(called(web_app, STAFF, "job.show_script", 1.0, "90210"))


def test_what_was_typed_turns_no_word_of_the_title_and_a_number_means_no_node(web_app: Any) -> None:
    turned = "90\u202e01"
    for page in ("job.layout", "user.layout"):
        shown = as_html(called(web_app, ALICE, page, turned, sources=open_fakes()))
        assert f"{turned} to see" not in shown and turned not in shown.replace(f"<bdi>{turned}</bdi>", ""), page
    tree = repr(called(web_app, ALICE, "job.layout", "0", sources=open_fakes()))
    assert "fw-state" in tree and "gpu01" not in tree
    assert "/nodes/gpu01" in repr(called(web_app, ALICE, "job.layout", "gpu01", sources=open_fakes()))
