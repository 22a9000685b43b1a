"""Rows of a job's GPUs: the seen ones, and a row for every allocated one that was not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from data import js1
from data.efficiency import Weight, coverage, device_hours, slice_profile
from data.model import Device, JoinMethod, Series
from data.report.allocation import Allocation, missing_places, weight_of
from data.report.join import JoinedDevice
from data.report.model import GpuUse, MetricUse, Swing, utilization_metric


@dataclass(frozen=True, slots=True)
class Period:
    """The span that rows are about. `seconds` is the wall time within the window, `share` its part of the
    attempt's wall time, `elapsed_seconds` the time run (suspended time left out)."""

    seconds: float
    share: float
    elapsed_seconds: float | None
    interval_seconds: float | None


def gpu_rows(
    joined: Sequence[JoinedDevice], allocation: Allocation, period: Period, *, is_summary: bool = False
) -> tuple[GpuUse, ...]:
    """Make the rows. Seen devices beyond what Slurm gave are kept and marked as not allocated; allocated GPUs
    that were not seen are rows without metrics. `is_summary` = the means are of the whole job, without samples."""
    seen: Counter[str] = Counter()
    rows: list[GpuUse] = []
    for one in joined:
        is_given = _is_given(one.node, seen, len(rows), allocation)
        seen[one.node] += is_given
        weight, name = _weight(one, allocation, seen[one.node] - 1, is_given)
        rows.append(_row(one, period, weight, name, is_given=is_given, is_summary=is_summary))
    rows += _unseen(allocation, seen, period)
    order = {node: place for place, node in enumerate(allocation.nodes)}
    return tuple(sorted(rows, key=lambda row: order.get(row.node, len(order))))


def js1_devices(summary: js1.Summary) -> tuple[JoinedDevice, ...]:
    """The GPUs that a summary lists, by minor number."""
    return tuple(
        JoinedDevice(
            node.node, Device(node.node, index=gpu.minor, minor=gpu.minor), _js1_uses(gpu), JoinMethod.JOB_LABEL
        )
        for node in summary.nodes
        for gpu in node.gpus
    )


def with_swings(rows: Sequence[GpuUse], series: Iterable[Series], *, low: float, high: float) -> tuple[GpuUse, ...]:
    """Add how much of each row's utilization was at most `low` and at least `high`, where there are series."""
    samples: dict[tuple[tuple[str, str, str], str], list[float]] = {}
    for one in series:
        if one.device is not None:
            samples.setdefault((one.device.key, one.metric), []).extend(one.values)
    return tuple(_with_swing(row, samples, low, high) for row in rows)


def _with_swing(
    row: GpuUse, samples: Mapping[tuple[tuple[str, str, str], str], list[float]], low: float, high: float
) -> GpuUse:
    values = samples.get((row.device.key, row.utilization_metric or "")) if row.device else None
    if not values:
        return row
    at_low, at_high = sum(value <= low for value in values), sum(value >= high for value in values)
    return replace(row, swing=Swing(at_low / len(values), at_high / len(values)))


def _is_given(node: str, seen: Counter[str], before: int, allocation: Allocation) -> bool:
    """Whether Slurm gave the job one more device on `node`. `before` bounds from above how many it had so far."""
    if allocation.total is None:
        return True
    if node not in allocation.nodes:
        return False
    if _is_shard(node, allocation):
        return seen[node] < allocation.shards[node]
    if seen[node] >= allocation.by_node.get(node, allocation.total):
        return False
    return before < allocation.total or seen.total() < allocation.total


def _is_shard(node: str, allocation: Allocation) -> bool:
    return bool(allocation.shards.get(node)) and not allocation.by_node.get(node, allocation.total or 0)


def _weight(one: JoinedDevice, allocation: Allocation, position: int, is_given: bool) -> tuple[Weight, str | None]:
    name = allocation.type_at(one.node, max(0, position))
    if not is_given or _is_shard(one.node, allocation):
        return Weight(0.0), name
    return weight_of(one.device, name), name


def _row(
    one: JoinedDevice, period: Period, weight: Weight, name: str | None, *, is_given: bool, is_summary: bool
) -> GpuUse:
    use = _utilization(one)
    share = None if is_summary else coverage(use.samples if use else 0, period.seconds, period.interval_seconds)
    measured = 1.0 if is_summary else None if share is None else min(1.0, share) * period.share
    mean, idle = (use.mean, use.idle_share) if use else (None, None)
    return GpuUse(
        one.node,
        one.device,
        name,
        is_slice=_is_slice(one.device, name),
        metrics=one.metrics,
        coverage=share,
        weight=weight.value,
        is_weight_known=weight.is_known,
        hours=device_hours(period.elapsed_seconds, measured_share=measured, mean=mean, idle=idle, weight=weight.value),
        join=one.join,
        is_allocated=is_given,
        is_shared=one.is_shared or (is_given and weight.value == 0),
        swing=one.swing,
    )


def _utilization(one: JoinedDevice) -> MetricUse | None:
    name = utilization_metric(one.metrics, one.device)
    return None if name is None else one.metrics[name]


def _unseen(allocation: Allocation, seen: Counter[str], period: Period) -> list[GpuUse]:
    rows = []
    for node in missing_places(allocation, seen):
        name = allocation.type_at(node, seen[node])
        seen[node] += 1
        weight = weight_of(None, name)
        row = GpuUse(node, None, name, _is_slice(None, name), weight=weight.value, is_weight_known=weight.is_known)
        hours = device_hours(period.elapsed_seconds, measured_share=None, mean=None, idle=None, weight=weight.value)
        rows.append(replace(row, coverage=coverage(0, period.seconds, period.interval_seconds), hours=hours))
    return rows


def _is_slice(device: Device | None, name: str | None) -> bool:
    if device is not None and (device.slice_id is not None or device.slice_profile):
        return True
    return slice_profile(name) is not None


def _js1_uses(gpu: js1.GpuSummary) -> dict[str, MetricUse]:
    uses = {}
    if gpu.utilization is not None:
        # A mean of 0 is idle throughout; any other mean says nothing of how long the GPU was idle.
        uses["gpu_utilization"] = MetricUse(gpu.utilization, idle_share=1.0 if gpu.utilization == 0 else None)
    if gpu.memory_used_bytes is not None:
        uses["gpu_memory_used_bytes"] = MetricUse(None, maximum=float(gpu.memory_used_bytes))
    if gpu.memory_total_bytes is not None:
        total = float(gpu.memory_total_bytes)
        uses["gpu_memory_total_bytes"] = MetricUse(total, total, total)
    return uses
