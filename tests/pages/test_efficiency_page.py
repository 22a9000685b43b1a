"""The page of history over small real histories: one answer on every surface, who sees what, its address and states."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pyarrow.parquet as pq
import pytest
from flask import g
from typer.testing import CliRunner

import cli
from app import open_app
from components.history_words import hours_words
from data.model import Role, Viewer
from data.queries.history import DEFAULT_COLUMNS, report
from pages._by_and_by import some_of
from pages._efficiency_address import parse_efficiency_address
from terminal.session import View
from tests.components.test_node_parts import text_of
from tests.queries.history.attempts import COLLECTED, MONDAY, Attempt, sources_of, write
from tests.services.web import PREFIX, USER
from tests.services.web import STAFF as SAM

STAFF, ALICE = Viewer(SAM, Role.STAFF), Viewer(USER, Role.USER, frozenset({"physics"}))
HEAD = Viewer("head", Role.USER, coordinated_accounts=frozenset({"physics"}))
WEEK = {"since": "2026-03-02", "until": "2026-03-09"}
NOW = COLLECTED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A week of alice and bob in physics and of mallory in chemistry; one job runs across the begin."""
    return write(
        tmp_path_factory.mktemp("history"),
        [
            Attempt(1, 2, 12, gpus=4, used=0.8, idle=0.05, memory_gib=40.0, name="train"),
            Attempt(2, 20, 30, gpus=2, used=0.1, idle=0.8, memory_gib=3.0, findings=("idle",)),
            Attempt(3, -6, 6, gpus=1, used=0.5, idle=0.2, user="bob", memory_gib=20.0),
            Attempt(4, 40, 90, gpus=8, used=0.05, idle=0.9, user="mallory", account="chemistry", path=("chemistry",)),
            Attempt(5, 50, 60, gpus=2, used=None, user="bob", state="FAILED"),
        ],
    )


@pytest.fixture
def behind(web_app: Any, folder: Path) -> Any:
    sources = sources_of(folder)
    open_app(web_app, sources)
    return sources


def inside(web_app: Any, viewer: Viewer, function: str, *given: Any, **query: Any) -> Any:
    module, name = function.rsplit(".", 1)
    with web_app.server.test_request_context(PREFIX):
        g.fullwarp_viewer = viewer
        return getattr(importlib.import_module(f"pages.{module}"), name)(*given, **query)


def page(web_app: Any, viewer: Viewer, **query: str) -> Any:
    """The page when all of it is there: the layout, and then its callback until nothing is missing."""
    tree = inside(web_app, viewer, "efficiency.layout", **{**WEEK, **query})
    found = {part.id: part for part in tree._traverse() if getattr(part, "id", "")}
    left: Mapping[str, int] = found["eff-missing"].data
    while left["left"]:
        body = inside(web_app, viewer, "efficiency.add_up_on", left, found["eff-words"].data)["body"]
        found["eff-body"].children = body
        left = next(part for part in body if getattr(part, "id", "") == "eff-missing").data
    return found["eff-body"]


def rows_of(tree: Any) -> list[list[str]]:
    table = next(part for part in tree._traverse() if getattr(part, "id", "") == "eff-table")
    bodies = [part for part in table._traverse() if type(part).__name__ == "Tbody"]
    return [[text_of(cell) for cell in row.children] for row in bodies[0].children]


def asked(**query: str) -> Any:
    return parse_efficiency_address({**WEEK, **query}, NOW, "UTC", "/efficiency")


def exported(web_app: Any, who: str, form: str = "csv", **query: str) -> Any:
    client = web_app.server.test_client()
    return client.get(
        f"{PREFIX}efficiency.{form}", query_string={**WEEK, **query}, headers={"X-Remote-User": who} if who else {}
    )


