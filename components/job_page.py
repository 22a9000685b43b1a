"""A job's page put together from its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import icon
from components.findings import findings_panel
from components.job_charts import chart_note, chart_panel, chart_payload, more_button
from components.job_gpus import hours_panel, remarks
from components.job_head import job_banner, job_head
from components.job_meters import meters
from components.job_policy import low_banner, policy_panel
from components.job_script import script_panel
from components.job_side import attempts_panel, neighbors_panel, waiting_panel, what_it_runs
from components.shell import frame_data
from data.efficiency import Level
from data.model import ClusterSnapshot
from data.queries.job_context import Ahead, NodeNeighbors
from data.queries.job_report import JobAnswer
from data.queries.job_series import JobSeries
from data.queries.pending import Waiting
from policy.model import JobVerdict
from policy.rules import Rule
from settings import JudgementSettings


@dataclass(frozen=True, slots=True)
class JobView:
    """All that one viewer sees of one job at one moment. `job_id` is as asked for, `base` the app's prefix."""

    job_id: str
    answer: JobAnswer
    series: JobSeries
    snapshot: ClusterSnapshot
    limits: JudgementSettings
    neighbors: tuple[NodeNeighbors, ...] = ()
    waiting: Waiting | None = None
    ahead: Ahead | None = None
    verdict: JobVerdict | None = None
    rule: Rule | None = None
    shows_all: bool = False
    shows_script: bool = False
    is_staff: bool = False
    base: str = "/"
    at: str = ""
    now_href: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        job = self.answer.report.job
        picture = "" if job.end_time is not None else self.answer.report.at.isoformat()
        judged = self.verdict.time.isoformat() if self.verdict is not None else ""
        parts = (self.snapshot.version, picture, job.state, self.series.metric, str(self.shows_all), judged)
        return "|".join(parts)


class JobParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    head: Any
    banner: Any
    meters: Any
    chart_note: Any
    series: Any
    more: Any
    chart_hidden: bool
    main: Any
    side: Any
    frame: Any
    version: str


def job_parts(view: JobView) -> JobParts:
    """Every part of the page that depends on the data."""
    report = view.answer.report
    low = low_banner(view.verdict, view.rule, view.base)
    banners = job_banner(
        report,
        view.snapshot,
        is_staff=view.is_staff,
        now_href=view.now_href,
        ignored=view.ignored,
        judged=low,
    )
    return JobParts(
        head=job_head(report, view.base),
        banner=banners,
        meters=meters(report, view.limits),
        chart_note=chart_note(view.series),
        series=chart_payload(view.series),
        more=more_button(view.series, view.shows_all),
        chart_hidden=view.series.window is None or view.series.total == 0,
        main=_main(view),
        side=_side(view, is_told=any(one is low for one in banners)),
        frame=frame_data(view.snapshot),
        version=view.version,
    )


def job_page(view: JobView, *, refresh_seconds: float) -> Component:
    """The whole page with its first data. A job that has ended is not asked for again."""
    parts = job_parts(view)
    is_over = view.answer.report.job.end_time is not None or bool(view.at)
    charts = chart_panel(view.series, is_hidden=parts.chart_hidden, shows_all=view.shows_all)
    main = html.Div(parts.main, id="job-main", className="fw-pile")
    script = [script_panel()] if view.shows_script else []
    return html.Div(
        [
            html.Div([_crumbs(view), _actions(), html.Div(parts.head, id="job-head")], className="fw-job-head"),
            html.Div(parts.banner, id="job-banner"),
            html.Div(parts.meters, id="job-meters"),
            html.Div(
                [
                    html.Div([charts, main, *script], className="fw-pile"),
                    html.Div(parts.side, id="job-side", className="fw-pile"),
                ],
                className="fw-job-columns",
            ),
            dcc.Store(id="job-id", data=view.job_id),
            dcc.Store(id="job-at", data=view.at),
            dcc.Store(id="job-version", data=parts.version),
            dcc.Store(id="job-drawn"),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Interval(id="job-tick", interval=round(refresh_seconds * 1000), disabled=is_over),
        ],
        className="fw-ticking fw-job",
        **{"data-tick": "job-tick"},
    )


def _crumbs(view: JobView) -> Component:
    name = view.answer.report.job.display_id
    return html.Nav(
        [dcc.Link("Jobs", href=f"{view.base}jobs"), html.Span([" / ", name])],
        className="fw-crumbs",
        **{"aria-label": "Where this page is"},
    )


def _actions() -> Component:
    copy = html.Button(
        [icon("link"), html.Span("Copy link")], type="button", className="fw-button fw-copy", **{"data-copy-link": "1"}
    )
    return html.Div(copy, className="fw-actions")


def _main(view: JobView) -> list[Component]:
    answer = view.answer
    waits = waiting_panel(view.waiting, view.ahead or Ahead(), view.base) if view.waiting is not None else None
    parts = [waits, hours_panel(answer.report, view.base), *remarks(answer.report, answer.unknown)]
    return [part for part in (*parts, attempts_panel(answer.attempts)) if part is not None]


def _side(view: JobView, *, is_told: bool) -> list[Component]:
    """What stands beside the charts; the verdict too, unless the banner has told it."""
    report = view.answer.report
    advice = findings_panel(view.answer.findings, _why_none(view)) if report.job.start_time is not None else None
    judged = None if is_told else policy_panel(view.verdict, view.rule, view.base)
    parts = (judged, advice, neighbors_panel(view.neighbors, view.base), what_it_runs(report.job))
    return [part for part in parts if part is not None]


def _why_none(view: JobView) -> str:
    report, least = view.answer.report, view.limits.min_seconds
    if (report.elapsed_seconds or 0.0) < least:
        return f"Nothing is judged before {least / 60:.0f} min."
    if report.gpu_count and not report.measured_gpus:
        return "The GPUs of this job were not measured, so nothing can be said of them."
    judged = report.judgements.get("gpu")
    if judged is not None and judged.level in (Level.LOW, Level.BAD):
        return "Its use is low, and none of the causes known here fits: see when it was idle."
    return "Nothing was found that should be changed."
