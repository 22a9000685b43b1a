"""Health: every source, what is missing and the lines that give it, and what does not add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import age, facts_list, icon, moment, reasons, source_name
from components.findings import code_block
from components.history_health import history_health_panel
from components.metric_values import label
from components.runaway import runaway_panel
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.check import Check, Verdict
from data.metrics.registry import METRICS
from data.model import JoinMethod, Note, SourceCondition, SourceState
from data.queries.health import Health
from data.words import count, number

_UNKNOWN = "Not known while a source does not answer."
MOST_NOTES = 20
_CONDITIONS: Mapping[SourceCondition, tuple[str, str, str]] = {
    SourceCondition.OK: ("ok", "ok", "answers"),
    SourceCondition.STALE: ("clock", "waste", "fails, the last good answer is shown"),
    SourceCondition.DOWN: ("bad", "bad", "not available"),
    SourceCondition.UNKNOWN: ("none", "none", "not asked yet"),
}
_VERDICTS = {
    Verdict.OK: ("ok", "ok"),
    Verdict.NOTE: ("info", "info"),
    Verdict.PROBLEM: ("waste", "waste"),
    Verdict.UNKNOWN: ("none", "none"),
}
_JOINS = {
    JoinMethod.JOB_LABEL: "by the exporter's job label",
    JoinMethod.INDEX: "by Slurm's GPU index",
    JoinMethod.NODE_ESTIMATE: "by node only: an estimate, never a ground to act",
}


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """What one viewer sees of the sources; `nodes_base` is the address under which nodes stand."""

    health: Health
    is_staff: bool
    ignored: Sequence[str]
    nodes_base: str
    at: str = ""
    now_href: str = ""


class HealthParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    head: Any
    body: Any
    frame: Any
    version: Any


def health_parts(found: HealthAnswer) -> HealthParts:
    """Every part of the page that depends on the data."""
    shown = found.health.snapshot
    return HealthParts(_head(found), _body(found), frame_data(shown), shown.version)


def health_page(found: HealthAnswer, *, refresh_seconds: float) -> Component:
    """The whole page with its first data."""
    parts = health_parts(found)
    return html.Div(
        [
            html.Div(
                [html.H1("Health"), html.Span(parts.head, id="health-head", className="fw-note")], className="fw-head"
            ),
            html.Div(parts.body, id="health-body", className="fw-stack"),
            dcc.Store(id="health-version", data=parts.version),
            dcc.Store(id="health-at", data=found.at),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Interval(id="health-tick", interval=round(refresh_seconds * 1000), disabled=bool(found.at)),
        ],
        className="fw-ticking",
        **{"data-tick": "health-tick"},
    )


def _head(found: HealthAnswer) -> str:
    states = found.health.sources
    good = sum(state.condition is SourceCondition.OK for state in states)
    asked = " now about that moment; how they were then is not recorded" if found.health.snapshot.is_past else ""
    return f"{good} of {count(len(states), 'source')} answer{asked}" if states else "no source is known"


def _body(found: HealthAnswer) -> list[Component]:
    shown, health = found.health.snapshot, found.health
    main = past_banner(shown, found.now_href) or sources_banner(shown, is_staff=found.is_staff)
    banners = [part for part in (ignored_banner(found.ignored), main) if part is not None]
    return [
        *banners,
        html.Div(
            [
                *(_source(state, health, is_staff=found.is_staff) for state in health.sources),
                *([history_health_panel(health.history, is_staff=found.is_staff)] if health.history else []),
            ],
            className="fw-sources-grid",
        ),
        *([_checks(health.checks)] if found.is_staff else []),
        html.Div([_missing(health), _joins(health)], className="fw-sources-grid"),
        *([runaway_panel(shown.runaway, is_staff=found.is_staff)] if shown.runaway else []),
        _notes(health, found.nodes_base),
    ]


def _source(state: SourceState, health: Health, *, is_staff: bool) -> Component:
    """One source with all that is known of it; address, error and rows only where the answer holds them."""
    mark, tone, words = _CONDITIONS[state.condition]
    head = html.Div(
        [icon(mark, tone), html.H2(source_name(state)), html.Span(words, className="fw-note")],
        className="fw-panel-head fw-source-head",
    )
    facts = [*_timing(state), *_kind(state, health), *_losses(state)]
    if is_staff:
        facts += _for_staff(state)
    return html.Section([head, facts_list(facts)], className="fw-panel")


def _timing(state: SourceState) -> list[tuple[str, Any]]:
    last = (
        [age(state.last_success), " ago, ", moment(state.last_success, seconds=True)] if state.last_success else "never"
    )
    latency = "not known" if state.latency_seconds is None else f"{number(state.latency_seconds, 2)} s"
    facts: list[tuple[str, Any]] = [("Last answer", last), ("Latency", latency)]
    if state.failing_since:
        facts.append(("Failing for", [age(state.failing_since), ", since ", moment(state.failing_since)]))
    return facts


def _kind(state: SourceState, health: Health) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [("Read through", state.kind)]
    if health.snapshot.is_past:
        return facts
    facts.append(("Version", state.version or "not told"))
    if state.name == "metrics":
        facts.append(("Exporters", ", ".join(state.dialects) or "none found"))
        if health.interval_seconds:
            facts.append(("A sample every", f"{number(health.interval_seconds)} s"))
    return facts


def _losses(state: SourceState) -> list[tuple[str, Any]]:
    """What was left out of every number, counted."""
    facts: list[tuple[str, Any]] = [("Broken rows", number(state.broken_rows))]
    if state.broken_examples:
        facts.append(("Such as", [html.Div(html.Code(text)) for text in state.broken_examples[:3]]))
    if state.name == "metrics":
        facts.append(("Dropped values", reasons(state.dropped_values)))
    return facts


def _for_staff(state: SourceState) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [("Address", html.Code(state.address) if state.address else "not set")]
    if state.error:
        facts.append(("Error", [html.Code(state.error), *([html.Br(), state.hint] if state.hint else [])]))
    if state.warnings:
        facts.append(("Warnings", [html.Div(text) for text in state.warnings[:5]]))
    return facts


def _panel(title: str, note: str, body: Any) -> Component:
    head = html.Div([html.H2(title), html.Span(note, className="fw-note")], className="fw-panel-head")
    return html.Section([head, body], className="fw-panel")


def _checks(checks: Sequence[Check]) -> Component:
    """What `fullwarp check` says, problems first, with the lines that mend it."""
    order = (Verdict.PROBLEM, Verdict.NOTE, Verdict.UNKNOWN, Verdict.OK)
    rows = [html.Li(_check(check)) for check in sorted(checks, key=lambda check: order.index(check.verdict))]
    open_ = sum(check.verdict is Verdict.PROBLEM for check in checks)
    note = count(open_, "problem") if open_ else "no problem found" if rows else ""
    body = html.Ul(rows, className="fw-checks") if rows else html.P("Nothing can be checked now.", className="fw-quiet")
    return _panel("Checks", note, body)


def _check(check: Check) -> list[Any]:
    name, tone = _VERDICTS[check.verdict]
    lines = [code_block("how to mend it", check.fix)] if check.fix else []
    return [icon(name, tone, label=check.verdict.value), html.Div([html.B(f"{check.subject}: "), check.text, *lines])]


def _missing(health: Health) -> Component:
    """Metrics that nobody measures here, with what each would say. Nobody records it for a moment of the past."""
    known = [name for name in health.missing if name in METRICS]
    rows = [html.Li([html.B(label(name)), html.Span(METRICS[name].help)]) for name in known]
    body = (
        html.Ul(rows, className="fw-missing")
        if rows
        else html.P("Every asked metric is measured.", className="fw-quiet")
    )
    if not any(state.name == "metrics" and state.condition is SourceCondition.OK for state in health.sources):
        body = html.P("Not known while the GPU metrics do not answer.", className="fw-quiet")
    if health.snapshot.is_past:
        body = html.P("Not recorded for a past moment.", className="fw-quiet")
    return _panel("Not measured here", count(len(known), "metric") if known else "", body)


def _joins(health: Health) -> Component:
    rows = [
        html.Tr([html.Th(words, scope="row"), html.Td(number(health.joins.get(method, 0)))])
        for method, words in _JOINS.items()
    ]
    head = html.Tr([html.Th("How a held GPU came to its job", scope="col"), html.Th("GPUs", scope="col")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="fw-plain-table fw-ruled fw-wrap")
    held = sum(health.joins.values())
    if not held and _is_blind(health):
        return _panel("Slurm and metrics joined", "", html.P(_UNKNOWN, className="fw-quiet"))
    return _panel("Slurm and metrics joined", count(held, "held device"), table)


def _is_blind(health: Health) -> bool:
    """Whether nothing of a source is known, so that nothing found does not mean that there is nothing."""
    nothing = (SourceCondition.DOWN, SourceCondition.UNKNOWN)
    return any(state.condition in nothing for state in health.sources)


def _notes(health: Health, base: str) -> Component:
    """What does not add up between Slurm and the metrics, by kind."""
    notes = health.notes
    rows = [html.Li(_note(note, base)) for note in _one_per_kind_first(notes)[:MOST_NOTES]]
    body: Component = (
        html.Ul(rows, className="fw-checks")
        if rows
        else html.P(_UNKNOWN if _is_blind(health) else "Everything adds up.", className="fw-quiet")
    )
    left = len(notes) - MOST_NOTES
    more = [html.P(f"and {count(left, 'further note')}", className="fw-quiet")] if left > 0 else []
    return _panel("What does not add up", count(len(notes), "note") if notes else "", html.Div([body, *more]))


def _one_per_kind_first(notes: Sequence[Note]) -> list[Note]:
    """The largest of each kind, then the rest: one kind with many notes hides no other."""
    ordered = sorted(notes, key=lambda note: (note.kind, -note.count, note.subject))
    kinds = [list(same) for _, same in groupby(ordered, key=lambda note: note.kind)]
    return [same[0] for same in kinds] + [note for same in kinds for note in same[1:]]


def _note(note: Note, base: str) -> list[Any]:
    where = [html.A(note.subject, href=f"{base}{note.subject}", className="fw-go"), " "] if note.subject else []
    return [icon("info", "info"), html.Div([html.B(note.kind.replace("_", " ")), " ", *where, html.Div(note.text)])]
