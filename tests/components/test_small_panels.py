"""Compare, maintenance, queue, sparkline, day: small parts of the Overview, and what they do with nothing known."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest

from components.compare import compare_panel
from components.day_panel import area, day_panel
from components.health_page import HealthAnswer, health_parts
from components.kpis import Kpi, kpi_panel
from components.maintenance import maintenance_banner
from components.overview_kpis import KpiView, overview_kpis
from components.queue_panel import MOST, queue_panel
from components.sources_banner import past_banner, sources_banner
from components.sparkline import Trend, sparkline, svg
from data.last_day import DayOfUse
from data.model import NodeState, Reservation, SourceCondition
from data.queries.health import Health
from data.totals import Group, Queue, totals
from data.words import MINUS
from tests.components.snapshots import NOON, gpu, node, snapshot, source
from tests.components.test_overview_parts import of_class, words

UNKNOWN = NodeState("UNKNOWN", (), "UNKNOWN", "unknown", False)
DAY = DayOfUse(
    NOON, 12.0, 80.0, trends={"allocated": (10.0, None, 12.0), "busy": (8.0, None, 11.0), "idle": (2.0, None, 1.0)}
)


def table_of(panel: Any) -> list[str]:
    head, body = panel.children[1].children
    return [" | ".join(words(cell) for cell in row.children) for row in [head.children, *body.children]]


def test_compare_puts_both_moments_and_the_change_into_one_line_a_number() -> None:
    then, now = totals(snapshot()), totals(snapshot(gpus=(gpu("h001", 0), gpu("h001", 1))))
    rows = table_of(compare_panel(then, now, NOON))
    assert rows[0] == " | 2026-03-02 12:00 UTC | Now | Change"
    assert rows[1] == f"GPUs allocated | 11 | 2 | {MINUS}9"
    assert rows[4] == f"Free | 2 | 0 | {MINUS}2"
    assert rows[8] == "Running jobs | 1 | 1 | ±0"


def test_compare_never_shows_what_was_not_measured_or_not_known_as_zero() -> None:
    dark = snapshot(gpus=tuple(replace(one, values={}) for one in snapshot().gpus), nodes=(node("h", state=UNKNOWN),))
    rows = table_of(compare_panel(totals(dark), totals(snapshot()), NOON))
    for name in ("Busy", "Held, idle", "Free", "Down or drained", "Mean UTIL", "Power"):
        line = next(row for row in rows if row.startswith(f"{name} |"))
        assert line.split(" | ")[1] == "–" and line.split(" | ")[3] == "–"


def reservation(name: str = "maint", start: float | None = 24, end: float | None = 30, **changes: Any) -> Reservation:
    hours = [None if hour is None else NOON + timedelta(hours=hour) for hour in (start, end)]
    plain = Reservation("larch", name, ("h001", "h002"), hours[0], hours[1], is_maintenance=True)
    return replace(plain, **changes)


@pytest.mark.parametrize(
    ("reservations", "said"),
    [
        ([reservation()], "Maintenance maint begins in 1 d: 2 nodes, from"),
        ([reservation(start=-2, end=4)], "Maintenance maint is on, for 4 h more: 2 nodes"),
        (
            [reservation(start=-2, end=None)],
            "maint is on: 2 nodes, from 2026-03-02 10:00 UTC, without an end.",
        ),
        ([reservation(start=None, end=4)], "since some time ago to"),
        ([reservation(), reservation("second", 48, 50)], "1 more reservation within 7 d."),
        ([reservation("<b>x</b>")], "Maintenance <b>x</b> begins"),
        ([reservation(start=24 * 8, end=24 * 9)], ""),
        ([reservation(start=-5, end=-1)], ""),
        ([reservation(is_maintenance=False)], ""),
        ([], ""),
    ],
)
def test_maintenance_within_a_week_counts_down(reservations: list[Reservation], said: str) -> None:
    made = maintenance_banner(snapshot(reservations=tuple(reservations)))
    assert (made is not None) == bool(said) and said in words(made)


def test_the_queue_lists_the_partitions_that_ask_for_most() -> None:
    use = totals(snapshot()).use
    groups = [Group(f"p{at}", 1, use, Queue(pending=at, gpus_requested=at * 2)) for at in range(MOST + 3)]
    rows = table_of(queue_panel(groups))
    assert rows[0] == "Partition | Jobs | GPUs asked | GPUs free"
    assert rows[1] == "p10 | 10 | 20 | 2" and len(rows) == MOST + 1
    assert len(table_of(queue_panel([]))) == 1


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ((1.0, 3.0), "M0.0 22.5 L120.0 1.5"),
        ((1.0, None, 3.0, 3.0), "M0.0 22.5h.1 M80.0 1.5 L120.0 1.5"),
        ((2.0, 2.0), "M0.0 12.0 L120.0 12.0"),
        ((None, None), ""),
        ((), ""),
    ],
)
def test_a_sparkline_is_from_lowest_to_highest_with_gaps(values: tuple[float | None, ...], path: str) -> None:
    assert f"d='{path}'" in svg(values)


def test_a_sparkline_has_a_name_in_words_and_no_markup_of_its_own() -> None:
    made = sparkline(Trend((1.0, 2.0), "Busy GPUs, last 24 h"))
    assert getattr(made, "aria-label") == "Busy GPUs, last 24 h" and "<" not in made.style["--line"]


def test_the_day_is_drawn_with_its_gaps_named_in_words_and_as_a_table() -> None:
    made = day_panel(DAY, 16)
    plot = of_class(made, "fw-day-plot")[0]
    assert getattr(plot, "aria-label") == "Between 8 and 11 GPUs busy, at most 2 held and idle"
    assert [words(tick) for tick in of_class(plot, "fw-day-tick")] == ["0", "8", "16"]
    busy = unquote(of_class(plot, "fw-day-busy")[0].style["--line"])
    assert len(re.findall("M", busy)) == 2  # one area before the gap, one after it
    table = of_class(made, "fw-plain-table")[0]
    assert [words(cell) for cell in table.children[1].children[-1].children][1:] == ["11", "1"]
    assert "–" in words(table)


@pytest.mark.parametrize("day", [None, DayOfUse(NOON), DayOfUse(NOON, trends={"power": (1.0,)})])
def test_a_day_that_is_not_known_is_not_drawn(day: DayOfUse | None) -> None:
    assert day_panel(day, 16) is None


def test_an_area_without_a_scale_stays_on_the_ground() -> None:
    assert "nan" not in area([0.0], [0.0], 0.0)


def cells(view: KpiView) -> dict[str, Kpi]:
    return {cell.label: cell for cell in overview_kpis(totals(snapshot()), view=view)}


def test_a_trend_that_will_come_keeps_its_room_and_the_past_has_none() -> None:
    waiting, past = cells(KpiView()), cells(KpiView(at="2026-03-01T10:00:00Z"))
    assert waiting["Busy"].no_trend == "The last 24 h: being added up." and not past["Busy"].no_trend
    assert (
        cells(KpiView(day=DAY, is_filtered=True))["Busy"].no_trend == "The last 24 h: only known for the whole cluster."
    )
    known = cells(KpiView(day=DAY))
    assert known["Busy"].trend is not None and not known["Power"].no_trend and not known["Free"].no_trend
    strip = kpi_panel(list(waiting.values()))
    assert len(of_class(strip, "fw-spark-none")) == 7 and "fw-no-trend" not in strip.className
    assert "fw-no-trend" in kpi_panel(list(past.values())).className


def test_who_wasted_most_is_a_link_away_where_a_history_is_kept() -> None:
    links = [cells(KpiView("/warp/", has_history=kept))["Wasted, 24 h"].href for kept in (True, False)]
    assert links == ["/warp/efficiency?since=24h&sort=-gpu_hours_wasted", "/warp/jobs?show=finished"]


@pytest.mark.parametrize(
    ("old", "labels"),
    [
        (set(), []),
        ({"metrics"}, ["Busy", "Held, idle", "Power"]),
        ({"slurm"}, ["GPUs allocated", "Busy", "Held, idle", "Free", "Down or drained", "Wasted, 24 h", "Power"]),
    ],
)
def test_numbers_of_a_source_that_fails_are_marked_old(old: set[str], labels: list[str]) -> None:
    shown = cells(KpiView(old=frozenset(old)))
    assert [label for label, cell in shown.items() if cell.is_old] == labels
    assert len(of_class(kpi_panel(list(shown.values())), "fw-is-old")) == len(labels)


def test_the_banner_of_a_failing_source_names_age_cause_and_next_try() -> None:
    failing = source(
        "metrics", SourceCondition.STALE, failing_since=NOON - timedelta(minutes=3), error="refused",
        next_try=NOON + timedelta(seconds=20),
    )  # fmt: skip
    shown = snapshot(sources=(source("slurm"), failing))
    staff, user = (words(sources_banner(shown, is_staff=is_staff)) for is_staff in (True, False))
    assert "No answer since 2026-03-02 11:57 UTC. Next try in 20 s. Slurm answers." in staff and "refused" in staff
    assert "Next try in 20 s." in user and "refused" not in user


def test_the_past_is_told_once_the_banner_says_only_what_is_not_known() -> None:
    made = past_banner(snapshot(is_past=True, unknown=("Reasons are not known.",)), "/")
    assert words(made).startswith("Not known for that moment: Reasons are not known.")
    assert past_banner(snapshot(is_past=True), "/") is None


def test_health_without_a_source_finds_no_faults_and_claims_none_are_there() -> None:
    down = snapshot(nodes=(), gpus=(), jobs=(), sources=(source("slurm", SourceCondition.DOWN), source("metrics")))
    said = words(health_parts(HealthAnswer(Health(down, down.sources), True, (), "/nodes/")).body)
    assert said.count("Not known while a source does not answer.") == 2 and "Nothing can be checked now." in said
    assert not [claim for claim in ("adds up.", "no problem found", "held device") if claim in said]


def test_health_of_the_past_claims_nothing_that_nobody_recorded() -> None:
    now = snapshot()
    said = {}
    for shown in (now, replace(now, is_past=True)):
        parts = health_parts(HealthAnswer(Health(shown, shown.sources), True, (), "/nodes/"))
        said[shown.is_past] = words([parts.head, parts.body])
    assert "Every asked metric is measured." in said[False] and "Version" in said[False]
    assert "how they were then is not recorded" in said[True] and "Not recorded for a past moment." in said[True]
    assert not [claim for claim in ("Every asked metric", "Version", "Exporters") if claim in said[True]]
