"""The table of verdicts: tabs by status, one row per job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table, ratio_cell
from components.elements import icon, select_filter
from components.history_address import go
from components.job_words import DASH, gpu_words, job_link, user_link
from components.policy_address import FILTERS, PolicyAddress
from components.policy_words import HELP, MARKS, TABS, WORDS, ladder, next_cell, status_cell, when_cell
from data.words import number
from policy.model import WORST_FIRST, JobVerdict, Status
from policy.rules import Rule

Key = Callable[[JobVerdict], Any]

COLUMNS = (
    Column("Verdict", "rule", "status", place="value", help="Opens what it stands on."),
    Column("Job", "", "job", place="main"),
    Column("User", "account", "user"),
    Column("GPUs", "", "gpus", True),
    Column("Mean", "%, window", "mean", True, "Mean of the rule's metric over its window, of all devices."),
    Column("Coverage", "%", "coverage", True, "Least share of the expected samples, over its devices.", "hidden"),
    Column("Idle GPUs", "of held", "idle", True, "Devices without a busy sample in the window.", "hidden"),
    Column("Wasted", "GPU-h, window", "wasted", True, "Measured and not used, in the rule's window.", "hidden"),
    Column("Ladder", "steps", "", place="minor", help="Steps that were taken, and the one that comes next."),
    Column("Next step", "or why not", ""),
    Column("In", "", "next", True, "Until the next step if the job stays low, or until the rule can judge it."),
)


def _nullable(value: float | None) -> tuple[bool, float]:
    return (value is not None, value or 0.0)


SORTS: Mapping[str, Key] = {
    "status": lambda one: (True, -WORST_FIRST[one.status]),
    "job": lambda one: (True, one.job.job_id),
    "user": lambda one: (one.job.user is not None, one.job.user or ""),
    "gpus": lambda one: _nullable(one.gpus),
    "mean": lambda one: _nullable(one.verdict.mean),
    "coverage": lambda one: _nullable(one.verdict.coverage),
    "idle": lambda one: _nullable(one.verdict.devices_idle),
    "wasted": lambda one: _nullable(one.verdict.wasted_gpu_hours_window),
    "next": lambda one: _nullable(None if one.verdict.next_at is None else one.verdict.next_at.timestamp()),
}


def in_order(rows: Sequence[JobVerdict], sort: str) -> list[JobVerdict]:
    """Sorted by a column ("-wasted" = the largest first); what is not known comes last both ways."""
    key = SORTS.get(sort.removeprefix("-"))
    if key is None:
        return list(rows)
    known = [one for one in rows if key(one)[0]]
    blank = [one for one in rows if not key(one)[0]]
    return [*sorted(known, key=key, reverse=sort.startswith("-")), *blank]


def fits(one: JobVerdict, chosen: Mapping[str, str]) -> bool:
    """Whether a row has what the filters ask for."""
    job, text = one.job, chosen.get("q", "").lower()
    wanted = (
        ("status", one.status.value),
        ("rule", one.verdict.rule),
        ("user", job.user),
        ("account", job.account),
        ("partition", job.partition),
    )
    if any(chosen.get(key) and chosen[key] != value for key, value in wanted):
        return False
    held = (job.display_id, job.name, job.user or "", job.account or "", one.verdict.sentence)
    return not text or any(text in part.lower() for part in held)


def tabs(rows: Sequence[JobVerdict], address: PolicyAddress) -> Component:
    """All and each status with their numbers; of what the other filters let through."""
    chosen = address.value("status")
    others = {key: value for key, value in address.chosen.items() if key != "status"}
    counts = Counter(one.status for one in rows if fits(one, others))
    links = [_tab(["All judged"], counts.total(), address.href(status=None, limit=None), is_on=not chosen)]
    for status in TABS:
        href = address.href(status=status.value, limit=None)
        label = [icon(*MARKS[status]), WORDS[status]]
        links.append(_tab(label, counts[status], href, is_on=chosen == status.value, help=HELP[status]))
    return html.Nav(links, className="fw-tabs", **{"aria-label": "Verdicts"})


def _tab(label: Sequence[Any], amount: int, href: str, *, is_on: bool, help: str = "") -> Component:
    mark = {"aria-current": "true"} if is_on else {}
    return go([*label, html.Span(number(amount), className="fw-unit")], href, title=help or None, **mark)


def filters(rows: Sequence[JobVerdict], address: PolicyAddress) -> list[Component]:
    """A select for each filter; a value that no job has now stays to choose."""
    values: dict[str, set[str]] = {
        "rule": {verdict.rule for one in rows for verdict in one.verdicts},
        "user": {one.job.user for one in rows if one.job.user},
        "account": {one.job.account for one in rows if one.job.account},
        "partition": {one.job.partition for one in rows if one.job.partition},
    }
    found = []
    for key in FILTERS:
        chosen = address.value(key)
        names = sorted({*values[key], *([chosen] if chosen else [])})
        found.append(
            select_filter(f"policy-pick-{key}", key.capitalize(), [(name, name) for name in names], chosen, "all")
        )
    return found


def verdict_table(
    rows: Sequence[JobVerdict], rules: Mapping[str, Rule], address: PolicyAddress, base: str
) -> Component:
    """One row per job, in the order of the address."""
    cells = [_cells(one, rules.get(one.verdict.rule), address, base) for one in rows]
    return data_table(
        COLUMNS,
        cells,
        caption="Verdicts of running GPU jobs",
        order=address.value("sort"),
        link=lambda sort: address.href(sort=sort),
    )


def _cells(one: JobVerdict, rule: Rule | None, address: PolicyAddress, base: str) -> list[Any]:
    verdict, job = one.verdict, one.job
    opens = {"aria-label": f"{WORDS[one.status]} by the rule {verdict.rule}: evidence of job {job.display_id}"}
    is_open = address.value("job") == job.display_id
    return [
        html.Div(
            [
                go(
                    status_cell(one.status),
                    address.href(job=None if is_open else job.display_id),
                    className="fw-verdict-link",
                    **opens,
                    **({"aria-current": "true"} if is_open else {}),
                ),
                html.Span(verdict.rule, className="fw-under"),
            ]
        ),
        job_link(base, job, with_name=True),
        html.Div([user_link(base, job.user), html.Bdi(job.account or "", className="fw-under")]),
        gpu_words(job, one.gpus),
        ratio_cell(verdict.mean, note=verdict.metric, tone="fw-over" if one.status is Status.LOW else ""),
        _coverage(one, rule),
        _idle(one),
        DASH if verdict.wasted_gpu_hours_window is None else number(verdict.wasted_gpu_hours_window, 1),
        ladder(verdict, rule),
        next_cell(verdict, is_suspended=job.suspended_seconds > 0),
        when_cell(one, rule),
    ]


def _coverage(one: JobVerdict, rule: Rule | None) -> Any:
    share = one.verdict.coverage
    if share is None:
        return html.Span(DASH, title="not measured")
    text = number(100 * min(1.0, share))
    if rule is None or share >= rule.settings.min_coverage:
        return text
    return html.Span([icon("partial", "none", label="low coverage"), text], className="fw-marked")


def _idle(one: JobVerdict) -> Any:
    verdict = one.verdict
    if verdict.devices_idle is None:
        return html.Span(DASH, title="not measured")
    whole = "?" if verdict.devices_allocated is None else number(verdict.devices_allocated)
    return f"{number(verdict.devices_idle)} / {whole}"
