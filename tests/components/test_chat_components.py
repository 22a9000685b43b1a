"""Answers as components: safe whatever the model writes, figures marked where they stand, cards within their bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from dash.development.base_component import Component
from hypothesis import given
from hypothesis import strategies as st

from chat.model import Figure, ToolResult
from components.as_html import as_html
from components.chat_cards import MOST_CARD, as_json, card
from components.chat_text import answer_text, own_address, settled_length
from components.chat_values import name_of
from settings import JudgementSettings

LIMITS = JudgementSettings()
ALLOWED = {"P", "Ul", "Ol", "Li", "Blockquote", "Strong", "Em", "S", "Thead", "Tbody", "Tr", "Th", "Td", "H3", "Span",
           "A", "Code", "Pre", "Hr", "Br", "Table", "Div"}  # fmt: skip
MARKDOWN = st.text(
    st.one_of(st.sampled_from("*_`#->|[]()!<&\\~\n\t :/.0123456789=\"'"), st.characters(codec="utf-8")), max_size=300
)


def parts_of(part: Any) -> Iterator[Component]:
    if isinstance(part, list | tuple):
        for one in part:
            yield from parts_of(one)
    elif isinstance(part, Component):
        yield part
        yield from parts_of(getattr(part, "children", None))


def text_of(part: Any) -> str:
    if isinstance(part, list | tuple):
        return "".join(text_of(one) for one in part)
    return (
        text_of(getattr(part, "children", None)) if isinstance(part, Component) else "" if part is None else str(part)
    )


@given(MARKDOWN, st.data())
def test_whatever_is_written_becomes_a_few_known_elements(text: str, data: st.DataObject) -> None:
    places = st.integers(0, len(text))
    spans = [tuple(sorted(data.draw(st.tuples(places, places)))) for _ in range(2)]
    figures = [Figure(*spans[0], "c", "rows[0].x_gpu_hours")]
    for part in parts_of(answer_text(text, "/warp/", figures, [spans[1]], {"c": "find_jobs"})):
        assert type(part).__name__ in ALLOWED
        href = getattr(part, "href", None)
        assert href is None or href.startswith(("/warp/", "http://", "https://"))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](//evil.example)", "<p>x</p>"),
        ("[x](/jobs/1)", '<p><a href="/warp/jobs/1">x</a></p>'),
        ("[x](/warp/jobs/1)", '<p><a href="/warp/jobs/1">x</a></p>'),
        ("![a picture](https://evil.example/p.png)", "<p>a picture</p>"),
        ("a\n\n- **b**", "<p>a</p><ul><li><strong>b</strong></li></ul>"),
    ],
)
def test_markdown_is_drawn_and_html_is_text(text: str, html: str) -> None:
    assert as_html(answer_text(text, "/warp/")) == html


@pytest.mark.parametrize("mark", ["\ue100", "&#xE100;", "&#xe100;", "&#57600;", "&#x00E105;", "&#57344;"])
@pytest.mark.parametrize("figures", [[], [Figure(0, 2, "c", "total.gpus")]])
def test_nobody_but_the_checker_marks_a_figure(mark: str, figures: list[Figure]) -> None:
    drawn = answer_text(f"12 and {mark}98765 GPU-hours&#xE000;, [x](/jobs{mark})", "/", figures)
    traced = [text_of(part) for part in parts_of(drawn) if getattr(part, "className", "") == "fw-traced"]
    assert traced == ["12from total.gpus"] * len(figures)


def test_a_foreign_link_says_where_it_leads_and_gives_nothing_away() -> None:
    (link,) = [one for one in parts_of(answer_text("[x](https://e.org/a)", "/")) if type(one).__name__ == "A"]
    assert (link.href, link.target, link.title) == ("https://e.org/a", "_blank", "https://e.org/a")
    assert "noopener" in link.rel and "noreferrer" in link.rel


@pytest.mark.parametrize("text", ["Job **48211** holds 40.2 GPU-hours.", "| a |\n|---|\n| 40.2 |", "- 40.2\n- 7",
                                  "```\n40.2\n```", "`40.2`", "> 40.2 [x](/a?b=40.2)", "### 40.2"])  # fmt: skip
def test_a_traced_figure_is_marked_wherever_it_stands(text: str) -> None:
    start = text.index("40.2")
    drawn = answer_text(text, "/", [Figure(start, start + 4, "c", "rows[0].idle_gpu_hours")], (), {"c": "find_jobs"})
    (traced,) = [one for one in parts_of(drawn) if getattr(one, "className", "") == "fw-traced"]
    assert traced.children[0] == "40.2"
    assert text_of(traced.children[1]) == "from find_jobs: rows[0].idle_gpu_hours"


@pytest.mark.parametrize("text", ["One. It wastes **1680** a week. Three.", "- It wastes 1680 a week.",
                                  "1. It wastes 1680 a week.", "# It wastes 1680 a week."])  # fmt: skip
def test_a_sentence_that_is_not_traced_is_marked_whole_and_its_block_stays(text: str) -> None:
    end = text.index("week.") + 5
    start = text.index("It") if text.startswith("One") else 0
    drawn = answer_text(text, "/", (), [(start, end)])
    marked = "".join(text_of(one) for one in parts_of(drawn) if getattr(one, "className", "") == "fw-untraced")
    assert marked == "It wastes 1680 a week."
    assert as_html(drawn).count("not traced") == 1
    assert text_of(answer_text(text, "/")) == text_of(drawn).replace("not traced", "")


@given(st.lists(st.sampled_from(["word ", "\n\n", "- item\n", "\n```\n", "\n", "| a | b |\n"]), max_size=20))
def test_blocks_that_were_shown_stay_as_they_are(pieces: list[str]) -> None:
    """What is settled is a prefix that ends with an empty line outside of code, and only grows."""
    text, before = "", 0
    for piece in pieces:
        text += piece
        settled = settled_length(text)
        assert before <= settled <= len(text) and text[:settled].count("```") % 2 == 0
        before = settled


@pytest.mark.parametrize(
    ("href", "own"),
    [("/jobs/1", "/w/jobs/1"), ("/w/jobs/1", "/w/jobs/1"), ("//x", None), ("/\\x", None), ("http://x", None),
     ("jobs/1", None), ("/a b", None), ("", None)],
)  # fmt: skip
def test_only_addresses_of_the_app_are_its_own(href: str, own: str | None) -> None:
    assert own_address(href, "/w/") == own


@pytest.mark.parametrize(
    ("key", "words", "unit"),
    [("idle_gpu_hours", "Idle", "GPU-h"), ("gpu_utilization_ratio", "GPU utilization", "%"), ("ended_at", "Ended", ""),
     ("power_watts", "Power", "W"), ("job_id", "Job id", ""), ("gpus", "GPUs", "")],
)  # fmt: skip
def test_a_key_is_read_as_a_name_with_its_unit(key: str, words: str, unit: str) -> None:
    assert (name_of(key).words, name_of(key).unit) == (words, unit)


def result(**value: Any) -> ToolResult:
    return ToolResult("c", "find_jobs", {"sort": "idle", "limit": 3}, 0.041, value, link="/jobs?show=running")


def test_a_card_shows_rows_their_number_the_page_and_the_call() -> None:
    rows = [{"job_id": "48211", "user": "<b>", "idle_gpu_hours": 40.2, "utilization_ratio": None}] * 9
    html = as_html(card(result(jobs={"rows": rows, "rows_total": 43, "rows_left_out": 34}), "/warp/", LIMITS))
    assert "8 of 43 rows" in html and "41 ms" in html and "idle, 3" in html
    assert '<a href="/warp/jobs/48211">' in html and '<a href="/warp/jobs?show=running">Open the page</a>' in html
    assert "<b>" not in html.replace("<bdi>", "") and "40.2" in html


def test_what_is_not_measured_is_a_dash_and_zero_is_a_number() -> None:
    html = as_html(card(result(wasted_gpu_hours=None, used_gpu_hours=0.0, coverage_ratio=0.0), "/", LIMITS))
    assert "<dd>0 %</dd>" in html
    assert 'title="not measured or not known"' in html and ">0<" in html.replace("</dd>", "<").replace("<span", "<")


def test_two_jobs_stand_side_by_side_with_their_difference() -> None:
    first, second = {"job": "7", "wasted_gpu_hours": 2.5}, {"job": "8", "wasted_gpu_hours": None}
    value = {"first": first, "second": second, "second_minus_first": {"wasted_gpu_hours": None}}
    html = as_html(card(result(**value), "/", LIMITS))
    assert "/jobs/7" in html and "/jobs/8" in html and "Wasted, GPU-h" in html and html.count("not measured or") == 2


def test_parts_of_a_row_become_columns_and_a_trend_a_line() -> None:
    rows = [{"node": "gpu01", "gpus": {"total": 8, "held_and_idle": 3}, "cpus": 96}]
    days = [{"wasted_gpu_hours": value} for value in (1.0, None, 3.0)]
    html = as_html(card(result(nodes={"rows": rows, "rows_total": 1}, trend={"rows": days}), "/", LIMITS))
    assert "GPUs held and idle" in html and "1 row" in html and "Wasted, 3 steps" in html and "fw-spark" in html


def test_of_many_columns_those_of_waste_are_shown() -> None:
    amounts = {f"{name}_gpu_hours": 1.0 for name in ("allocated", "measured", "used", "wasted", "idle")}
    row = {"partition": "gpu", "jobs": 3, **amounts, "idle_coverage_ratio": 1.0, "utilization_ratio": 0.7}
    html = as_html(card(result(groups={"rows": [row], "rows_total": 1}), "/", LIMITS))
    heads = [name for name in ("Wasted", "Idle", "Utilization", "Jobs", "Idle coverage") if f">{name}<" in html]
    assert heads == ["Wasted", "Idle", "Utilization"]


def test_rows_are_led_by_the_name_that_tells_them_apart() -> None:
    rows = [{"device": f"h001/{place}", "model": "NVIDIA H100", "gpu_utilization_ratio": 0.5} for place in range(3)]
    value = {"node": "h001", "devices": {"rows_total": 3, "rows_left_out": 0, "rows": rows}}
    drawn = card(ToolResult("c", "node", {"name": "h001"}, 0.0, value), "/", LIMITS, is_open=True)
    heads = [text_of(part) for part in parts_of(drawn) if type(part).__name__ == "Th"]
    mains = [
        text_of(part) for part in parts_of(drawn) if "main" in str(part.to_plotly_json()["props"].get("data-place", ""))
    ]
    assert heads[0] == "Device"
    assert "H100" not in "".join(mains)


def test_a_failed_call_stays_open_with_its_words() -> None:
    html = as_html(
        card(ToolResult("c", "node", {"name": "x"}, 0.1, None, error="There is no node x", hint="See."), "/", LIMITS)
    )
    assert "fw-tool-failed" in html and "There is no node x" in html and "See." in html


def test_no_card_is_larger_than_its_bound() -> None:
    rows = [{f"name_{number}": "x" * 900 for number in range(20)} for _ in range(60)]
    drawn = card(result(**{f"list_{number}": rows for number in range(10)}), "/", LIMITS)
    assert len(as_json(drawn)) <= MOST_CARD and "Too large for a card" in as_html(drawn)
    assert orjson.loads(as_json(drawn))["type"] == "Details"
