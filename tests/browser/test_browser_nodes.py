"""Nodes, one node and Health in a real browser: clean, accessible, inside the window, and true to their address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from app import open_app
from data.model import (
    ClusterSnapshot,
    Device,
    GpuState,
    NodeState,
    Note,
    Scope,
    Series,
    SourceCondition,
    SourceHealth,
    Window,
)
from tests.components.snapshots import NOON, gpu, job, node, snapshot, source, values
from tests.live.builders import FakeMetrics
from tests.services.web import STAFF, USER, Web, sources_of

Look = Callable[..., Any]
HOSTILE = "<script>window.hit=1</script>\"'\u202eabc" + "x" * 200
EMPTY: dict[str, Any] = {"nodes": (), "gpus": (), "jobs": ()}
ALL_DOWN = (source("slurm", SourceCondition.DOWN), source("metrics", SourceCondition.DOWN))
DOWN = NodeState("DOWN", ("NOT_RESPONDING",), "DOWN*", "down", False)
PAGES = {
    "nodes": (".fw-grid .ag-row", "nodes"),
    "node": ("#series-boxes .fw-multiple", "nodes/h001"),
    "health": (".fw-checks li, .fw-missing li", "health"),
}


@dataclass
class WavingMetrics(FakeMetrics):
    """A series for each of 8 GPUs of h001, with a gap; two metrics are missing."""

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        start = window.start.timestamp()
        times = tuple(start + 60 * minute for minute in range(60) if not 20 < minute < 40)
        for index in range(8):
            yield Series(metrics[0], "h001", Device("h001", index), None, times, tuple(0.1 * index for _ in times))

    def health(self) -> SourceHealth:
        missing = ("sm_occupancy", "fp64_activity")
        return SourceHealth(True, "2.42.0", dialects=("dcgm_exporter",), interval_seconds=30.0, missing_metrics=missing)


def whole() -> ClusterSnapshot:
    """Every state, a cut GPU, a node that is down with a reason, a CPU node, notes, and a job of somebody."""
    slices = tuple(
        gpu(
            "a01",
            0,
            device=Device("a01", 0, uuid=f"mig-{n}", slice_id=str(n), slice_profile="1g.10gb"),
            values={**values(None), "graphics_engine_activity": 0.3},
        )
        for n in range(1, 5)
    )
    base = snapshot()
    down = node(
        "h003", state=DOWN, reason="fell off the bus", reason_user="operator", reason_time=NOON - timedelta(days=2)
    )
    more = (node("a01", cpus=64, allocated_cpus=16, cpu_load=3.2), down, node("c01", gpu_pools=(), features=()))
    note = Note("gpu_count_differs", "h001", "h001: Slurm has 8 GPUs, the metrics show 7.")
    running = job(48211, nodes=("h001",), start_time=NOON - timedelta(hours=5), time_limit_seconds=86_400.0)
    return replace(base, nodes=(*base.nodes, *more), gpus=(*base.gpus, *slices), notes=(note,), jobs=(running,))


def show(web: Web, shown: ClusterSnapshot) -> None:
    now: datetime = shown.made_at
    open_app(web.app, replace(sources_of(shown), metrics=WavingMetrics(clock=lambda: now)))


def open_page(web: Web, seen: Any, page: str, query: str = "", wait_for: str = "") -> Any:
    selector, path = PAGES[page]
    return seen.open(web.url + path + query, wait_for or selector)


@pytest.mark.parametrize(
    ("user", "theme", "width"), [(STAFF, "light", 1280), (USER, "dark", 390), (USER, "light", 2560)]
)
def test_they_load_clean_and_stay_inside(web: Web, look: Look, user: str, theme: str, width: int) -> None:
    show(web, whole())
    seen = look(user, theme, width)
    for page in PAGES:
        shown = open_page(web, seen, page, wait_for=".fw-tile" if page == "nodes" and width == 390 else "")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width, page
    assert [url for url in seen.asked if not url.startswith((web.url, "data:"))] == []
    assert seen.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("case", ["full", "down", "stale"])
def test_axe_finds_nothing_serious(web: Web, look: Look, theme: str, case: str) -> None:
    stale = (source("slurm"), source("metrics", SourceCondition.STALE, error="refused"))
    shown = {"full": whole(), "down": snapshot(**EMPTY, sources=ALL_DOWN), "stale": replace(whole(), sources=stale)}
    show(web, shown[case])
    seen = look(theme=theme)
    for page in PAGES:
        opened = open_page(web, seen, page, wait_for=".fw-state, .fw-checks, .fw-facts, .ag-row")
        for summary in opened.locator("#page details > summary").all():
            summary.click()
        found = Axe().run(opened).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize("user", [STAFF, USER])
def test_every_source_down_is_said(web: Web, look: Look, user: str) -> None:
    show(web, snapshot(**EMPTY, sources=ALL_DOWN))
    seen = look(user)
    for page in PAGES:
        words = open_page(web, seen, page, wait_for=".fw-state, .fw-facts").inner_text("#page")
        assert "not available" in words or "No node" in words
    assert seen.complaints == []


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_names_are_text_and_break_nothing(web: Web, look: Look, width: int) -> None:
    hostile = node(HOSTILE, reason=HOSTILE, partitions=(HOSTILE,), features=(HOSTILE,))
    shown = snapshot(nodes=(hostile, node("h001", reason=HOSTILE, reason_user=HOSTILE)), cluster=HOSTILE,
                     gpus=(gpu("h001", 0, model=HOSTILE, job_ids=(1,)),),
                     jobs=(job(1, user=HOSTILE, name=HOSTILE, display_id=HOSTILE, nodes=("h001",)),))  # fmt: skip
    show(web, shown)
    for page in PAGES:
        seen = look(width=width)
        opened = open_page(
            web, seen, page, wait_for=".fw-tile, .fw-grid .ag-row" if page == "nodes" else "#page .fw-panel"
        )
        assert HOSTILE in str(opened.locator("#page").text_content()) or page == "health"
        assert opened.evaluate("window.hit") is None
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.complaints == []


def test_a_tick_of_another_page_does_not_call_these(web: Web, look: Look) -> None:
    show(web, whole())
    seen = look()
    page = seen.open(web.url)
    page.evaluate("window.fwTick({n_intervals: 99})")
    page.wait_for_timeout(1500)
    assert [text for text in seen.complaints if "nonexistent" in text] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_tick_is_one_callback_and_brings_the_frame(web: Web, look: Look, page: str) -> None:
    show(web, whole())
    opened = open_page(web, look(), page)
    posts: list[str] = []
    opened.on("request", lambda request: posts.append(request.url) if "_dash-update" in request.url else None)
    show(web, replace(whole(), version="2", time=NOON + timedelta(minutes=1), cluster="maple"))
    opened.evaluate("window.fwTick({n_intervals: 99})")
    expect(opened.locator("#cluster")).to_contain_text("maple")
    assert len(posts) == 1


def test_filters_live_in_the_address_and_come_back(web: Web, look: Look) -> None:
    show(web, whole())
    page = open_page(web, look(), "nodes")
    page.select_option("#nodes-state", "down")
    page.wait_for_url("**/nodes?state=down")
    expect(page.locator(".fw-grid .ag-center-cols-container .ag-row")).to_have_count(1)
    page.reload()
    expect(page.locator(".fw-grid .ag-center-cols-container .ag-row")).to_have_count(1)
    page.evaluate("history.back()")
    expect(page.locator(".fw-grid .ag-center-cols-container .ag-row")).to_have_count(5)
    expect(page.locator("#nodes-state")).to_have_value("*")


def test_no_match_names_the_filters_and_clears_them(web: Web, look: Look) -> None:
    show(web, whole())
    page = look().open(web.url + "nodes?q=zzz", ".fw-state")
    expect(page.locator("#nodes-instead")).to_contain_text("None of 5 nodes has name “zzz”")
    page.click("#nodes-instead [data-clear-nodes]")
    expect(page.locator(".fw-grid .ag-center-cols-container .ag-row")).to_have_count(5)


def column(page: Any, name: str) -> list[str]:
    script = (
        "cells => cells.map(cell => [Number(cell.closest('.ag-row').getAttribute('row-index')), cell.textContent])"
        ".sort((a, b) => a[0] - b[0]).map(pair => pair[1])"
    )
    return list(page.eval_on_selector_all(f".ag-center-cols-container [col-id='{name}']", script))


def test_blanks_come_last_both_ways(web: Web, look: Look) -> None:
    show(web, whole())
    page = open_page(web, look(), "nodes")
    for _ in range(2):
        page.click(".ag-header-cell[col-id='utilization']")
        page.wait_for_timeout(300)
        assert column(page, "utilization")[-2:] == ["–", "–"]


def test_a_name_leads_to_the_node_and_back_to_the_same_list(web: Web, look: Look) -> None:
    show(web, whole())
    page = look().open(web.url + "nodes?state=idle", ".fw-grid .ag-row")
    page.click(".fw-grid a:has-text('h001')")
    page.wait_for_url("**/nodes/h001")
    page.wait_for_selector("#series-boxes .fw-multiple")
    page.evaluate("history.back()")
    page.wait_for_url("**/nodes?state=idle")
    page.wait_for_selector(".fw-grid .ag-row")
    expect(page.locator("#nodes-state")).to_have_value("idle")


def test_the_table_comes_as_csv_without_formulas(web: Web, look: Look) -> None:
    show(web, replace(whole(), nodes=(node("h001", reason="=cmd()"), node("h002"))))
    page = open_page(web, look(), "nodes")
    with page.expect_download() as waiting:
        page.click("[data-csv]")
    text = waiting.value.path().read_text(encoding="utf-8")
    assert '"UTIL, %"' in text.splitlines()[0] and '"Reason"' in text.splitlines()[0]
    assert '"\'=cmd()"' in text and len(text.splitlines()) == 3


def test_tiles_show_the_same_nodes(web: Web, look: Look) -> None:
    show(web, whole())
    page = open_page(web, look(), "nodes", "?view=tiles", ".fw-tile")
    expect(page.locator(".fw-tile")).to_have_count(5)
    assert page.locator(".fw-tile .fw-mini").first.get_attribute("aria-label") == "GPUs: 4 busy"


def test_a_gap_in_the_data_is_a_gap_in_the_line(web: Web, look: Look) -> None:
    show(web, whole())
    page = open_page(web, look(), "node")
    drawn = str(page.locator("#series-boxes .fw-line").nth(3).get_attribute("d"))
    assert drawn.count("M") == 2
    expect(page.locator("#series-boxes .fw-multiple")).to_have_count(8)


def test_another_metric_and_span_live_in_the_address(web: Web, look: Look) -> None:
    show(web, whole())
    page = open_page(web, look(), "node")
    page.select_option("#series-metric", "temperature_celsius")
    page.click("label:has-text('24 h')")
    page.wait_for_url("**/nodes/h001?metric=temperature_celsius&range=24h")
    expect(page.locator("#series-note")).to_contain_text("1 d")
    page.reload()
    page.wait_for_selector("#series-boxes .fw-multiple")
    expect(page.locator("#series-metric")).to_have_value("temperature_celsius")


def test_a_drag_over_a_chart_zooms_all_of_them(web: Web, look: Look) -> None:
    show(web, whole())
    page = open_page(web, look(), "node")
    page.locator("#series-boxes").scroll_into_view_if_needed()
    box = page.locator(".fw-plot").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 20, steps=4)
    page.mouse.up()
    expect(page.locator("#series-note")).to_contain_text("3 h")
    assert "from=" in page.url and "range=" not in page.url


def test_an_unknown_node_names_the_nearest(web: Web, look: Look) -> None:
    show(web, whole())
    seen = look(USER)
    page = seen.open(web.url + "nodes/h01", ".fw-state")
    page.click(".fw-near a:has-text('h001')")
    page.wait_for_url("**/nodes/h001")
    page.go_back()
    page.click(".fw-state a:has-text('All nodes')")
    page.wait_for_selector(".fw-grid .ag-row")
    assert seen.complaints == []


def test_the_reason_is_in_words_and_its_author_is_for_staff(web: Web, look: Look) -> None:
    show(web, whole())
    said = {
        user: look(user).open(web.url + "nodes/h003", "#node-banner .fw-banner").inner_text("#node-banner")
        for user in (STAFF, USER)
    }
    assert "fell off the bus" in said[STAFF] and "operator" in said[STAFF] and "cannot run jobs" in said[STAFF]
    assert "fell off the bus" in said[USER] and "operator" not in said[USER]


def test_in_the_past_ages_are_those_of_then_and_links_keep_the_moment(web: Web, look: Look) -> None:
    show(web, whole())
    page = look().open(web.url + "nodes/h003?at=2026-03-01T18:00:30Z", "html[data-past] #node-side .fw-context")
    expect(page.locator("#node-side .fw-context")).to_contain_text("for 1\u00a0d\u00a06\u00a0h")
    page.click(".fw-crumb a")
    page.wait_for_url("**/nodes?at=2026-03-01T18*")
    page.wait_for_selector("html[data-past] .fw-grid .ag-row")
    page.keyboard.press("/")
    page.keyboard.type("h002")
    page.wait_for_selector("#search-list [role=option]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/nodes/h002?at=2026-03-01T18*")
    page.click("#time-bar button:has-text('Back to now')")
    page.wait_for_url("**/nodes/h002")
    page.click(".fw-nav a:has-text('Nodes')")
    page.wait_for_url("**/nodes")


def test_staff_copy_the_lines_that_give_a_missing_metric(web: Web, look: Look) -> None:
    show(web, whole())
    page = open_page(web, look(), "health")
    expect(page.locator("#health-body")).to_contain_text("DCGM_FI_PROF_SM_OCCUPANCY")
    user = open_page(web, look(USER), "health")
    assert "DCGM_FI" not in user.inner_text("#health-body") and "OCC" in user.inner_text("#health-body")


def test_the_page_fills_itself_when_slurm_answers_again(web: Web, look: Look) -> None:
    show(web, snapshot(**EMPTY, sources=ALL_DOWN))
    page = open_page(web, look(), "nodes", wait_for=".fw-state")
    show(web, replace(whole(), version="2"))
    page.wait_for_selector(".fw-grid .ag-row")
    assert page.locator("#nodes-instead").inner_text() == ""


def test_a_thousand_nodes_are_there_at_once_and_scroll(web: Web, look: Look) -> None:
    nodes = tuple(node(f"n{at:04}") for at in range(1000))
    gpus = tuple(gpu(f"n{at:04}", index, GpuState.BUSY, 0.5) for at in range(1000) for index in range(4))
    show(web, snapshot(nodes=nodes, gpus=gpus, jobs=()))
    page = open_page(web, look(), "nodes")
    assert page.inner_text("#nodes-head") == "1\u2009000 nodes"
    page.evaluate("document.querySelector('.ag-body-viewport').scrollTop = 20000")
    page.wait_for_selector(".ag-center-cols-container [row-id='n0460']")
    page.click("label:has-text('Tiles')")
    expect(page.locator(".fw-tile")).to_have_count(1000)
