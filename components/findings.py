"""What is wrong with a job and which lines to change, with a button that copies the lines to put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon, unbroken
from data.findings import Finding, Severity
from data.words import MINUS, count, gpu_hours

SHOWN = 5
_MARKS = {Severity.BROKEN: ("bad", "bad"), Severity.WASTE: ("waste", "waste"), Severity.NOTE: ("info", "info")}


def findings_panel(findings: Sequence[Finding], instead: str) -> Component:
    """The panel; `instead` says why there is none, where there is none."""
    note = count(len(findings), "finding") if findings else "nothing found"
    head = html.Div([html.H2("What to change"), html.Span(note, className="fw-note")], className="fw-panel-head")
    if not findings:
        return html.Section([head, html.P(instead, className="fw-quiet")], className="fw-panel")
    parts: list[Component] = [head, *(finding_box(one) for one in findings[:SHOWN])]
    if len(findings) > SHOWN:
        rest = [finding_box(one) for one in findings[SHOWN:]]
        parts.append(html.Details([html.Summary(f"Show all {len(findings)}"), *rest]))
    return html.Section(parts, className="fw-panel fw-findings")


def finding_box(one: Finding, above: Any = None) -> Component:
    """Title, evidence, advice, lines. `above` stands over the title (such as the job that it is about)."""
    cost = "" if one.gpu_hours is None else f" {gpu_hours(one.gpu_hours)}"
    said = [
        *([html.Div(above, className="fw-under")] if above is not None else []),
        html.H3([one.title, *([html.Span(cost, className="fw-unit")] if cost else [])]),
        html.P(unbroken(one.evidence)),
        *([html.P(one.advice, className="fw-advice")] if one.advice else []),
        *([code_block("job script", one.sbatch)] if one.sbatch else []),
    ]
    return html.Div([icon(*_MARKS[one.severity]), html.Div(said)], className="fw-finding")


def code_block(name: str, lines: Sequence[str]) -> Component:
    """Lines that begin with "- " or "+ " with their sign; Copy takes those to put in, without it. Lines without a
    sign are copied as they are."""
    copied = "\n".join(line[2:] if line.startswith("+ ") else line for line in lines if not line.startswith("- "))
    return _block(name, copied, [html.Span([_shown(line), "\n"], className=_kind(line)) for line in lines])


def verbatim_block(name: str, text: str) -> Component:
    """A text as it is: no sign in it means anything, and Copy takes all of it."""
    return _block(name, text, text)


def _block(name: str, copied: str, shown: Any) -> Component:
    button = html.Button(
        [icon("copy"), html.Span("Copy")],
        type="button",
        className="fw-copy",
        **{"data-copy": copied, "aria-label": f"Copy the lines of the {name}"},
    )
    head = html.Div([html.Span(name), button], className="fw-lines-head")
    box = html.Pre(html.Code(shown), tabIndex="0", role="region", **{"aria-label": f"Lines of the {name}"})
    return html.Div([head, box], className="fw-lines")


def _shown(line: str) -> str:
    return f"{MINUS} {line[2:]}" if line.startswith("- ") else line


def _kind(line: str) -> str:
    return "fw-minus" if line.startswith("- ") else "fw-plus" if line.startswith("+ ") else ""
