"""The page of detailed metrics: its address, its tree, its callback as a function, its exports and its states."""

from __future__ import annotations

import csv
import importlib
import io
import json
from dataclasses import replace
from typing import Any

import dash
import pytest
from flask import g

from app import open_app
from components.metrics_answer import GROUPS, PERIODS
from components.metrics_payload import MOST_ROWS, PayloadContext, metrics_payload, noun
from data.errors import SourceTimeout
from data.model import Viewer
from data.queries.metrics import COLUMNS, Group, detailed_metrics
from data.queries.metrics.rows import rows_of
from pages._metrics_address import parse_metrics_address
from settings import FindingLimits
from tests.components.test_node_parts import text_of
from tests.live.builders import NOW, make_job
from tests.queries.cluster import ALICE, STAFF, STRANGER
from tests.queries.metric_builders import device, piece, question, sources, stat
from tests.services.web import PREFIX, USER
from tests.services.web import STAFF as SAM


def own(*more: Any, **settings: Any) -> Any:
    """Two jobs of alice and one of mallory on one node."""
    hers = make_job(90210, name="secret", user="mallory", account="chemistry")
    jobs = [make_job(7, name="train_1"), make_job(8, name="=cmd()"), hers]
    values = ((7, 0.9, 0.2), (8, 0.5, 0.45), (90210, 0.4, 0.3))
    seen = [
        stat(value, str(job), metric, of=device(index=job % 8))
        for job, *both in values
        for metric, value in zip(("gpu_utilization", "sm_activity"), both, strict=True)
    ]
    return sources(jobs, *seen, *more, **settings)


def asked(**query: str) -> Any:
    return parse_metrics_address(query, NOW, "UTC")


def refresh(web_app: Any, viewer: Viewer, behind: Any = None, **chosen: Any) -> dict[str, Any]:
    """The callback's answer by the name of each output."""
    if behind is not None:
        open_app(web_app, behind)
    page = importlib.import_module("pages.metrics")
    given = [chosen.get(name, {"group": "job", "period": "1h"}.get(name)) for name in page.NAMES]
    more = [chosen.get(name, "") for name in ("seen", "since", "until", "at")]
    with web_app.server.test_request_context(PREFIX):
        g.fullwarp_viewer = viewer
        found = page.refresh_metrics(1, *given, *more)
    names = ("note", "banner", "instead", "findings", "missing", "remark", "data", *page.FILTERS, "csv", "parquet")
    return dict(zip((*names, "frame", "version"), found, strict=True))


def test_an_address_is_read_and_written_back() -> None:
    found = asked(group="user", period="6h", user="alice", sort="-utilization_gap", split="1", finding="idle", q="x")
    wanted = found.question
    assert (wanted.group, wanted.seconds, wanted.users, wanted.sort) == (
        Group.USER,
        21_600,
        {"alice"},
        "-utilization_gap",
    )
    assert (wanted.by_model, wanted.finding, wanted.text) == (True, "idle", "x")
    again = parse_metrics_address(dict(part.split("=") for part in found.query().split("&")), NOW, "UTC")
    assert again.question == wanted and found.ignored == ()


@pytest.mark.parametrize(
    "query",
    [
        {"group": "luck"},
        {"period": "9y"},
        {"sort": "--gpu_hours"},
        {"sort": "mallory"},
        {"at": "tomorrow"},
        {"since": "yesterdy"},
        {"since": "-1h", "until": "-2h"},
        {"since": "-1h", "until": "-1h"},
    ],
)
def test_what_cannot_be_used_is_named_and_ignored(query: dict[str, str]) -> None:
    found = asked(**query)
    assert len(found.ignored) == 1 and found.question.group is Group.JOB and found.question.seconds == 3600


def test_a_range_of_its_own_and_a_past_moment_are_kept() -> None:
    found = asked(since="2026-03-10T02:00", until="2026-03-10T05:30", period="24h")
    assert found.question.seconds == 12_600 and found.chosen["period"] == "custom"
    past = asked(at="2026-03-09T12:00", period="24h")
    assert past.question.until.isoformat() == "2026-03-09T12:00:00+00:00" and "at=" in past.query()


