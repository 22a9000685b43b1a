"""What readings say of whole nodes: everything idle at once, XID errors, exporters that were away. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from data.metrics.registry import METRICS
from data.model import Gpu
from policy.asks import GR, UTIL, XID
from policy.gather import DeviceSums, Sums, Whole
from policy.model import Doubt, Trouble
from policy.nodes import NodeDevice, bracket, is_suspicious, xid_trouble, zero_trouble

ByNode = Mapping[str, Sequence[Gpu]]


def by_node(gpus: Iterable[Gpu]) -> ByNode:
    found: dict[str, list[Gpu]] = defaultdict(list)
    for gpu in gpus:
        found[gpu.device.node].append(gpu)
    return found


def nodes_of(wholes: Iterable[Whole]) -> frozenset[str]:
    return frozenset(gpu.device.node for whole in wholes for gpu in whole.gpus)


def suspicious_nodes(nodes: Iterable[str], gpus: ByNode, sums: Sums) -> frozenset[str]:
    """Nodes on which everything is idle now."""
    return frozenset(node for node in nodes if is_suspicious(node_devices(gpus.get(node, ()), sums)))


def node_devices(gpus: Sequence[Gpu], sums: Sums) -> list[NodeDevice]:
    """The measured devices of a node, and when they turned idle as far as the windows of `sums` tell."""
    found = []
    for gpu in gpus:
        highs = _highs(sums.of(gpu), gpu.device.is_slice)
        if highs:
            epsilon = METRICS[GR if gpu.device.is_slice else UTIL].idle_epsilon or 0.0
            is_idle, turned = bracket(highs, epsilon)
            found.append(NodeDevice(gpu.device.label, frozenset(gpu.job_ids), is_idle, turned))
    return found


def troubles_of(whole: Whole, gpus: ByNode, first: Sums, more: Sums, run_seconds: float) -> list[Trouble]:
    """What forbids acting on a job, on any of its nodes, shortest window first."""
    found: list[Trouble] = []
    every = first.interval_seconds or 0.0
    own_ids = frozenset(part.job_id for part in whole.parts)
    for node in sorted({gpu.device.node for gpu in whole.gpus}):
        here = gpus.get(node, ())
        zero = zero_trouble(node, node_devices(here, more), own_ids, run_seconds, every)
        if zero is not None:
            found.append(zero)
        found += [one for gpu in here for one in _xids(node, gpu, more.of(gpu))]
        if node in more.restarts:
            text = f"the exporter of {node} was away or began anew"
            found.append(Trouble(Doubt.RESTART, node, text, more.restarts[node]))
    return sorted(found, key=lambda one: one.window_seconds)


def _xids(node: str, gpu: Gpu, sums: DeviceSums) -> Iterable[Trouble]:
    for (metric, window), rows in sums.items():
        if metric == XID:
            lows = [row.minimum for row in rows if row.minimum is not None]
            highs = [row.maximum for row in rows if row.maximum is not None]
            low, high = min(lows, default=None), max(highs, default=None)
            trouble = xid_trouble(node, gpu.device.label, low, high, window)
            if trouble is not None:
                yield trouble


def _highs(sums: DeviceSums, is_slice: bool) -> list[tuple[float, float | None]]:
    """The largest value of a device in each window that was read, whatever job it was, shortest window first."""
    names = {GR} if is_slice or not any(metric == UTIL for metric, _ in sums) else {UTIL}
    highs: dict[float, float | None] = {}
    for (metric, window), rows in sums.items():
        known = [row.maximum for row in rows if row.maximum is not None]
        if metric in names and known:
            highs[window] = max(known)
    return sorted(highs.items())
