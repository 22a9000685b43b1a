"""What one verdict stands on: each rule's own verdict, and the devices over time."""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.data_table import Column, data_table
from components.elements import banner, moment, panel
from components.history_address import go
from components.job_charts import room_of
from components.job_words import DASH, job_link
from components.policy_address import PolicyAddress
from components.policy_words import following_step, status_cell, why_words
from data.words import count, duration, number, percent
from policy.evidence import DeviceEvidence, JobEvidence
from policy.model import Verdict
from settings import RuleMode

_SCALE = 1000  # the charts take whole numbers: per mille
COLUMNS = (
    Column("Rule", place="main"),
    Column("Verdict", place="value"),
    Column("Mean", "%", "", True),
    Column("Coverage", "%", "", True),
    Column("Idle GPUs", "of held", "", True),
    Column("Steps", "taken", "", True),
    Column("Next step"),
    Column("Why"),
)


def evidence_panel(found: JobEvidence, address: PolicyAddress, base: str) -> Component:
    """The panel of the job that the address names."""
    one = found.one
    close = go("Close", address.href(job=None), className="fw-button")
    note = [job_link(base, one.job), f", {one.job.user or 'nobody'}, {one.job.partition}"]
    rows = [_row(verdict) for verdict in one.verdicts]
    table = data_table(COLUMNS, rows, caption=f"Verdicts of job {one.job.display_id} by rule")
    since = html.P(
        [verdict_line(found.verdict), *_since(found.verdict)], className="fw-lead fw-pad", id="policy-evidence-lead"
    )
    charts = [
        html.Div(_span_words(found), className="fw-chart-legend"),
        html.Div(id="job-charts", className="fw-charts", style=room_of(len(found.devices))),
        dcc.Store(id="job-series", data=series_payload(found)),
        dcc.Store(id="job-drawn"),
    ]
    parts: list[Any] = [since, table, *(charts if not found.fault else [_fault()])]
    return panel("Evidence", parts, note=note, right=[close], id="policy-evidence")


def not_open(address: PolicyAddress, job: str) -> Component:
    """The same words for a job that has ended, has no verdict or may not be seen."""
    close = go("Close", address.href(job=None), className="fw-button")
    said = f"There is no verdict on job {job[:60]} now: it does not run with GPUs, no rule covers it, or you may not "
    return html.Div(banner("info", "info", "No evidence.", [f"{said}see it."], close), id="policy-evidence")


def verdict_line(verdict: Verdict) -> Component:
    return html.Span([status_cell(verdict.status), html.B(f"by the rule {verdict.rule}. "), verdict.sentence])


def _since(verdict: Verdict) -> list[Any]:
    return [] if verdict.since is None else [html.Span([" Low since ", moment(verdict.since), "."])]


def _fault() -> Component:
    return html.P("GPU metrics do not answer: nothing is drawn.", className="fw-quiet", role="status")


def _row(verdict: Verdict) -> list[Any]:
    idle, held = verdict.devices_idle, verdict.devices_allocated
    without = "reports only" if verdict.mode is RuleMode.REPORT else "none"
    return [
        verdict.rule,
        status_cell(verdict.status),
        DASH if verdict.mean is None else percent(verdict.mean, limit=verdict.threshold).removesuffix(" %"),
        DASH if verdict.coverage is None else number(100 * min(1.0, verdict.coverage)),
        DASH if idle is None else f"{number(idle)} / {'?' if held is None else number(held)}",
        number(verdict.steps_taken) if verdict.is_acted_on else DASH,
        following_step(verdict) or without,
        html.Span(why_words(verdict), className="fw-why"),
    ]


def _span_words(found: JobEvidence) -> list[Any]:
    window = found.window_seconds
    shown = len(found.devices)
    said: list[Any] = [
        html.Span([html.Span(className="fw-line-swatch"), html.Span("measured")]),
        html.Span([html.Span(className="fw-idle-swatch"), "idle"]),
        html.Span([moment(found.window.start), " to ", moment(found.window.end)], className="fw-unit"),
    ]
    if window is not None:
        said.append(html.Span(f"means are of the last {duration(window)}", className="fw-unit"))
    if found.total > shown:
        said.append(html.Span(f"the {shown} that do least of {count(found.total, 'GPU')}", className="fw-unit"))
    return said


def series_payload(found: JobEvidence) -> dict[str, Any] | None:
    """Columns of whole numbers, as the charts of a job take them; None = nothing to draw."""
    if not found.devices:
        return None
    return {
        "start": found.window.start.timestamp(),
        "seconds": found.window.seconds,
        "step": found.step_seconds,
        "unit": "%",
        "divisor": 10,
        "most": _SCALE,
        "label": found.devices[0].metric,
        "rows": [_chart(one, found.verdict) for one in found.devices],
    }


def _chart(one: DeviceEvidence, verdict: Verdict) -> dict[str, Any]:
    measured = "not measured" if not one.samples else count(one.samples, "sample")
    share = "" if one.coverage is None or not one.samples else f", {percent(min(1.0, one.coverage))} of those expected"
    return {
        "name": one.name,
        "mean": DASH if one.mean is None else percent(one.mean, limit=verdict.threshold),
        "foot": measured + share,
        "warn": one.samples > 0 and one.highest == 0,
        "idle": [[round(first), round(last)] for first, last in one.idle],
        "t": [round(time) for time in one.times],
        "v": [round(value * _SCALE) for value in one.values],
        "as": one.metric,
    }