def test_every_group_and_period_of_the_page_can_be_asked() -> None:
    for group, _ in GROUPS:
        for period, _ in PERIODS:
            found = asked(group=group, period=period)
            assert found.ignored == () and found.question.group == group
    assert {group for group, _ in GROUPS} == {group.value for group in Group}


def test_the_page_stands_before_its_numbers(web_app: Any) -> None:
    behind = own()
    open_app(web_app, behind)
    with web_app.server.test_request_context(PREFIX):
        g.fullwarp_viewer = STAFF
        tree = importlib.import_module("pages.metrics").layout(group="user", period="24h", user="alice")
    text = json.dumps(tree, default=lambda one: one.to_plotly_json())
    assert all(f'"metrics-{part}"' in text for part in ("scatter", "table", "findings", "group", "period", "data"))
    assert behind.metrics.windows == [] and "mallory" not in text


def test_the_callback_gives_rows_findings_and_options(web_app: Any) -> None:
    found = refresh(web_app, STAFF, own())
    data = found["data"]
    assert [(row["id"], row["hours"]) for row in data["rows"]] == [("7", 1.0), ("8", 1.0), ("90210", 1.0)]
    first = dict(zip((column["name"] for column in data["columns"]), data["rows"][0]["values"], strict=True))
    assert (first["utilization"], first["sm_activity"], first["utilization_gap"], first["power_watts"]) == (
        90,
        20,
        70,
        None,
    )
    assert data["rows"][0]["chips"] == ["small_kernels"] and data["advice"]["small_kernels"][2]
    assert "small kernels" in text_of(found["findings"]) and found["instead"] is None
    assert [one["value"] for one in found["user"]] == ["*", "alice", "mallory"]


def test_a_user_gets_own_rows_and_no_trace_of_others(web_app: Any) -> None:
    found = refresh(web_app, ALICE, own())
    assert [row["id"] for row in found["data"]["rows"]] == ["7", "8"]
    text = json.dumps(found, default=lambda one: one.to_plotly_json())
    assert [name for name in ("mallory", "90210", "secret", "chemistry") if name in text] == []


def test_a_tick_without_news_changes_nothing_and_another_question_does(web_app: Any) -> None:
    version = refresh(web_app, STAFF, own())["version"]
    with pytest.raises(dash.exceptions.PreventUpdate):
        refresh(web_app, STAFF, seen=version)
    assert refresh(web_app, STAFF, seen=version, group="user")["data"]["group"] == "user"


@pytest.mark.parametrize(
    ("chosen", "title"),
    [({"user": "nobody"}, "Nothing matches"), ({"period": "7d"}, "No history for this range")],
)
def test_an_answer_without_rows_says_what_would_have_some(web_app: Any, chosen: dict[str, str], title: str) -> None:
    found = refresh(web_app, STAFF, own(), **chosen)
    assert title in text_of(found["instead"]) and found["data"] is None


def test_an_empty_range_and_a_failing_server_have_states_of_their_own(web_app: Any) -> None:
    assert "No job used a GPU" in text_of(refresh(web_app, STRANGER, own())["instead"])
    behind = own()
    behind.live.snapshot()
    behind.metrics.fault = SourceTimeout("no answer from http://secret:9090", hint="See Health.")
    staff, user = (refresh(web_app, viewer, behind) for viewer in (STAFF, ALICE))
    assert "http://secret:9090" in text_of(staff["instead"]) and "secret" not in text_of(user["instead"])
    assert staff["data"] is None and staff["findings"] is None


def test_columns_that_nobody_exports_come_with_their_lines_for_staff(web_app: Any) -> None:
    absent = ("fp16_activity", "fp64_activity")
    behind = own(missing=absent, missing_here=absent)
    staff, user = (refresh(web_app, viewer, behind) for viewer in (STAFF, ALICE))
    off = {column["name"] for column in staff["data"]["columns"] if column["off"]}
    assert off == set(absent)
    assert "DCGM_FI_PROF_PIPE_FP16_ACTIVE" in text_of(staff["missing"])
    assert "not exported" in text_of(user["missing"]) and "DCGM" not in text_of(user["missing"])


