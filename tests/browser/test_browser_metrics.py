"""Detailed metrics in a real browser: clean, accessible, inside the window, one with the scatter, true to the URL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from app import open_app
from data.errors import SourceUnreachable
from data.model import NodeDevices
from data.sources import Sources
from tests.live.builders import NOW, make_job
from tests.queries.metric_builders import H100, device, sources, stat
from tests.services.web import STAFF, USER, Web

Look = Callable[..., Any]
HOSTILE = "<script>window.hit=1</script>\"'\u202eabc" + "x" * 200
A100 = "NVIDIA A100-SXM4-80GB"
ROW = ".fw-metrics-grid tr[data-key]"
ABSENT = ("fp16_activity",)


def cluster(jobs: int = 60) -> Sources:
    """Jobs of all kinds: busy and empty ones, a slice, one that nobody measured, a hostile name, two models."""
    rows, seen = [], []
    for number in range(1, jobs):
        node, index = f"gpu{number // 8:02}", number % 8
        name = HOSTILE if number == 5 else f"train_{number}"
        user = "alice" if number % 3 else "mallory"
        rows.append(make_job(number, node, 1, (index,), name=name, user=user, account=f"acc{number % 4}"))
        if number == 7:
            continue
        on = device(node, index, H100 if number % 2 else A100)
        util = min(1.0, 0.02 * number + 0.1)
        values = {
            "gpu_utilization": util,
            "sm_activity": util / (1 + number % 4),
            "tensor_activity": 0.01 * (number % 40),
        }
        values |= {"sm_occupancy": 0.2, "fp32_activity": 0.1, "dram_activity": 0.4, "power_watts": 100.0 + 9 * number}
        seen += [stat(value, str(number), metric, 60 if number == 9 else 120, on) for metric, value in values.items()]
    piece = device("mig01", slice_id="1")
    rows.append(make_job(900, "mig01", 1, (0,), devices=(NodeDevices("mig01", 1, (0,), "1g.10gb"),), name="slice"))
    seen += [stat(0.6, "900", "graphics_engine_activity", of=piece), stat(0.3, "900", "sm_activity", of=piece)]
    return sources(rows, *seen, missing=ABSENT, missing_here=ABSENT)


def show(web: Web, look: Look, query: str = "", wait_for: str = ROW, own: Sources | None = None, **who: Any) -> Any:
    open_app(web.app, own or cluster())
    seen = look(**who)
    page = seen.open(f"{web.url}metrics{query}", wait_for)
    return seen, page


def keys(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all(ROW, "rows => rows.map(row => row.getAttribute('data-key'))")
    return found


@pytest.mark.parametrize(
    ("user", "theme", "width"),
    [(STAFF, "light", 1280), (USER, "dark", 390), (STAFF, "dark", 2560)],
)
def test_it_loads_clean_and_stays_inside(web: Web, look: Look, user: str, theme: str, width: int) -> None:
    seen, page = show(web, look, "?row=8", user=user, theme=theme, width=width)
    expect(page.locator(".fw-advice-row")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#metrics-scatter .fw-dot[data-dot]").count() > 20
    assert page.evaluate("window.hit") is None
    if width >= 768:
        assert page.locator(".fw-nav").bounding_box()["width"] < 80
    assert [url for url in seen.asked if not url.startswith((web.url, "data:"))] == []
    assert seen.complaints == []


def down() -> Sources:
    own = cluster()
    own.live.snapshot()
    own.metrics.fault = SourceUnreachable("refused")  # type: ignore[attr-defined]
    return own


STATES: dict[str, tuple[str, str, Callable[[], Sources]]] = {
    "full": ("?row=9&finding=small_kernels", ".fw-advice-row, .fw-metrics-grid", cluster),
    "models": ("?group=model&split=1", ROW, cluster),
    "empty": ("?q=nothing-like-it", "#metrics-instead .fw-state", cluster),
    "down": ("", "#metrics-instead .fw-state", down),
}


@pytest.mark.parametrize(("theme", "names"), [("light", ("full", "empty", "down")), ("dark", ("full", "models"))])
def test_axe_finds_nothing_serious(web: Web, look: Look, theme: str, names: tuple[str, ...]) -> None:
    for name in names:
        query, wait_for, own = STATES[name]
        _, page = show(web, look, query, wait_for, own(), theme=theme, width=390 if name == "models" else 1280)
        found = Axe().run(page).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:160]) for one in found if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], (name, theme)


def test_sorting_filtering_and_unfolding_are_in_the_address_and_back_takes_them_back(web: Web, look: Look) -> None:
    seen, page = show(web, look)
    first = keys(page)
    page.get_by_role("button", name="UTIL-SM").click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("UTIL-SM")
    assert keys(page) != first and keys(page)[-1] in ("7", "900"), "blanks come last"
    page.get_by_role("button", name="UTIL-SM").click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("UTIL-SM")
    assert keys(page)[-1] in ("7", "900")
    page.locator("[data-metrics-finding=small_kernels]").first.click()
    expect(page.locator("#metrics-count")).to_contain_text("of 60 jobs")
    row = page.locator(ROW).first
    row.locator(".fw-unfold").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".fw-advice-row")).to_contain_text("Raise the batch size")
    page.wait_for_url("**row=*")
    assert "sort=utilization_gap" in page.url and "finding=small_kernels" in page.url
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true", "focus stays"
    left = keys(page)
    page.reload()
    page.wait_for_selector(".fw-advice-row")
    assert keys(page) == left
    page.go_back()
    expect(page.locator("#metrics-count")).not_to_contain_text("of 60 jobs")
    assert "finding" not in page.url and seen.complaints == []


def test_groups_ranges_and_filters_ask_the_server_and_keep_the_rest(web: Web, look: Look) -> None:
    seen, page = show(web, look, "?sort=-utilization")
    page.get_by_text("User", exact=True).first.click()
    expect(page.locator(ROW)).to_have_count(2)
    page.locator(f'{ROW}[data-key="alice"]').click()
    page.get_by_role("link", name="Show its").click()
    page.wait_for_selector(f'{ROW}[data-key="1"]')
    assert "user=alice" in page.url and "mallory" not in page.locator("#metrics-table").inner_text()
    page.locator("#metrics-period").select_option("10m")
    expect(page.locator("#metrics-note")).to_contain_text("10 min")
    page.locator("#metrics-user").select_option("*")
    page.locator("#metrics-q").fill("train_1")
    expect(page.locator("#metrics-count")).to_contain_text("11 jobs")
    assert seen.complaints == []


def newer_numbers(page: Any) -> None:
    """A tick whose answer counts as new."""
    with page.expect_response(lambda response: "_dash-update-component" in response.url):
        page.evaluate("dash_clientside.set_props('metrics-version', {data: ''})")
        page.evaluate("dash_clientside.set_props('metrics-tick', {n_intervals: 99})")
    page.wait_for_timeout(200)


def test_scatter_and_table_are_one(web: Web, look: Look) -> None:
    seen, page = show(web, look)
    names = page.locator(".fw-dot[data-dot] title").all_text_contents()
    place = next(number for number, name in enumerate(names) if name.startswith("train_20 "))
    page.locator(f'.fw-dot[data-dot="{place}"]').hover(force=True)
    expect(page.locator(f'{ROW}[data-key="20"]')).to_have_class("fw-row fw-is-marked")
    page.locator(f'{ROW}[data-key="21"] .fw-at-value').hover()
    assert float(page.locator("[data-ring]").get_attribute("r")) > 0
    page.locator(f'.fw-dot[data-dot="{place}"]').click(force=True)
    expect(page.locator(f'{ROW}[data-key="20"] .fw-unfold')).to_be_focused()
    box = page.locator("#metrics-scatter svg").bounding_box()
    page.evaluate("scrollTo(0, 0)")
    box = page.locator("#metrics-scatter svg").bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 40, steps=4)
    page.mouse.up()
    expect(page.locator("#metrics-set")).to_contain_text("selected")
    chosen = keys(page)
    assert 0 < len(chosen) < 59
    newer_numbers(page)
    assert keys(page) == chosen
    page.keyboard.press("Escape")
    expect(page.locator("#metrics-set")).to_be_empty()
    page.locator("#metrics-scatter svg").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#metrics-said")).to_contain_text("UTIL")
    page.get_by_role("button", name="Show as table").click()
    expect(page.locator("#metrics-twin tbody tr")).to_have_count(page.locator(ROW).count() - 1)
    assert seen.complaints == []


def test_not_exported_not_measured_and_partly_measured_look_different(web: Web, look: Look) -> None:
    _, page = show(web, look)
    expect(page.locator("th.fw-off")).to_contain_text("FP16")
    expect(page.locator("#metrics-missing summary")).to_contain_text("not exported")
    page.locator("#metrics-missing summary").click()
    expect(page.locator("#metrics-missing")).to_contain_text("DCGM_FI_PROF_PIPE_FP16_ACTIVE")
    bare = page.locator(f'{ROW}[data-key="7"]')
    assert "–" in bare.inner_text() and "not measured" in bare.inner_text() and bare.locator(".fw-cellbar").count() == 0
    assert page.locator(f'{ROW}[data-key="9"] [aria-label^="measured for"]').count() > 0
    expect(page.locator(f'{ROW}[data-key="900"] .fw-gr')).to_have_text("GR")


def test_a_phone_shows_two_lines_and_everything_behind_a_tap(web: Web, look: Look) -> None:
    _, page = show(web, look, width=390, theme="dark")
    row = page.locator(f'{ROW}[data-key="20"]')
    assert row.locator('[data-label="SM"]').is_visible() and not row.locator('[data-label="DRAM"]').is_visible()
    row.locator(".fw-unfold").click()
    expect(row.locator('[data-label="DRAM"]')).to_be_visible()
    expect(page.locator(ROW)).to_have_count(20)
    page.get_by_role("button", name="Show all 60").click()
    expect(page.locator(ROW)).to_have_count(60)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_many_rows_come_in_steps(web: Web, look: Look) -> None:
    jobs = [make_job(number, f"gpu{number}", name=f"n{number}") for number in range(1, 260)]
    ended = [replace(make_job(5000), state="COMPLETED", end_time=NOW - timedelta(minutes=5))]
    _, page = show(web, look, own=sources(jobs, finished=ended))
    assert len(keys(page)) == 100
    page.get_by_role("button", name="Show 100 more").click()
    expect(page.locator(ROW)).to_have_count(200)
