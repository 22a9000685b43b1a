"""Which of the measured devices are the job's: by its label, by Slurm's indices, or by the node alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from data.efficiency import device_mean, idle_share
from data.metrics.registry import METRICS
from data.model import Device, Job, JoinMethod, WindowStat
from data.report.allocation import Allocation
from data.report.model import MetricUse, Swing

Inventory = Mapping[tuple[str, int], Device]
_NEAR_EDGE_SAMPLES = 2  # a neighbor's samples at the edges of the window do not make a device shared


@dataclass(frozen=True, slots=True)
class JoinedDevice:
    """`device` None = an estimate of one of the node's devices."""

    node: str
    device: Device | None
    metrics: Mapping[str, MetricUse]
    join: JoinMethod
    is_shared: bool = False
    swing: Swing | None = None


@dataclass(frozen=True, slots=True)
class OwnDevice:
    """A device that is known to be the job's alone, by its label, and what was measured of it."""

    device: Device
    metrics: Mapping[str, MetricUse]
    swing: Swing | None = None


@dataclass(slots=True)
class _Seen:
    device: Device
    own: dict[str, WindowStat] = field(default_factory=dict)
    unlabeled: dict[str, WindowStat] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)

    def add(self, stat: WindowStat, labels: frozenset[str]) -> None:
        if stat.job_label is None:
            _keep_larger(self.unlabeled, stat)
        elif stat.job_label in labels:
            _keep_larger(self.own, stat)
        else:
            self.others[stat.metric] = self.others.get(stat.metric, 0) + stat.count


def join_devices(
    job: Job,
    allocation: Allocation,
    stats: Iterable[WindowStat],
    *,
    expected: int | None,
    inventory: Inventory | None = None,
) -> tuple[JoinedDevice, ...]:
    """Pick the job's devices out of `stats`, node by node, by the best way that the node allows."""
    seen = _by_node(stats, job.labels)
    indices = _indices(job)
    joined: list[JoinedDevice] = []
    for node in sorted(seen, key=lambda name: _order(allocation.nodes, name)):
        devices = sorted(seen[node], key=lambda one: _device_order(one.device))
        labeled = [one for one in devices if one.own]
        if labeled:
            joined += [_labeled(one, expected) for one in labeled]
        elif node in allocation.nodes:
            joined += _unlabeled(node, devices, allocation, indices.get(node), inventory)
    return tuple(joined)


def own_devices(devices: Iterable[OwnDevice], allocation: Allocation) -> tuple[JoinedDevice, ...]:
    """What `join_devices` makes of statistics that are all of the job's own label."""
    nodes = allocation.nodes
    order = sorted(devices, key=lambda one: (_order(nodes, one.device.node), _device_order(one.device)))
    return tuple(
        JoinedDevice(one.device.node, one.device, one.metrics, JoinMethod.JOB_LABEL, swing=one.swing) for one in order
    )


def _unlabeled(
    node: str,
    devices: Sequence[_Seen],
    allocation: Allocation,
    indices: tuple[int, ...] | None,
    inventory: Inventory | None,
) -> list[JoinedDevice]:
    free = [one for one in devices if one.unlabeled]
    if indices:
        by_index = [one for one in free if _holds(one.device, node, indices, devices, inventory)]
        if by_index:
            return [JoinedDevice(node, one.device, _uses(one.unlabeled), JoinMethod.INDEX) for one in by_index]
    count = allocation.by_node.get(node, 0)
    if not count or not free:
        return []
    if len(free) <= count:
        return [JoinedDevice(node, one.device, _uses(one.unlabeled), JoinMethod.NODE_ESTIMATE) for one in free]
    estimate = _average([_uses(one.unlabeled) for one in free])
    return [JoinedDevice(node, None, estimate, JoinMethod.NODE_ESTIMATE) for _ in range(count)]


