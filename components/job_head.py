"""The head of a job's page: which job, its state, who, what, where, when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import banner, icon, moment
from components.job_words import DASH, STATE_MARKS, chip, gpu_words, node_link, state_word, user_link
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.efficiency import Level
from data.model import ClusterSnapshot, Job
from data.report import JobReport, UseSource
from data.words import count, duration, gpu_hours, of, percent


def job_head(report: JobReport, base: str) -> list[Component]:
    """Title line and facts."""
    job = report.job
    mark = STATE_MARKS.get(job.state, ("bad", "bad"))
    title = [
        html.H1(html.Bdi(job.name or f"Job {job.display_id}")),
        chip([icon(*mark), state_word(job.state) + _exit_words(job)]),
        *([chip(_kind(job))] if job.is_batch is not None else []),
        *(chip(flag.replace("_", " ").lower()) for flag in job.state_flags[:3]),
    ]
    return [html.Div(title, className="fw-job-title"), html.Dl(list(_facts(report, base)), className="fw-jobfacts")]


def _kind(job: Job) -> str:
    return "Batch" if job.is_batch else "Interactive"


def _exit_words(job: Job) -> str:
    code = job.exit_code
    if job.end_time is None or code is None:
        return ""
    if code.signal:
        return f", signal {code.signal}"
    return f", exit {code.code}" if code.code else ""


def _facts(report: JobReport, base: str) -> Iterator[Component]:
    job = report.job
    held = job.requested.gpus if job.start_time is None else report.gpu_count
    cores = job.allocated.cpus if job.allocated.cpus is not None else job.requested.cpus
    yield _fact("User", user_link(base, job.user))
    yield _fact("Account", html.Bdi(job.account or DASH))
    yield _fact("Partition", html.Bdi(job.partition or DASH))
    if job.qos:
        yield _fact("QOS", html.Bdi(job.qos))
    yield _fact("Nodes", _nodes(job, base))
    yield _fact("GPUs", gpu_words(job, held))
    yield _fact("Cores", DASH if cores is None else str(cores))
    yield from _times(report)
    if report.coverage is not None and report.gpu_source is not UseSource.NONE:
        yield _fact("Coverage", percent(min(1.0, report.coverage)), "Share of the expected samples that were measured.")
    if job.restart_count:
        yield _fact("Restarts", str(job.restart_count))


def _times(report: JobReport) -> Iterator[Component]:
    job = report.job
    if job.start_time is None:
        yield _fact("Submitted", DASH if job.submit_time is None else moment(job.submit_time))
        yield _fact("Time limit", DASH if job.time_limit_seconds is None else duration(job.time_limit_seconds))
        return
    yield _fact("Started", moment(job.start_time))
    if job.end_time is not None:
        yield _fact("Ended", moment(job.end_time))
    eligible = job.eligible_time
    if eligible is not None and job.start_time >= eligible:
        yield _fact("Waited", duration((job.start_time - eligible).total_seconds()))
    if report.gpu_source is not UseSource.NONE:
        yield _fact("GPU use from", report.gpu_source.value, "What measured the GPUs of this job.")


def _fact(name: str, value: Any, help: str = "") -> Component:
    return html.Div([html.Dt(name), html.Dd(value)], title=help or None)


def _nodes(job: Job, base: str) -> Any:
    if not job.nodes:
        return count(job.requested.nodes, "node") + " asked for" if job.requested.nodes else DASH
    shown: list[Any] = []
    for name in job.nodes[:3]:
        shown += [", ", node_link(base, name)]
    more = len(job.nodes) - 3
    return html.Span([*shown[1:], *([f" and {more} more"] if more > 0 else [])], title=", ".join(job.nodes[:200]))


def job_banner(
    report: JobReport,
    snapshot: ClusterSnapshot,
    *,
    is_staff: bool,
    now_href: str,
    ignored: tuple[str, ...],
    judged: Component | None = None,
) -> list[Component]:
    """The worst thing that is so: a source away, the past, numbers that cannot be trusted, a verdict of low use
    (`judged`), low use so far."""
    main = (
        past_banner(snapshot, now_href)
        or sources_banner(snapshot, is_staff=is_staff)
        or _fault_banner(report)
        or judged
        or _low_banner(report)
    )
    return [part for part in (ignored_banner(ignored), main) if part is not None]


def _fault_banner(report: JobReport) -> Component | None:
    if not report.faults:
        return None
    return banner("bad", "bad", "The GPU numbers of this job cannot be trusted.", list(report.faults))


def _low_banner(report: JobReport) -> Component | None:
    judged = report.judgements.get("gpu")
    use = report.utilization
    if report.job.end_time is not None or judged is None or judged.level not in (Level.LOW, Level.BAD):
        return None
    limit = percent(judged.limit)
    title = f"Low use: UTIL {percent(use.value, limit=judged.limit)} so far, the limit is {limit}."
    return banner("waste", "waste", title, list(_low_lines(report)))


def _low_lines(report: JobReport) -> Iterator[str]:
    idle = sum(gpu.is_idle is True for gpu in report.allocated_gpus)
    if idle:
        yield f"{of(idle, report.gpu_count, 'GPU')} did nothing in {duration(report.elapsed_seconds)}."
    if report.hours is not None and report.hours.wasted is not None:
        yield f"{gpu_hours(report.hours.wasted)} of {gpu_hours(report.hours.allocated)} were held and not used."
