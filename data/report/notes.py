"""What a reader of a report should know besides its numbers, in words."""

from __future__ import annotations

from data import js1
from data.report.gpus import Period
from data.report.model import JobReport, UseSource

_SUMMARY_TOLERANCE = 0.1  # a summary is written shortly before the end of a job
_SUMMARY_SECONDS = 120.0


def summary_faults(summary: js1.Summary, period: Period) -> tuple[str, ...]:
    said, ran = summary.elapsed_seconds, period.elapsed_seconds
    if not said or ran is None or abs(said - ran) <= max(_SUMMARY_SECONDS, _SUMMARY_TOLERANCE * ran):
        return ()
    return (f"The JS1 summary is of {said:.0f} s and this attempt ran {ran:.0f} s: it may be of another attempt.",)


def notes_of(decoded: js1.Decoded, report: JobReport) -> tuple[str, ...]:
    notes = []
    if decoded.outcome is js1.Outcome.DAMAGED:
        notes.append(f"JS1 summary damaged: {decoded.reason}.")
    if decoded.outcome is js1.Outcome.TOO_SHORT:
        notes.append("JS1 summary: the job was too short to be measured.")
    if decoded.outcome is js1.Outcome.NO_DATA:
        notes.append("JS1 summary: no data were found for this job.")
    if decoded.summary is not None and decoded.summary.dropped:
        notes.append(f"JS1 summary: {decoded.summary.dropped} impossible values were left out.")
    if report.gpu_count is None and report.job.start_time is not None:  # a job that waits holds nothing yet
        notes.append("Slurm does not say how many GPUs the job has: gres/gpu is not in AccountingStorageTRES.")
    if report.gpu_source is UseSource.SERIES and report.interval_seconds is None:
        notes.append("The scrape interval is not known, so neither is the coverage.")
    if any(not row.is_weight_known for row in report.allocated_gpus):
        notes.append("The profile of a MIG slice is not known: it counts as a whole GPU.")
    if report.gpu_source is UseSource.SLURM:
        notes.append("GPU use is Slurm's gres/gpuutil: the highest sample of each task, so at most this.")
    if report.host_source is UseSource.SLURM:
        notes.append("CPU and memory are from Slurm's accounting: memory is the peak of the largest step.")
    return tuple(notes)
