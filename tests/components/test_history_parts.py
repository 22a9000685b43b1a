"""The pages of history as trees: words, figures with their rows, the ranking, the selection, each state."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest

from components.history_address import HistoryAddress
from components.history_figures import bins_figure, chosen_cells, doubling_step, trend_figure, week_figure
from components.history_head import breadcrumb, group_switch
from components.history_heat import heat_figure, selection_words
from components.history_kpis import key_figures
from components.history_page import HistoryParts, HistoryView, history_body
from components.history_states import no_history
from components.history_table import Ranking, columns_of, ranking_table, shown_rows
from components.history_user import UserMonth, history_month
from components.history_words import amount_change, range_words, ratio_change, signed_points, standing_words
from data.efficiency.hours import GpuHours
from data.errors import CannotKnow, SourceUnreachable
from data.findings.advice import advice
from data.queries.history import Between, Group, HistoryFilter, HistoryState, ReportQuery, ReportRow, Standing, Trend
from settings import FindingLimits
from tests.components import history_answers as made
from tests.components.test_node_parts import text_of

PATH = "/warp/efficiency"
QUERY = ReportQuery(made.SINCE, made.UNTIL, compare=True)
BERLIN = ZoneInfo("Europe/Berlin")


def view(**more: Any) -> HistoryView:
    parts = HistoryParts(
        total=made.people_report(replace(QUERY, by=Group.NONE)),
        report=made.people_report(QUERY),
        trend=made.trend(),
        heat=made.heat_map(),
        bins=made.bins(),
        week=made.week_hours(),
        of=6,
    )
    known: dict[str, Any] = {
        "address": HistoryAddress(PATH),
        "query": QUERY,
        "parts": parts,
        "now": made.UNTIL,
        "zone": UTC,
        "prefix": "/warp/",
        "user": "sam",
        "is_staff": True,
    }
    return HistoryView(**{**known, **more})


def links(tree: Any) -> list[str]:
    found = [part.href for part in tree._traverse() if getattr(part, "href", None)]
    return found if not getattr(tree, "href", None) else [tree.href, *found]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (100.0, 104.2, "↑ 4.2 % from 100"),
        (100.0, 58.0, "↓ 42 % from 100"),
        (100.0, 100.0, "→ as before"),
        (0.0, 5.0, "↑ from 0"),
        (10.0, 900.0, "90 times"),
        (None, 5.0, ""),
        (5.0, None, ""),
    ],
)
def test_a_change_has_an_arrow_and_says_from_what(before: float | None, now: float | None, said: str) -> None:
    text = amount_change(ReportRow("a", "a", {"cost": now}, {"cost": before}), "cost")
    assert said in text and bool(text) == bool(said)


def test_without_a_time_before_nothing_is_compared() -> None:
    row = ReportRow("a", "a", {"cost": 5.0, "utilization": 0.5})
    assert (amount_change(row, "cost"), ratio_change(row, "utilization"), signed_points(None)) == ("", "", "–")


def test_shares_change_in_points_with_a_real_minus() -> None:
    row = ReportRow("a", "a", {"utilization": 0.563}, {"utilization": 0.583})
    assert ratio_change(row, "utilization") == "↓ 2.0 points from 58.3 %"
    assert [signed_points(one) for one in (0.064, -0.011, 0.0)] == ["+6.4", "\u22121.1", "0.0"]


def test_a_range_of_whole_days_ends_with_its_last_day() -> None:
    assert range_words(made.SINCE, made.UNTIL, UTC) == "1 Nov – 28 Nov 2026"
    assert range_words(made.SINCE, made.SINCE + timedelta(hours=6), UTC) == "1 Nov 00:00 – 06:00"


def test_nobody_is_placed_among_too_few_peers() -> None:
    assert standing_words(Standing(None, 3, 0.4, None, None), "Your")[0] == "Not ranked"
    place, line = standing_words(Standing(12, 41, 0.32, 0.61, 0.58), "Your")
    assert (place, "61 %" in line, "32 %" in line) == ("12 of 41", True, True)


def test_an_address_leaves_out_defaults_and_keeps_the_order_of_the_steps() -> None:
    address = HistoryAddress(PATH).changed(account="nlp", by="user").changed(user="eve", by="job", limit="12")
    assert address.query() == "account=nlp&user=eve&by=job"
    assert HistoryAddress(PATH, {"node": ("a1", "a2")}).href(by="model") == f"{PATH}?node=a1&node=a2&by=model"


def test_a_figure_and_its_table_have_the_same_rows() -> None:
    figures = [
        trend_figure(made.trend(), made.SINCE, made.UNTIL, HistoryAddress(PATH), UTC),
        bins_figure(made.bins(), HistoryAddress(PATH)),
    ]
    for figure in figures:
        assert len(figure["marks"]) == len(figure["table"]["rows"])
        assert {len(row) for row in figure["table"]["rows"]} == {len(figure["table"]["head"])}
        json.dumps(figure, allow_nan=False)
    week, heat = week_figure(made.week_hours()), heat_figure(made.heat_map(), HistoryFilter(), HistoryAddress(PATH))
    assert {len(one["steps"]) for one in week["views"].values()} == {168} == {len(week["table"]["rows"])}
    assert len(heat["steps"]) == len(heat["hours"]) == len(heat["xs"]) * len(heat["ys"]) == len(heat["table"]["rows"])


def test_the_parts_of_a_stack_add_up_to_what_was_allocated() -> None:
    figure = trend_figure(made.trend(), made.SINCE, made.UNTIL, HistoryAddress(PATH), UTC)
    for mark, (_, hours) in zip(figure["marks"], made.trend().points, strict=True):
        assert sum(mark["v"]) == pytest.approx(hours.allocated, abs=0.03)


def test_a_day_that_the_range_cuts_is_named_so_also_when_the_clocks_change() -> None:
    days = tuple(
        (datetime(2026, 10, day, tzinfo=BERLIN), GpuHours(24.0, 24.0, 12.0, 2.0, 24.0)) for day in (24, 25, 26)
    )
    since, until = datetime(2026, 10, 24, 12, tzinfo=BERLIN), datetime(2026, 10, 27, tzinfo=BERLIN)
    figure = trend_figure(Trend("day", days, GpuHours(72.0)), since, until, HistoryAddress(PATH), BERLIN)
    assert [row[0].endswith("(part)") for row in figure["table"]["rows"]] == [True, False, False]
    assert "since=2026-10-25&until=2026-10-26" in figure["marks"][1]["href"]


def test_not_measured_is_no_zero_in_the_table_of_a_figure() -> None:
    trend = Trend("day", ((made.SINCE, GpuHours(24.0)),), GpuHours(24.0))
    row = trend_figure(trend, made.SINCE, made.UNTIL, HistoryAddress(PATH), UTC)["table"]["rows"][0]
    assert row[1:] == ["24.0", "–", "–", "–", "24.0", "–"]


def test_an_hour_that_the_range_does_not_hold_is_unknown_and_not_empty() -> None:
    found = made.week_hours()
    figure = week_figure(
        replace(found, hours={(0, 5): GpuHours(8.0, 8.0, 4.0, 8.0, 8.0)}, spans={(0, 5): 2, (0, 6): 2})
    )
    steps = figure["views"]["allocated"]["steps"]
    assert (steps[5], steps[6], steps[7]) == (9, 0, None) and figure["table"]["rows"][5][1] == "4.0"


@pytest.mark.parametrize(
    ("low", "high", "cells"), [(0.0, 0.2, (0, 1)), (0.5, None, (5, 9)), (None, 0.1, (0, 0)), (2.0, None, None)]
)
def test_a_choice_on_an_axis_frames_the_cells_in_it(low: float | None, high: float | None, cells: Any) -> None:
    assert chosen_cells([at / 10 for at in range(10)], Between(low, high)) == cells


def test_a_selection_says_its_share_and_where_it_lies() -> None:
    chosen = HistoryFilter(utilization=Between(0.0, 0.2), gpu_memory_gib=Between(None, 16.0))
    figure = heat_figure(made.heat_map(), chosen, HistoryAddress(PATH, {"util": "0-20", "memory": "-16"}))
    assert figure["chosen"] == [0, 0, 1, 1] and figure["href"] == PATH
    words = selection_words(chosen, made.row("x", 17900.0, 0.1, 9000.0), 198412.0)
    assert words is not None and words[0].startswith("9.0 % of all: 17\u202f900 GPU-h")
    assert words[1] == "with UTIL 0–20 % and GPU MEM 0–16 GiB"
    assert selection_words(HistoryFilter(), None, 1.0) is None


@pytest.mark.parametrize(("hours", "step"), [(0, 0), (1, 1), (3.9, 1), (4.1, 2), (128, 6), (600, 9), (1024, 9)])
def test_each_step_of_the_map_stands_for_twice_as_much(hours: float, step: int) -> None:
    assert doubling_step(hours, 1024.0) == step


def test_the_map_ends_where_the_largest_gpu_of_the_site_ends() -> None:
    heat = made.heat_map()
    low = replace(heat, cells=tuple(one for one in heat.cells if (one.gpu_memory_gib.low or 0) < 40))
    assert heat_figure(low, HistoryFilter(), HistoryAddress(PATH))["ys"] == ["0", "8", "16", "24", "32"]


def test_idle_hours_carry_a_mark_only_from_a_tenth_on() -> None:
    many = made.values(1000.0, 0.5, 150.0)
    for idle, is_marked in ((150.0, True), (50.0, False)):
        tree = key_figures(ReportRow(None, "All", {**many, "gpu_hours_idle": idle}), "EUR")
        assert ("fw-icon-waste" in repr(tree)) is is_marked


def test_key_figures_that_were_not_measured_are_dashes() -> None:
    tree = key_figures(ReportRow(None, "All", made.values(1000.0, None, None)), "EUR", no_change="no history before")
    text = text_of(tree)
    assert text.count("not measured") == 4 and "\u2009000" in text and "GPU-hours idle" in text and "no history" in text


def test_cost_stands_before_energy_where_a_rate_is_known() -> None:
    text = text_of(key_figures(ReportRow(None, "All", made.values(1000.0, cost=2500.0)), "CHF"))
    assert "Cost and energy" in text and "CHF" in text and "310 kWh" in text


def test_a_row_leads_one_step_down_and_a_job_to_its_page() -> None:
    address = HistoryAddress(PATH, {"partition": "gpu"})
    users = ranking_table(Ranking(made.people_report(QUERY), address, "/warp/"))
    assert f"{PATH}?partition=gpu&user=psingh&by=job" in links(users)
    jobs = ranking_table(Ranking(made.people_report(replace(QUERY, by=Group.JOB)), address, "/warp/"))
    assert "/warp/jobs/48001" in links(jobs) and "train.sh" in text_of(jobs)


def test_shares_of_idle_are_not_compared_with_half_a_time_before() -> None:
    whole, half = (
        text_of(ranking_table(Ranking(made.people_report(QUERY), HistoryAddress(PATH), "/", has_changes=has)))
        for has in (True, False)
    )
    assert "+6.4" in whole and "+6.4" not in half


def test_accounts_stand_below_their_parents() -> None:
    rows = tuple(
        replace(made.row(name, hours, 0.5, 1.0), level=level, parent=parent)
        for name, hours, level, parent in (
            ("nlp", 9.0, 2, "science"),
            ("arts", 8.0, 1, None),
            ("science", 7.0, 1, None),
        )
    )
    report = replace(made.people_report(replace(QUERY, by=Group.ACCOUNT)), rows=rows)
    assert [row.key for row in shown_rows(report)] == ["arts", "science", "nlp"]
    assert "1rem" in repr(ranking_table(Ranking(report, HistoryAddress(PATH), "/")))


def test_each_row_of_a_tree_is_shown_once_also_without_its_parent() -> None:
    rows = tuple(
        replace(made.row(name, 1.0, 0.5, 0.0), level=level, parent=parent)
        for name, level, parent in (("lab", 2, "a"), ("lab", 2, "b"), ("a", 1, None), ("x", 3, "gone"), ("y", 3, "lab"))
    )
    report = replace(made.people_report(replace(QUERY, by=Group.ACCOUNT)), rows=rows)
    found = [row.key for row in shown_rows(report)]
    assert sorted(found) == ["a", "lab", "lab", "x", "y"] and found.index("y") > found.index("lab")


def test_rows_of_nobody_lead_nowhere() -> None:
    report = replace(made.people_report(QUERY), rows=(made.row(None, 5.0, 0.5, 0.0),))
    assert not [one for one in links(ranking_table(Ranking(report, HistoryAddress(PATH), "/"))) if "user=" in one]


def test_a_view_asks_for_what_it_shows_and_for_what_sorts_it() -> None:
    assert "wait_p50_seconds" not in columns_of("hours", "-gpu_hours_idle")
    assert {"wait_p50_seconds", "failed_share"} <= set(columns_of("waits", "-failed_share"))


def test_the_way_here_leads_back_step_by_step() -> None:
    address = HistoryAddress(PATH, {"account": "nlp", "user": "eve", "by": "job", "since": "7d", "util": "0-20"})
    tree = breadcrumb(address)
    back = [parse_qs(urlsplit(href).query) for href in links(tree)]
    assert back[0] == {"since": ["7d"]}
    assert {"account": ["nlp"], "since": ["7d"], "util": ["0-20"]} in back
    assert text_of(tree).startswith("All jobs") and breadcrumb(HistoryAddress(PATH)) is None


def test_departments_are_offered_only_where_they_are_known() -> None:
    offered = [text_of(group_switch(HistoryAddress(PATH), has_departments=one)) for one in (True, False)]
    assert ["Department" in one for one in offered] == [True, False]


def test_the_whole_page_has_every_panel_and_the_data_of_its_figures() -> None:
    body = history_body(view())
    figures = next(part for part in body if getattr(part, "id", "") == "history-figures").data
    assert set(figures) == {"trend", "heat", "bins", "week"}
    text = " ".join(text_of(part) for part in body)
    for title in ("Where GPU-hours went", "Utilization and memory", "Users", "GPU-hours by utilization", "The week"):
        assert title in text
    assert "7 of 41 shown" in text and len(json.dumps(figures)) < 60_000


def test_what_is_still_added_up_is_a_skeleton_and_says_how_far_it_is() -> None:
    parts = HistoryParts(trend=made.trend(), missing=("report", "heat", "bins", "week"), of=5)
    body = history_body(view(parts=parts))
    text = " ".join(text_of(part) for part in body)
    assert "28 days are being added up, 1 of 5 parts ready" in text and "fw-bone" in repr(body)
    assert next(part for part in body if getattr(part, "id", "") == "eff-missing").data == {"left": 4, "ready": 1}


def test_a_time_before_of_which_history_knows_half_is_not_compared() -> None:
    total = made.people_report(replace(QUERY, by=Group.NONE))
    late = replace(total, before=HistoryState(date(2026, 10, 20)))
    text = text_of(history_body(view(parts=replace(view().parts, total=late)))[0])
    assert "no history before" in text and "↑" not in text


@pytest.mark.parametrize(
    ("state", "is_staff", "said", "unsaid"),
    [
        ({"damaged_files": 2, "damaged": ("/h/jobs/x.parquet: cut",)}, True, "x.parquet", "History begins"),
        ({"damaged_files": 2}, False, "2 files of the history cannot be read", "parquet"),
        ({"collected_at": made.UNTIL - timedelta(hours=9)}, True, "old.", "cannot be read"),
        ({"notes": ("Something is missing.",)}, False, "Something is missing.", "old."),
    ],
)
def test_what_a_range_does_not_hold_is_said(state: dict[str, Any], is_staff: bool, said: str, unsaid: str) -> None:
    total = made.people_report(replace(QUERY, by=Group.NONE))
    parts = replace(view().parts, total=replace(total, state=replace(made.STATE, **state)))
    text = " ".join(text_of(part) for part in history_body(view(parts=parts, is_staff=is_staff)))
    assert said in text and unsaid not in text


@pytest.mark.parametrize(
    ("error", "is_staff", "said", "unsaid"),
    [
        (CannotKnow("no folder"), True, "fullwarp collect", "no folder"),
        (CannotKnow("no folder"), False, "staff of the cluster", "fullwarp collect"),
        (SourceUnreachable("/secret/path is away", hint="Mount it."), True, "Mount it.", "collect"),
        (SourceUnreachable("/secret/path is away", hint="Mount it."), False, "cannot be read now", "secret"),
    ],
)
def test_a_page_without_history_says_why_and_what_to_do(error: Any, is_staff: bool, said: str, unsaid: str) -> None:
    body = history_body(view(error=error, parts=HistoryParts(), is_staff=is_staff))
    text = " ".join(text_of(part) for part in body)
    assert said in text and unsaid not in text


def test_an_empty_range_is_friendly() -> None:
    assert "fullwarp collect --since 90d" in text_of(no_history(is_staff=True, is_kept=True))
    empty = replace(made.people_report(replace(QUERY, by=Group.NONE)), total=ReportRow(None, "All", {"jobs": 0}))
    body = history_body(view(parts=replace(view().parts, total=empty), is_staff=False, user="eve"))
    assert "You are signed in as eve" in " ".join(text_of(part) for part in body)


def test_the_cluster_beside_ones_own_hours_names_nobody() -> None:
    cluster = made.people_report(replace(QUERY, by=Group.NONE))
    body = history_body(view(parts=replace(view().parts, cluster=cluster), is_staff=False))
    assert "The whole cluster" in " ".join(text_of(part) for part in body)


def test_a_users_month_ranks_findings_and_shows_the_jobs() -> None:
    month = UserMonth(made.user_history(), QUERY, advice(FindingLimits()), UTC, "/warp/", is_self=True)
    panels = history_month(month)
    text = " ".join(text_of(part) for part in panels if part is not None)
    assert (
        "12 of 41" in text
        and "Your mean UTIL is 32\u00a0%" in text
        and text.index("Unbalanced") < text.index("Small kernels")
    )
    found = [link for part in panels if part is not None for link in links(part)]
    assert "/warp/jobs/48211" in found and f"{PATH}?user=amara&by=job&finding=unbalanced" in found


def test_a_month_without_jobs_is_drawn() -> None:
    none = ReportRow(None, "All", {"jobs": 0, "gpu_hours_allocated": 0.0})
    found = replace(made.user_history(), total=none, jobs=(), findings=(), standing=Standing(None, 0, None, None, None))
    month = UserMonth(found, QUERY, {}, UTC, "/", is_self=False)
    text = " ".join(text_of(part) for part in history_month(month) if part is not None)
    assert "No job held a GPU in this time." in text and "measured" not in text
