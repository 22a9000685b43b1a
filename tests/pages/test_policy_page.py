"""The Policy page: its states, its address, its file, and the same numbers as the API and the command."""

from __future__ import annotations

import csv
import importlib
import io
import json
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import dash
import pytest
from flask import g
from typer.testing import CliRunner

import cli
from components.job_policy import low_banner
from components.policy_table import SORTS, in_order, verdict_table
from components.policy_words import ladder, next_cell, when_cell
from components.shell import frame_data, low_count, low_mark
from data.errors import SourceUnreachable
from data.model import Role, Viewer
from data.sources import Sources
from data.state.exemptions import add_exemption
from data.state.store import open_store
from data.words import count
from pages._frame import with_low
from pages._policy_address import parse_policy_address
from pages._request import backing
from policy.keeping import OLDEST, VerdictKeeper
from policy.model import JobVerdict, Status, Verdict
from policy.queries import VerdictList, verdicts
from policy.rules import rules_of
from settings import EnforcementSettings, RuleKind, RuleMode, Settings, StateSettings, StepAction
from terminal.session import View
from tests.api.conftest import BASE, named, server_of, settings_for
from tests.components.test_overview_parts import words
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node
from tests.policy.test_taken_acts import with_acts
from tests.policy.test_verdict_scope import idle_everywhere
from tests.queries.cluster import ALICE, STAFF, STRANGER, open_fakes, readings, secrets_in
from tests.services.web import PREFIX, USER, open_still
from tests.services.web import STAFF as SAM

OFF = {"policy": {"rules": {"idle": {"mode": "off"}, "low-mean": {"mode": "off"}}}}


def asked(**query: str) -> Any:
    return parse_policy_address(query, NOW, "UTC", "/warp/policy")


def page(web_app: Any, sources: Sources, viewer: Viewer = STAFF, **query: str) -> str:
    """The page as text, with what is read after it is shown."""
    open_still(web_app, sources)
    with web_app.server.test_request_context(PREFIX):
        g.fullwarp_viewer = viewer
        module = importlib.import_module("pages.policy")
        shown = module.layout(**query)
        past = module.show_acts("&".join(f"{key}={value}" for key, value in query.items()), 0)
    return f"{shown} {past}"


def low_cluster(**settings: Any) -> Sources:
    return replace(open_fakes(measured=idle_everywhere()), settings=Settings.model_validate(settings))


def test_an_address_is_read_and_written_back() -> None:
    found = asked(status="low", rule="idle", user="alice", q="train", sort="-wasted", limit="100", acts="100", job="7")
    assert found.ignored == ()
    assert found.address.query() == "status=low&rule=idle&user=alice&q=train&sort=-wasted&limit=100&acts=100&job=7"
    assert found.address.href(status=None, job=None, limit=None, acts=None, q=None, sort=None) == (
        "/warp/policy?rule=idle&user=alice"
    )


@pytest.mark.parametrize(
    "query", [{"status": "lazy"}, {"sort": "luck"}, {"limit": "7"}, {"acts": "-1"}, {"at": "tomorrow"}]
)
def test_what_cannot_be_used_is_named_and_ignored(web_app: Any, query: dict[str, str]) -> None:
    assert len(asked(**query).ignored) == 1 and asked(**query).address.query() == ""
    assert "Part of the address was ignored" in page(web_app, low_cluster(), **query)


def test_staff_see_every_verdict_and_a_user_their_own(web_app: Any) -> None:
    whole = page(web_app, low_cluster())
    assert "90210" in whole and "mallory" in whole and "Nobody enforces" in whole
    own = page(web_app, low_cluster(), ALICE)
    assert secrets_in(own) == [] and "/jobs/7" in own
    assert "None of your jobs is judged" in page(web_app, low_cluster(), STRANGER)


@pytest.mark.parametrize(
    ("query", "words", "absent"),
    [
        ({"status": "low"}, "/jobs/7", "/jobs/90211'"),
        ({"status": "ok"}, "No verdict matches", "/jobs/7'"),
        ({"user": "mallory"}, "/jobs/90210", "/jobs/7'"),
        ({"q": "secret-run"}, "/jobs/90210", "/jobs/7'"),
        ({"partition": "mig"}, "/jobs/8", "/jobs/7'"),
        ({"account": "physics"}, "/jobs/7", "/jobs/90210'"),
        ({"rule": "nonesuch"}, "No verdict matches", "/jobs/7'"),
    ],
)
def test_filters_narrow_the_table(web_app: Any, query: dict[str, str], words: str, absent: str) -> None:
    shown = page(web_app, low_cluster(), **query)
    assert words in shown and absent not in shown


