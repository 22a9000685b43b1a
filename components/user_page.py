"""A user's page: what runs and waits, what to change first, and the last 30 days at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.data_table import Column, data_table
from components.elements import panel
from components.findings import finding_box
from components.job_rows import COLUMNS, table_rows
from components.job_words import DASH, are_jobs_known, job_link
from components.kpis import Kpi, kpi_panel
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner
from components.user_month import month_panel
from data.efficiency.mig import slice_profile
from data.model import Tres
from data.queries.job_list import Show
from data.queries.jobs import JobRow
from data.queries.users import UserNow, UserPast
from data.words import count, duration, number, of, percent

_MOST_ROWS = 100
_MOST_FINDINGS = 5
_LABELS = ("Running", "GPUs held", "Held, idle", "Mean UTIL now", "Waiting")
_PENDING_LEFT_OUT = ("User", "State", "Limit", "Partition", "Priority")


@dataclass(frozen=True, slots=True)
class UserView:
    """What one viewer sees of one user. `is_self` = it is the viewer's own page; `past` None = not read yet."""

    now: UserNow
    past: UserPast | None
    is_self: bool
    is_staff: bool
    base: str
    at: str = ""
    now_href: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        return f"{self.now.user}|{self.now.snapshot.version}"


class UserParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    note: Any
    banner: Any
    kpis: Any
    running: Any
    pending: Any
    findings: Any
    frame: Any
    version: str


def user_parts(view: UserView) -> UserParts:
    """Every part of the page that depends on the live picture."""
    now = view.now
    return UserParts(
        note=_note(now),
        banner=_banner(view),
        kpis=kpi_panel(_kpis(now)),
        running=_running(view),
        pending=_pending(view),
        findings=_findings(view),
        frame=frame_data(now.snapshot),
        version=view.version,
    )


def user_page(view: UserView, *, refresh_seconds: float) -> Component:
    """The whole page; the 30 days are read after it is shown, day by day."""
    parts = user_parts(view)
    title = "My jobs" if view.is_self else html.Bdi(view.now.user)
    who = (
        []
        if view.is_self
        else [
            html.Nav(
                [dcc.Link("Jobs", href=f"{view.base}jobs"), html.Span(" / user")],
                className="fw-crumbs",
                **{"aria-label": "Where this page is"},
            )
        ]
    )
    main = [
        html.Div(parts.running, id="user-running"),
        html.Div(parts.pending, id="user-pending"),
        html.Div(month_panel(view.past), id="user-month"),
    ]
    return html.Div(
        [
            *who,
            html.Div([html.H1(title), html.Span(parts.note, id="user-note", className="fw-note")], className="fw-head"),
            html.Div(parts.banner, id="user-banner"),
            html.Div(parts.kpis, id="user-kpis"),
            html.Div(
                [
                    html.Div(main, className="fw-pile"),
                    html.Div(parts.findings, id="user-findings", className="fw-pile"),
                ],
                className="fw-job-columns fw-user-columns",
            ),
            dcc.Store(id="user-name", data=view.now.user),
            dcc.Store(id="user-at", data=view.at),
            dcc.Store(id="user-version", data=parts.version),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Interval(id="user-tick", interval=round(refresh_seconds * 1000), disabled=bool(view.at)),
            dcc.Store(id="user-step", data=0),
            dcc.Store(id="user-read-on"),
            dcc.Store(id="user-unread", data=1),
        ],
        className="fw-ticking fw-jobs",
        **{"data-tick": "user-tick"},
    )


def _banner(view: UserView) -> list[Component]:
    snapshot = view.now.snapshot
    main = past_banner(snapshot, view.now_href) or sources_banner(snapshot, is_staff=view.is_staff)
    return [part for part in (ignored_banner(view.ignored), main) if part is not None]


def _tasks(now: UserNow) -> int:
    return sum(row.job.array_task_count for row in now.pending)


def _note(now: UserNow) -> str:
    if not are_jobs_known(now.snapshot):
        return "not known"
    return f"{count(len(now.running), 'job')} running, {number(_tasks(now))} waiting"


def _kpis(now: UserNow) -> list[Kpi]:
    if not are_jobs_known(now.snapshot):
        return [Kpi(label, DASH, context="not known") for label in _LABELS]
    known = [row for row in now.running if row.gpus is not None]
    held = sum(row.gpus or 0 for row in known)
    whole = [row for row in known if row.gpus and not row.is_shared]  # a shared GPU is not one job's
    measured = sum(row.gpus_measured for row in whole)
    idle = sum(row.gpus_idle for row in whole)
    shares = [(row.utilization, row.gpus_measured) for row in whole if row.utilization is not None]
    mean = sum(value * amount for value, amount in shares) / measured if measured and shares else None
    slices = sum(map(_slices, known))
    nodes = len({name for row in now.running for name in row.job.nodes})
    return [
        Kpi("Running", number(len(now.running)), "jobs", f"on {count(nodes, 'node')}" if nodes else ""),
        Kpi("GPUs held", number(held - slices), "", _holders(len(known), slices) if held else ""),
        Kpi(
            "Held, idle",
            number(idle) if measured or not held else DASH,
            "",
            _measured(measured, held, slices),
            ("waste", "waste") if idle else None,
        ),
        Kpi("Mean UTIL now", DASH if mean is None else percent(mean), "", _measured(measured, held, slices)),
        Kpi("Waiting", number(_tasks(now)), "", _asked(now.pending)),
    ]


