"""The Policy page in a real browser: clean, narrow and wide, filtered by its address, with evidence that opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from data.last_day import DayOfUse
from data.model import Viewer
from data.queries.day import DayKeeper
from data.sources import Sources
from data.state.exemptions import add_exemption
from data.state.store import open_store
from pages._request import backing
from policy.keeping import VerdictKeeper
from settings import HistorySettings, Settings, StateSettings
from tests.browser.test_browser_frame import nothing_serious
from tests.live.builders import NOW, make_job
from tests.policy.test_evidence import with_series
from tests.policy.test_taken_acts import with_acts
from tests.policy.test_whatif_history import ran
from tests.queries.cluster import open_fakes, scheduler
from tests.queries.history.attempts import write
from tests.services.web import STAFF, USER, Web, open_still

Look = Callable[..., Any]
HOSTILE = "<script>window.hit=1</script>\"'\u202eabc" + "x" * 200
SHOWN = "#policy-past table"


class NoDay(DayKeeper):
    def last_day(self, viewer: Viewer, sources: Sources) -> DayOfUse | None:
        return None


@pytest.fixture
def shown(web: Web, tmp_path: Path) -> Web:
    """Low jobs of two people, one of them with a hostile name, acts, and an exemption."""
    state = StateSettings(directory=tmp_path / "state")
    store = open_store(state, writes=True)
    assert store is not None
    add_exemption(
        store, "account", "physics", "low-mean", HOSTILE[:40], until=NOW + timedelta(days=3), by="root", now=NOW
    )
    enforced = with_acts(tmp_path / "enforcement")
    slurm = scheduler()
    slurm.job_rows = [
        *(replace(one, name=HOSTILE) if one.job_id == 8 else one for one in slurm.job_rows),
        make_job(70, "gpu04", 1, (0,)),
    ]
    settings = Settings(state=state, enforcement=enforced.settings.enforcement)
    sources = replace(open_fakes(slurm, with_series()), settings=settings, clock=lambda: NOW + timedelta(days=9))
    open_still(web.app, sources)
    return web


@pytest.mark.parametrize(
    ("user", "theme", "width"), [(STAFF, "light", 1280), (STAFF, "dark", 1280), (USER, "light", 390)]
)
def test_it_is_clean_with_everything_open(shown: Web, look: Look, theme: str, width: int, user: str) -> None:
    seen = look(user, theme, width)
    page = seen.open(shown.url + "policy?job=7", SHOWN)
    page.wait_for_selector("#job-charts .fw-small")
    if user == STAFF:
        page.click("#policy-exempt summary")
    nothing_serious(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.hit") is None
    assert seen.complaints == []
    assert [url for url in seen.asked if not url.startswith((shown.url, "data:"))] == []
    assert ("mallory" in page.inner_text("#page")) == (user == STAFF)


def test_filters_live_in_the_address_and_back_takes_them_back(shown: Web, look: Look) -> None:
    seen = look()
    page = seen.open(shown.url + "policy", SHOWN)
    every = page.locator("#policy-verdicts tbody tr").count()
    page.click(".fw-tabs a:has-text('Low')")
    page.wait_for_url("**/policy?status=low")
    expect(page.locator(".fw-tabs a[aria-current]")).to_contain_text("Low")
    page.select_option("#policy-pick-partition", "mig")
    page.wait_for_url("**/policy?status=low&partition=mig")
    expect(page.locator("#policy-verdicts")).not_to_contain_text("mallory")
    page.reload()
    page.wait_for_selector("#policy-verdicts .fw-tabs")
    expect(page.locator("#policy-pick-partition")).to_have_value("mig")
    page.go_back()
    page.wait_for_url("**/policy?status=low")
    page.go_back()
    expect(page.locator("#policy-verdicts tbody tr")).to_have_count(every)
    page.fill("#policy-q", "secret-run")
    page.wait_for_url("**/policy?q=secret-run")
    expect(page.locator("#policy-q")).to_be_focused()
    page.keyboard.type("x")
    page.wait_for_url("**/policy?q=secret-runx")
    expect(page.locator("#policy-verdicts")).to_contain_text("No verdict matches")
    assert seen.complaints == []


def test_evidence_opens_and_closes_by_keyboard(shown: Web, look: Look) -> None:
    seen = look()
    page = seen.open(shown.url + "policy", SHOWN)
    link = page.get_by_label("evidence of job 7", exact=False).first
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/policy?job=7")
    page.wait_for_selector("#job-charts .fw-small")
    expect(page.locator("#policy-evidence")).to_contain_text("Evidence")
    page.click("#policy-evidence a:has-text('Close')")
    expect(page.locator("#policy-evidence")).to_have_count(0)
    assert page.url.endswith("/policy") and seen.complaints == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_what_if_shows_a_curve_and_each_of_its_forms(
    shown: Web, look: Look, tmp_path: Path, theme: str, width: int
) -> None:
    history = write(tmp_path / "history", [ran(1, [0] * 60, user="ann"), ran(2, [7] * 96, user="carl")])
    sources = backing(shown.app.server).sources
    kept = sources.settings.model_copy(update={"history": HistorySettings(directory=history)})
    open_still(shown.app, replace(sources, settings=kept))
    seen = look(STAFF, theme, width)
    page = seen.open(shown.url + "policy", SHOWN)
    page.click("#policy-whatif a:has-text('low-mean')")
    expect(page.locator("#policy-whatif .fw-lead")).to_contain_text("cancelled 0 jobs of 0 users")
    page.click("#policy-whatif a:has-text('Try other forms')")
    expect(page.locator(".fw-curve-plot")).to_have_count(3)
    page.click("#policy-whatif a:has-text('Mean of 4 h below 9 %')")
    page.wait_for_url("**form=0.09**")
    expect(page.locator("#policy-whatif .fw-lead")).to_contain_text("cancelled 1 job of 1 user")
    page.click(".fw-curve-windows a:has-text('2 h')")
    page.wait_for_url("**form=0.09%2F120**")
    expect(page.locator(".fw-curve-windows [aria-current]")).to_have_text("2 h")
    line = page.locator(".fw-curve-line").first.bounding_box()
    assert line is not None and line["width"] > 100 and line["height"] > 60
    nothing_serious(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#policy-whatif a:has-text('Close')")
    expect(page.locator("#policy-whatif .fw-lead")).to_have_count(0)
    assert seen.complaints == []


def test_the_overview_takes_up_verdicts_when_they_are_made(shown: Web, look: Look) -> None:
    own = backing(shown.app.server)
    own.verdicts, own.opened = VerdictKeeper(), replace(own.sources, clock=lambda: NOW)
    seen = look()
    page = seen.open(shown.url + "?metric=policy")
    expect(page.locator("#gpu-map .fw-v-low").first).to_be_visible()
    expect(page.locator("#map-verdicts")).to_be_visible()
    expect(page.locator("#overview-attention")).to_contain_text("low by idle")
    expect(page.locator("a.fw-nav-link #policy-count")).to_have_text("2 low-use jobs")
    nothing_serious(page)
    page.click("a.fw-nav-link:has-text('Jobs')")
    page.wait_for_selector(".fw-jobs")
    expect(page.locator("#policy-count")).to_have_text("2 low-use jobs")
    page.goto(shown.url + "jobs/7")
    expect(page.locator("#job-banner")).to_contain_text("Low use.")
    expect(page.locator("#job-side h2", has_text="Verdict")).to_have_count(0)
    nothing_serious(page)
    page.goto(shown.url + "jobs?at=2026-03-01T10:00")
    expect(page.locator("#policy-count")).to_have_text("")
    page.goto(shown.url)
    page.click("#overview-attention a:has-text('low by idle') >> nth=0")
    page.wait_for_selector("#policy-evidence")
    expect(page.locator(".fw-tabs a:has-text('Low') .fw-unit")).to_have_text("2")
    assert seen.complaints == []
