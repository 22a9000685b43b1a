"""The GPUs of a job as rows for the diagnosis, and how they are named in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from data import words
from data.findings.diagnosis import DIAGNOSES, MetricRow
from data.findings.facts import JobFacts
from data.report import GpuUse

_MOST_NODES = 3
_ROWS = "rows"


def metric_row(gpu: GpuUse, facts: JobFacts) -> MetricRow:
    return MetricRow(
        gpu.means,
        gpu.utilization,
        gpu.idle_share,
        gpu.model,
        facts.report.gpu_count,
        facts.cpu_utilization,
        gpu.swing,
        gpu.is_slice,
    )


def gpus_with(facts: JobFacts, diagnosis: str) -> tuple[GpuUse, ...]:
    """The soundly measured GPUs for which a diagnosis holds."""
    holds = DIAGNOSES[diagnosis]
    return tuple(gpu for gpu, row in _sound_rows(facts) if holds(row, facts.limits))


def _sound_rows(facts: JobFacts) -> tuple[tuple[GpuUse, MetricRow], ...]:
    """Made once for all findings about a job."""
    known = facts.kept.get(_ROWS)
    if known is None:
        known = facts.kept[_ROWS] = tuple((gpu, metric_row(gpu, facts)) for gpu in facts.sound_gpus)
    return known


def how_many(part: Sequence[GpuUse], facts: JobFacts) -> str:
    """ "6 of 8 GPUs", or "1 of 1 GPU" as "the GPU"."""
    count = facts.report.gpu_count
    return "the GPU" if count == 1 else words.of(len(part), count, "GPU")


def never_used(part: Sequence[GpuUse], facts: JobFacts) -> str:
    """ "6 of 8 GPUs were never used"."""
    count = facts.report.gpu_count
    if count == 1:
        return "The GPU was never used"
    if len(part) == count:
        return f"None of the {len(part)} GPUs was ever used"
    return f"{how_many(part, facts)} {'was' if len(part) == 1 else 'were'} never used"


def on_which(title: str, part: Sequence[GpuUse], facts: JobFacts) -> str:
    """The title, with the number of GPUs where it does not hold for all of them."""
    return title if len(part) == facts.report.gpu_count else f"{title} on {how_many(part, facts)}"


def names(part: Sequence[GpuUse]) -> str:
    """ "GPU 2–7", or with the node where there are several: "h014 GPU 0–7, h015 GPU 1"."""
    by_node: dict[str, list[int]] = {}
    for gpu in part:
        index = gpu.device.index if gpu.device else None
        by_node.setdefault(gpu.node, []).extend([] if index is None else [index])
    if len(by_node) == 1:
        return _of_node(*next(iter(by_node.items())), with_node=False)
    shown = [_of_node(node, found, with_node=True) for node, found in list(by_node.items())[:_MOST_NODES]]
    more = len(by_node) - len(shown)
    return ", ".join(shown) + (f" and {words.count(more, 'more node')}" if more else "")


def mean_of(part: Sequence[GpuUse], metric: str) -> float | None:
    values = [value for gpu in part if (value := gpu.mean(metric)) is not None]
    return sum(values) / len(values) if values else None


def use_of(part: Sequence[GpuUse], limit: float | None = None) -> str:
    """The mean utilization under its own name: "UTIL 37 %", finer near `limit`."""
    values = [gpu.utilization for gpu in part if gpu.utilization is not None]
    label = "GR" if part and part[0].utilization_metric == "graphics_engine_activity" else "UTIL"
    return f"{label} {words.percent(sum(values) / len(values) if values else None, limit=limit)}"


def wasted_hours(part: Sequence[GpuUse]) -> float | None:
    known = [gpu.hours.wasted for gpu in part if gpu.hours is not None and gpu.hours.wasted is not None]
    return sum(known) if known else None


def _of_node(node: str, indices: list[int], *, with_node: bool) -> str:
    text = f"GPU {words.runs(indices)}" if indices else "GPU"
    return f"{node} {text}" if with_node else text
