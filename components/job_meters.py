"""How much of what it holds a job uses: value, bar with the limits, basis, judgement."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from components.elements import icon
from components.job_words import DASH
from data.efficiency import Judgement, Level, Share
from data.report import JobReport, UseSource
from data.words import count, duration, gib_of, number, of, percent
from settings import JudgementSettings

_MARKS = {Level.BAD: ("bad", "bad"), Level.LOW: ("waste", "waste")}


def meters(report: JobReport, limits: JudgementSettings) -> Component | None:
    """The strip; None for a job that has not started."""
    if report.job.start_time is None:
        return None
    judged = report.judgements
    cells = [
        _meter("CPU", report.cpu.value, (limits.cpu_bad, limits.cpu_low), _cpu_words(report), judged.get("cpu")),
        _meter("Memory", report.memory.value, (limits.memory_low,), _peak(report.memory), judged.get("memory")),
    ]
    if report.gpu_count != 0:
        marks = (limits.gpu_bad, limits.gpu_low)
        cells.append(_meter("GPU utilization", report.utilization.value, marks, _gpu_words(report), judged.get("gpu")))
        cells.append(
            _meter("GPU memory", report.gpu_memory.value, (), _peak(report.gpu_memory), judged.get("gpu_memory"))
        )
    basis = f"{duration(report.time.used)} of {duration(report.job.time_limit_seconds)}"
    marks = (limits.time_bad, limits.time_low)
    cells.append(_meter("Time limit", report.time.value, marks, basis, judged.get("time")))
    return html.Div(cells, className=f"fw-panel fw-meters fw-meters-{len(cells)}")


def _meter(
    name: str, value: float | None, limits: Sequence[float], basis: str, judgement: Judgement | None
) -> Component:
    near = judgement.limit if judgement else None
    shown = DASH if value is None else percent(value, limit=near)
    track = html.Div(
        [
            html.Div(style={"width": f"{100 * min(1.0, max(0.0, value or 0.0)):.1f}%"}, className="fw-fill"),
            *(html.Span(style={"left": f"{100 * limit:g}%"}, className="fw-tick") for limit in limits),
        ],
        className="fw-track" + (" fw-is-unknown" if value is None else ""),
        role="meter",
        **{
            "aria-label": name,
            "aria-valuemin": "0",
            "aria-valuemax": "100",
            "aria-valuenow": f"{100 * min(1.0, max(0.0, value or 0.0)):.0f}",
            "aria-valuetext": "not measured" if value is None else f"{shown}, {basis}",
        },
    )
    said = html.Div(_verdict(judgement, value), className="fw-verdict")
    return html.Div(
        [
            html.Div(name, className="fw-meter-name"),
            html.Div(shown, className="fw-value"),
            track,
            html.Div(basis, className="fw-basis"),
            said,
        ],
        className="fw-meter",
    )


def _verdict(judgement: Judgement | None, value: float | None) -> list[object]:
    if value is None:
        return [icon("none", "none"), "not measured"]
    if judgement is None or judgement.level is Level.NOT_JUDGED:
        reason = judgement.reason if judgement else ""
        return [f"not judged: {reason}" if reason else "not judged"]
    if judgement.level is Level.GOOD:
        return [icon("ok", "ok"), "within the limits"]
    word = "very low" if judgement.level is Level.BAD else "low"
    return [icon(*_MARKS[judgement.level]), html.Span(f"{word}, limit {percent(judgement.limit)}", className="fw-low")]


def _cpu_words(report: JobReport) -> str:
    cores, seconds = report.job.allocated.cpus, report.elapsed_seconds
    if report.cpu.used is None:
        return _missing_source(report)
    if not cores or not seconds:
        return ""
    return f"{number(report.cpu.used / seconds, 1)} of {count(cores, 'core')} busy"


def _missing_source(report: JobReport) -> str:
    return "no source measured it" if report.host_source is UseSource.NONE else "not measured"


def _peak(part: Share) -> str:
    return "no source measured it" if part.used is None else f"{gib_of(part.used, part.given)}, peak"


def _gpu_words(report: JobReport) -> str:
    use = report.utilization
    if use.measured == use.total and use.total:
        return f"mean of {count(use.total, 'GPU')}"
    text = f"{of(use.measured, use.total, 'GPU')} measured"
    if use.low is not None and use.high is not None and use.measured:
        text += f", so {percent(use.low)} to {percent(use.high)}"
    return text