def printed(behind: Any, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    """What the terminal prints of the same week from the same history."""
    view = View(behind, STAFF, ZoneInfo("UTC"), None)
    monkeypatch.setattr("terminal.session.open_view", lambda *_, **__: view)
    done = CliRunner().invoke(cli.program, ["report", "--since", WEEK["since"], "--until", WEEK["until"], *words])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


@pytest.mark.parametrize("by", ["user", "job"])
def test_page_api_terminal_function_and_exports_give_the_same_numbers(
    web_app: Any, behind: Any, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = replace(asked(by=by).table, columns=DEFAULT_COLUMNS)
    truth = {row.label if by == "job" else row.key: row for row in report(STAFF, behind, query).rows}
    lines = list(csv.DictReader(io.StringIO(exported(web_app, SAM, by=by).text)))
    parquet = pq.read_table(io.BytesIO(exported(web_app, SAM, "parquet", by=by).data)).to_pylist()
    assert len(lines) == len(parquet) == len(truth) > 1
    words = ("--by", by, "--sort", query.sort)
    assert list(csv.DictReader(io.StringIO(printed(behind, monkeypatch, *words, "--csv", "--compare")))) == lines
    answer = orjson.loads(printed(behind, monkeypatch, *words, "--json"))
    told = {row["label"]: row["values"] for row in answer["rows"]}
    assert told == {row.label: dict(row.values) for row in truth.values()}
    api = web_app.server.test_client().get(
        f"{PREFIX}api/v1/reports/{by}", query_string=WEEK, headers={"X-Remote-User": SAM}
    )
    assert {row["label"]: row["values"] for row in api.json["answer"]["rows"]} == told
    for line, row in zip(lines, parquet, strict=True):
        expected = truth[line[by]]
        for name in ("gpu_hours_allocated", "gpu_hours_idle", "utilization", "wait_p50_seconds", "previous_jobs"):
            value = (expected.previous or {}).get("jobs") if name == "previous_jobs" else expected.value(name)
            assert (float(line[name]) if line[name] else None) == row[name] == value
    tree = page(web_app, STAFF, by=by)
    shown = {cells[0]: " ".join(cells) for cells in rows_of(tree)}
    for row in truth.values():
        cells = next(text for name, text in shown.items() if name.lower().startswith(row.label.lower()[:6]))
        assert hours_words(row.value("gpu_hours_allocated")) in cells
    total = report(STAFF, behind, query).total
    for name in ("gpu_hours_allocated", "gpu_hours_used", "gpu_hours_wasted", "gpu_hours_idle"):
        assert hours_words(total.value(name)) in text_of(tree)
    assert total.value("gpu_hours_allocated") == pytest.approx(40 + 20 + 6 + 400 + 20)


def test_a_report_says_what_its_time_before_stands_on(behind: Any) -> None:
    query = asked(since="2026-03-03", until="2026-03-04", by="user").table
    before = report(STAFF, behind, query).before
    assert before is not None and before.first is not None and f"{before.first}" == "2026-03-02"
    assert report(STAFF, behind, replace(query, compare=False)).before is None


def test_users_see_their_own_and_the_cluster_without_names(web_app: Any, behind: Any) -> None:
    tree = page(web_app, ALICE)
    assert [row[0] for row in rows_of(tree)] == ["alice"]
    text = repr(tree)
    assert "The whole cluster" in text and hours_words(486.0) in text
    assert [name for name in ("mallory", "chemistry", "bob") if name in text] == []


def test_who_coordinates_an_account_sees_its_people(web_app: Any, behind: Any) -> None:
    assert sorted(row[0] for row in rows_of(page(web_app, HEAD))) == ["alice", "bob"]


@pytest.mark.parametrize("query", [{"user": "mallory"}, {"user": "nobody"}])
def test_what_one_may_not_see_looks_like_what_does_not_exist(web_app: Any, behind: Any, query: dict[str, str]) -> None:
    text = text_of(page(web_app, ALICE, **query))
    assert "No GPU-hours here" in text and "You are signed in as alice" in text and "The whole cluster" not in text
    assert exported(web_app, USER, **query).text.count("\n") == 1


def test_later_answers_keep_the_columns_that_were_asked_for(web_app: Any, behind: Any) -> None:
    words = {"query": "view=waits&q=li&since=2026-03-02&until=2026-03-09", "now": NOW.isoformat()}
    again = inside(web_app, STAFF, "efficiency._again", words)
    assert (again.address.value("view"), again.text) == ("waits", "li")


def test_a_text_narrows_the_rows_on_the_page_and_in_the_file(web_app: Any, behind: Any) -> None:
    assert [row[0] for row in rows_of(page(web_app, STAFF, q="LI"))] == ["alice"]
    assert [line["user"] for line in csv.DictReader(io.StringIO(exported(web_app, SAM, q="LI").text))] == ["alice"]
    assert "No name holds “<b>”." in text_of(page(web_app, STAFF, q="<b>"))
    refused = exported(web_app, SAM, q="1", by="job")
    assert refused.status_code == 400 and refused.text.startswith("q: ")


def test_a_row_names_its_most_frequent_finding_and_leads_to_the_jobs_that_have_it(web_app: Any, behind: Any) -> None:
    tree = page(web_app, STAFF, q="i")
    assert {row[0]: row[-1] for row in rows_of(tree)} == {"alice": "idle"}
    links = [str(getattr(part, "href", "")) for part in tree._traverse()]
    assert any(
        "finding=idle" in href and "user=alice" in href and "by=job" in href and "q=" not in href for href in links
    )
    assert {row[0]: row[-1] for row in rows_of(page(web_app, STAFF, by="account"))}["chemistry"] == "–"


def test_nobody_gets_an_export_without_a_name(web_app: Any, behind: Any) -> None:
    assert exported(web_app, "").status_code == 401


def test_a_selection_on_the_map_narrows_the_table_and_says_its_share(web_app: Any, behind: Any) -> None:
    tree = page(web_app, STAFF, util="0-20", memory="-8", by="job")
    assert [row[0] for row in rows_of(tree)] == ["2 train"]
    text = text_of(tree)
    assert "4.1 % of all: 20.0 GPU-h in 1 job" in text and hours_words(486.0) in text
    heat = next(part for part in tree._traverse() if getattr(part, "id", "") == "history-figures").data["heat"]
    left, low, right, high = heat["chosen"]
    up = len(heat["ys"])
    places = [column * up + row for column in range(left, right + 1) for row in range(low, high + 1)]
    assert (sum(heat["hours"][at] for at in places), sum(heat["jobs"][at] for at in places)) == (20.0, 1)
    chosen = exported(web_app, SAM, util="0-20", memory="-8", by="job").text
    assert chosen.count("\n") == 2 and chosen.splitlines()[1].startswith("2,train")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"by": "luck"}, "by=luck"),
        ({"by": "day"}, "by=day"),
        ({"sort": "-luck"}, "sort=luck"),
        ({"limit": "99999"}, "limit=99999"),
        ({"util": "80-20"}, "util=80-20"),
        ({"since": "2026-03-09", "until": "2026-03-01"}, "is not before"),
        ({"since": "tomorrow"}, "since"),
        ({"since": "1000000d"}, "since"),
        ({"view": "all"}, "view"),
        ({"at": "tomorrow"}, "at"),
        ({"size": "3"}, "size=3"),
        ({"user": "x" * 2000}, "too much text"),
    ],
)
def test_what_cannot_be_used_is_named_once_and_the_rest_is_shown(query: dict[str, str], said: str) -> None:
    found = parse_efficiency_address({"account": "physics", **query}, NOW, "UTC", "/efficiency")
    assert len(found.ignored) == 1 and said in found.ignored[0]
    assert found.table.filter.accounts == {"physics"} and found.table.compare


