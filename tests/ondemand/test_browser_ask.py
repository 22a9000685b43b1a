"""The assistant's page in a browser, behind Passenger: commands, stop, links, themes, sizes, and nobody looking."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chat.model import Ended, TextDelta
from data.model import Role, Viewer
from data.queries.jobs import jobs
from pages._chat_desk import AnyModel
from pages._chat_routes import KEY
from tests.ondemand.test_browser import SCROLLERS, Open, serious
from tests.ondemand.test_browser import opened as opened
from tests.services.asking import ENDED, ask
from tests.services.passenger import Site

LAST = ".fw-chat-turn:last-child"
NASTY = "<img src=x onerror=alert(1)> **bold** [x](javascript:alert(1)) <script>alert(2)</script>"
HIDDEN = "hidden => Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })"


@pytest.fixture
def site(ondemand_site: Site) -> Iterator[Site]:
    yield ondemand_site
    ondemand_site.central.server.config[KEY].answer = AnyModel()


def begun(opened: Open, **how: Any) -> Page:
    page = opened("ask", **how)
    page.wait_for_selector(".fw-chat-field")
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_commands_draw_cards_clean_and_in_bounds(opened: Open, site: Site, theme: str, width: int) -> None:
    page = begun(opened, theme=theme, width=width)
    assert page.evaluate(SCROLLERS) == []
    expect(page.locator(".fw-chat-head")).to_contain_text(f"sees what {site.user} may see")
    ask(page, "/waste week")
    expect(page.locator(f"{LAST} .fw-tool")).to_have_count(1)
    ask(page, f"/job {site.low_job}")
    expect(page.locator(f"{LAST} .fw-tool .fw-meter").first).to_be_visible()
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight - innerHeight") <= (0 if width > 991 else 600)
    field = page.locator(".fw-chat-field").bounding_box()
    assert field is not None and field["y"] + field["height"] <= 800
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_conversation_outlives_the_page_and_its_links_stay_in_the_app(opened: Open, site: Site) -> None:
    page = begun(opened)
    ask(page, f"/job {site.low_job}")
    page.reload()
    expect(page.locator(".fw-chat-turn")).to_have_count(1)
    own = page.locator("#chat-list li:has([aria-current=true])")
    expect(own).to_contain_text(f"/job {site.low_job}")
    page.get_by_role("link", name="Open the page").click()
    page.wait_for_url(site.url + f"jobs/{site.low_job}")
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.locator(".fw-chat-turn")).to_have_count(1)
    own.get_by_role("button", name="Delete: ").click()
    own.get_by_role("button", name="Press again to delete").click()
    expect(page.locator(".fw-chat-turn")).to_have_count(0)
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_job_of_somebody_else_is_refused(opened: Open, site: Site) -> None:
    everybody = jobs(Viewer("root", Role.STAFF), site.central.sources, limit=10_000).rows
    other = next(row.job for row in everybody if row.job.user != site.user and row.job.display_id.isdigit())
    page = begun(opened)
    ask(page, f"/job {other.display_id}")
    expect(page.locator(f"{LAST} .fw-tool-failed, {LAST} .fw-chat-failed").first).to_be_visible()
    assert str(other.user) not in page.locator("#chat").inner_text()


def test_what_is_planted_is_text(opened: Open, site: Site) -> None:
    def answer(*_: Any) -> Iterator[Any]:
        yield TextDelta(NASTY)
        yield Ended(NASTY)

    site.central.server.config[KEY].answer = answer
    page = begun(opened)
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    ask(page, NASTY)
    text = page.locator(f"{LAST} [data-part=text]")
    expect(text).to_contain_text("<img src=x onerror=alert(1)> bold")
    expect(page.locator("#chat :is(img, script, [onerror], [href^='javascript'])")).to_have_count(0)
    expect(page.locator(f"{LAST} .fw-chat-question")).to_have_text(NASTY)
    assert page.complaints == []  # type: ignore[attr-defined]


def test_stop_ends_an_answer_and_nobody_asks_on_while_nobody_looks(opened: Open, site: Site) -> None:
    def endless(*given: Any) -> Iterator[Any]:
        stop = given[-1]
        yield TextDelta("So far so good. And ")
        while not stop():
            yield TextDelta("so ")
            waits.wait(0.02)
        yield Ended("So far so good.", is_cut=True)

    waits = threading.Event()
    site.central.server.config[KEY].answer = endless
    page = begun(opened)
    page.fill(".fw-chat-field", "go on")
    page.keyboard.press("Enter")
    expect(page.locator(f"{LAST} [data-part=text]")).to_contain_text("So far so good.")
    page.evaluate(HIDDEN, True)
    page.wait_for_timeout(1000)
    before = len(site.central.asked)
    page.wait_for_timeout(1500)
    assert len(site.central.asked) == before
    page.evaluate(HIDDEN, False)
    with page.expect_response(lambda answer: "_chat/events" in answer.url):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(ENDED)
    expect(page.locator(LAST)).to_contain_text("stopped before its end")
    assert page.complaints == []  # type: ignore[attr-defined]


def test_the_page_asks_for_nothing_by_itself(opened: Open, site: Site) -> None:
    page = begun(opened, clock=True)
    page.clock.run_for(1000)
    before = len(site.central.asked)
    page.clock.run_for(20 * 60_000)
    page.mouse.move(40, 40)
    page.mouse.move(80, 80)
    page.clock.run_for(5 * 60_000)
    assert len(site.central.asked) == before
    assert page.complaints == []  # type: ignore[attr-defined]


def test_without_the_server_it_says_so_and_keeps_the_question(opened: Open, site: Site) -> None:
    page = begun(opened)
    site.central.is_down = True
    try:
        page.fill(".fw-chat-field", "/status")
        page.keyboard.press("Enter")
        expect(page.locator(".fw-chat-refused")).to_contain_text("502")
        expect(page.locator(".fw-chat-field")).to_have_value("/status")
    finally:
        site.central.is_down = False
    ask(page, "/status")