def test_its_states_are_said(web_app: Any) -> None:
    busy = open_fakes(measured=FakeMetrics(readings()))
    assert "No job is low" in page(web_app, busy, status="low")
    assert "No rule is on" in page(web_app, low_cluster(**OFF))
    free = FakeScheduler([make_node()], [make_job(9, None, 4, None, "PENDING")])
    assert "No GPU job is running" in page(web_app, open_fakes(free))
    dry = low_cluster(enforcement={"directory": "/nonexistent"})
    assert "Dry run: policy.enforce is false" in page(web_app, dry)


def test_metrics_that_do_not_answer_make_every_verdict_unknown_and_the_page_says_so(web_app: Any) -> None:
    metrics = FakeMetrics(readings())
    sources = open_fakes(measured=metrics)
    sources.live.snapshot()
    metrics.fault = SourceUnreachable("no answer from http://secret-host:9090")
    for viewer, told in ((STAFF, True), (ALICE, False)):
        shown = page(web_app, sources, viewer)
        assert "Nothing is judged now" in shown and ("secret-host" in shown) is told


def test_of_a_past_moment_it_says_what_is_not_known_and_shows_what_was_done(web_app: Any, tmp_path: Path) -> None:
    sources = with_acts(tmp_path)
    at = (NOW - timedelta(hours=1)).isoformat()
    shown = page(web_app, sources, at=at)
    assert "Verdicts are not kept" in shown and "policy-evidence" not in shown
    assert "Actions taken" in shown


def test_evidence_opens_for_ones_own_job_alone(web_app: Any) -> None:
    assert "policy-evidence-lead" in page(web_app, low_cluster(), ALICE, job="7")
    for job in ("90210", "424242"):
        closed = page(web_app, low_cluster(), ALICE, job=job)
        assert "policy-evidence-lead" not in closed and f"There is no verdict on job {job} now" in closed


def test_what_was_done_is_shown_with_what_it_saved(web_app: Any, tmp_path: Path) -> None:
    sources = replace(with_acts(tmp_path), clock=lambda: NOW + timedelta(days=9))
    module = importlib.import_module("policy.taken")
    found = module.acts(STAFF, sources, sources.clock())
    shown = page(web_app, sources)
    assert all(f"/jobs/{row.job}" in shown for row in found.rows) and "because" in shown
    assert "run for 50 % of its time limit" in shown and "GPU-hours saved" in shown
    few = page(web_app, sources, acts="2")
    assert f"2 of {len(found.rows)} shown" in few and "policy?acts=20" in few and "Show more" not in shown
    own = page(web_app, sources, ALICE)
    assert secrets_in(own) == [] and "GPU-hours saved" not in own and "Warning 1" in own


def test_exemptions_are_shown_with_the_hours_held_under_them(web_app: Any, tmp_path: Path) -> None:
    settings = Settings(state=StateSettings(directory=tmp_path))
    store = open_store(settings.state, writes=True)
    assert store is not None
    add_exemption(
        store, "user", "mallory", "", "thesis", until=NOW + timedelta(days=3), by="root", now=NOW - timedelta(hours=1)
    )
    sources = replace(open_fakes(measured=idle_everywhere()), settings=settings)
    shown = page(web_app, sources)
    assert "thesis" in shown and "by root" in shown and "2 running jobs under 1 exemption" in shown
    assert "thesis" not in page(web_app, sources, ALICE)
    (tmp_path / "state.sqlite").write_bytes(b"this is no database " * 100)
    broken = replace(sources, state=type(sources.state)())
    assert "cannot be read now. Nothing is acted on" in page(web_app, broken)


def test_a_tick_without_news_changes_nothing(web_app: Any) -> None:
    open_still(web_app, low_cluster())
    module = importlib.import_module("pages.policy")
    with web_app.server.test_request_context(PREFIX):
        g.fullwarp_viewer = STAFF
        parts = module.refresh_policy(1, "status=low", "")
        assert "90210" in str(parts.verdicts)
        with pytest.raises(dash.exceptions.PreventUpdate):
            module.refresh_policy(2, "status=low", parts.version)
        with pytest.raises(dash.exceptions.PreventUpdate):
            module.show_acts("", 3)


