"""From a question to what is shown: asks whoever answers, and keeps the fault of one panel from taking the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dash import html
from dash.development.base_component import Component

from components.as_html import as_html
from data.errors import CannotKnow, FullwarpError, NotFound, SettingsError
from ondemand.answers import Answers, Now, OneJob, Past
from ondemand.frame import ASK, TALK, Shown, rendered
from ondemand.views.cluster import cluster, free_panel
from ondemand.views.efficiency import RANGE, efficiency, waits_panel
from ondemand.views.my_jobs import my_jobs, worst
from ondemand.views.one_job import chart_html, one_job
from ondemand.views.parts import as_of, failed, hours_panel, is_failing, last_jobs_panel

MOST_IN_WIDGET = 5


@dataclass(frozen=True, slots=True)
class Question:
    """`base` is the app's address, `pages` that of the server's pages ("" = not known)."""

    asked: Answers | None
    base: str
    pages: str = ""
    job_id: str = ""
    is_embedded: bool = False
    has_chat: bool = True

    @property
    def answers(self) -> Answers:
        if self.asked is None:
            raise SettingsError("Nobody is set who answers")
        return self.asked


View = Callable[[Question], Shown]


def view_my_jobs(asked: Question) -> Shown:
    now = asked.answers.now()
    fix = _fix(asked.answers, now)
    head = my_jobs(now, fix, asked.base, is_direct=asked.answers.is_direct)
    foot = html.Div([*_month(asked.answers), free_panel(now)], className="fw-ood-three")
    time = as_of(now.jobs.time, is_old=is_failing(now))
    return _shown("My jobs", "", [*head, foot], time, chart_html(fix) if fix else None)


def view_efficiency(asked: Question) -> Shown:
    answers = asked.answers
    past, last = answers.past(), answers.last_jobs()
    parts = efficiency(past, last, answers.advised(), asked.base)
    return _shown("My efficiency", "efficiency", parts, as_of(past.asked_at, is_old=bool(past.fault)))


def view_cluster(asked: Question) -> Shown:
    now = asked.answers.now()
    parts = cluster(now, is_direct=asked.answers.is_direct)
    return _shown("Cluster", "cluster", parts, as_of(now.cluster.time, is_old=is_failing(now)))


def view_job(asked: Question) -> Shown:
    one = asked.answers.job(asked.job_id)
    report = one.answer.report
    parts = one_job(one, asked.base, asked.pages, is_direct=asked.answers.is_direct)
    time = as_of(report.at, is_old=bool(one.fault))
    return _shown(f"Job {report.job.display_id}", "jobs", parts, time, chart_html(one))


def view_widget(asked: Question) -> Shown:
    """A few rows for another page: no head, and no question besides that of the rows."""
    more = html.A("All of my jobs", href=asked.base)
    try:
        panel = last_jobs_panel(asked.answers.last_jobs(), asked.base, MOST_IN_WIDGET, [more])
    except FullwarpError as err:
        panel = failed("Efficiency of my last jobs", err)
    return _shown("Efficiency of my last jobs", "", [html.H1("Fullwarp", className="fw-sr"), panel], None)


def view_ask(asked: Question) -> Shown:
    """Where the assistant's own scripts draw; they ask the server themselves."""
    if not asked.has_chat:
        raise NotFound("The assistant is not offered here")
    if asked.answers.is_direct:
        raise CannotKnow("There is no assistant in the direct mode", hint="It runs on the server of the central mode.")
    return Shown("Ask", ASK, TALK, is_talk=True)


def view_failed(err: FullwarpError, status: int) -> Shown:
    is_absent = isinstance(err, NotFound | CannotKnow)
    title = "There is nothing to see" if is_absent else "The page cannot be made now"
    parts = html.Div([html.H1(title, className="fw-sr"), failed(title, err)], className="fw-ood")
    return Shown(title, "?", as_html(parts), status=status)


def _fix(answers: Answers, now: Now) -> OneJob | None:
    """The worst job's charts and findings; without them the page still says which it is."""
    low = worst(now)
    try:
        return answers.job(low.job.display_id) if low is not None else None
    except FullwarpError:
        return None


def _month(answers: Answers) -> list[Component]:
    """The panels that stand on history, or one that says why there is none."""
    try:
        past: Past = answers.past()
    except FullwarpError as err:
        return [failed("My GPU-hours", err)]
    return [hours_panel("My GPU-hours", past.by_day, RANGE), waits_panel(past.by_day)]


def _shown(
    title: str, path: str, parts: list[Component | None], time: Component | None, ready: dict[str, str] | None = None
) -> Shown:
    body = html.Div([part for part in parts if part is not None], className="fw-ood")
    return Shown(title, path, rendered([body], ready), as_html(time))
