"""The page of history in a real browser: clean, inside, accessible, true to the address; drill-down, brush, Back."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.queries.history.attempts import MONDAY, Attempt, sources_of, write
from tests.services.web import STAFF, USER, Web, open_still

Look = Callable[..., Any]
WEEK = "since=2026-03-02&until=2026-03-09"
READY = "#plot-week svg"
LONG = "a-user-with-a-name-that-is-longer-than-any-column-of-the-table"


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """As the warm-up of an app with history does: half loaded in one thread, it breaks the JSON of all others."""
    importlib.import_module("pandas")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    attempts = [
        Attempt(1, 2, 12, gpus=4, used=0.8, idle=0.05, memory_gib=40.0, name="train"),
        Attempt(2, 20, 30, gpus=2, used=0.1, idle=0.8, memory_gib=3.0, findings=("idle",)),
        Attempt(4, 40, 90, gpus=8, used=0.05, idle=0.9, user="mallory", account="chemistry", path=("chemistry",)),
        *(
            Attempt(10 + at, 5 * at, 5 * at + 9, used=at / 20, user=f"user{at}", memory_gib=2.0 * at)
            for at in range(16)
        ),
        Attempt(40, 50, 60, gpus=2, used=None, user=LONG, state="FAILED", name="<b>odd</b>"),
    ]
    return write(tmp_path_factory.mktemp("browser-history"), attempts)


@pytest.fixture
def history(web: Web, folder: Path) -> Web:
    open_still(web.app, sources_of(folder, MONDAY.replace(day=9)))
    return web


def opened(seen: Any, url: str) -> Any:
    """The page when the last of its answers is there."""
    page = seen.open(url, READY)
    page.wait_for_selector(".fw-ranking tbody tr")
    page.wait_for_selector("#plot-heat svg")
    return page


def serious(page: Any) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(
    ("user", "theme", "width"), [(STAFF, "light", 1280), (USER, "dark", 390), (STAFF, "dark", 2560)]
)
def test_the_page_is_clean_inside_and_accessible(history: Web, look: Look, user: str, theme: str, width: int) -> None:
    seen = look(user, theme, width)
    page = opened(seen, f"{history.url}efficiency?{WEEK}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []
    page.click("[data-twin=trend]")
    expect(page.locator("#twin-trend tbody tr")).to_have_count(7)
    page.click("#eff-export summary")
    assert serious(page) == []
    assert page.locator("#plot-bins").get_attribute("aria-label").startswith("GPU-hours by the mean UTIL")
    assert seen.complaints == [] and [url for url in seen.asked if not url.startswith((history.url, "data:"))] == []


def test_a_step_down_and_a_brush_are_addresses_that_back_takes_back(history: Web, look: Look) -> None:
    seen = look(STAFF)
    page = opened(seen, f"{history.url}efficiency?{WEEK}")
    start = page.url
    frame = page.locator("#plot-heat").bounding_box()
    page.mouse.move(frame["x"] + 45, frame["y"] + frame["height"] - 45)
    page.mouse.down()
    page.mouse.move(frame["x"] + 95, frame["y"] + frame["height"] - 100, steps=4)
    expect(page.locator("#heat-live")).to_contain_text("% of all")
    page.mouse.up()
    expect(page.locator(".fw-selected.fw-is-set b")).to_contain_text("% of all")
    assert "util=0-" in page.url and "memory=0-" in page.url
    page.click("text=Show jobs")
    expect(page.locator("#eff-table h2")).to_have_text("Jobs")
    expect(page.locator("#eff-table tbody")).to_contain_text("2")
    page.go_back()
    expect(page.locator("#eff-table h2")).to_have_text("Users")
    page.locator("#plot-heat").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".fw-selected.fw-is-set")).to_have_count(0)
    assert page.url == start
    page.click("#eff-table tbody tr:has-text('mallory') a.fw-id")
    expect(page.locator(".fw-history-crumbs")).to_contain_text("User mallory")
    expect(page.locator("#eff-table tbody")).to_contain_text("4")
    page.go_back()
    expect(page.locator(".fw-history-crumbs")).to_have_count(0)
    assert seen.complaints == []


def test_an_answer_that_comes_after_back_is_not_put_into_the_page_that_came_back(history: Web, look: Look) -> None:
    page = opened(look(STAFF), f"{history.url}efficiency?{WEEK}")
    page.click("#eff-table tbody tr:has-text('mallory') a.fw-id")
    expect(page.locator(".fw-history-crumbs")).to_contain_text("User mallory")
    late: list[Any] = []

    def hold(route: Any) -> None:
        late.append(route) if "eff-step" in (route.request.post_data or "") else route.continue_()

    page.route("**/_dash-update-component*", hold)
    with page.expect_request(lambda request: "eff-step" in (request.post_data or "")):
        page.evaluate("dash_clientside.fw.addUpOn({ left: 1, ready: -2 })")
    page.go_back()
    expect(page.locator(".fw-history-crumbs")).to_have_count(0)
    with page.expect_response(lambda answer: "eff-step" in (answer.request.post_data or "")):
        late[0].continue_()
    page.wait_for_timeout(500)
    expect(page.locator("#eff-table h2")).to_have_text("Users", timeout=1000)
    expect(page.locator(".fw-history-crumbs")).to_have_count(0)


def test_a_name_is_looked_for_while_it_is_typed_and_the_field_keeps_the_keyboard(history: Web, look: Look) -> None:
    page = opened(look(STAFF), f"{history.url}efficiency?{WEEK}")
    page.focus("#eff-q")
    page.keyboard.type("mal")
    expect(page.locator("#eff-table tbody tr")).to_have_count(1)
    expect(page.locator("#eff-q")).to_be_focused()
    page.evaluate("document.activeElement.blur()")  # as for a moment when an answer brings another field
    page.keyboard.type("z")
    expect(page.locator("#eff-table")).to_contain_text("No name holds “malz”.")
    page.go_back()
    expect(page.locator("#eff-q")).to_have_value("mal")


def test_figures_answer_the_pointer_the_keys_and_the_theme(history: Web, look: Look) -> None:
    seen = look(STAFF)
    page = opened(seen, f"{history.url}efficiency?{WEEK}")
    page.hover("#plot-trend", position={"x": 120, "y": 120})
    expect(page.locator(".fw-hist-tip")).to_contain_text("Partly used")
    page.locator("#plot-week").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#plot-week .fw-sr")).to_contain_text("Monday 00:00")
    with page.expect_download() as saved:
        page.click("[data-png=trend]")
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG") and saved.value.suggested_filename.endswith(
        ".png"
    )
    fill = "getComputedStyle(document.querySelector('#plot-trend .fw-fill-used')).fill"
    before = page.evaluate(fill)
    page.click("#theme")
    assert page.evaluate(fill) != before
    page.select_option("#eff-since", "7d")
    page.wait_for_url("**since=7d*")
    assert seen.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_states_without_numbers_are_accessible(web: Web, look: Look, folder: Path, theme: str) -> None:
    open_still(web.app, sources_of(None))
    seen = look(STAFF, theme)
    assert serious(seen.open(f"{web.url}efficiency", ".fw-history-begin")) == []
    open_still(web.app, sources_of(folder, MONDAY.replace(day=9)))
    stranger = look(USER, theme)
    page = stranger.open(f"{web.url}efficiency?{WEEK}&user=mallory", ".fw-state")
    assert serious(page) == [] and "Clear all filters" in page.inner_text("#eff-body")
    page.click("text=Clear all filters")
    page.wait_for_url("**/efficiency")
    me = stranger.open(f"{web.url}me", "#user-month #plot-trend svg")
    assert serious(me) == [] and "Among peers" in me.inner_text("#user-month")
    assert seen.complaints == stranger.complaints == []
