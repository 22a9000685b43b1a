"""The last 30 days of a user at a glance: what ended, and where its GPU-hours went as far as Slurm keeps it."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon, panel
from components.job_gpus import hours_bar
from components.job_words import state_word
from data.day_use import DayUse
from data.queries.users import UserPast
from data.words import count, gpu_hours, number, percent

_STATES = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY")


def month_panel(past: UserPast | None) -> Component:
    """The last 30 days: jobs that ended, and where their GPU-hours went as far as Slurm keeps it."""
    if past is None:
        return panel("Last 30 days", [html.Div(_bones(), className="fw-month")], note="reading what is kept")
    use, notes = past.total, []
    if not past.is_whole:
        notes.append(f"{past.read} of {count(past.days, 'day')} read so far")
    inside: list[Any] = [html.Dl(_month_facts(use), className="fw-month-facts")]
    if use.hours.allocated > 0:
        inside += [hours_bar(use.hours), html.P(_coverage(use), className="fw-unit"), _days(past)]
    if past.failed:
        inside.append(
            html.P(
                [icon("partial", "none"), f"{count(len(past.failed), 'day')} could not be read."], className="fw-remark"
            )
        )
    inside.append(
        html.P(
            "Jobs that ended in this time, with all of their hours; running jobs are not in it.", className="fw-unit"
        )
    )
    return panel("Last 30 days", [html.Div(inside, className="fw-month")], note="; ".join(notes))


def _bones() -> list[Component]:
    return [html.Span(className="fw-bone fw-late", style={"height": "2.5rem"}) for _ in range(3)]


def _month_facts(use: DayUse) -> list[Component]:
    states = [(state_word(state), number(use.states.get(state, 0))) for state in _STATES if use.states.get(state)]
    other = use.jobs - sum(use.states.get(state, 0) for state in _STATES)
    rows = [
        ("Jobs ended", number(use.jobs)),
        ("With GPUs", number(use.gpu_jobs)),
        ("GPU-hours", gpu_hours(use.hours.allocated).removesuffix(" GPU-h")),
        *states,
        *([("Other ends", number(other))] if other else []),
    ]
    return [html.Div([html.Dt(name), html.Dd(value)]) for name, value in rows]


def _coverage(use: DayUse) -> str:
    hours = use.hours
    said = []
    if hours.used is None:
        said.append(
            "How much of them was used is not measured: Slurm keeps no GPU use of these jobs "
            "(a JS1 summary or gres/gpuutil would give it)."
        )
    else:
        said.append(f"Measured: {percent(hours.coverage)} of the GPU-hours, by JS1 summaries and Slurm's accounting.")
        if hours.idle is None or (hours.idle_coverage or 0.0) < 1:
            said.append("Idle time is known only for GPUs that did nothing at all; the rest of it is in “partly used”.")
    if use.unknown_gpus:
        said.append(f"{count(use.unknown_gpus, 'job')} without a known number of GPUs left out.")
    return " ".join(said)


def _days(past: UserPast) -> Component:
    """A bar per day, by the GPU-hours of the jobs that ended on it."""
    most = max((use.hours.allocated for _, use in past.by_day), default=0.0) or 1.0
    bars = [
        html.Span(
            html.Span(style={"height": f"{100 * use.hours.allocated / most:.1f}%"}),
            title=f"{day:%Y-%m-%d}: {gpu_hours(use.hours.allocated)}, {count(use.jobs, 'job')}",
        )
        for day, use in past.by_day
    ]
    name = f"GPU-hours by the day on which a job ended, highest {gpu_hours(most)}"
    edges = (
        [f"{past.by_day[0][0]:%Y-%m-%d}", f"highest {gpu_hours(most)}", f"{past.by_day[-1][0]:%Y-%m-%d}"]
        if past.by_day
        else []
    )
    return html.Div(
        [
            html.Div(bars, className="fw-days", role="img", **{"aria-label": name}),
            html.Div([html.Span(edge) for edge in edges], className="fw-days-edges"),
        ]
    )
