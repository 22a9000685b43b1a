"""In a browser, behind Passenger: both themes, phone and desk, frames, and asking only while somebody looks."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.services.passenger import DIRECT, Site

PAGES = ("", "efficiency", "cluster", "jobs/{job}", "?embed=1", "jobs/99999999")
MINUTE = 60_000
SCROLLERS = """[...document.querySelectorAll("body *")].filter(one => one.scrollHeight > one.clientHeight + 1
    && one.clientHeight && ["auto", "scroll"].includes(getComputedStyle(one).overflowY)).map(one => one.className)"""
# A clock and a visibility that all frames of a page share, and looks that come faster than every five seconds.
SHARED = """(() => {
  const now = Date.now.bind(Date), every = window.setInterval.bind(window);
  Date.now = () => now() + (top.ahead || 0);
  window.setInterval = (call, time) => every(call, Math.min(time, 300));
  Object.defineProperty(document, "hidden", { get: () => Boolean(top.isHidden) });
})()"""
MANY = """url => Promise.all(Array.from({ length: 300 }, () => new Promise(done => {
    const frame = document.createElement("iframe");
    frame.style.display = "none";
    frame.onload = done;
    frame.src = url;
    document.body.append(frame);
})))"""
Open = Callable[..., Page]


@pytest.fixture
def site(ondemand_site: Site) -> Site:
    return ondemand_site


@pytest.fixture
def opened(chromium: Browser, site: Site) -> Iterator[Open]:
    """Open a page of the app; what it complains of stands in `page.complaints`."""
    contexts: list[Any] = []

    def go(path: str = "", *, theme: str = "light", width: int = 1280, clock: bool = False, url: str = "") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        complaints: list[str] = []
        page.complaints = complaints  # type: ignore[attr-defined]
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        if clock:
            page.clock.install()
        page.goto(url or site.url + path.format(job=site.low_job))
        return page

    yield go
    for context in contexts:
        context.close()


def serious(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_clean_and_fit(opened: Open, theme: str, width: int) -> None:
    for path in PAGES:
        page = opened(path, theme=theme, width=width)
        expect(page.locator("html")).to_have_attribute("data-bs-theme", theme)
        assert serious(page) == [], path
        wide, high = page.evaluate("[document.documentElement.scrollWidth, document.body.scrollHeight]")
        assert wide <= width, path
        assert high > 0 and page.evaluate(SCROLLERS) == [], path
        allowed = ["404"] if "99999999" in path else []
        assert [text for text in page.complaints if not any(word in text for word in allowed)] == []  # type: ignore[attr-defined]


def test_the_direct_mode_and_a_missing_token_are_clean_too(opened: Open, site: Site) -> None:
    try:
        for text in (DIRECT, f'server = "{site.central.url}"\ntoken_folder = "/nowhere"\n'):
            site.configure(text)
            site.forget()
            for path in ("", "efficiency"):
                page = opened(path, theme="dark")
                assert serious(page) == [], path
                said = page.locator("#parts").inner_text()
                assert ("Direct mode" if text is DIRECT and not path else "no") in said
    finally:
        site.configure()


def test_the_worst_job_comes_first_with_its_charts_and_its_fix(opened: Open, site: Site) -> None:
    page = opened()
    page.wait_for_selector("#job-charts .fw-smallplot svg")
    assert site.low_job in page.locator(".fw-banner").inner_text()
    page.get_by_role("link", name="Show the fix").click()
    page.wait_for_url(f"**/jobs/{site.low_job}")
    assert page.locator(".fw-finding h3").first.inner_text()
    page.get_by_role("link", name="My jobs", exact=True).click()
    page.wait_for_url(site.url)


def test_the_theme_is_the_viewers_own_and_a_frame_may_ask_for_one(opened: Open, site: Site) -> None:
    page = opened()
    page.get_by_role("button", name="Switch between light and dark").click()
    page.goto(site.url + "cluster")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.goto(site.url + "?embed=1&theme=light")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
    page.goto(site.url + '?embed=1&theme="><b>')
    expect(page.locator("b")).to_have_count(0)


def polls(page: Page) -> list[str]:
    """Addresses asked for after the page was loaded."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "part=1" in request.url else None)
    return asked


