"""The frame in a real browser: search, keys, the first view, links, and the past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.test_browser_overview import whole
from tests.components.snapshots import job, snapshot
from tests.services.web import USER, Web

Look = Callable[..., Any]
CLASSES = "cells => cells.map(cell => cell.className)"


def nothing_serious(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []


def test_the_search_leads_by_keyboard_to_a_node_and_back_returns(web: Web, look: Look) -> None:
    web.show(whole())
    seen = look()
    page = seen.open(web.url + "?state=busy")
    page.keyboard.press("/")
    page.keyboard.type("h00")
    expect(page.locator("#search-list [role=option]")).to_have_count(3)
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#search", "aria-activedescendant") == "search-1"
    nothing_serious(page)
    assert seen.complaints == []
    page.keyboard.press("Enter")
    page.wait_for_url("**/nodes/h002")
    page.go_back()
    page.wait_for_selector("#gpu-map .fw-cell.fw-out")
    expect(page.locator("#filter-state")).to_have_value("busy")


@pytest.mark.parametrize("text", ["48211_3", "48211+1", "999999"])
def test_a_job_id_goes_straight_to_its_page_before_any_suggestion_is_there(web: Web, look: Look, text: str) -> None:
    web.show(whole())
    page = look(USER).open(web.url)
    page.keyboard.press("/")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/jobs/" + text.replace("+", "%2B") in url or "/jobs/" + text in url)


def test_a_question_mark_shows_the_keys_and_escape_closes_them(web: Web, look: Look) -> None:
    web.show(whole())
    page = look(theme="dark").open(web.url)
    page.keyboard.press("?")
    page.wait_for_selector("#shortcuts[open]")
    nothing_serious(page)
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).not_to_have_attribute("open", "")


def test_the_first_view_shows_what_the_app_draws_later(web: Web, look: Look) -> None:
    web.show(replace(whole(), gpus=tuple(reversed(whole().gpus))))
    for query in ("", "?metric=utilization_gap&group=user", "?metric=gpu_memory_used_bytes&group=node&state=idle",
                  "?metric=policy"):  # fmt: skip
        script_less = look(java_script_enabled=False).page
        script_less.goto(web.url + query)
        first = script_less.eval_on_selector_all("#first-view .fw-map .fw-cell", CLASSES)
        page = look().open(web.url + query)
        expect(page.locator("#first-view")).to_have_count(0)
        drawn = page.eval_on_selector_all("#gpu-map .fw-cell", CLASSES)
        assert first == drawn and len(first) == 19


def test_cells_and_lines_lead_to_their_pages(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    page.locator("#gpu-map .fw-cell").nth(0).click()
    page.wait_for_url("**/nodes/a01")
    page.go_back()
    page.wait_for_selector("#gpu-map .fw-cell")
    page.locator("#gpu-map [tabindex='0']").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    page.wait_for_url("**/jobs/48211")


def test_a_link_in_the_card_is_reached_by_tab(web: Web, look: Look) -> None:
    web.show(snapshot())
    page = look().open(web.url)
    page.locator("#gpu-map [tabindex='0']").focus()
    page.locator("#map-card").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "h001 GPU 0"
    expect(page.locator("#map-card")).to_be_visible()


def test_time_travel_steps_compares_and_comes_back(web: Web, look: Look) -> None:
    web.show(whole())
    seen = look()
    page = seen.open(web.url)
    page.keyboard.press("t")
    page.wait_for_selector("#time-bar:not([hidden])")
    page.keyboard.press("[")
    page.wait_for_selector("html[data-past]")
    assert "Past:" in page.locator("#as-of").inner_text() and "Past:" in page.locator(".fw-time-label").inner_text()
    first = page.url
    page.click("#time-bar button:has-text('Compare with now')")
    page.wait_for_selector(".fw-compare")
    nothing_serious(page)
    page.keyboard.press("[")
    page.wait_for_url(lambda url: url != first and "compare=1" in url)
    page.click("#time-bar button:has-text('Back to now')")
    page.wait_for_url(web.url)
    page.wait_for_selector("html:not([data-past])")
    assert seen.complaints == []


def test_the_slider_moves_by_keyboard_and_play_goes_on(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    page.keyboard.press("t")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("html[data-past]")
    before = page.url
    page.locator("#time-bar button[aria-label='Step back']").click()
    page.wait_for_url(lambda url: url != before)
    page.locator("#time-bar button[aria-label='Step back']").click()
    page.wait_for_timeout(500)
    stepped = page.url
    page.locator("#time-bar button[aria-label='Play']").click()
    page.wait_for_url(lambda url: url != stepped)
    page.locator("#time-bar button[aria-label='Pause']").click()


def test_a_shared_link_restores_moment_and_filters(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url + "?at=2026-03-01T10:00&state=idle&metric=sm_activity&group=user&compare=1")
    expect(page.locator("#filter-state")).to_have_value("idle")
    expect(page.locator("#map-group")).to_have_value("user")
    assert page.locator("html").get_attribute("data-past") is not None
    expect(page.locator(".fw-compare")).to_have_count(2)


def test_a_time_has_its_day_where_it_is_not_of_today_and_nothing_is_due_in_no_seconds(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    clock = "days => fwTime.clock(new Date(2026, 10, 2, 6, 5), false, new Date(...days))"
    told = [page.evaluate(clock, days).replace("\u00a0", " ") for days in ([2026, 10, 2], [2026, 10, 30], [2027, 0, 1])]
    assert told == ["06:05", "2 Nov 06:05", "2 Nov 2026 06:05"]
    page.evaluate("document.querySelector('.fw-note').dataset.until = '1000'")
    expect(page.locator(".fw-note[data-until]")).to_have_text("a moment")


def test_an_impossible_moment_is_named_and_the_page_is_of_now(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url + "?at=tomorrow")
    expect(page.locator("#overview-banner")).to_contain_text("tomorrow")
    assert page.locator("html").get_attribute("data-past") is None


def test_on_a_phone_the_search_opens_from_its_button(web: Web, look: Look) -> None:
    web.show(whole())
    page = look(width=390).open(web.url)
    expect(page.locator("#search")).to_be_hidden()
    page.click("#search-open")
    page.keyboard.type("h001")
    page.click(".fw-found >> nth=0")
    page.wait_for_url("**/nodes/h001")


def test_forced_colors_print_and_reduced_motion_keep_the_cues(web: Web, look: Look) -> None:
    web.show(replace(whole(), jobs=(job(48211, nodes=("h001",)),)))
    page = look(forced_colors="active", reduced_motion="reduce").open(web.url)
    style = "cell => getComputedStyle(cell).boxShadow"
    assert page.locator("#gpu-map .fw-idle").first.evaluate(style) != "none"
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--fw-fast')").strip() == "0ms"
    page.emulate_media(media="print")
    expect(page.locator(".fw-nav")).to_be_hidden()
    expect(page.locator("#time-bar")).to_be_hidden()
    assert page.locator("#gpu-map .fw-cell").first.is_visible()
