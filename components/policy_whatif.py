"""The panel What if: what a rule would have done to past jobs, whom it hits, and where complaints begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table
from components.elements import icon, panel, panel_state
from components.history_address import go
from components.job_words import DASH, job_href, user_link
from components.policy_address import PolicyAddress
from components.policy_curve import curve_charts, form_text
from data.words import count, duration, gpu_hours, number, percent
from policy.whatif.answer import RefusedJobs
from policy.whatif.model import Amount, FalseAlarm, Outcome, UserHit, WhatIf
from policy.whatif_queries import Simulation

TITLE = "What if"
MOST_ROWS = 10
CURVE = (
    Column("Form of the rule", place="main"),
    Column("Warned", "jobs", "", True),
    Column("Cancelled", "jobs", "", True, place="value"),
    Column("Users", "cancelled", "", True),
    Column("False alarms", "jobs", "", True, "Cancelled jobs that became busy later."),
    Column("Saved", "GPU-h", "", True),
    Column("Used after", "GPU-h", "", True, "What the cancelled jobs still used after the cancel: work that is lost."),
)
USERS = (
    Column("User", place="main"),
    Column("Warned", "jobs", "", True),
    Column("Cancelled", "jobs", "", True, place="value"),
    Column("False alarms", "jobs", "", True),
    Column("Held after", "GPU-h", "", True, "GPU-hours that these jobs held after the cancel."),
)
ALARMS = (
    Column("Job", place="main"),
    Column("User"),
    Column("GPUs", "", "", True),
    Column("Cancelled after", "", "", True),
    Column("Used after", "GPU-h", "", True, place="value"),
)


def whatif_closed(rules: Sequence[str], address: PolicyAddress) -> Component:
    """The rules that can be replayed; nothing is read from the history."""
    words = html.P("Replay a rule over the jobs of the last 30 days, before it warns or cancels anybody.")
    if not rules:
        return panel(TITLE, [html.P("No rule is on.", className="fw-quiet")], id="policy-whatif-panel")
    links = html.Div(
        _choices(rules, address), className="fw-filters", role="group", **{"aria-label": "Rules to replay"}
    )
    return panel(TITLE, [html.Div([words, links], className="fw-pad")], id="policy-whatif-panel")


def _choices(rules: Sequence[str], address: PolicyAddress) -> list[Component]:
    return [go(name, address.href(whatif=name, form=None), className="fw-button") for name in rules]


def whatif_wrong(lines: Sequence[str], address: PolicyAddress) -> Component:
    """Why there is no answer."""
    state = panel_state("bad", "bad", "Not available", [line for line in lines if line])
    return panel(TITLE, [state], right=[_close(address)], id="policy-whatif-panel")


def whatif_open(found: Simulation, address: PolicyAddress, base: str) -> Component:
    """One rule's answer, with its curve where that was asked for."""
    (one,) = found.rules
    parts: list[Any] = [html.P(html.Span(_lead(one)), className="fw-lead fw-pad"), *_remarks(found)]
    if not one.cannot and not found.state.is_empty:
        charts = [curve_charts(one, address)] if one.curve else []
        parts += [*charts, _facts(one), *_tables(one, address, base)]
    if found.submission is not None:
        parts.append(html.P(_refused(found.submission), className="fw-small-print fw-pad"))
    if one.notes:
        notes = html.Ul([html.Li(note) for note in one.notes])
        parts.append(html.Details([html.Summary("What this does not know"), html.Div(notes, className="fw-pad")]))
    days = count(round((found.until - found.since).total_seconds() / 86400), "day")
    right = [_curve_link(one, address), _close(address)]
    return panel(
        TITLE, parts, note=f"rule {one.rule}, jobs that ended in {days}", right=right, id="policy-whatif-panel"
    )


def _lead(one: WhatIf) -> list[Any]:
    if one.cannot:
        return [html.B("Not replayed: "), f"{one.cannot}."]
    out = one.outcome
    said = f"would have warned {_jobs(out.warned)} and cancelled {_jobs(out.cancelled)}; "
    return [html.B(f"{_form(out).capitalize()} "), said, f"{count(out.false_alarms.jobs, 'job')} became busy later."]


def _jobs(one: Amount) -> str:
    return f"{count(one.jobs, 'job')} of {count(one.users, 'user')}"