def _asked(pending: Sequence[JobRow]) -> str:
    """What the waiting jobs ask for, all tasks of arrays, GPUs and slices apart."""
    devices = sum((row.gpus or 0) * row.job.array_task_count for row in pending)
    slices = sum(_slices_of(row.job.requested) * row.job.array_task_count for row in pending)
    amounts = ((devices - slices, "GPU"), (slices, "slice"))
    words = " and ".join(count(amount, noun) for amount, noun in amounts if amount)
    return f"ask for {words}" if words else ""


def _slices(row: JobRow) -> int:
    return _slices_of(row.job.allocated)


def _slices_of(tres: Tres) -> int:
    """MIG slices among the devices, which are no GPUs."""
    return sum(amount for kind, amount in tres.gpus_by_type.items() if slice_profile(kind))


def _holders(jobs: int, slices: int) -> str:
    return (f"and {count(slices, 'slice')}, " if slices else "") + f"of {count(jobs, 'job')}"


def _measured(measured: int, held: int, slices: int) -> str:
    noun = "slice" if held == slices else "device" if slices else "GPU"
    return of(measured, held, noun) + " measured" if held else "no GPU held"


def _running(view: UserView) -> Component:
    rows = view.now.running
    note = count(len(rows), "job")
    if not rows:
        text = "No job runs now." if are_jobs_known(view.now.snapshot) else "Slurm does not answer: jobs are not known."
        return panel("Running", [html.P(text, className="fw-quiet")])
    cells = table_rows(rows[:_MOST_ROWS], Show.RUNNING, view.base)
    keep = [
        place for place, column in enumerate(COLUMNS[Show.RUNNING]) if column.label not in ("User", "State", "Wait")
    ]
    return panel(
        "Running",
        [_table(COLUMNS[Show.RUNNING], cells, keep, "Running jobs"), *_rest(view, len(rows), Show.RUNNING)],
        note=note,
    )


def _pending(view: UserView) -> Component | None:
    rows = view.now.pending
    if not rows:
        return None
    cells = table_rows(rows[:_MOST_ROWS], Show.PENDING, view.base)
    keep = [place for place, column in enumerate(COLUMNS[Show.PENDING]) if column.label not in _PENDING_LEFT_OUT]
    return panel(
        "Waiting",
        [_table(COLUMNS[Show.PENDING], cells, keep, "Waiting jobs"), *_rest(view, len(rows), Show.PENDING)],
        note=_jobs_and_tasks(view.now),
    )


def _jobs_and_tasks(now: UserNow) -> str:
    jobs, tasks = len(now.pending), _tasks(now)
    return count(jobs, "job") if tasks == jobs else f"{count(jobs, 'job')} with {count(tasks, 'task')}"


def _table(columns: tuple[Column, ...], cells: list[list[Any]], keep: list[int], caption: str) -> Component:
    return data_table(
        [columns[place] for place in keep], [[row[place] for place in keep] for row in cells], caption=caption
    )


def _rest(view: UserView, total: int, show: Show) -> list[Component]:
    if total <= _MOST_ROWS:
        return []
    href = f"{view.base}jobs?show={show.value}&user={view.now.user}"
    return [html.Div(dcc.Link(f"All {number(total)} in the list", href=href), className="fw-pager")]


def _findings(view: UserView) -> Component:
    now = view.now
    span = duration(now.window_seconds) if now.window_seconds is not None else ""
    head = [html.H2("What to change first"), html.Span(f"last {span}" if span else "", className="fw-note")]
    parts: list[Any] = [html.Div(head, className="fw-panel-head")]
    if not now.findings:
        parts.append(html.P(_nothing(now), className="fw-quiet"))
    boxes = [finding_box(one.finding, _about(one.job, view.base)) for one in now.findings]
    parts += boxes[:_MOST_FINDINGS]
    if len(boxes) > _MOST_FINDINGS:
        parts.append(html.Details([html.Summary(f"Show all {len(boxes)}"), *boxes[_MOST_FINDINGS:]]))
    if now.judged:
        running = sum(bool(row.gpus) for row in now.running)
        text = (
            f"{of(now.judged, running, 'running GPU job')} looked at, over the last {span}; by GPU-hours in that time."
        )
        parts.append(html.P(text, className="fw-quiet fw-small-print"))
    return html.Section(parts, className="fw-panel fw-findings")


def _about(job: Any, base: str) -> Component:
    return html.Span([job_link(base, job), " ", html.Bdi(job.name)])


def _nothing(now: UserNow) -> str:
    if now.failed:
        return "GPU metrics do not answer, so nothing can be said now."
    if not are_jobs_known(now.snapshot):
        return "Slurm does not answer: jobs are not known."
    if not any(row.gpus for row in now.running):
        return "No GPU job runs."
    if not now.judged:
        return "The GPU jobs are too young: they are looked at after 10 min."
    return "Nothing was found that should be changed."
