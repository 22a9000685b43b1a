"""A single sign-on in front, as somebody in a browser meets it: in, out while a page is open, and in again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.test_browser_frame import nothing_serious
from tests.browser.test_browser_overview import whole
from tests.services.apache import apache
from tests.services.nginx import nginx
from tests.services.oauth2_proxy import OAuth2Proxy
from tests.services.ports import free_port
from tests.services.sign_in import provider
from tests.services.web import PREFIX, Web

Look = Callable[..., Any]
MAP = "#gpu-map .fw-cell"
ASK = "window.fwTick({ n_intervals: Date.now() })"
SEARCH = "fetch(window.fwPrefix() + '_search?q=x').then(answer => answer.status, error => error.name)"
ELSEWHERE = """new Promise(said => {
  document.addEventListener('securitypolicyviolation', event => said(
    [event.effectiveDirective, Boolean(document.getElementById('signed-out'))]));
  fetch('https://extension.example.org/').catch(() => null);
})"""
NOTICE = "#signed-out"


@dataclass(frozen=True)
class Behind:
    """`end` ends the session of a browser, which keeps its cookie."""

    url: str
    end: Callable[[BrowserContext], object]


@pytest.fixture(scope="module", params=["mod_auth_openidc", "oauth2-proxy"])
def behind(request: pytest.FixtureRequest, web: Web, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    folder, port, inner = tmp_path_factory.mktemp("sign-in"), free_port(), urlsplit(web.url).netloc
    url = f"http://127.0.0.1:{port}{PREFIX}"
    with ExitStack() as stack:
        if request.param == "mod_auth_openidc":
            stack.enter_context(apache(folder, port, PREFIX, inner, stack.enter_context(provider()), ""))
            yield Behind(url, lambda context: sign_out(url, context))
        else:
            stand_in = stack.enter_context(OAuth2Proxy())
            stack.enter_context(nginx(folder, port, PREFIX, [inner], [], oauth2_proxy=stand_in.url))
            yield Behind(url, lambda _: stand_in.sessions.clear())


def sign_out(url: str, context: BrowserContext) -> None:
    cookies = {one["name"]: one["value"] for one in context.cookies(url)}
    address = f"{url}signed-in?logout={quote(url)}"
    assert requests.get(address, cookies=cookies, allow_redirects=False, timeout=30).status_code == 302


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(viewport={"width": 1280, "height": 900})
    yield made
    made.close()


def sign_in(page: Page, name: str) -> None:
    page.fill("input[name=sub]", f"id-{name}")
    page.click("button:text-is('Authorize')")
    page.wait_for_selector(MAP)


def test_who_signs_in_comes_back_to_the_page_as_who_they_are(web: Web, behind: Behind, context: BrowserContext) -> None:
    web.show(whole())
    page = context.new_page()
    page.goto(behind.url + "?group=user&state=idle")
    sign_in(page, "alice")
    assert page.url == behind.url + "?group=user&state=idle"
    expect(page.locator("#react-entry-point .fw-me")).to_have_attribute("title", "Signed in as alice, user")
    context.clear_cookies()
    page.goto(behind.url)
    sign_in(page, "sam")
    expect(page.locator("#react-entry-point .fw-me")).to_have_attribute("title", "Signed in as sam, staff")


def test_a_page_whose_session_ended_says_so_until_one_has_signed_in_there_or_in_another_tab(
    web: Web, behind: Behind, context: BrowserContext
) -> None:
    web.show(whole())
    page, other = context.new_page(), context.new_page()
    page.goto(behind.url + "?state=busy")
    sign_in(page, "alice")
    expect(page.locator(NOTICE)).to_have_count(0)

    behind.end(context)
    page.evaluate(ASK)
    expect(page.locator(NOTICE)).to_contain_text("You are not signed in any more.")
    expect(page.locator(MAP).first).to_be_visible()
    box = page.locator(NOTICE).bounding_box()
    assert box is not None and box["height"] < 80
    nothing_serious(page)
    other.goto(behind.url)
    sign_in(other, "alice")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(NOTICE)).to_have_count(0)

    behind.end(context)
    page.evaluate(ASK)
    page.evaluate("location.hash = 'page'")  # as the skip link does
    page.click(f"{NOTICE} a")
    sign_in(page, "alice")
    assert page.url == behind.url + "?state=busy"
    expect(page.locator(NOTICE)).to_have_count(0)


def other_site(route: Route) -> None:
    route.fulfill(status=302, headers={"Location": "https://login.example.org/authorize"})


def own_form(route: Route) -> None:
    route.fulfill(status=200, content_type="text/html; charset=utf-8", body="<form>Sign in</form>")


def refused(route: Route) -> None:
    route.fulfill(status=403, content_type="text/html", body="<form>Sign in</form>")


LOGINS = [other_site, own_form, refused]


def test_whatever_a_login_answers_the_panel_and_the_page_say_it_in_words(web: Web, look: Look) -> None:
    """Logins that know nothing of requests that a page makes by itself."""
    web.show(whole())
    page = look().open(web.url)
    page.keyboard.press("a")
    page.wait_for_selector(".fw-chat-field")
    for login in LOGINS:
        page.route(re.compile("_chat/ask|_dash-update-component"), login)
        page.fill(".fw-chat-field", "How many GPUs are idle?")
        page.keyboard.press("Enter")
        expect(page.locator(NOTICE)).to_contain_text("You are not signed in any more.")
        expect(page.locator(".fw-chat [data-part=refused]")).to_contain_text("You are not signed in any more.")
        assert page.input_value(".fw-chat-field") == "How many GPUs are idle?"
        page.unroute_all()
        page.evaluate(ASK)
        expect(page.locator(NOTICE)).to_have_count(0)


def answering(status: int) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status, content_type="text/html", body="<h1>Bad gateway</h1>")


def test_a_server_that_is_away_is_no_login_and_what_an_extension_wants_is_none(web: Web, look: Look) -> None:
    web.show(whole())
    page = look().open(web.url)
    for status in (500, 502, 503):
        page.route("**/_search?q=x", answering(status))
        assert page.evaluate(SEARCH) == status
    page.route("**/_search?q=x", lambda route: route.abort())
    assert page.evaluate(SEARCH) == "TypeError"
    assert page.evaluate(ELSEWHERE) == ["connect-src", False]
    expect(page.locator(NOTICE)).to_have_count(0)


CLAIMS = [
    {"X-Remote-User": "sam"},
    {"X_Remote_User": "sam"},
    {"X-Remote-Groups": "hpc-staff", "X_Remote_Groups": "hpc-staff"},
    {
        "X-Auth-Request-Preferred-Username": "sam",
        "X-Auth-Request-Groups": "hpc-staff",
        "OIDC_CLAIM_groups": "hpc-staff",
    },
]


def test_what_a_client_says_of_itself_counts_for_nothing(web: Web, behind: Behind, context: BrowserContext) -> None:
    web.show(whole())
    page = context.new_page()
    page.goto(behind.url)
    sign_in(page, "alice")
    cookies = {one["name"]: one["value"] for one in context.cookies(behind.url)}
    address = f"{behind.url}_dash-layout"
    for claims in CLAIMS:
        assert requests.get(address, headers={"Sec-Fetch-Mode": "cors", **claims}, timeout=30).status_code == 401
        found = requests.get(address, headers=claims, cookies=cookies, timeout=30)
        assert "Signed in as alice, user" in found.text, claims
        assert found.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_scripts_and_those_who_watch_pass_the_login(behind: Behind) -> None:
    assert requests.get(f"{behind.url}healthz", timeout=30).text == "ok"
    refused = requests.get(f"{behind.url}api/v1/status", headers={"Authorization": "Bearer fw-guess"}, timeout=30)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert refused.json()["error"]["code"] == "unauthorized"
