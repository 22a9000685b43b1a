"""The table's script comes with the first table: not with other pages, not twice, and again after it could not come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from tests.browser.test_browser_nodes import whole
from tests.services.web import STAFF, Web

Look = Callable[..., Any]
SCRIPT = "dash_ag_grid/dash_ag_grid."
ROWS = "#nodes-table .ag-center-cols-container .ag-row"
NODES, OVERVIEW = "a.fw-nav-link[title=Nodes]", "a.fw-nav-link[title=Overview]"


def test_the_table_and_its_order_stay_through_refreshes_and_back_and_forward(web: Web, look: Look) -> None:
    web.show(whole())
    seen = look(STAFF)
    page = seen.open(web.url)
    assert [one for one in seen.asked if "ag_grid" in one] == []
    page.click(NODES)
    expect(page.locator(ROWS).first).to_be_visible()
    page.evaluate("window.grid = document.querySelector('#nodes-table .ag-root-wrapper')")
    page.evaluate("dash_clientside.set_props('nodes-q', {value: 'a01'})")
    expect(page.locator(ROWS)).to_have_count(1)
    assert page.evaluate("window.grid === document.querySelector('#nodes-table .ag-root-wrapper')")
    page.click(OVERVIEW)
    expect(page.locator("#gpu-map .fw-cell").first).to_be_visible()
    page.go_back()
    expect(page.locator(ROWS)).to_have_count(1)
    page.go_back()
    page.go_back()
    expect(page.locator("#gpu-map .fw-cell").first).to_be_visible()
    assert len([one for one in seen.asked if SCRIPT in one]) == 1
    assert seen.complaints == []


def test_a_script_that_could_not_come_is_asked_for_again_and_holds_nothing_else_up(web: Web, look: Look) -> None:
    web.show(whole())
    seen = look(STAFF)
    seen.page.route(f"**/{SCRIPT}*", lambda route: route.abort())
    page = seen.open(web.url)
    page.click(NODES)
    expect(page.locator("#nodes-head")).to_contain_text("node")
    expect(page.locator("#nodes-panel")).to_have_attribute("data-view", "table")
    assert [one for one in seen.asked if SCRIPT in one]
    page.unroute(f"**/{SCRIPT}*")
    page.click(OVERVIEW)
    expect(page.locator("#gpu-map .fw-cell").first).to_be_visible()
    page.click(NODES)
    expect(page.locator(ROWS).first).to_be_visible()