def get(web_app: Any, path: str, user: str = SAM, behind: Any = None) -> Any:
    if behind is not None:
        open_app(web_app, behind)
    return web_app.server.test_client().get(f"{PREFIX}{path}", headers={"X-Remote-User": user} if user else {})


def test_csv_and_parquet_are_the_functions_rows_scoped_like_the_page(web_app: Any) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    behind = own()
    table = detailed_metrics(STAFF, behind, question(Group.JOB, sort="-utilization"))
    text = get(web_app, "metrics.csv?sort=-utilization", behind=behind)
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert [(row["row"], float(row["utilization"])) for row in rows] == [
        (row.key, row.value("utilization")) for row in table.rows
    ]
    assert [row["job_name"] for row in rows] == ["train_1", "'=cmd()", "secret"]
    stored = parquet.read_table(io.BytesIO(get(web_app, "metrics.parquet?sort=-utilization").data)).to_pylist()
    assert [row["gpu_hours_used"] for row in stored] == [row.hours.used for row in table.rows]
    assert "mallory" not in get(web_app, "metrics.csv?group=user", USER).text


def test_the_exports_need_a_name_and_refuse_what_cannot_be_answered(web_app: Any) -> None:
    assert get(web_app, "metrics.csv", user="", behind=own()).status_code == 401
    assert get(web_app, "metrics.parquet", user="").status_code == 401
    late = get(web_app, "metrics.csv?period=7d")
    assert late.status_code == 503 and "history" in late.text


@pytest.mark.parametrize("wrong", ["period=-1h", "since=zzz", "group=zz", "sort=zz", "at=never"])
def test_an_export_never_answers_another_question_than_was_asked(web_app: Any, wrong: str) -> None:
    refused = get(web_app, f"metrics.csv?{wrong}", behind=own())
    assert refused.status_code == 400 and refused.text.startswith(wrong.partition("=")[0])


def test_a_huge_table_shows_the_largest_rows_and_says_how_many_there_are() -> None:
    pieces = [piece(str(number), hours=number % 977 + 1) for number in range(MOST_ROWS + 500)]
    table = detailed_metrics(STAFF, sources([]), question(Group.JOB))
    many = replace(table, rows=rows_of(pieces, question(Group.JOB, sort="name")))
    shown = metrics_payload(many, PayloadContext("/", {}, FindingLimits()))
    assert len(shown["rows"]) == MOST_ROWS and shown["count"] == MOST_ROWS + 500
    assert min(row["hours"] for row in shown["rows"]) >= 100 and len(shown["columns"]) == len(COLUMNS)


def test_how_an_answer_is_looked_at_is_no_part_of_its_question() -> None:
    table = detailed_metrics(STAFF, sources([]), question())
    by_user, looked_at, by_job = (
        metrics_payload(table, PayloadContext("/", query, FindingLimits()))["question"]
        for query in ({"group": "user"}, {"group": "user", "sort": "name", "row": "7"}, {"group": "job"})
    )
    assert by_user == looked_at != by_job


@pytest.mark.parametrize("name", ["a/b?c#d", "<script>alert(1)</script>", "ä ö", "..", "%2e"])
def test_odd_names_stay_text_and_links_lead_to_them_alone(name: str) -> None:
    pieces = [piece("1", user=name, name=name, account=name)]
    base = detailed_metrics(STAFF, sources([]), question())
    table = replace(base, rows=rows_of(pieces, question(Group.USER)))
    row = metrics_payload(table, PayloadContext("/warp/", {"group": "user", "period": "6h"}, FindingLimits()))["rows"][
        0
    ]
    assert row["name"] == name and row["href"].startswith("/warp/users/") and row["href"].count("/") == 3
    assert "#" not in row["inside"] and "group=job" in row["inside"] and "period=6h" in row["inside"]


def test_nouns_are_words() -> None:
    assert (noun(Group.MODEL, 1), noun(Group.MODEL, 2), noun(Group.JOB, 0)) == ("GPU model", "GPU models", "jobs")