def one(**fields: Any) -> JobVerdict:
    base = {"since": NOW - timedelta(minutes=50), "metric": "UTIL", "window_seconds": 2700.0}
    made = Verdict("idle", RuleKind.IDLE, **{"mode": RuleMode.ACT, "status": Status.LOW, **base, **fields})
    return JobVerdict(make_job(7, "gpu01", 2, (0, 1)), NOW, made, (made,))


def test_a_low_jobs_page_begins_with_what_follows_and_what_ends_it() -> None:
    rule = next(rule for rule in rules_of(Settings().policy) if rule.name == "idle")
    soon = {"next_action": StepAction.WARN, "next_at": NOW + timedelta(minutes=12), "steps_taken": 1}
    follows = "Warning 2 in 12 min if it stays so; it ends as soon as the GPUs are in use."
    assert follows in words(low_banner(one(**soon), rule, "/warp/"))
    assert "Warning 2 with the next run" in words(low_banner(one(**{**soon, "next_at": NOW}), rule, "/warp/"))
    reported = words(low_banner(one(**soon, mode=RuleMode.REPORT), rule, "/warp/"))
    assert "Nothing follows from it." in reported and "–" not in reported
    assert low_banner(replace(one(), verdict=one(status=Status.OK).verdict), rule, "/warp/") is None


def test_a_ladder_shows_what_was_taken_and_what_comes_next() -> None:
    rule = next(rule for rule in rules_of(Settings().policy) if rule.name == "idle")
    soon = {"next_action": StepAction.CANCEL, "next_at": NOW + timedelta(minutes=12), "steps_taken": 2}
    shown = one(**soon)
    assert "2 of 3 steps taken, next: cancel" in str(ladder(shown.verdict, rule))
    assert "Cancel" in str(next_cell(shown.verdict)) and "12 min" in str(when_cell(shown, rule))
    due = one(**{**soon, "next_at": NOW})
    assert when_cell(due, rule) == "next run"
    reports = one(mode=RuleMode.REPORT)
    assert (next_cell(reports.verdict), when_cell(reports, rule)) == ("Reports only", "–")
    waits = one(status=Status.CALCULATING, since=None, sentence="It has run for 3 min; the rule needs 45 min.")
    waits = replace(waits, job=replace(waits.job, start_time=NOW - timedelta(minutes=3)))
    assert "42 min" in str(when_cell(waits, rule))
    assert "Window not full" in str(next_cell(waits.verdict))
    assert "needs 45 min" in str(next_cell(waits.verdict, is_suspended=True))


@pytest.mark.parametrize("sort", [*SORTS, *(f"-{key}" for key in SORTS)])
def test_what_is_not_known_comes_last_both_ways(sort: str) -> None:
    rows = [
        one(mean=0.1, coverage=0.9, devices_idle=1, wasted_gpu_hours_window=1.0, next_at=NOW, devices_allocated=2),
        one(mean=None, coverage=None, devices_idle=None, wasted_gpu_hours_window=None, next_at=None),
        one(mean=0.0, coverage=1.0, devices_idle=2, wasted_gpu_hours_window=0.0, next_at=NOW, devices_allocated=1),
    ]
    ordered = in_order(rows, sort)
    assert len(ordered) == 3
    if sort.removeprefix("-") not in ("status", "job", "user"):
        assert ordered[-1] is rows[1]


