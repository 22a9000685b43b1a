"""What floats and what is not there: menus, panels and modals open, 401, every source down; wall, paper, phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from data.errors import SourceUnreachable
from data.last_day import DayOfUse
from data.model import Viewer
from data.queries.day import DayKeeper
from data.sources import Sources
from pages._request import backing
from tests.browser import job_cluster, test_browser_metrics, test_browser_nodes
from tests.browser.test_browser_frame import nothing_serious
from tests.browser.test_browser_overview import whole
from tests.components.snapshots import NOON, node, snapshot
from tests.services.web import Web

Look = Callable[..., Any]
OVERLAPS = """links => { const boxes = links.map(a => a.getBoundingClientRect()).filter(b => b.width);
    return boxes.slice(1).filter((box, i) => box.left < boxes[i].right - 0.5).length
        + boxes.filter(box => box.left < 0 || box.right > innerWidth).length }"""
CUT = "labels => labels.filter(one => one.scrollWidth > one.parentElement.clientWidth).map(one => one.textContent)"


def inside(web: Web, seen: Any) -> None:
    assert seen.complaints == []
    assert [url for url in seen.asked if not url.startswith((web.url, "data:"))] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_that_opens_is_clean(web: Web, look: Look, theme: str) -> None:
    web.show(whole())
    seen = look(theme=theme)
    page = seen.open(web.url + "?feature=h100")
    page.click("[data-features] summary")
    page.keyboard.press("t")
    expect(page.locator("#time-bar")).to_be_visible()
    nothing_serious(page)
    page.keyboard.press("Escape")
    expect(page.locator(".fw-menu")).to_be_hidden()
    page.keyboard.press("?")
    page.wait_for_selector("#shortcuts[open]")
    nothing_serious(page)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("#search-open")
    page.keyboard.type("h00")
    page.wait_for_selector("#search-list [role=option]")
    nothing_serious(page)
    page.keyboard.press("Escape")
    on_a_phone(page)
    inside(web, seen)


def on_a_phone(page: Page) -> None:
    """Five places that do not touch, the rest behind the last."""
    assert page.eval_on_selector_all(".fw-nav > ul > li > :is(a, button)", OVERLAPS) == 0
    assert page.locator(".fw-nav > ul > li").count() <= 5
    assert page.eval_on_selector_all(".fw-nav > ul > li > :is(a, button) > .fw-label", CUT) == []
    page.click("#nav-more")
    expect(page.locator(".fw-nav-rest a[href$='/health']")).to_be_visible()
    nothing_serious(page)
    page.keyboard.press("Escape")
    expect(page.locator(".fw-nav-rest a[href$='/health']")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_not_there_is_clean_too(web: Web, look: Look, theme: str) -> None:
    asked, metrics = job_cluster.cluster()
    asked.fault = metrics.fault = SourceUnreachable("refused")
    job_cluster.show(web, asked, metrics)
    seen = look(theme=theme)
    for path in ("jobs/7", "me"):
        nothing_serious(seen.open(web.url + path, "#page h1"))
    assert seen.complaints == []
    nobody = look(user="", theme=theme)
    assert nobody.page.goto(web.url).status == 401
    nothing_serious(nobody.page)


def test_features_are_joined_by_and_or_in_the_address_and_come_back(web: Web, look: Look) -> None:
    nodes = (node("h001", features=("h100", "ib")), node("h002", features=("h100", "nvlink")))
    web.show(snapshot(nodes=nodes))
    seen = look()
    page = seen.open(web.url)
    bright = page.locator("#gpu-map .fw-cell:not(.fw-out)")
    page.click("[data-features] summary")
    page.click("[data-feature='ib']")
    page.wait_for_url("**/?feature=ib")
    expect(bright).to_have_count(8)
    page.click("[data-feature='nvlink']")
    page.wait_for_url("**/?feature=ib%2Bnvlink")
    expect(bright).to_have_count(0)
    page.click("[data-feature-mode='any']")
    page.wait_for_url("**/?feature=ib%7Cnvlink")
    expect(bright).to_have_count(16)
    expect(page.locator("#filter-feature-words")).to_have_text("ib or nvlink")
    page.evaluate("history.back()")
    expect(page.locator("#filter-feature-words")).to_have_text("ib and nvlink")
    expect(page.locator("[data-feature-mode='all'][aria-pressed='true']")).to_have_count(1)
    page.reload()
    expect(page.locator("#react-entry-point #filter-feature-words")).to_have_text("ib and nvlink")
    seen.open(web.url + "nodes?feature=ib|gone", "#nodes-head")
    expect(page.locator("#nodes-head")).to_have_text("1 of 2 nodes")
    expect(page.locator("#nodes-banner")).to_contain_text("no feature “gone”")
    page.click("[data-features] summary")
    page.click("[data-feature-clear]")
    expect(page.locator("#nodes-head")).to_have_text("2 nodes")
    inside(web, seen)


class OneDay(DayKeeper):
    """The last day is known already."""

    def last_day(self, viewer: Viewer, sources: Sources) -> DayOfUse:
        return DayOfUse(NOON, 12.0, 80.0, trends=dict.fromkeys(("allocated", "busy", "idle"), (10.0, 12.0)))


def test_a_wall_screen_shows_more_and_nothing_to_press(web: Web, look: Look) -> None:
    web.show(whole())
    backing(web.app.server).day = OneDay()
    seen = look(width=2560, height=1440)
    page = seen.open(web.url + "?wall=1&metric=sm_activity")
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "20px"
    strip = page.locator("#gpu-map .fw-strip").first.bounding_box()
    assert strip is not None and strip["height"] >= 34
    for hidden in (".fw-nav", "#search", ".fw-filters", "#map-metric", "#theme", ".fw-me"):
        assert page.locator(hidden).first.is_hidden(), hidden
    size = page.evaluate("getComputedStyle(document.querySelector('#as-of .fw-asof')).fontSize")
    assert float(size.removesuffix("px")) >= 18
    assert page.locator(".fw-day-plot").is_visible() and page.get_by_text("Queue", exact=True).is_visible()
    nothing_serious(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".fw-day-plot")).to_be_hidden()
    expect(page.locator(".fw-nav")).to_be_hidden()
    inside(web, seen)


def test_paper_is_light_and_unfolded_and_the_screen_comes_back(web: Web, look: Look) -> None:
    asked, metrics = job_cluster.cluster()
    job_cluster.show(web, asked, metrics)
    page = look(theme="dark").open(web.url + "jobs", "#jobs-table tbody tr")
    page.set_viewport_size({"width": 794, "height": 1000})
    page.emulate_media(media="print")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    expect(page.locator(".fw-nav")).to_be_hidden()
    expect(page.locator(".fw-filters")).to_be_hidden()
    page.emulate_media(media="screen")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")


@pytest.mark.parametrize(("at", "table"), [("metrics", ".fw-metrics-grid"), ("nodes/h001", ".fw-devices")])
def test_the_widest_tables_fit_on_paper(web: Web, look: Look, at: str, table: str) -> None:
    if at == "metrics":
        _, page = test_browser_metrics.show(web, look)
    else:
        test_browser_nodes.show(web, test_browser_nodes.whole())
        page = look().open(web.url + at, f"{table} tbody tr")
    page.set_viewport_size({"width": 794, "height": 1000})
    page.emulate_media(media="print")
    box = page.locator(table).first.bounding_box()
    assert box is not None and box["x"] + box["width"] <= 794
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