def _labeled(seen: _Seen, expected: int | None) -> JoinedDevice:
    uses = _uses({**seen.unlabeled, **seen.own})
    is_shared = any(
        _overlaps(seen.own[name].count, count, expected) for name, count in seen.others.items() if name in seen.own
    )
    return JoinedDevice(seen.device.node, seen.device, uses, JoinMethod.JOB_LABEL, is_shared)


def _overlaps(own: int, others: int, expected: int | None) -> bool:
    if expected is None:
        return others > _NEAR_EDGE_SAMPLES
    return own + others > expected + _NEAR_EDGE_SAMPLES


def _holds(
    device: Device, node: str, indices: tuple[int, ...], devices: Sequence[_Seen], inventory: Inventory | None
) -> bool:
    if inventory is not None and any((node, index) in inventory for index in indices):
        return any(inventory[node, index].key == device.key for index in indices if (node, index) in inventory)
    if any(one.device.slice_id is not None for one in devices):
        return False  # Slurm counts slices in its own order
    return (device.index if device.minor is None else device.minor) in indices


def _uses(stats: Mapping[str, WindowStat]) -> dict[str, MetricUse]:
    return {name: _use(stat) for name, stat in stats.items()}


def _use(stat: WindowStat) -> MetricUse:
    return metric_use(stat.metric, stat.sum, stat.count, stat.minimum, stat.maximum, stat.idle_count)


def metric_use(
    metric: str, total: float, count: int, minimum: float | None, maximum: float | None, idle: int | None
) -> MetricUse:
    """One metric of one device from its statistics."""
    facts = METRICS.get(metric)
    if facts is not None and facts.is_counter:
        return MetricUse(None, samples=count, total=total if count else None)
    if not count:
        return MetricUse(None, samples=0)
    share = None if facts is None or facts.idle_epsilon is None else idle_share(idle, count)
    return MetricUse(device_mean(total, count), minimum, maximum, count, share)


def _average(devices: Sequence[Mapping[str, MetricUse]]) -> dict[str, MetricUse]:
    """One device that stands for any of these: means of means, the widest bounds, the fewest samples."""
    names = {name for uses in devices for name in uses}
    return {name: _average_use([uses[name] for uses in devices if name in uses]) for name in sorted(names)}


def _average_use(uses: Sequence[MetricUse]) -> MetricUse:
    return MetricUse(
        _mean([use.mean for use in uses]),
        min((use.minimum for use in uses if use.minimum is not None), default=None),
        max((use.maximum for use in uses if use.maximum is not None), default=None),
        min((use.samples for use in uses if use.samples is not None), default=None),
        _mean([use.idle_share for use in uses]),
        _mean([use.total for use in uses]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _by_node(stats: Iterable[WindowStat], labels: frozenset[str]) -> dict[str, list[_Seen]]:
    seen: dict[tuple[str, str, str], _Seen] = {}
    for stat in stats:
        if stat.device is not None:
            seen.setdefault(stat.device.key, _Seen(stat.device)).add(stat, labels)
    by_node: defaultdict[str, list[_Seen]] = defaultdict(list)
    for one in seen.values():
        by_node[one.device.node].append(one)
    return by_node


def _indices(job: Job) -> dict[str, tuple[int, ...]]:
    indices: dict[str, tuple[int, ...]] = {}
    for held in job.devices:
        if held.gpu_indices:
            indices[held.node] = indices.get(held.node, ()) + held.gpu_indices
    return indices


def _keep_larger(stats: dict[str, WindowStat], stat: WindowStat) -> None:
    """Two series of one device and metric are the same thing twice: the fuller one counts."""
    known = stats.get(stat.metric)
    if known is None or stat.count > known.count:
        stats[stat.metric] = stat


def _order(nodes: tuple[str, ...], node: str) -> tuple[int, str]:
    return (nodes.index(node) if node in nodes else len(nodes), node)


def _device_order(device: Device) -> tuple[int, str, str]:
    return (1 << 30 if device.index is None else device.index, device.slice_id or "", device.key[1])
