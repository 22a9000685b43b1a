"""A job that a MIG slice or a smaller GPU would serve as well."""

from __future__ import annotations

from data import words
from data.findings import rows
from data.findings.facts import GpuOffer, JobFacts
from data.findings.registry import Finding, finding
from data.findings.sbatch import GIB, change, gpu_lines, plus
from data.report import GpuUse

_SMALLER = 0.95  # a card's own memory reads a little less than its name


@finding("too_powerful")
def too_powerful(facts: JobFacts) -> Finding | None:
    """Little of the GPU, its memory, the cores and the host memory was used, for long enough to know."""
    gpus = facts.sound_gpus
    if not facts.are_all_gpus_sound or not _is_small(facts, gpus):
        return None
    peak = max(gpu.memory.used or 0.0 for gpu in gpus)
    offer = _smallest(facts, gpus, peak)
    if offer is None:
        return None
    memory = facts.report.memory.used
    return Finding(
        "too_powerful",
        f"A smaller GPU would do: {words.percent(facts.report.utilization.value)} used",
        f"{rows.use_of(gpus)}, GPU MEM at most {words.gib(peak)}, host memory {words.gib(memory)}.",
        f"Ask for {'a MIG slice' if offer.is_slice else 'a smaller GPU'} ({offer.type}): it serves as well.",
        _lines(facts, offer),
        gpu_hours=rows.wasted_hours(gpus),
    )


def _is_small(facts: JobFacts, gpus: tuple[GpuUse, ...]) -> bool:
    limits, report = facts.limits, facts.report
    use, memory, cores = report.utilization.value, report.memory.used, facts.job.allocated.cpus
    peaks = [gpu.memory.used for gpu in gpus]
    slice_cores = _cores_of_slice(facts)
    if use is None or memory is None or cores is None or slice_cores is None or None in peaks:
        return False
    if facts.job.state == "OUT_OF_MEMORY" or any(gpu.is_slice for gpu in gpus) or not facts.are_hosts_sound:
        return False
    return (
        0 < use <= limits.powerful_utilization
        and all(peak is not None and peak <= limits.powerful_gpu_memory_gib * GIB for peak in peaks)
        and memory <= limits.powerful_memory_per_gpu_gib * GIB * len(gpus)
        and cores <= slice_cores * len(gpus)
        and (report.elapsed_seconds or 0.0) >= limits.powerful_seconds
    )


def _cores_of_slice(facts: JobFacts) -> float | None:
    """What comes with a slice: the setting, else the smallest slice's share of a node, but never under one core."""
    if facts.limits.slice_cores is not None:
        return facts.limits.slice_cores
    cores, gpus = facts.partition.cores_per_node, facts.partition.gpus_per_node
    weights = [offer.weight for offer in facts.partition.offers if offer.is_slice]
    if not cores or not gpus:
        return None
    return max(1.0, cores / gpus * min(weights, default=1.0))


def _smallest(facts: JobFacts, gpus: tuple[GpuUse, ...], peak: float) -> GpuOffer | None:
    """The smallest offer that holds the peak and is smaller than what the job has; None = there is none."""
    own = max((gpu.memory.given or (gpu.model.memory_bytes if gpu.model else 0.0)) for gpu in gpus)
    fitting = [
        (offer.memory_bytes, offer.weight, offer.type, offer)
        for offer in facts.partition.offers
        if offer.memory_bytes is not None and peak < offer.memory_bytes < own * _SMALLER
    ]
    return min(fitting)[-1] if fitting else None


def _lines(facts: JobFacts, offer: GpuOffer) -> tuple[str, ...]:
    """Lines for a job with one GPU; several processes may need one slice each, which only the user knows."""
    if facts.report.gpu_count != 1:
        return ()
    old = gpu_lines(facts.job, 1)[:1]
    lines = (*old, plus("gres", f"gpu:{offer.type}:1"))
    if offer.partition and offer.partition != facts.job.partition and facts.job.partition:
        lines += change("partition", facts.job.partition, offer.partition)
    return lines
