"""How the kept history is, for Health: the last pass, what it left out, damaged files."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import age, facts_list, icon, moment, reasons
from data.queries.history_health import HistoryHealth
from data.words import count, number

MOST_FILES = 20

Facts = list[tuple[str, Any]]


def history_health_panel(found: HistoryHealth, *, is_staff: bool) -> Component:
    """One panel beside those of the sources; paths, errors and rows only for staff."""
    mark, tone, words = _condition(found)
    head = html.Div(
        [icon(mark, tone), html.H2("History"), html.Span(words, className="fw-note")],
        className="fw-panel-head fw-source-head",
    )
    facts = [*_kept(found), *([] if found.is_made else _last_pass(found)), *_damage(found)]
    if is_staff:
        facts += _for_staff(found)
    return html.Section([head, facts_list(facts)], className="fw-panel")


def _condition(found: HistoryHealth) -> tuple[str, str, str]:
    if found.days is None:
        return "bad", "bad", "cannot be read"
    if found.damaged or found.set_aside:
        return "waste", "waste", "some files are damaged"
    if found.is_made:
        return "ok", "ok", "made by the demo"
    return ("ok", "ok", "collected") if found.passed_at else ("none", "none", "not collected yet")


def _kept(found: HistoryHealth) -> Facts:
    if found.days is None:
        return [("Days kept", "not known")]
    since = f", the first is {found.first_day:%Y-%m-%d}" if found.first_day else ""
    return [("Days kept", f"{number(found.days)} of jobs{since}")]


def _last_pass(found: HistoryHealth) -> Facts:
    """What the last pass found and left out, counted."""
    if found.passed_at is None:
        return [("Last pass", "never")]
    last = found.last
    return [
        ("Last pass", [age(found.passed_at), " ago, ", moment(found.passed_at)]),
        ("It looked at", f"{count(last.ended, 'ended job')}, {number(last.running)} running"),
        ("Not measured", f"{count(last.unmeasured, 'job')} with GPUs"),
        ("Broken rows", number(last.broken)),
        ("Flagged rows", reasons(last.flagged)),
        ("Dropped values", reasons(last.dropped)),
    ]


def _damage(found: HistoryHealth) -> Facts:
    if found.damaged is None:
        return [("Damaged files", "not known")]
    aside = f", {number(found.set_aside)} set aside" if found.set_aside else ""
    return [("Damaged files", f"{number(found.damaged)} left out of reports{aside}")]


def _for_staff(found: HistoryHealth) -> Facts:
    files = [html.Div([html.Code(str(one.path)), f": {one.reason}"]) for one in found.files[:MOST_FILES]]
    if len(found.files) > MOST_FILES:
        files.append(html.Div(f"and {number(len(found.files) - MOST_FILES)} more"))
    parts: Facts = [
        ("Error", html.Code(found.error or found.last.error) if found.error or found.last.error else None),
        ("Such files", files),
        ("Such rows", [html.Div(html.Code(text)) for text in found.last.broken_examples[:3]]),
        ("Warnings", [html.Div(text) for text in found.last.warnings[:5]]),
    ]
    return [(name, value) for name, value in parts if value]