def test_an_address_that_is_half_wrong_gives_no_file(web_app: Any, behind: Any) -> None:
    answer = exported(web_app, SAM, util="x")
    assert answer.status_code == 400 and "util=x" in answer.text


def test_a_range_without_end_ends_at_the_last_full_five_minutes() -> None:
    early = parse_efficiency_address({}, MONDAY.replace(minute=7, second=3), "UTC", "/efficiency")
    late = parse_efficiency_address({}, MONDAY.replace(minute=9, second=59), "UTC", "/efficiency")
    assert early.table == late.table and early.table.until == MONDAY.replace(minute=5)
    past = parse_efficiency_address({"at": "2026-03-01T10:02Z"}, MONDAY, "UTC", "/efficiency")
    assert past.table.until.minute == 2 and "at=2026-03-01" in past.address.query()


def test_without_a_folder_the_page_says_how_to_begin(web_app: Any) -> None:
    open_app(web_app, sources_of(None))
    assert 'directory = "/var/lib/fullwarp/history"' in text_of(page(web_app, STAFF))
    assert "fullwarp collect" not in text_of(page(web_app, ALICE))
    assert exported(web_app, SAM).status_code == 404


def test_an_empty_folder_and_an_empty_range_are_friendly(web_app: Any, tmp_path: Path, behind: Any) -> None:
    text = text_of(page(web_app, STAFF, since="2020-01-01", until="2020-01-08"))
    assert "No history of this time" in text and "fullwarp collect --since 90d" in text
    open_app(web_app, sources_of(tmp_path))
    assert "No history of this time" in text_of(page(web_app, STAFF))


def test_damaged_files_are_named_to_staff_and_counted_to_all(web_app: Any, folder: Path, tmp_path: Path) -> None:
    write(tmp_path, [Attempt(1, 2, 12), Attempt(2, 30, 40)])
    day = next((tmp_path / "usage").glob("day=2026-03-03"))
    (day / "cut.parquet").write_bytes(b"PAR1 half")
    open_app(web_app, sources_of(tmp_path))
    assert "cut.parquet" in text_of(page(web_app, STAFF))
    text = text_of(page(web_app, ALICE))
    assert "1 file of the history cannot be read" in text and "cut.parquet" not in text


def test_a_users_month_comes_from_history_where_there_is_one(web_app: Any, folder: Path) -> None:
    open_app(web_app, sources_of(folder, MONDAY.replace(day=9)))
    panels, left = inside(web_app, ALICE, "me.read_on", 1, "alice")
    text = " ".join(text_of(part) for part in panels if part is not None)
    assert left == 0 and "Jobs that wasted most" in text and "Idle" in text and "60.0" in text


def test_answers_that_take_long_come_with_the_next_call() -> None:
    import threading

    gate = threading.Event()
    makers = {"quick": lambda: 1, "slow": lambda: gate.wait(5) and 2, "never": lambda: 3}
    assert some_of({"quick": lambda: 1, "slow": makers["slow"]}, 0.2) == {"quick": 1}
    assert some_of(makers, 0.2, more_than=0).keys() >= {"quick"}
    gate.set()
    assert some_of(makers, 5.0, more_than=len(makers)) == {"quick": 1, "slow": True and 2, "never": 3}


def test_an_answer_that_fails_is_told_at_once() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        some_of({"bad": fail, "good": lambda: 1}, 5.0, more_than=2)
