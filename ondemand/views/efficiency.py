"""My efficiency: the last 30 days from the server's history, the last jobs, and what finished jobs show."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from components.elements import icon, panel
from components.job_words import DASH
from components.kpis import Kpi, kpi_panel
from data.words import count, duration, gpu_hours, number, percent
from ondemand.answers import Advised, LastJobs, Past, PastReport, PastWait
from ondemand.views.parts import hours_panel, job_address, last_jobs_panel, notes

MOST_LAST = 20
RANGE = "last 30 days"
_SIZES = {"1": "1 GPU", "2-4": "2 to 4 GPUs", "5-8": "5 to 8 GPUs", ">8": "more than 8 GPUs", "CPU only": "no GPU"}


def efficiency(past: Past, last: LastJobs, advised: Sequence[Advised], base: str) -> list[Component | None]:
    report = past.by_day
    return [
        html.H1("My efficiency", className="fw-sr"),
        *notes(past.fault or last.fault, is_direct=False),
        None if report.is_empty else kpi_panel(_cells(report)),
        html.Div(
            [
                html.Div(
                    [
                        hours_panel("My GPU-hours", report, RANGE),
                        *_days(report),
                        last_jobs_panel(last, base, MOST_LAST),
                    ],
                    className="fw-ood-pile",
                ),
                html.Div([_advice(advised, base), waits_panel(report)], className="fw-ood-pile"),
            ],
            className="fw-ood-two",
        ),
    ]


def waits_panel(report: PastReport) -> Component:
    """How long my jobs waited, by the GPUs that they asked for."""
    rows = [_wait_row(wait) for wait in report.waits if wait.size and wait.jobs]
    if not rows:
        return panel("My waits", [html.P("No job began in this time.", className="fw-quiet")], note=RANGE)
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("Asked for", "Half in", "9 of 10 in")]))
    return panel("My waits", [html.Table([head, html.Tbody(rows)], className="fw-compare")], note=RANGE)


def _wait_row(wait: PastWait) -> Component:
    times = (wait.p50_seconds, wait.p90_seconds)
    cells = [html.Td(DASH if value is None else duration(value)) for value in times]
    return html.Tr([html.Th(_SIZES.get(wait.size, wait.size), scope="row"), *cells])


def _cells(report: PastReport) -> list[Kpi]:
    hours, jobs = report.total.hours, report.total.values.get("jobs")
    idle = ("waste", "waste") if hours.idle else None
    return [
        Kpi("Jobs", DASH if jobs is None else number(jobs), "", RANGE),
        Kpi("GPU-hours", number(hours.allocated)),
        Kpi("Mean UTIL", DASH if hours.utilization is None else percent(hours.utilization), "", "of what was measured"),
        Kpi("Held, idle", DASH if hours.idle is None else number(hours.idle), "GPU-h", mark=idle),
        Kpi("Measured", DASH if hours.coverage is None else percent(hours.coverage, limit=1.0), "", "of the GPU-hours"),
    ]


def _days(report: PastReport) -> list[Component]:
    """A bar per day, by its GPU-hours; the rows come in order."""
    rows = [row for row in report.rows if row.key]
    most = max((row.hours.allocated for row in rows), default=0.0)
    if not most:
        return []
    bars = [
        html.Span(
            html.Span(style={"height": f"{100 * row.hours.allocated / most:.1f}%"}),
            title=f"{row.label}: {gpu_hours(row.hours.allocated)}",
        )
        for row in rows
    ]
    name = f"GPU-hours by day, highest {gpu_hours(most)}"
    edges = [html.Span(text) for text in (rows[0].label, f"highest {gpu_hours(most)}", rows[-1].label)]
    chart = [html.Div(bars, className="fw-days", role="img", **{"aria-label": name})]
    inside = html.Div([*chart, html.Div(edges, className="fw-days-edges")], className="fw-ood-days")
    return [panel("GPU-hours by day", [inside], note=RANGE)]


def _advice(found: Sequence[Advised], base: str) -> Component:
    if not found:
        text = "Nothing was found in finished jobs that should be changed."
        return panel("What finished jobs show", [html.P(text, className="fw-quiet")])
    return panel("What finished jobs show", [_advised(one, base) for one in found[:5]], note="most wasted first")


def _advised(one: Advised, base: str) -> Component:
    links: list[object] = []
    for label in one.examples[:3]:
        links += [", " if links else " Such as ", html.A(label, href=job_address(base, label))]
    said = [
        html.H3([one.name, html.Span(f" {gpu_hours(one.gpu_hours)}", className="fw-unit")]),
        html.P([f"{count(one.jobs, 'job')}.", *links, *(["."] if links else [])]),
        *([html.P(one.advice, className="fw-advice")] if one.advice else []),
    ]
    return html.Div([icon("waste", "waste"), html.Div(said)], className="fw-finding")
