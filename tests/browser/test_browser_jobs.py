"""Jobs, one job and one user in a real browser: clean, inside, accessible, and true to the address."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from data.errors import SourceUnreachable
from tests.browser.job_cluster import HOSTILE, cluster, jobs, show
from tests.live.builders import make_job
from tests.services.web import STAFF, USER, Web

Look = Callable[..., Any]
PAGES = {
    "jobs": ".fw-table tbody tr",
    "jobs?show=pending": ".fw-table tbody tr",
    "jobs?show=finished": ".fw-table tbody tr",
    "jobs/7": "#job-charts .fw-small",
    "jobs/9": ".fw-parts",
    "jobs/5": ".fw-meters",
    "jobs/4711": ".fw-state",
    "me": "#user-month .fw-month-facts, #user-month .fw-month p",
    "users/alice": "#user-running .fw-panel",
    "users/nobody": ".fw-state",
}


def serious(page: Any) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(
    ("user", "theme", "width"), [(STAFF, "light", 1280), (USER, "dark", 390), (USER, "light", 2560)]
)
def test_every_page_loads_clean_and_stays_inside(web: Web, look: Look, user: str, theme: str, width: int) -> None:
    show(web, *cluster())
    seen = look(user, theme, width)
    for path, wait_for in PAGES.items():
        page = seen.open(web.url + path, wait_for)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert [url for url in seen.asked if not url.startswith((web.url, "data:"))] == []
    assert [line for line in seen.complaints if "404" not in line] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("user", [STAFF, USER])
def test_axe_finds_nothing_serious(web: Web, look: Look, user: str, theme: str) -> None:
    show(web, *cluster())
    seen = look(user, theme=theme)
    for path, wait_for in PAGES.items():
        assert serious(seen.open(web.url + path, wait_for)) == [], path


def test_axe_finds_nothing_serious_on_a_phone(web: Web, look: Look) -> None:
    show(web, *cluster())
    seen = look(width=390)
    for path in ("jobs", "jobs/7", "me"):
        assert serious(seen.open(web.url + path, PAGES[path])) == [], path


def test_a_narrow_place_leaves_out_what_matters_less_instead_of_hiding_the_end(web: Web, look: Look) -> None:
    show(web, *cluster())
    page = look(width=800).open(web.url + "jobs", ".fw-table tbody tr")
    box = page.locator("#jobs-table .fw-table-box")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    assert box.get_by_text("GPUs now").is_visible() and box.locator("th:has-text('Partition')").is_hidden()
    page.set_viewport_size({"width": 1280, "height": 900})
    assert box.locator("th:has-text('Partition')").is_visible()
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    page.set_viewport_size({"width": 390, "height": 800})
    named = "cell => getComputedStyle(cell, '::before').content"
    assert box.locator("tbody .fw-at-value").first.evaluate(named) == '"UTIL"'


@pytest.mark.parametrize("path", ["jobs", "jobs?show=finished", "jobs/7", "me", "users/alice"])
@pytest.mark.parametrize("user", [STAFF, USER])
def test_with_every_source_down_each_page_says_so(web: Web, look: Look, user: str, path: str) -> None:
    asked, metrics = cluster()
    asked.fault = metrics.fault = SourceUnreachable("http://slurm.example:6820 refused")
    show(web, asked, metrics)
    seen = look(user)
    page = seen.open(web.url + path, ".fw-state, .fw-banner")
    text = page.inner_text("#page")
    assert "not available" in text or "cannot be" in text
    assert ("slurm.example" in page.content()) <= (user == STAFF)
    assert serious(page) == [] and seen.complaints == []


def test_metrics_down_leaves_what_slurm_knows(web: Web, look: Look) -> None:
    asked, metrics = cluster()
    show(web, asked, metrics)
    metrics.fault = metrics.series_fault = SourceUnreachable("refused")
    page = look(USER).open(web.url + "jobs/7", ".fw-meters")
    expect(page.locator("#job-meters")).to_contain_text("not measured")
    expect(page.locator("#job-main")).to_contain_text("did not answer")
    expect(page.locator("#job-charts .fw-small:has(svg)")).to_have_count(0)


def test_a_users_pages_never_name_anybody_else(web: Web, look: Look) -> None:
    show(web, *cluster())
    seen = look(USER)
    answers: list[str] = []
    seen.page.on("response", lambda answer: answers.append(answer.text()) if "_dash-update" in answer.url else None)
    for path, wait_for in PAGES.items():
        seen.open(web.url + path, wait_for)
    said = "".join(answers)
    assert "train_llm" in said
    assert [name for name in ("mallory", "secret-run", "chemistry") if name in said] == []


def test_a_job_of_another_looks_like_one_that_is_not_there(web: Web, look: Look) -> None:
    show(web, *cluster())
    seen = look(USER)
    texts = [seen.open(web.url + f"jobs/{job}", ".fw-state").inner_text(".fw-state") for job in ("8", "4711")]
    assert texts[0].replace("8", "N", 1) == texts[1].replace("4711", "N", 1)


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_names_are_text_and_break_nothing(web: Web, look: Look, width: int) -> None:
    names = {"name": HOSTILE, "account": HOSTILE, "comment": HOSTILE, "command": HOSTILE, "qos": HOSTILE}
    asked, metrics = cluster(**names)
    asked.job_rows = [*asked.job_rows, make_job(11, "gpu01", 1, (5,), user=HOSTILE, partition=HOSTILE, name="")]
    show(web, asked, metrics)
    seen = look(width=width)
    for path in ("jobs", "jobs/7", "jobs/11", "users/alice", "jobs?q=%3Cscript%3E&user=%22%3E%3Cb%3E"):
        page = seen.open(web.url + path, PAGES.get(path, "#page h1"))
        page.wait_for_timeout(300)
        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert HOSTILE in str(seen.open(web.url + "jobs/7", "#job-charts .fw-small").text_content("h1"))
    assert seen.complaints == []


def test_sort_filter_and_list_live_in_the_address_and_come_back(web: Web, look: Look) -> None:
    show(web, *cluster())
    page = look().open(web.url + "jobs", ".fw-table tbody tr")
    page.get_by_role("button", name="GPUs", exact=True).click()
    page.wait_for_url("**/jobs?sort=-gpus")
    page.select_option("#jobs-pick-user", "mallory")
    page.wait_for_url("**/jobs?sort=-gpus&user=mallory")
    expect(page.locator(".fw-table tbody tr")).to_have_count(1)
    page.reload()
    page.wait_for_selector(".fw-table tbody tr")
    expect(page.locator("#jobs-pick-user")).to_have_value("mallory")
    assert page.locator("th[aria-sort='descending']").inner_text().startswith("GPUs")
    page.click("button[data-value='pending']")
    page.wait_for_url("**/jobs?user=mallory&show=pending")
    page.go_back()
    page.wait_for_url("**/jobs?sort=-gpus&user=mallory")
    expect(page.locator("button[data-value='running']")).to_have_attribute("aria-pressed", "true")


def test_no_match_says_what_was_asked_and_clears_it(web: Web, look: Look) -> None:
    show(web, *cluster())
    page = look().open(web.url + "jobs?q=nothing-has-this&state=OUT_OF_MEMORY", ".fw-state")
    said = "No running job has state “Out of memory” and text “nothing-has-this”."
    expect(page.locator(".fw-state")).to_contain_text(said)
    page.click(".fw-state [data-clear-jobs]")
    expect(page.locator(".fw-table tbody tr")).to_have_count(2)


def test_a_long_list_is_paged(web: Web, look: Look) -> None:
    asked, metrics = cluster()
    asked.job_rows = [make_job(100 + number, "gpu02", 0) for number in range(120)]
    show(web, asked, metrics)
    page = look().open(web.url + "jobs?sort=id", ".fw-table tbody tr")
    assert page.locator(".fw-pager").inner_text().startswith("1–50 of 120 jobs")
    page.click("button:has-text('Next')")
    page.wait_for_url("**offset=50")
    expect(page.locator(".fw-table tbody tr").first).to_contain_text("150")


def test_the_csv_holds_what_the_list_shows(web: Web, look: Look) -> None:
    show(web, *cluster())
    page = look(USER).open(web.url + "jobs", ".fw-table tbody tr")
    text = page.evaluate("fetch(document.getElementById('jobs-export').href).then(answer => answer.text())")
    lines = text.splitlines()
    assert lines[0].startswith("job,name,user") and [line.split(",")[0] for line in lines[1:]] == ["7"]


def test_charts_show_gaps_idle_time_and_zoom_together(web: Web, look: Look) -> None:
    show(web, *cluster())
    page = look().open(web.url + "jobs/7", "#job-charts .fw-small")
    labels = page.eval_on_selector_all("#job-charts .fw-small", "all => all.map(one => one.getAttribute('aria-label'))")
    assert labels[0].startswith("GPU 1, mean 0 %, idle 2 h") and labels[1].startswith("GPU 0, mean 65 %, never idle")
    assert page.locator("#job-charts .fw-series").last.get_attribute("d").count("M") == 2
    expect(page.locator("#job-charts .fw-small").first.locator(".fw-idle-foot")).to_have_count(2)
    before = page.locator("#job-charts .fw-series").last.get_attribute("d")
    frame = page.locator(".fw-smallplot").first.bounding_box()
    page.mouse.move(frame["x"] + 20, frame["y"] + 20)
    page.mouse.down()
    page.mouse.move(frame["x"] + 120, frame["y"] + 20)
    page.mouse.up()
    assert page.locator("#job-charts .fw-series").last.get_attribute("d") != before
    page.keyboard.press("Escape")
    expect(page.locator("[data-zoom-out]")).to_be_hidden()
    assert page.locator("#job-charts .fw-series").last.get_attribute("d") == before
    page.locator("#job-charts").focus()
    page.keyboard.press("+")
    expect(page.locator("[data-zoom-out]")).to_be_visible()


def test_the_lines_to_put_in_are_copied_without_their_sign(web: Web, look: Look) -> None:
    show(web, *cluster())
    page = look(permissions=["clipboard-read", "clipboard-write"]).open(web.url + "jobs/7", ".fw-finding .fw-copy")
    page.locator(".fw-finding .fw-copy").first.click()
    expect(page.locator(".fw-finding .fw-copy").first).to_have_text("Copied")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("#SBATCH --") and not re.search(r"^[+-]", text, re.MULTILINE)


def test_a_waiting_job_is_explained(web: Web, look: Look) -> None:
    show(web, *cluster())
    text = look(USER).open(web.url + "jobs/9", ".fw-parts").inner_text("#job-main")
    for said in ("higher priority are first", "1 job of a higher priority", "fairshare", "gpu02", "8 GPUs free"):
        assert said in text


def test_a_finished_job_names_what_measured_it_and_does_not_tick(web: Web, look: Look) -> None:
    show(web, *cluster())
    seen = look(USER)
    page = seen.open(web.url + "jobs/5", ".fw-meters")
    expect(page.locator(".fw-jobfacts")).to_contain_text("Slurm accounting")
    calls = len([url for url in seen.asked if "_dash-update" in url])
    page.wait_for_timeout(5500)
    assert len([url for url in seen.asked if "_dash-update" in url]) == calls


def test_a_tick_of_a_running_job_is_one_callback(web: Web, look: Look) -> None:
    show(web, *cluster())
    seen = look()
    page = seen.open(web.url + "jobs/7", "#job-charts .fw-small")
    calls = len([url for url in seen.asked if "_dash-update" in url])
    page.wait_for_timeout(5500)
    assert 1 <= len([url for url in seen.asked if "_dash-update" in url]) - calls <= 2
    assert seen.complaints == []


def test_an_impossible_address_is_named_and_ignored(web: Web, look: Look) -> None:
    show(web, *cluster())
    query = "?show=luck&sort=fate&offset=minus&days=900&at=tomorrow"
    page = look().open(web.url + "jobs" + query, ".fw-table tbody tr")
    text = page.inner_text("#jobs-banner")
    assert [word for word in ("luck", "fate", "minus", "900", "tomorrow") if word not in text] == []


def test_a_job_that_starts_is_drawn_with_its_meters(web: Web, look: Look) -> None:
    asked, metrics = cluster()
    waiting = replace(make_job(7, None, 2, None, "PENDING", reason="Resources"), name="train_llm")
    asked.job_rows = [waiting, *jobs()[1:]]
    show(web, asked, metrics)
    page = look(USER).open(web.url + "jobs/7", "#job-main .fw-lead")
    expect(page.locator("#job-chart-panel")).to_be_hidden()
    show(web, *cluster())
    page.wait_for_selector(".fw-meters", timeout=30_000)
    page.wait_for_selector("#job-charts .fw-small")
    assert "Why it waits" not in page.inner_text("#job-main")


def test_the_script_comes_when_its_panel_is_unfolded_and_copies_whole(web: Web, look: Look) -> None:
    show(web, *cluster())
    seen = look(width=390)
    page = seen.open(web.url + "jobs/7", PAGES["jobs/7"])
    expect(page.locator("#job-script pre")).to_have_count(0)
    page.get_by_text("Show what was submitted").click()
    expect(page.locator("#job-script pre")).to_contain_text("#SBATCH --job-name=train_llm")
    copied = page.locator("#job-script .fw-copy").get_attribute("data-copy")
    assert copied == "#!/bin/bash\n#SBATCH --job-name=train_llm\n"
    assert serious(page) == [] and seen.complaints == []
