"""Beside the verdicts: what was done, what it saved, and who is exempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table, show_more
from components.elements import icon, moment, panel, panel_state
from components.findings import code_block
from components.job_words import DASH, job_href, user_link
from components.policy_address import PolicyAddress
from components.policy_words import step_word
from data.words import count, gpu_hours, number, percent
from policy.exempted import ExemptionList, HeldExemption
from policy.taken import ActList, Ended, Savings, TakenAct, saved_gpu_hours
from settings import StepAction

ADD_LINES = (
    "# as the account of `fullwarp serve`",
    'fullwarp exempt add user NAME --until 14d --reason "WHY"',
    "fullwarp exempt remove ID",
)
ACTS = (
    Column("Time", place="minor"),
    Column("Step", "rule", place="value"),
    Column("Job", place="main"),
    Column("User", "account"),
    Column("GPUs", "", "", True),
    Column("How it ended"),
    Column("Saved", "GPU-h", "", True, "GPUs x (share of the time limit - elapsed), of cancelled jobs.", "minor"),
)
EXEMPT = (
    Column("Who", "kind", place="main"),
    Column("Rule"),
    Column("Until", place="value"),
    Column("Jobs", "running", "", True, "Running GPU jobs under this exemption."),
    Column("Low", "measured", "", True, "Of these, jobs that would be low without it."),
    Column("Held", "GPU-h", "", True, "GPU-hours that these jobs held since they started, or since it was made."),
    Column("Reason", "made by"),
)
KINDS = {"interactive": "interactive jobs", "memory": "high GPU memory use", "qos": "QOS"}
_ENDS: dict[Ended, tuple[str, str, str]] = {
    Ended.DONE: ("ok", "none", "Done"),
    Ended.WITHHELD: ("info", "info", "Withheld"),
    Ended.REFUSED: ("bad", "bad", "Refused"),
    Ended.UNKNOWN: ("unknown", "none", "Not known"),
    Ended.UNDER_WAY: ("wait", "info", "Under way"),
}


def acts_panel(found: ActList, address: PolicyAddress, base: str, *, share: float, is_staff: bool) -> Component:
    """Steps that were taken in the last days, the newest first."""
    title, days = "Actions taken", count((found.until - found.since).days, "day")
    if found.source is not None:
        lines = ["The enforcer's store does not answer.", *([found.source.error or ""] if is_staff else [])]
        return panel(title, [panel_state("bad", "bad", "Not available", [line for line in lines if line])])
    if not found.is_kept:
        lines = [
            "No store of an enforcer is set, so nothing is mailed and nothing cancelled.",
            "Verdicts only report." if not is_staff else "Set enforcement.directory and run `fullwarp enforce`.",
        ]
        return panel(title, [panel_state("empty", "none", "Nobody enforces the rules here", lines)])
    note = f"last {days}" + (", simulated" if found.is_simulated else "")
    if not found.rows:
        whom = "" if is_staff else " on jobs that you may see"
        return panel(title, [html.P(f"No step was taken{whom} in the last {days}.", className="fw-quiet")], note=note)
    most = int(address.value("acts"))
    rows = [_act(row, base, share) for row in found.rows[:most]]
    return panel(title, [data_table(ACTS, rows, caption=title), *_more(found, most, address)], note=note)


def _more(found: ActList, most: int, address: PolicyAddress) -> list[Component]:
    total = len(found.rows)
    return [show_more(most, total, address.href(acts=str(most * 10)))] if total > most else []


def _act(row: TakenAct, base: str, share: float) -> list[Any]:
    saved = saved_gpu_hours(row, share) if row.is_cancelled else None
    return [
        moment(row.time),
        html.Div([_step(row), html.Span(row.rule, className="fw-under")]),
        html.A(row.job, href=job_href(base, row.job), className="fw-id"),
        html.Div([user_link(base, row.user), html.Bdi(row.account or "", className="fw-under")]),
        DASH if row.gpus is None else number(row.gpus),
        _ended(row),
        DASH if saved is None else _hours(saved),
    ]


def _hours(value: float) -> str:
    return number(value, 1 if value else 0)


def _step(row: TakenAct) -> Any:
    if row.action is StepAction.CANCEL:
        return html.Span([icon("bad", "bad"), "Cancel"], className="fw-marked")
    return html.Span(step_word(row.action, row.step), title=row.sentence)


def _ended(row: TakenAct) -> Any:
    mark, tone, word = _ENDS[row.ended]
    return html.Span([icon(mark, tone), word + (f": {row.why}" if row.why else "")], className="fw-marked fw-why")


def savings_panel(found: Savings) -> Component:
    """What cancellations gave back, with the assumption that the number stands on."""
    days = count((found.until - found.since).days, "day")
    part = _share(found.saved_gpu_hours, found.allocated_gpu_hours)
    rows: list[tuple[str, Any]] = [
        ("GPU-hours saved", html.B(gpu_hours(found.saved_gpu_hours))),
        ("Of all allocated GPU-hours", part),
        ("Cancellations", number(found.cancelled_jobs)),
        ("Warnings", number(found.warnings)),
        ("Users with a cancellation", _users(found.cancelled_users, found.users)),
        ("Users with any step", _users(found.touched_users, found.users)),
    ]
    if found.unknown_jobs:
        rows.append(("Left out", f"{count(found.unknown_jobs, 'job')} without a time limit or a known number of GPUs"))
    facts = html.Dl([html.Div([html.Dt(name), html.Dd(value)]) for name, value in rows], className="fw-pairs")
    assumed = html.P(
        [
            f"Assumes that a cancelled job would have run for {percent(found.share)} of its time limit ",
            html.Code("policy.saved_share"),
            ".",
            *([f" Shares are not known: {found.why}."] if found.why else []),
        ],
        className="fw-small-print fw-pad",
    )
    return panel("Saved", [facts, assumed], note=f"last {days}")


def _share(saved: float, allocated: float | None) -> str:
    return DASH if not allocated else percent(saved / allocated)


def _users(touched: int, users: int | None) -> str:
    if not users:
        return number(touched)
    return f"{number(touched)} of {number(users)} ({percent(touched / users)})"


def exemptions_panel(found: ExemptionList, *, is_staff: bool, store_answers: bool) -> Component:
    """Who is exempt now and the GPU-hours held under each exemption; how staff make one."""
    parts: list[Any] = []
    if not store_answers:
        words = "Exemptions that people made cannot be read now. Nothing is acted on until they can."
        parts.append(html.P([icon("bad", "bad"), words], className="fw-remark fw-pad", role="status"))
    if found.rows:
        rows = [_exemption(row) for row in found.rows]
        parts.append(data_table(EXEMPT, rows, caption="Exemptions"))
    elif store_answers:
        whom = "Nobody is exempt." if is_staff else "No exemption is about you."
        parts.append(html.P(whom, className="fw-quiet"))
    if is_staff:
        summary = html.Summary("Make or remove one")
        parts.append(html.Details([summary, html.Div(code_block("shell", ADD_LINES), className="fw-pad")]))
    held = _held(found.rows)
    return panel("Exempt", parts, note=held)


def _held(rows: Sequence[HeldExemption]) -> str:
    jobs = sum(row.jobs for row in rows)
    return f"{count(jobs, 'running job')} under {count(len(rows), 'exemption')}" if rows else ""


def _exemption(row: HeldExemption) -> list[Any]:
    name: Any = html.Bdi(row.name) if row.name else KINDS.get(row.kind, row.kind)
    kind = KINDS.get(row.kind, row.kind) if row.name else ""
    by = f"by {row.created_by}" if row.created_by else ""
    return [
        html.Div([html.Span(name, className="fw-id"), html.Span(kind, className="fw-under")]),
        row.rule or "every rule",
        "in the settings" if row.until is None else moment(row.until),
        number(row.jobs),
        _low(row),
        DASH if row.gpu_hours_held is None else _hours(row.gpu_hours_held),
        html.Div([html.Span(row.reason, className="fw-why"), html.Span(by, className="fw-under")]),
    ]


def _low(row: HeldExemption) -> Any:
    if not row.low_jobs:
        return "0"
    return html.Span([icon("waste", "waste", label="measured low"), number(row.low_jobs)], className="fw-marked")
