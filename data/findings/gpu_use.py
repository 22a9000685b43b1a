"""GPUs that were held and not used, or kept waiting."""

from __future__ import annotations

from collections.abc import Sequence

from data import words
from data.findings import rows
from data.findings.facts import JobFacts
from data.findings.registry import Finding, finding
from data.findings.sbatch import gpu_lines
from data.report import GpuUse

_LAUNCHER = "Start one process per GPU, or ask for {busy}."
_IDLE = (
    "Check that the program selects the GPU, that its libraries are not built for CPUs only, and that it is not "
    "waiting for input. If it needs no GPU, leave the --gres line out."
)

_STILL = (
    "See in the series when it went idle. End the job when its work is done, and give steps without GPU work, such "
    "as preparing data, a job of their own."
)


@finding("idle")
def idle(facts: JobFacts) -> Finding | None:
    """Every GPU that was measured did nothing."""
    unused = rows.gpus_with(facts, "idle")
    if not unused or len(unused) != len(facts.report.measured_gpus):
        return None
    title = rows.never_used(unused, facts)
    return Finding("idle", title, _evidence(unused, facts), _IDLE, gpu_hours=rows.wasted_hours(unused))


@finding("unbalanced")
def unbalanced(facts: JobFacts) -> Finding | None:
    """Some GPUs did nothing while others worked."""
    unused = rows.gpus_with(facts, "idle")
    busy = len(facts.sound_gpus) - len(unused)
    if not unused or not any(gpu.is_idle is False for gpu in facts.sound_gpus):
        return None
    title = rows.never_used(unused, facts)
    lines = gpu_lines(facts.job, busy) if facts.are_all_gpus_sound else ()
    advice = _LAUNCHER.format(busy=words.count(busy, "GPU"))
    if not facts.are_all_gpus_sound:
        advice = "Start one process per GPU, or ask for fewer GPUs."
    return Finding("unbalanced", title, _evidence(unused, facts), advice, lines, gpu_hours=rows.wasted_hours(unused))


@finding("mostly_idle")
def mostly_idle(facts: JobFacts) -> Finding | None:
    """GPUs that did work, and stood still for most of the time: idle after a busy start, or between bursts."""
    limit = facts.limits.mostly_idle
    still = tuple(gpu for gpu in facts.sound_gpus if gpu.is_idle is False and (gpu.idle_share or 0.0) >= limit)
    if not still:
        return None
    shares = [gpu.idle_share for gpu in still if gpu.idle_share is not None]
    idle_hours = sum(gpu.hours.idle or 0.0 for gpu in still if gpu.hours is not None)
    evidence = (
        f"{rows.names(still)}: no kernel ran in {words.percent(sum(shares) / len(shares))} of the samples of "
        f"{words.duration(facts.report.elapsed_seconds)}, {words.gpu_hours(idle_hours)} idle."
    )
    return Finding(
        "mostly_idle", rows.on_which("Idle most of the time", still, facts), evidence, _STILL, gpu_hours=idle_hours
    )


@finding("input_bound")
def input_bound(facts: JobFacts) -> Finding | None:
    """The GPUs wait for data."""
    waiting = rows.gpus_with(facts, "input_bound")
    if not waiting:
        return None
    cpu = facts.cpu_utilization
    parts = [f"{rows.names(waiting)}: {rows.use_of(waiting, facts.limits.input_utilization)}"]
    if swings := [gpu.swing for gpu in waiting if gpu.swing is not None]:
        low = sum(swing.low_share for swing in swings) / len(swings)
        high = sum(swing.high_share for swing in swings) / len(swings)
        limits = facts.limits
        parts.append(
            f"{words.percent(low)} of samples at most {words.percent(limits.swing_low)} and "
            f"{words.percent(high)} at least {words.percent(limits.swing_high)}"
        )
    if cpu is not None:
        parts.append(f"CPU {words.percent(cpu)} of {_cores(facts)}")
    return Finding(
        "input_bound",
        rows.on_which("Input-bound", waiting, facts),
        "; ".join(parts) + ".",
        "Give the data loader more workers, prefetch, and read from the fastest storage that you have.",
        gpu_hours=rows.wasted_hours(waiting),
    )


def _evidence(unused: Sequence[GpuUse], facts: JobFacts) -> str:
    parts = [f"{rows.names(unused)}: {rows.use_of(unused)}"]
    peaks = [peak for gpu in unused if (peak := gpu.memory.used) is not None]
    if peaks:
        parts.append(f"GPU MEM at most {words.gib(max(peaks))}")
    parts.append(f"in {words.duration(facts.report.elapsed_seconds)}, {words.gpu_hours(rows.wasted_hours(unused))}")
    missing = (facts.report.gpu_count or 0) - len(facts.sound_gpus)
    more = f" {words.count(missing, 'GPU')} not measured well enough to say." if missing > 0 else ""
    return " ".join((", ".join(parts[:-1]), parts[-1] + "." + more))


def _cores(facts: JobFacts) -> str:
    cores = facts.job.allocated.cpus
    return "the cores" if cores is None else words.count(cores, "core")
