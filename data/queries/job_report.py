"""One job's efficiency report and findings, running or finished: at most four requests of each kind, kept a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from data.errors import BadRequest, NotFound
from data.findings import Finding, JobFacts, partition_facts
from data.findings import find as find_in
from data.live.job_readings import PartReading, read_parts
from data.model import Device, Job, JobUsage, Tres, Viewer
from data.queries.scope import may_read_script, may_see
from data.report import JobReport, build_report, combine
from data.slurm.job_ids import job_id as parse_job_id
from data.sources import Sources

MOST_SCRIPT = 64 * 1024


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """The report, the findings, the job's earlier attempts (newest first), and in words what could not be asked."""

    report: JobReport
    findings: tuple[Finding, ...]
    attempts: tuple[Job, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobScript:
    """A batch script, at most MOST_SCRIPT characters of it; None = Slurm has none of this job."""

    text: str | None = None
    is_cut: bool = False


def job_answer(viewer: Viewer, sources: Sources, job_id: str, at: datetime | None = None) -> JobAnswer:
    """Answer for one job, by any written form of its id (123, 123_7, 123+1, 123.batch).

    A het job's id means all of its parts. Raises NotFound for a job that does not exist or may not be seen (one
    answer for both), BadRequest for what is no id or names a whole array, SourceError when Slurm does not answer.
    """
    now = sources.clock()
    moment = now if at is None else at
    if moment > now:
        raise BadRequest(f"{moment.isoformat()} is in the future", hint="Choose a past moment.")
    parts, seen = _parts(viewer, sources, _without_step(job_id), moment)
    key = ("report", tuple(part.key for part in parts), tuple(part.state for part in parts), at)
    made = sources.recent.get(key, lambda: _answer(sources, parts, moment))
    return replace(made, attempts=_earlier(parts, seen))


def job_report(viewer: Viewer, sources: Sources, job_id: str, at: datetime | None = None) -> JobReport:
    """Answer with the report alone; see `job_answer`."""
    return job_answer(viewer, sources, job_id, at).report


def job_findings(viewer: Viewer, sources: Sources, job_id: str, at: datetime | None = None) -> tuple[Finding, ...]:
    """Answer with the findings alone; see `job_answer`."""
    return job_answer(viewer, sources, job_id, at).findings


def job_script(viewer: Viewer, sources: Sources, job_id: str) -> JobScript:
    """Answer with the job's batch script, asked for now and kept nowhere. Raises as `job_answer`, NotFound also for
    whom it may not be shown, CannotKnow where the source gives no scripts."""
    text = _without_step(job_id)
    job = _parts(viewer, sources, text, sources.clock())[0][0]
    if not may_read_script(viewer, job):
        raise _not_found(text)
    script = sources.scheduler.job_script(job)
    return JobScript() if script is None else JobScript(script[:MOST_SCRIPT], len(script) > MOST_SCRIPT)


def _parts(viewer: Viewer, sources: Sources, text: str, moment: datetime) -> tuple[list[Job], list[Job]]:
    """The newest attempt of each part that the id names, and all attempts that the viewer may see."""
    rows = sources.recent.get(("job", text), lambda: sources.scheduler.job(text))
    seen = [job for job in rows if may_see(viewer, job) and _existed(job, moment)]
    parts = _newest_parts(text, seen)
    if not parts:
        raise _not_found(text)
    return parts, seen


def _not_found(text: str) -> NotFound:
    return NotFound(
        f"There is no job {text}, or you may not see it", hint="Check the number; see your jobs in the list."
    )


def _without_step(text: str) -> str:
    parse_job_id(text)
    return text.strip().split(".", 1)[0]


def _existed(job: Job, moment: datetime) -> bool:
    return job.submit_time is None or job.submit_time <= moment


def _newest_parts(text: str, rows: Sequence[Job]) -> list[Job]:
    """The newest attempt of each part that the id names; one, except for a het job."""
    newest: dict[str, Job] = {}
    for job in sorted(rows, key=_age_order, reverse=True):
        newest.setdefault(job.display_id, job)
    if len(newest) < 2:
        return list(newest.values())
    if text in newest:
        return [newest[text]]
    if all(job.het_job_id is not None for job in newest.values()):
        return list(newest.values())
    names = ", ".join(sorted(newest)[:5])
    tasks = sum(max(1, job.array_task_count) for job in newest.values())
    raise BadRequest(f"{text} is an array of {tasks} tasks", hint=f"Name one of them, such as {names}.")


def _earlier(parts: Sequence[Job], rows: Sequence[Job]) -> tuple[Job, ...]:
    """Other attempts of the same jobs: an array's other tasks are none of them."""
    shown, names = {part.key for part in parts}, {part.display_id for part in parts}
    return tuple(job for job in rows if job.key not in shown and job.display_id in names)


def _age_order(job: Job) -> tuple[float, float]:
    return tuple(0.0 if time is None else time.timestamp() for time in (job.submit_time, job.start_time))  # type: ignore[return-value]


def _answer(sources: Sources, parts: Sequence[Job], moment: datetime) -> JobAnswer:
    unknown: list[str] = []
    settings = sources.settings
    picture = sources.live.picture()
    inventory = {place: known.device for place, known in picture.inventory.places.items()}
    as_then = [_as_of(part, moment) for part in parts]
    read = read_parts(sources.metrics, as_then, moment, unknown)
    reports = [_report(sources, part, read.get(part.display_id, PartReading()), inventory, moment) for part in as_then]
    report = combine(reports, limits=settings.judgement, findings=settings.findings)
    nodes, partitions = picture.snapshot.nodes, picture.snapshot.partitions
    facts = {part.display_id: partition_facts(part, nodes, partitions) for part in as_then}
    known = JobFacts(report, settings.findings, settings.judgement, facts[report.job.display_id], facts)
    return JobAnswer(report, find_in(known), unknown=tuple(unknown))


def _as_of(job: Job, moment: datetime) -> Job:
    """The job as it was at the moment: running where it ended later, waiting where it started later."""
    if job.start_time is not None and job.start_time > moment:
        not_yet = replace(job, state="PENDING", start_time=None, nodes=(), devices=(), allocated=Tres())
        return _without_end(not_yet)
    if job.end_time is not None and job.end_time > moment:
        return _without_end(replace(job, state="RUNNING"))
    return job


def _without_end(job: Job) -> Job:
    """Nothing that became known of a job at its end."""
    return replace(
        job,
        state_flags=(),
        reason=None,
        end_time=None,
        elapsed_seconds=None,
        exit_code=None,
        derived_exit_code=None,
        cancelled_by=None,
        admin_comment=None,
        usage=JobUsage(),
    )


def _report(
    sources: Sources, part: Job, read: PartReading, inventory: dict[tuple[str, int], Device], moment: datetime
) -> JobReport:
    settings = sources.settings
    return build_report(
        part,
        read.reading,
        now=moment,
        limits=settings.judgement,
        findings=settings.findings,
        inventory=inventory,
        series=read.series,
    )
