"""One job: its numbers, its verdict, every GPU over time, and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import orjson
from dash import html
from dash.development.base_component import Component

from components.elements import banner, icon, moment, panel
from components.findings import finding_box
from components.job_charts import chart_note, chart_payload, more_button
from components.job_gpus import hours_bar, remarks
from components.job_words import DASH, STATE_MARKS, chip, gpu_words, nodes_words, state_word, time_words
from components.kpis import Kpi, kpi_panel
from components.policy_words import following_step, status_cell
from data.efficiency import Judgement, Level, Share
from data.report import JobReport, UseSource
from data.words import count, duration, gib_of, gpu_hours, of, percent
from ondemand.answers import OneJob
from ondemand.views.parts import notes
from policy.model import JobVerdict

_LEVELS = {Level.BAD: ("very low", ("bad", "bad")), Level.LOW: ("low", ("waste", "waste"))}


def one_job(one: OneJob, base: str, pages: str, *, is_direct: bool) -> list[Component | None]:
    report = one.answer.report
    return [
        *notes(one.fault, is_direct=is_direct),
        _head(report, pages),
        *([banner("bad", "bad", "Its GPU numbers cannot be trusted.", list(report.faults))] if report.faults else []),
        kpi_panel(list(_cells(report))) if report.job.start_time is not None else None,
        charts_and_findings(one, most=5, title="Over time, per GPU"),
        _hours(report, one.answer.unknown),
        _verdict(one.verdict),
    ]


def charts_and_findings(one: OneJob, *, most: int, title: str) -> Component | None:
    """The charts beside what to change; None for a job that has not started."""
    if one.answer.report.job.start_time is None:
        return None
    shown = [part for part in (_charts(one, title), _findings(one, most)) if part is not None]
    return html.Div(shown, className="fw-ood-two") if shown else None


def chart_html(one: OneJob) -> dict[str, str]:
    """The place where the browser draws the charts, by the id of the component that holds it."""
    payload = chart_payload(one.series)
    if payload is None:
        return {}
    data = escape(orjson.dumps(payload).decode())
    rows = len(payload["rows"])
    room = f"--fw-rows:{-(-rows // 4)};--fw-rows-narrow:{-(-rows // 2)}"
    return {"charts": f'<div id="job-charts" class="fw-charts" style="{room}" data-series="{data}"></div>'}


def _charts(one: OneJob, title: str) -> Component | None:
    if one.series.total == 0 or one.series.window is None:
        return None
    inside = [html.Div(id="charts"), html.Div(more_note(one), className="fw-more")]
    return panel(title, inside, note=chart_note(one.series))


def more_note(one: OneJob) -> list[Any]:
    """Why there is nothing to draw, or how many GPUs are left out."""
    series = one.series
    if series.failed or not series.devices:
        return more_button(series, shows_all=False)
    left = series.total - len(series.devices)
    return (
        [html.Span(f"The {len(series.devices)} that do least of {series.total}.", className="fw-unit")] if left else []
    )


def _findings(one: OneJob, most: int) -> Component:
    found = one.answer.findings
    note = f"{min(most, len(found))} of {len(found)}" if found else ""
    head = html.Div([html.H2("What to change"), html.Span(note, className="fw-note")], className="fw-panel-head")
    inside = [finding_box(item) for item in found[:most]]
    rest = [finding_box(item) for item in found[most:]]
    if rest:
        inside.append(html.Details([html.Summary(f"Show all {len(found)}"), *rest]))
    if not inside:
        inside = [html.P(_why_none(one.answer.report), className="fw-quiet")]
    return html.Section([head, *inside], className="fw-panel fw-findings")


def _why_none(report: JobReport) -> str:
    if report.gpu_count and not report.measured_gpus:
        return "The GPUs of this job were not measured, so nothing can be said of them."
    judged = report.judgements.get("gpu")
    if judged is not None and judged.level in (Level.LOW, Level.BAD):
        return "Its use is low, and none of the known causes fits: see when it was idle."
    if judged is not None and judged.level is Level.NOT_JUDGED and judged.reason:
        return f"Not judged: {judged.reason}."
    return "Nothing was found that should be changed."


def _head(report: JobReport, pages: str) -> Component:
    job = report.job
    mark = STATE_MARKS.get(job.state, ("bad", "bad"))
    title = [html.H1(["Job ", job.display_id, *([": ", html.Bdi(job.name)] if job.name else [])])]
    facts = [html.Div([html.Dt(name), html.Dd(value)]) for name, value in _facts(report)]
    address = f"{pages}/jobs/{job.display_id}"
    link = [html.A("All of it in Fullwarp", href=address, target="_blank", rel="noopener")] if pages else []
    return html.Div(
        [
            html.Div([*title, chip([icon(*mark), state_word(job.state)]), *link], className="fw-job-title fw-head"),
            html.Dl(facts, className="fw-jobfacts"),
        ]
    )


def _facts(report: JobReport) -> Iterator[tuple[str, Any]]:
    job = report.job
    held = job.requested.gpus if job.start_time is None else report.gpu_count
    yield "Account", html.Bdi(job.account or DASH)
    yield "Partition", html.Bdi(job.partition or DASH)
    yield "Nodes", html.Bdi(nodes_words(job))
    yield "GPUs", gpu_words(job, held)
    if job.start_time is None:
        yield "Submitted", DASH if job.submit_time is None else moment(job.submit_time)
        return
    yield "Time", time_words(report.elapsed_seconds, job.time_limit_seconds)
    yield "Started", moment(job.start_time)
    if job.end_time is not None:
        yield "Ended", moment(job.end_time)
    if report.gpu_source is not UseSource.NONE:
        yield "GPU use from", report.gpu_source.value
    if report.coverage is not None and report.gpu_source is not UseSource.NONE:
        yield "Coverage", percent(min(1.0, report.coverage))


def _cells(report: JobReport) -> Iterator[Kpi]:
    judged = report.judgements
    if report.gpu_count != 0:
        yield _cell("GPU utilization", report.utilization.value, _gpus(report), judged.get("gpu"))
        yield _cell("GPU memory", report.gpu_memory.value, _peak(report.gpu_memory), judged.get("gpu_memory"))
    yield _cell("CPU", report.cpu.value, "", judged.get("cpu"))
    yield _cell("Memory", report.memory.value, _peak(report.memory), judged.get("memory"))
    basis = f"{duration(report.time.used)} of {duration(report.job.time_limit_seconds)}"
    yield _cell("Time limit", report.time.value, basis, judged.get("time"))


def _cell(name: str, value: float | None, basis: str, judged: Judgement | None) -> Kpi:
    if value is None:
        return Kpi(name, DASH, context="not measured")
    limit = judged.limit if judged else None
    word, mark = _LEVELS.get(judged.level, ("", None)) if judged else ("", None)
    said = f"{word}, limit {percent(limit)}" if word and limit is not None else word
    return Kpi(name, percent(value, limit=limit), context=", ".join(one for one in (basis, said) if one), mark=mark)


def _gpus(report: JobReport) -> str:
    use = report.utilization
    if use.measured == use.total:
        return f"mean of {count(use.measured, 'GPU')}"
    return f"{of(use.measured, use.total, 'GPU')} measured"


def _peak(part: Share) -> str:
    return "" if part.used is None else f"{gib_of(part.used, part.given)}, peak"


def _hours(report: JobReport, unknown: tuple[str, ...]) -> Component | None:
    said = remarks(report, unknown)
    if report.hours is None or not report.hours.allocated:
        return html.Div(said) if said else None
    title = f"Where {gpu_hours(report.hours.allocated).replace(' GPU-h', ' GPU-hours')} went"
    note = "since the start" if report.job.end_time is None else "of the whole run"
    return panel(title, [html.Div([hours_bar(report.hours), *said], className="fw-hours-box")], note=note)


def _verdict(one: JobVerdict | None) -> Component | None:
    if one is None:
        return None
    facts: list[tuple[str, Any]] = [("Rule", one.verdict.rule)]
    if one.verdict.since is not None:
        facts.append(("Low since", moment(one.verdict.since)))
    if one.verdict.next_at is not None and one.verdict.is_acted_on:
        facts.append(("Next step", html.Span([following_step(one.verdict), ", ", moment(one.verdict.next_at)])))
    lead = html.P([status_cell(one.status), " ", html.Span(one.verdict.sentence)], className="fw-lead")
    rows = [html.Div([html.Dt(name), html.Dd(value)]) for name, value in facts]
    return panel("Verdict", [html.Div([lead, html.Dl(rows, className="fw-list")], className="fw-body")])
