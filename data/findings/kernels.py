"""GPUs that are busy, and what keeps them from doing more."""

from __future__ import annotations

from data import words
from data.findings import rows
from data.findings.diagnosis import link_share
from data.findings.facts import JobFacts
from data.findings.registry import Finding, Severity, finding
from data.metrics.registry import METRICS
from data.report import GpuUse


@finding("small_kernels")
def small_kernels(facts: JobFacts) -> Finding | None:
    """UTIL is high and SM low: a GPU that looks busy and is mostly empty."""
    advice = "Raise the batch size, fuse kernels, use CUDA graphs or torch.compile."
    return _on_gpus(facts, "small_kernels", "Many small kernels", ("sm_activity",), advice)


@finding("low_occupancy")
def low_occupancy(facts: JobFacts) -> Finding | None:
    """SMs are active with few warps on each."""
    advice = "Check the block size and how many registers and how much shared memory each block takes."
    return _on_gpus(facts, "low_occupancy", "Low occupancy", ("sm_activity", "sm_occupancy"), advice)


@finding("no_tensor_cores")
def no_tensor_cores(facts: JobFacts) -> Finding | None:
    """The tensor cores of the model do nothing."""
    advice = "Turn mixed precision on (bf16 or tf32) and choose sizes that are multiples of 8."
    return _on_gpus(facts, "no_tensor_cores", "Tensor cores are not used", ("tensor_activity", "fp64_activity"), advice)


@finding("double_precision")
def double_precision(facts: JobFacts) -> Finding | None:
    """FP64 work on a model that is slow at it."""
    advice = "Check whether the program needs FP64. If it does, ask for a model with full FP64 speed."
    return _on_gpus(
        facts, "double_precision", "Double precision on a GPU that is slow at it", ("fp64_activity",), advice
    )


@finding("memory_bound")
def memory_bound(facts: JobFacts) -> Finding | None:
    """GPU memory is the limit."""
    advice = "Improve the memory layout, fuse operations and reuse what is loaded."
    return _on_gpus(facts, "memory_bound", "Memory-bound", ("dram_activity", "tensor_activity"), advice)


@finding("communication_bound")
def communication_bound(facts: JobFacts) -> Finding | None:
    """The GPUs wait for each other."""
    found = rows.gpus_with(facts, "communication_bound")
    shares = [share for gpu in found if (share := link_share(rows.metric_row(gpu, facts))) is not None]
    if not found or not shares:
        return None
    return Finding(
        "communication_bound",
        rows.on_which("Communication-bound", found, facts),
        f"{rows.names(found)}: {_values(found, ('sm_activity',))}, busiest link at {words.percent(max(shares))} "
        "of its peak.",
        "Place the job on fewer nodes, overlap communication with compute, and use larger gradient buckets.",
        severity=Severity.NOTE,
        gpu_hours=rows.wasted_hours(found),
    )


def _on_gpus(facts: JobFacts, name: str, title: str, metrics: tuple[str, ...], advice: str) -> Finding | None:
    found = rows.gpus_with(facts, name)
    if not found:
        return None
    evidence = f"{rows.names(found)}: {rows.use_of(found)}, {_values(found, metrics)}."
    return Finding(
        name,
        rows.on_which(title, found, facts),
        evidence,
        advice,
        severity=Severity.NOTE,
        gpu_hours=rows.wasted_hours(found),
    )


def _values(found: tuple[GpuUse, ...], metrics: tuple[str, ...]) -> str:
    return ", ".join(f"{METRICS[name].label} {words.percent(rows.mean_of(found, name))}" for name in metrics)