def test_it_asks_once_a_minute_and_rests_after_a_quarter_of_an_hour_or_while_hidden(opened: Open) -> None:
    page = opened(clock=True)
    asked = polls(page)
    page.clock.run_for(50_000)
    assert asked == []
    for _ in range(3):
        with page.expect_response(lambda answer: "part=1" in answer.url):
            page.clock.run_for(MINUTE + 5000)
    assert 3 <= len(asked) <= 4
    page.clock.run_for(20 * MINUTE)
    count = len(asked)
    assert count <= 16
    page.clock.run_for(60 * MINUTE)
    assert len(asked) == count
    expect(page.locator("#resting")).to_contain_text("not used")
    with page.expect_response(lambda answer: "part=1" in answer.url):
        page.mouse.move(40, 40)
        page.mouse.move(80, 80)
    expect(page.locator("#resting")).to_be_hidden()
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    count = len(asked)
    page.clock.run_for(10 * MINUTE)
    assert len(asked) == count


def test_a_refresh_replaces_the_numbers_and_keeps_the_focus(opened: Open, site: Site) -> None:
    page = opened(clock=True)
    page.locator("#parts a").first.focus()
    page.locator("#parts > *").first.evaluate("one => one.id = 'old'")
    with page.expect_response(lambda answer: "part=1" in answer.url):
        page.clock.run_for(MINUTE + 5000)
    page.wait_for_selector("#old", state="detached")
    assert page.evaluate("document.activeElement.closest('#parts') !== null")
    assert page.locator("#job-charts svg").count() > 0


def test_signed_out_it_says_so_and_keeps_what_it_shows(opened: Open) -> None:
    page = opened(clock=True)
    page.route("**/*part=1*", lambda route: route.fulfill(status=200, content_type="text/html", body="<h1>Log in</h1>"))
    page.clock.run_for(MINUTE + 5000)
    page.wait_for_selector("#resting:not([hidden])")
    expect(page.locator("#resting")).to_contain_text("signed out")
    expect(page.locator(".fw-table")).to_have_count(1)


class Host:
    """A page of somebody else that shows the app in a frame."""

    def __init__(self, folder: Path, frames: str) -> None:
        (folder / "host.html").write_text(f"<!DOCTYPE html><title>portal</title>{frames}")
        quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *words: quiet(*words, directory=str(folder))
        )
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[[str], Host]]:
    made: list[Host] = []

    def make(frames: str) -> Host:
        made.append(Host(tmp_path, frames))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()


def test_only_allowed_origins_may_show_it_in_a_frame(opened: Open, site: Site, host: Callable[[str], Host]) -> None:
    there = host(f'<iframe src="{site.url}?embed=1" width="600" height="400"></iframe>')
    allowed, other = f"http://localhost:{there.port}", f"http://127.0.0.1:{there.port}"
    site.settings.write_text(f'{site.settings.read_text()}frame_ancestors = ["{allowed}"]\n')
    try:
        site.restart()
        policy = requests.get(site.url, timeout=30).headers["Content-Security-Policy"]
        assert policy.endswith(f"frame-ancestors 'self' {allowed}")
        page = opened(url=f"{allowed}/host.html")
        frame = page.frame_locator("iframe")
        assert "Efficiency of my last jobs" in frame.locator("h2").inner_text()
        with page.expect_navigation(url="**/jobs/51"):
            frame.get_by_role("link", name="51").click()  # leads the whole page on, not the frame
        refused = opened(url=f"{other}/host.html")
        refused.wait_for_timeout(300)
        expect(refused.frame_locator("iframe").locator("h2")).to_have_count(0)
        assert any("frame-ancestors" in text for text in refused.complaints)  # type: ignore[attr-defined]
    finally:
        site.configure()


def test_three_hundred_idle_tabs_ask_for_nothing(chromium: Browser, site: Site) -> None:
    """As frames of one page: hidden, then untouched for a quarter of an hour; a single touch wakes a single one."""
    context = chromium.new_context()
    context.add_init_script(SHARED)
    page = context.new_page()
    try:
        page.route("**/portal", lambda route: route.fulfill(content_type="text/html", body="<title>portal</title>"))
        page.route("**/*.css", lambda route: route.fulfill(content_type="text/css", body=""))  # nobody looks
        page.goto(site.url + "portal")
        page.evaluate(MANY, site.url + "?embed=1")
        assert len([one for one in page.frames if one.url.endswith("?embed=1")]) == 300
        asked = polls(page)
        before = len(site.central.asked)
        for state in ("top.isHidden = true; top.ahead = 120000", "top.isHidden = false; top.ahead = 16 * 60000"):
            page.evaluate(f"() => {{ {state} }}")
            page.wait_for_timeout(1000)
            assert asked == []
        with page.expect_response(lambda answer: "part=1" in answer.url):
            page.frames[7].evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'x' }))")
        assert len(asked) == 1 and len(site.central.asked) == before
    finally:
        context.close()
