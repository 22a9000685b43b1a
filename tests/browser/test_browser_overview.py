"""The Overview in a real browser: it loads clean, stays inside, filters, and can be walked by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from data.model import Device, GpuState, NodeState, SourceCondition
from tests.components.snapshots import gpu, job, node, snapshot, source, values
from tests.services.web import STAFF, USER, Web

Look = Callable[..., Any]
HOSTILE = "<script>window.hit=1</script>\"'\u202eabc" + "x" * 200
EMPTY = {"nodes": (), "gpus": (), "jobs": ()}
ALL_DOWN = (source("slurm", SourceCondition.DOWN), source("metrics", SourceCondition.DOWN))


def whole() -> Any:
    """Every state, a cut GPU, and a job of somebody else."""
    card = [("7", "1g.10gb"), ("8", "2g.20gb"), ("1", "3g.40gb")]
    slices = tuple(
        gpu(
            "a01",
            0,
            device=Device("a01", index=0, uuid=f"mig-{slice_id}", slice_id=slice_id, slice_profile=profile),
            values=values(0.3),
        )
        for slice_id, profile in card
    )
    base = snapshot()
    return replace(base, nodes=(*base.nodes, node("a01")), gpus=(*base.gpus, *slices))


@pytest.mark.parametrize(("user", "role"), [(STAFF, "staff"), (USER, "user")])
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_it_loads_clean_and_asks_nobody_else(
    web: Web, look: Look, user: str, role: str, theme: str, width: int
) -> None:
    web.show(whole())
    seen = look(user, theme, width)
    page = seen.open(web.url)
    expect(page.locator(".fw-me")).to_have_attribute("title", f"Signed in as {user}, {role}")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", theme)
    expect(page.locator("#gpu-map .fw-cell")).to_have_count(19)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in seen.asked if not url.startswith((web.url, "data:"))] == []
    assert seen.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("case", ["full", "filtered", "all down", "no nodes", "stale", "not found"])
def test_axe_finds_nothing_serious(web: Web, look: Look, theme: str, case: str) -> None:
    stale = (source("slurm"), source("metrics", SourceCondition.STALE))
    shown = {
        "all down": snapshot(**EMPTY, sources=ALL_DOWN),
        "no nodes": snapshot(**EMPTY),
        "stale": snapshot(sources=stale),
    }
    web.show(shown.get(case, whole()))
    seen = look(theme=theme)
    path = {"filtered": "?state=idle&metric=power_watts&group=model", "not found": "nope"}.get(case, "")
    page = seen.open(
        web.url + path, ".fw-state" if case in ("all down", "no nodes", "not found") else "#gpu-map .fw-cell"
    )
    if case == "full":
        page.locator("#gpu-map .fw-cell").first.focus()
        page.locator("#map-card").wait_for()
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []


def test_filters_live_in_the_address_and_survive_reload_and_back(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    page.select_option("#filter-state", "idle")
    page.wait_for_url("**/?state=idle")
    page.locator(".fw-filter label", has_text="Partition").click()
    page.select_option("#filter-partition", "h100")
    page.wait_for_url("**/?state=idle&partition=h100")
    page.reload()
    page.wait_for_selector(".fw-cell.fw-out")
    expect(page.locator("#filter-state")).to_have_value("idle")
    expect(page.locator("#filter-partition")).to_have_value("h100")
    expect(page.locator("#gpu-map .fw-cell:not(.fw-out)")).to_have_count(1)
    page.evaluate("history.back()")
    page.wait_for_url("**/?state=idle")
    expect(page.locator("#filter-partition")).to_have_value("*")
    expect(page.locator("#filter-state")).to_have_value("idle")


def test_two_filters_are_cleared_by_one_press_and_back_brings_them_again(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    page.select_option("#filter-state", "idle")
    expect(page.locator(".fw-clear-all")).to_be_hidden()
    page.select_option("#filter-partition", "h100")
    page.wait_for_url("**/?state=idle&partition=h100")
    page.click(".fw-clear-all")
    page.wait_for_url(web.url)
    expect(page.locator("#gpu-map .fw-out")).to_have_count(0)
    page.evaluate("history.back()")
    page.wait_for_url("**/?state=idle&partition=h100")
    expect(page.locator("#filter-state")).to_have_value("idle")
    expect(page.locator("#filter-partition")).to_have_value("h100")


def test_a_phone_has_one_list_for_what_the_map_is_colored_by(web: Web, look: Look) -> None:
    web.show(whole())
    page = look(width=390).open(web.url)
    assert page.locator("#map-metric").is_hidden() and page.input_value("#map-metric-narrow") == "gpu_utilization"
    page.select_option("#map-metric-narrow", "sm_activity")
    page.wait_for_url("**/?metric=sm_activity")
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator("#map-metric-narrow")).to_be_hidden()
    expect(page.locator("#map-metric input:checked")).to_have_attribute("value", "sm_activity")
    page.locator("#map-metric").get_by_text("Allocation").click()
    page.wait_for_url("**/?metric=allocation")
    expect(page.locator("#map-metric-narrow")).to_have_value("allocation")


def test_paper_says_what_is_drawn_and_by_which_filter(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url + "?state=idle&metric=sm_activity")
    page.emulate_media(media="print")
    assert page.locator("#map-metric label:visible").all_inner_texts() == ["SM"]
    assert page.locator(".fw-filters > :visible").count() == 1 and page.locator("#filter-state").is_visible()


def test_the_legend_filters_and_takes_it_back(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    page.click(".fw-legend button[data-state='down']")
    page.wait_for_selector(".fw-legend button[data-state='down'][aria-pressed='true']")
    expect(page.locator("#gpu-map .fw-cell:not(.fw-out)")).to_have_count(1)
    page.click(".fw-legend button[data-state='down']")
    expect(page.locator("#gpu-map .fw-out")).to_have_count(0)


def test_a_text_in_the_search_can_narrow_the_map_and_is_taken_back_among_the_filters(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    page.keyboard.press("/")
    page.keyboard.type("a01")
    page.click(".fw-found:has-text('nodes with')")
    page.wait_for_url("**/?q=a01")
    expect(page.locator("#gpu-map .fw-cell.fw-out")).to_have_count(16)
    page.click("#filter-name")
    expect(page.locator("#gpu-map .fw-cell.fw-out")).to_have_count(0)


def test_a_metric_that_was_not_measured_is_drawn_as_such(web: Web, look: Look) -> None:
    bare = gpu("h001", 0, values={"gpu_utilization": 0.9})
    web.show(snapshot(gpus=(bare, gpu("h001", 1))))
    page = look().open(web.url)
    page.click("label:has-text('TENSOR')")
    page.wait_for_selector("#gpu-map .fw-unmeasured")
    assert page.locator("#gpu-map .fw-cell").nth(0).get_attribute("class") == "fw-cell fw-unmeasured"
    assert "fw-s3" in str(page.locator("#gpu-map .fw-cell").nth(1).get_attribute("class"))


def test_the_map_is_one_tab_stop_with_arrows_and_a_sentence_for_each_gpu(web: Web, look: Look) -> None:
    web.show(snapshot())
    page = look().open(web.url)
    page.locator("#gpu-map [tabindex='0']").focus()
    name = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(name) == "h001, GPU 0, H100, busy, UTIL 90 %, job 48211"
    for key in ("End", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate(name) == "h002, GPU 0, H100, held and idle, UTIL 0 %"
    expect(page.locator("#gpu-map [tabindex='0']")).to_have_count(1)
    expect(page.locator("#map-card")).to_contain_text("Held, idle")
    page.keyboard.press("Escape")
    expect(page.locator("#map-card")).to_be_hidden()


def test_a_refresh_touches_only_the_cells_that_changed(web: Web, look: Look) -> None:
    web.show(snapshot())
    seen = look()
    page = seen.open(web.url)
    page.evaluate("document.querySelectorAll('#gpu-map .fw-cell').forEach((cell, i) => { cell.fwMark = i; })")
    changed = (gpu("h001", 0, GpuState.DOWN, None), *snapshot().gpus[1:])
    web.show(snapshot(version="2", gpus=changed))
    page.wait_for_selector("#gpu-map .fw-node:first-child .fw-cell.fw-down")
    marks = page.eval_on_selector_all("#gpu-map .fw-cell", "cells => cells.map(cell => cell.fwMark)")
    assert marks == list(range(16))


def test_nothing_jumps_when_data_come(web: Web, look: Look) -> None:
    web.show(snapshot())
    page = look().open(web.url)
    page.evaluate(
        "window.fwShifts = []; new PerformanceObserver(list => list.getEntries().forEach("
        "one => window.fwShifts.push(one.value))).observe({type: 'layout-shift'})"
    )
    web.show(snapshot(version="2", gpus=(gpu("h001", 0, GpuState.DOWN, None), *snapshot().gpus[1:])))
    page.wait_for_selector("#gpu-map .fw-node:first-child .fw-cell.fw-down")
    page.wait_for_load_state("networkidle")
    assert sum(page.evaluate("window.fwShifts")) < 0.005
    page.evaluate("document.querySelector('.fw-panel').style.marginTop = '200px'")
    page.wait_for_function("() => window.fwShifts.some(value => value > 0.005)")  # a jump would have been seen


def test_a_refresh_keeps_the_keyboards_place_and_what_is_unfolded(web: Web, look: Look) -> None:
    nodes = tuple(node(f"d{at:03}", state=NodeState("DOWN", (), "DOWN", "down", False)) for at in range(40))
    web.show(snapshot(nodes=nodes))
    page = look().open(web.url)
    page.click("#overview-attention summary")
    page.locator("#overview-attention details a").nth(2).focus()
    held = "document.activeElement.getAttribute('href') || document.activeElement.dataset.state"
    place = page.evaluate(held)
    page.evaluate("window.fwOld = document.activeElement")
    web.show(snapshot(nodes=nodes, version="2"))
    page.wait_for_function("() => !window.fwOld.isConnected")
    assert page.evaluate(held) == place and "d0" in place
    assert page.locator("#overview-attention details").get_attribute("open") is not None
    page.click("#overview-attention summary")
    page.locator("#map-legend button").nth(1).focus()
    page.evaluate("window.fwOld = document.activeElement")
    web.show(snapshot(nodes=nodes, version="3"))
    page.wait_for_function("() => !window.fwOld.isConnected")
    assert page.evaluate(held) == "idle"
    assert page.locator("#overview-attention details").get_attribute("open") is None


def test_a_tick_is_one_callback_and_none_while_the_tab_is_hidden(web: Web, look: Look) -> None:
    web.show(snapshot())
    seen = look()
    page = seen.open(web.url)
    page.wait_for_timeout(5500)
    assert 1 <= len(seen.callbacks) <= 2 and seen.complaints == []
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.wait_for_timeout(200)
    before = len(seen.callbacks)
    page.wait_for_timeout(5500)
    assert len(seen.callbacks) == before


def test_hostile_names_are_text_and_break_nothing(web: Web, look: Look) -> None:
    shown = snapshot(
        cluster=HOSTILE,
        nodes=(node(HOSTILE, reason=HOSTILE, partitions=(HOSTILE,), features=(HOSTILE,)), node("")),
        gpus=(gpu(HOSTILE, 0, model=HOSTILE, job_ids=(1,)), gpu(HOSTILE, 1, GpuState.IDLE, 0.0, job_ids=(1,))),
        jobs=(job(1, user=HOSTILE, name=HOSTILE, display_id=HOSTILE),),
    )
    web.show(shown)
    for width in (1280, 390):
        seen = look(width=width)
        page = seen.open(web.url)
        page.locator("#gpu-map [tabindex='0']").focus()
        page.locator("#map-card").wait_for()
        assert HOSTILE in str(page.locator("#map-card").text_content())
        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.complaints == []


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({**EMPTY, "sources": ALL_DOWN}, "Slurm is not available"),
        (EMPTY, "No nodes"),
        ({"gpus": ()}, "No GPUs in this cluster"),
    ],
)
def test_a_cluster_without_gpus_says_why(web: Web, look: Look, changes: dict[str, Any], title: str) -> None:
    web.show(snapshot(**changes))
    seen = look(USER)
    page = seen.open(web.url, ".fw-state")
    expect(page.locator("#map-instead")).to_contain_text(title)
    expect(page.locator("#gpu-map .fw-cell")).to_have_count(0)
    assert seen.complaints == []


def test_the_page_fills_itself_when_the_source_answers_again(web: Web, look: Look) -> None:
    web.show(snapshot(**EMPTY, sources=ALL_DOWN))
    page = look().open(web.url, ".fw-state")
    web.show(snapshot(version="2"))
    page.wait_for_selector("#gpu-map .fw-cell")
    assert page.locator("#map-instead").inner_text() == ""


def test_the_past_is_marked_and_does_not_tick(web: Web, look: Look) -> None:
    live = web.show(snapshot())
    seen = look()
    page = seen.open(web.url + "?at=2026-03-01T10:00")
    expect(page.locator("#overview-banner")).to_contain_text("Not known for that moment")
    assert page.get_by_text("Back to now").count() - page.locator(".fw-without-script").count() == 1
    expect(page.locator(".fw-without-script")).to_be_hidden()
    expect(page.locator("#as-of")).to_contain_text("Past:")
    page.wait_for_timeout(5500)
    assert seen.callbacks == [] and live.asked == 0


def test_nobody_gets_the_page_without_a_name(web: Web, look: Look) -> None:
    seen = look(user="")
    answer = seen.page.goto(web.url)
    assert answer.status == 401 and "Not signed in" in seen.page.inner_text("body")


def test_the_theme_is_kept_and_there_before_the_first_paint(web: Web, look: Look) -> None:
    web.show(snapshot())
    page = look(theme="light").open(web.url)
    page.click("#theme")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.reload(wait_until="commit")
    page.wait_for_selector(".fw-shell", state="attached")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")


@pytest.mark.parametrize(("nodes", "mode", "cells"), [(121, "fw-compact", 968), (601, "fw-dense", 601)])
def test_large_clusters_are_drawn_smaller(web: Web, look: Look, nodes: int, mode: str, cells: int) -> None:
    gpus = tuple(gpu(f"n{at:04}", index, utilization=index / 8 + 0.01) for at in range(nodes) for index in range(8))
    web.show(snapshot(nodes=tuple(node(f"n{at:04}") for at in range(nodes)), gpus=gpus))
    page = look().open(web.url)
    assert mode in str(page.locator("#gpu-map").get_attribute("class"))
    expect(page.locator("#gpu-map .fw-cell")).to_have_count(cells)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_data_that_no_longer_come_are_marked_old_by_the_browser_itself(web: Web, look: Look) -> None:
    web.show(snapshot())
    page = look().open(web.url)
    expect(page.locator("#as-of .fw-asof")).to_have_class("fw-asof fw-is-stale")
    web.show(snapshot(version="2", time=datetime.now(UTC)))
    expect(page.locator("#as-of .fw-asof")).to_have_class("fw-asof")


def test_a_cell_for_a_whole_node_speaks_of_the_node(web: Web, look: Look) -> None:
    gpus = [gpu(f"n{at:04}", index, utilization=0.25 + index / 10) for at in range(601) for index in range(4)]
    gpus[1] = gpu("n0000", 1, GpuState.IDLE, 0.0)
    web.show(snapshot(nodes=tuple(node(f"n{at:04}") for at in range(601)), gpus=tuple(gpus)))
    page = look().open(web.url)
    page.locator("#gpu-map [tabindex='0']").focus()
    name = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert name == "n0000, 1 held and idle, 3 busy"
    assert "Lowest UTIL\n0 %, GPU 1" in page.locator("#map-card").inner_text()
    assert "fw-idle" in str(page.locator("#gpu-map .fw-cell").first.get_attribute("class"))