def _form(one: Outcome) -> str:
    if one.threshold is None:
        return f"idle for {duration(one.first_step_seconds)}"
    return f"mean of {duration(one.window_seconds)} below {percent(one.threshold)}"


def _remarks(found: Simulation) -> list[Component]:
    said = list(found.state.notes)
    if found.state.is_empty:
        said.append("The history of this time is empty: nothing is known.")
    if found.source is not None:
        said.append("Exemptions that people made are not counted: their store does not answer.")
    return [html.P([icon("info", "info"), text], className="fw-remark fw-pad", role="status") for text in said]


def _facts(one: WhatIf) -> Component:
    out = one.outcome
    assumed = f"if jobs run for {percent(one.saved_share)} of their limit"
    rows: list[tuple[str, str]] = [
        ("Judged", f"{_jobs(one.judged)}, {gpu_hours(one.judged.gpu_hours)}"),
        ("Exempt", _jobs(one.exempt)),
        *((f"Not judged: {apart.words}", _jobs(apart.amount)) for apart in one.apart),
        ("Warnings", number(out.warnings)),
        ("GPU-hours saved", f"{gpu_hours(out.saved_gpu_hours)}, {assumed}"),
        ("Held after the cancel", f"{gpu_hours(out.held_gpu_hours)}, of which {gpu_hours(out.used_gpu_hours)} used"),
        (f"False alarms ({percent(one.busy_from)} or more in a later step)", _jobs(out.false_alarms)),
    ]
    return html.Dl([html.Div([html.Dt(name), html.Dd(value)]) for name, value in rows], className="fw-pairs")


def _tables(one: WhatIf, address: PolicyAddress, base: str) -> list[Component]:
    found: list[Component] = []
    if one.curve:
        rows = [_curve_row(each, one.outcome, address) for each in one.curve]
        found += _table(CURVE, rows, "Other forms of the rule")
    if one.users_hit:
        users = [_user_row(hit, base) for hit in one.users_hit[:MOST_ROWS]]
        found += _table(USERS, users, "Users whom it would hit most")
    if one.false_alarms:
        alarms = [_alarm_row(alarm, base) for alarm in one.false_alarms[:MOST_ROWS]]
        found += _table(ALARMS, alarms, "False alarms that lost most work")
    return found


def _table(columns: Sequence[Column], rows: Sequence[Sequence[Any]], title: str) -> list[Component]:
    head = html.Div(html.H3(title), className="fw-panel-head fw-under-table")
    return [head, data_table(columns, rows, caption=title)]


def _curve_row(one: Outcome, own: Outcome, address: PolicyAddress) -> list[Any]:
    counts = (one.warned.jobs, one.cancelled.jobs, one.cancelled.users, one.false_alarms.jobs)
    current = {"aria-current": "true"} if one == own else {}
    name = go(_form(one).capitalize(), address.href(form=form_text(one)), className="fw-verdict-link", **current)
    return [name, *map(number, counts), number(one.saved_gpu_hours), number(one.used_gpu_hours, 1)]


def _user_row(one: UserHit, base: str) -> list[Any]:
    counts = (one.warned, one.cancelled, one.false_alarms)
    return [user_link(base, one.user), *map(number, counts), number(one.held_gpu_hours, 1)]


def _alarm_row(one: FalseAlarm, base: str) -> list[Any]:
    return [
        html.A(one.job, href=job_href(base, one.job), className="fw-id"),
        user_link(base, one.user),
        DASH if one.gpus is None else number(one.gpus),
        duration(one.after_seconds),
        number(one.used_gpu_hours, 1),
    ]


def _refused(found: RefusedJobs) -> str:
    by = "".join(f"; {limit.value.replace('_', ' ')}: {number(one.jobs)}" for limit, one in found.by_limit.items())
    return f"The limits at submission would have refused {_jobs(found.refused)} of {_jobs(found.looked_at)}{by}."


def _curve_link(one: WhatIf, address: PolicyAddress) -> Component:
    if one.curve:
        return go("Without the curve", address.href(curve=None), className="fw-button")
    return go("Try other forms", address.href(curve="yes"), className="fw-button")


def _close(address: PolicyAddress) -> Component:
    return go("Close", address.href(whatif=None, form=None, curve=None), className="fw-button")