def test_page_file_api_and_command_say_the_same(web_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_for()
    sources = replace(open_fakes(measured=idle_everywhere()), settings=settings)
    api = server_of(settings, sources).test_client()
    of_api = api.get(f"{BASE}gpu-efficiency", headers=named(SAM)).json["answer"]["verdicts"]
    view = View(sources, Viewer(SAM, Role.STAFF), ZoneInfo("UTC"), None)
    monkeypatch.setattr("terminal.session.open_view", lambda *_, **__: view)
    of_command = json.loads(CliRunner().invoke(cli.program, ["efficiency", "--json"]).stdout)["verdicts"]
    assert of_command == of_api
    open_still(web_app, sources)
    answer = web_app.server.test_client().get(f"{PREFIX}policy.csv", headers={"X-Remote-User": SAM})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    numbers = ("mean", "coverage", "devices_idle", "wasted_gpu_hours_window", "steps_taken")
    of_file = [
        (row["job"], row["status"], row["rule"], *(row[name] and float(row[name]) for name in numbers)) for row in rows
    ]
    assert of_file == [
        (
            each["job"]["display_id"],
            each["verdict"]["status"],
            each["verdict"]["rule"],
            *("" if each["verdict"][name] is None else each["verdict"][name] for name in numbers),
        )
        for each in of_api
    ]
    shown = page(web_app, sources)
    for each in verdicts(STAFF, sources).verdicts:
        assert f"evidence of job {each.job.display_id}" in shown
    own = web_app.server.test_client().get(f"{PREFIX}policy.csv?status=low", headers={"X-Remote-User": USER})
    assert secrets_in(own.text) == [] and own.status_code == 200


def test_verdicts_are_kept_without_anybody_waiting_and_scoped(web_app: Any) -> None:
    sources, keeper = low_cluster(), VerdictKeeper(0.0)
    assert keeper.newest(STAFF, sources) is None
    for thread in threading.enumerate():
        if thread.name == "verdicts":
            thread.join(10)
    assert not keeper.is_making
    kept = keeper.newest(STAFF, sources)
    assert kept is not None and kept.verdicts == verdicts(STAFF, sources).verdicts
    own = keeper.newest(ALICE, sources)
    assert own is not None and {each.job.job_id for each in own.verdicts} == {7, 8} and own.sources == ()
    assert keeper.known(ALICE, kept.time + OLDEST) == own
    assert keeper.known(ALICE, kept.time + OLDEST + timedelta(seconds=1)) is None


def test_the_number_beside_policy_is_of_what_the_viewer_may_see_and_never_asked_for(web_app: Any) -> None:
    sources, keeper = low_cluster(), VerdictKeeper(0.0)
    open_still(web_app, sources)
    own = backing(web_app.server)
    own.verdicts = keeper
    frame = frame_data(sources.live.snapshot())

    def number(viewer: Viewer, at: str = "") -> str | None:
        with web_app.server.test_request_context(PREFIX):
            g.fullwarp_viewer = viewer
            low = with_low({**frame, "at": at})["low"]
            return None if low is None else low[0].title

    assert number(STAFF) is None and not keeper.is_making
    keeper.newest(STAFF, sources)
    for thread in threading.enumerate():
        if thread.name == "verdicts":
            thread.join(60)
    low = [each for each in verdicts(STAFF, sources).verdicts if each.status is Status.LOW]
    assert number(STAFF) == count(len(low), "low-use job")
    assert number(ALICE) == count(len([each for each in low if each.job.user == "alice"]), "low-use job")
    assert number(STRANGER) == "0 low-use jobs" and number(STAFF, NOW.isoformat()) is None


def test_what_could_not_be_judged_has_no_number() -> None:
    assert low_count(VerdictList(NOW, (), fault="the metrics server does not answer")) is None
    assert low_mark(None).children == []
    (one_low,) = low_count(VerdictList(NOW, (one(),))) or []
    assert one_low.title == "1 low-use job"


def test_an_enforcers_store_that_fails_is_said(web_app: Any, tmp_path: Path) -> None:
    (tmp_path / "enforcement.sqlite").write_bytes(b"this is no database " * 100)
    settings = Settings(enforcement=EnforcementSettings(directory=tmp_path))
    shown = page(web_app, replace(open_fakes(measured=idle_everywhere()), settings=settings))
    assert "The enforcer&#x27;s store does not answer" in shown or "The enforcer's store does not answer" in shown


def test_coverage_is_marked_by_the_rules_own_limit() -> None:
    address = asked().address
    for share, least, is_marked in ((0.85, 0.8, False), (0.85, 0.9, True), (0.7, 0.6, False)):
        policy = Settings.model_validate({"policy": {"rules": {"idle": {"min_coverage": least}}}}).policy
        rules = {rule.name: rule for rule in rules_of(policy)}
        shown = str(verdict_table([one(coverage=share)], rules, address, "/"))
        assert ("low coverage" in shown) is is_marked
