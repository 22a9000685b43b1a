"""What several views show: the time of the data, faults, hours, and what stands where there is nothing to show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table, ratio_cell
from components.elements import banner, icon, moment, panel, panel_state
from components.job_gpus import hours_bar
from components.job_words import DASH, state_cell
from data.errors import CannotKnow, FullwarpError, NotFound, SettingsError
from data.model import SourceCondition
from data.words import count, gpu_hours, number, percent
from ondemand.answers import LastJobs, Now, PastReport, PastRow

LAST_COLUMNS = (
    Column("Job", place="main"),
    Column("State"),
    Column("GPU-hours", "", "", True),
    Column("UTIL", "mean, %", "", True, "Used by measured GPU-hours (GR on slices).", "value"),
    Column("Wasted", "GPU-h", "", True, "Measured and not used."),
)
WHOLE = 0.95  # samples fall where they fall: what is measured from start to end is seldom all of it
DIRECT = (
    "For a trial: your own jobs as Slurm shows them to you, and totals as far as it shows them. There is no history, "
    "and no measured GPU use unless the site gives it to everybody."
)


def is_failing(now: Now) -> bool:
    """Whether a source or the server itself does not answer."""
    bad = (SourceCondition.DOWN, SourceCondition.STALE)
    return bool(now.fault) or any(one.condition in bad for one in now.cluster.sources)


def as_of(time: datetime, *, is_old: bool) -> Component:
    """The time of the data."""
    tone = "fw-is-stale" if is_old else ""
    text = html.Span([html.Span("As of ", className="fw-label"), moment(time, seconds=True)])
    return html.Span([icon("clock" if tone else "live"), text], className=f"fw-asof {tone}".strip())


def notes(now_fault: str, *, is_direct: bool, missing: Sequence[str] = ()) -> list[Component]:
    """What a reader must know before the numbers: the mode, an answer that is old, what is not known."""
    said = []
    if now_fault:
        said.append(banner("waste", "clock", "These are the last answers.", ["Nothing newer: ", f"{now_fault}."]))
    if is_direct:
        said.append(banner("info", "info", "Direct mode.", [DIRECT]))
    said += [html.P([icon("none", "none"), text], className="fw-remark") for text in missing]
    return said


def failed(title: str, err: FullwarpError) -> Component:
    """A panel in the place of one that cannot be shown."""
    lines = [str(err).rstrip(".") + ".", err.hint]
    is_quiet = isinstance(err, SettingsError | NotFound | CannotKnow)
    mark = ("info", "info") if isinstance(err, CannotKnow) else ("lock", "none") if is_quiet else ("bad", "bad")
    inside = panel_state(*mark, title, [one for one in lines if one])
    return html.Section(inside, className="fw-panel")


def quiet(title: str, text: str, note: str = "") -> Component:
    return panel(title, [html.P(text, className="fw-quiet")], note=note)


def hours_panel(title: str, report: PastReport, note: str) -> Component:
    """How many GPU-hours, and where they went."""
    if report.is_empty:
        return quiet(title, "Nothing has been collected yet.", note)
    hours = report.total.hours
    if not hours.allocated:
        return quiet(title, "No job held a GPU in this time.", note)
    basis = "used" if (hours.coverage or 0.0) >= WHOLE else f"of {percent(hours.coverage)} measured used"
    used = "use not measured" if hours.utilization is None else f"{percent(hours.utilization)} {basis}"
    big = html.P([number(hours.allocated), html.Span(f"GPU-h, {used}", className="fw-unit")], className="fw-ood-big")
    remarks = [html.P([icon("partial", "none"), text], className="fw-remark") for text in report.state.notes]
    bar = html.Div([hours_bar(hours), *remarks], className="fw-hours-box")
    return panel(title, [big, bar], note=note)


def last_jobs_panel(found: LastJobs, base: str, most: int, right: Sequence[Component] = ()) -> Component:
    """The jobs that were submitted last, with what they used."""
    title = "Efficiency of my last jobs"
    if found.is_empty:
        return quiet(title, "Nothing has been collected yet.")
    rows = [row for row in found.rows if row.hours.allocated][:most]
    if not rows:
        return quiet(title, "No job held a GPU in the last 30 days.")
    table = data_table(LAST_COLUMNS, [_last_row(row, base) for row in rows], caption=title)
    note = f"{count(len(rows), 'job')} with GPUs, the newest first"
    return panel(title, [table], note=note, right=right)


def _last_row(row: PastRow, base: str) -> list[Any]:
    hours, name = row.hours, str(row.about.get("name") or DASH)
    link = html.A(row.label, href=job_address(base, row.label), className="fw-id")
    note = "" if hours.coverage is None or hours.coverage >= WHOLE else f"{percent(hours.coverage)} measured"
    return [
        html.Div([link, html.Bdi(name, className="fw-under", title=name)]),
        state_cell(str(row.about.get("state") or "")),
        gpu_hours(hours.allocated).removesuffix(" GPU-h"),
        ratio_cell(hours.utilization, note=note),
        DASH if hours.wasted is None else gpu_hours(hours.wasted).removesuffix(" GPU-h"),
    ]


def job_address(base: str, display_id: str) -> str:
    return f"{base}jobs/{quote(display_id, safe='+_')}"
