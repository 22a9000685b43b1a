"""Panels that hold a figure of history: head with legend and buttons, the plot, what stands below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon, panel_state
from components.history_address import go
from components.history_figures import PART_WORDS, PARTS, STEPS, Figure

WEEK_VIEWS = (("allocated", "GPUs allocated"), ("used", "UTIL"), ("idle", "Idle"))


def figure_panel(
    name: str,
    title: str,
    figure: Figure | None,
    *,
    note: str = "",
    right: Sequence[Any] = (),
    foot: Any = None,
    empty: Component | None = None,
) -> Component:
    """A panel of one size whether its figure is there, is still asked for (None), or `empty` says why there is none."""
    head: list[Any] = [html.H2(title), html.Span(note, className="fw-note")]
    tools = [] if figure is None or empty else _tools(name, title)
    head.append(html.Div([*right, *tools], className="fw-panel-right"))
    inside: list[Any] = [html.Div(head, className="fw-panel-head")]
    if empty is not None:
        inside.append(html.Div(empty, className=f"fw-hist-plot fw-hist-plot-{name}"))
    elif figure is None:
        inside.append(
            html.Div(html.Span(className="fw-bone fw-late"), className=f"fw-hist-plot fw-hist-plot-{name} fw-waiting")
        )
    else:
        plot = {"data-figure": name, "aria-label": figure["name"]}
        inside.append(html.Div(id=f"plot-{name}", className=f"fw-hist-plot fw-hist-plot-{name}", role="group", **plot))
        inside.append(html.Div(id=f"twin-{name}", className="fw-hist-twin", hidden=True))
    if foot is not None:
        inside.append(foot)
    return html.Section(inside, className=f"fw-panel fw-figure fw-figure-{name}")


def nothing_to_draw(line: str) -> Component:
    """The inside of a plot without any GPU-hour in it."""
    return panel_state("empty", "none", "No GPU-hours here", [line])


def hours_legend() -> Component:
    """Names of the four parts of a stack."""
    items = [
        html.Span([html.Span(className=f"fw-hours-swatch fw-hours-{kind}"), word])
        for kind, word in zip(PARTS, PART_WORDS, strict=True)
    ]
    return html.Span(items, className="fw-part-legend")


def doubling_legend(ramp: str, low: str, top: str) -> Component:
    """The end of the first step, the nine steps, and the end of the last; each is twice the one before."""
    steps = html.Span([html.I(className=f"fw-s{step}") for step in range(1, STEPS + 1)], className="fw-ramp")
    marks = {"data-ramp": ramp, "title": "Each step stands for twice as many GPU-hours as the one before."}
    ends = [html.Span(low), steps, html.Span(top), html.Span("\u00d7 2", className="fw-unit")]
    return html.Span(ends, className="fw-scale", **marks)


def week_switch() -> Component:
    """Which of the three the week shows; the script answers it."""
    buttons = [
        html.Button(label, type="button", **{"data-week": key, "aria-pressed": str(key == "allocated").lower()})
        for key, label in WEEK_VIEWS
    ]
    return html.Div(buttons, className="fw-segments", role="group", **{"aria-label": "What the week shows"})


def selection_foot(words: tuple[str, str] | None, show_href: str, clear_href: str, *, show_jobs: bool) -> Component:
    """What is selected on the heat map, in words, with the way to its jobs; else how to select."""
    live = html.Span(id="heat-live", className="fw-selected-live", role="status")
    if words is None:
        hint = "Drag over the map, or use the arrow keys, to see the jobs behind a part of it."
        return html.Div([html.Span(hint, className="fw-selected-said fw-hint"), live], className="fw-selected")
    said = html.Span([html.B(words[0]), html.Span(words[1], className="fw-unit")], className="fw-selected-said")
    buttons = [go("Clear", clear_href, className="fw-button", id="heat-clear")]
    if show_jobs:
        buttons.insert(0, go("Show jobs", show_href, className="fw-button fw-primary"))
    return html.Div([said, live, html.Span(buttons, className="fw-actions")], className="fw-selected fw-is-set")


def _tools(name: str, title: str) -> list[Component]:
    table = {"data-twin": name, "aria-pressed": "false", "aria-label": f"{title} as a table"}
    picture = {"data-png": name, "aria-label": f"{title} as a PNG picture"}
    return [
        html.Button(icon("list"), type="button", className="fw-icon-button", title="Show as table", **table),
        html.Button(icon("download"), type="button", className="fw-icon-button", title="Save as PNG", **picture),
    ]
