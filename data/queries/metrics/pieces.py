"""One attempt's report, taken apart into pieces: a device, its hours, its means and what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from data.applications import application_of
from data.efficiency import GpuHours, coverage, slice_profile
from data.findings import FINDINGS, JobFacts, diagnose
from data.findings.rows import metric_row
from data.gpu_models import gpu_model
from data.model import Job, JoinMethod
from data.queries.metrics.columns import COLUMNS, GAP, UTILIZATION
from data.queries.metrics.model import Cell, Owner, Piece
from data.report import GpuUse, JobReport

UNKNOWN_MODEL = "unknown model"
# Findings about a whole job; they hold for all of its devices.
OF_JOBS = ("too_powerful", "fragmented")
_PLAIN = tuple(name for name in COLUMNS if name not in (UTILIZATION, GAP))


def owner_of(job: Job, pattern: str) -> Owner:
    """Whose hours these are; a het job's components count as one job."""
    number = job.display_id if job.het_job_id is None else str(job.het_job_id)
    return Owner(
        number,
        job.name,
        job.user,
        job.account,
        job.partition,
        application_of(job.name, pattern),
        job.end_time is None and job.state in ("RUNNING", "SUSPENDED"),
    )


def pieces_of(
    owner: Owner, facts: JobFacts, seconds: float, shared: Collection[tuple[str, str, str]] = ()
) -> list[Piece]:
    """One piece per allocated device, measured or not. `seconds` is the wall time that the report is about, `shared`
    are devices that other jobs used at the same time."""
    report = facts.report
    of_job = _of_job(facts) if not shared else ()
    sound = {id(gpu) for gpu in facts.sound_gpus}
    works = any(gpu.is_idle is False for gpu in facts.sound_gpus)
    pieces = []
    for gpu in report.allocated_gpus:
        if gpu.hours is None:
            continue
        is_shared = gpu.is_shared or (gpu.device is not None and gpu.device.key in shared)
        judged = id(gpu) in sound and not is_shared
        pieces.append(
            Piece(
                owner,
                model_of(gpu),
                gpu.hours,
                _cells(gpu, report, seconds),
                gpu.utilization_metric,
                (*_found(gpu, facts, works=works), *of_job) if judged else (),
                gpu.join is JoinMethod.NODE_ESTIMATE,
                is_shared,
                bool(report.faults),
            )
        )
    return pieces


def model_of(gpu: GpuUse) -> str:
    """The name that GPUs of a kind stand under: the model, with the profile of a slice."""
    device = gpu.device
    names = (device.model if device else None, gpu.model_name)
    known = gpu_model(*names)
    name = known.name if known else next((name for name in names if name), UNKNOWN_MODEL)
    profile = slice_profile(device.slice_profile if device else None, gpu.model_name) if gpu.is_slice else None
    return f"{name} {profile}" if profile else name


def _cells(gpu: GpuUse, report: JobReport, seconds: float) -> Mapping[str, Cell]:
    cells = {}
    if gpu.hours is not None and gpu.hours.utilization is not None:
        cells[UTILIZATION] = Cell(gpu.hours.utilization, gpu.hours.measured)
    for name in _PLAIN:
        cell = _sum(gpu, COLUMNS[name].metrics, report, seconds)
        if cell is not None:
            cells[name] = cell
    gap, metrics = gpu.utilization_gap, COLUMNS[GAP].metrics
    hours = min((_hours(gpu, metric, report, seconds) for metric in metrics), default=0.0)
    if gap is not None and hours > 0:
        cells[GAP] = Cell(gap, hours)
    return cells


def _sum(gpu: GpuUse, metrics: tuple[str, ...], report: JobReport, seconds: float) -> Cell | None:
    """The sum of the means that are there, over the hours in which all of those were measured."""
    there = [(mean, _hours(gpu, name, report, seconds)) for name in metrics if (mean := gpu.mean(name)) is not None]
    if not there or min(hours for _, hours in there) <= 0:
        return None
    return Cell(sum(mean for mean, _ in there), min(hours for _, hours in there))


def _hours(gpu: GpuUse, metric: str, report: JobReport, seconds: float) -> float:
    """GPU-hours in which a metric was measured; a summary knows no samples, and is of the whole run."""
    use, hours = gpu.metrics.get(metric), gpu.hours or GpuHours(0.0)
    if use is None or use.mean is None:
        return 0.0
    if use.samples is None:
        return hours.measured
    return hours.allocated * min(1.0, coverage(use.samples, seconds, report.interval_seconds) or 0.0)


def _found(gpu: GpuUse, facts: JobFacts, *, works: bool) -> tuple[str, ...]:
    """The diagnoses of one device; idle beside working ones is unbalanced."""
    found = diagnose(metric_row(gpu, facts), facts.limits)
    if "idle" in found:
        return ("unbalanced",) if works else ("idle",)
    is_still = gpu.is_idle is False and (gpu.idle_share or 0.0) >= facts.limits.mostly_idle
    return (*found, "mostly_idle") if is_still else found


def _of_job(facts: JobFacts) -> tuple[str, ...]:
    return tuple(name for name in OF_JOBS if _may_hold(name, facts) and FINDINGS[name](facts) is not None)


def _may_hold(name: str, facts: JobFacts) -> bool:
    """A quick look first: most jobs are out of the question."""
    use = facts.report.utilization.value
    if name == "fragmented":
        return len(facts.job.nodes) > 1
    return use is not None and 0 < use <= facts.limits.powerful_utilization
