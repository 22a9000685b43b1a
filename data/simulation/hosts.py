"""What jobs use of their nodes' processors and memory, as a cgroup exporter sees it: per (job, node)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from data.simulation.chance import Floats, Ints
from data.simulation.describe import COMPANION_SHARE, Share, lane_of, share_of
from data.simulation.hardware import Machine
from data.simulation.sampling import lay, lay_edges
from data.simulation.spans import without
from data.simulation.world import Ref, World, has_companion

HOST_METRICS = ("cpu_seconds", "memory_used_bytes", "memory_allocated_bytes", "allocated_cores")


@dataclass(frozen=True, slots=True)
class HostSpan:
    """One job on one node within a window; `begin` and `stop` are the job's own, `start` and `end` cut to it."""

    machine: Machine
    label: str
    start: float
    end: float
    begin: float
    share: Share
    suspended: tuple[float, float]
    seen: tuple[tuple[float, float], ...] = ()


def host_spans(
    world: World,
    start: float,
    end: float,
    labels: frozenset[str] | None = None,
    nodes: frozenset[str] | None = None,
) -> list[HostSpan]:
    """Jobs on nodes in the window, by job label or node (None = no limit)."""
    spans = host_spans_of(world, world.overlapping(start, end), start, end)
    return [
        span
        for span in spans
        if (labels is None and nodes is None) or span.label in (labels or ()) or span.machine.name in (nodes or ())
    ]


def host_spans_of(world: World, refs: Iterable[Ref], start: float, end: float) -> list[HostSpan]:
    """These attempts on their nodes, cut to the time."""
    gaps = world.faults.source_gaps(start, end)
    down: dict[str, list[tuple[float, float]]] = {}
    for fault in world.faults.between("down", start, end):
        down.setdefault(fault.node, []).append((fault.start, fault.end))
    spans = []
    for ref in refs:
        jobs, row, share = ref.epoch.jobs, ref.row, share_of(ref)
        job_id, begin = int(jobs.job_id[row]), float(jobs.start[row])
        first, last = max(start, begin), min(end, float(jobs.end[row]))
        suspended = (float(jobs.suspend_from[row]), float(jobs.suspend_to[row]))
        parts = [(machine, str(job_id), share) for machine, _ in lane_of(ref).places]
        companion = ref.epoch.group.companion
        if companion is not None and has_companion(ref):
            parts.append((companion, str(job_id + 1), COMPANION_SHARE))
        for machine, label, part in parts:
            holes = sorted([*gaps, *down.get(machine.name, ())])
            seen = tuple(without((first, last), holes))
            spans.append(HostSpan(machine, label, first, last, begin, part, suspended, seen))
    return spans


def host_samples(world: World, span: HostSpan) -> Floats:
    """Times at which the node's cgroup exporter was scraped."""
    _, times = lay(world, [(0, span.machine, spell) for spell in span.seen])
    return times


def all_host_samples(world: World, spans: Sequence[HostSpan]) -> tuple[Ints, Floats]:
    """Samples of many jobs on nodes: (place in `spans`, time), span by span in time order."""
    return lay(world, [(row, span.machine, spell) for row, span in enumerate(spans) for spell in span.seen])


def host_sample_edges(world: World, spans: Sequence[HostSpan]) -> tuple[Ints, Ints, Floats, Floats]:
    """Spans with samples, how many they have, and the times of the first and the last one."""
    return lay_edges(world, [(row, span.machine, spell) for row, span in enumerate(spans) for spell in span.seen])


def all_host_values(spans: Sequence[HostSpan], metric: str, at: Ints, times: Floats) -> Floats:
    """What `host_values` gives, for samples of many spans."""

    def column(values: Iterable[float]) -> Floats:
        return np.fromiter(values, np.float64, len(spans))[at]

    if metric == "cpu_seconds":
        off, on = column(span.suspended[0] for span in spans), column(span.suspended[1] for span in spans)
        running = times - column(span.begin for span in spans) - np.clip(times, off, on) + off
        return np.round(column(span.share.cores * span.share.cpu_use for span in spans) * running, 3)
    if metric == "memory_used_bytes":
        grown = _memory_share(times - column(span.begin for span in spans))
        return np.floor(column(span.share.memory_used_bytes for span in spans) * grown / 4096) * 4096
    return column(span.share.memory_bytes if metric == "memory_allocated_bytes" else span.share.cores for span in spans)


def host_values(span: HostSpan, metric: str, times: Floats) -> Floats:
    """What the exporter shows; `cpu_seconds` is a counter since the job's start."""
    if metric == "cpu_seconds":
        return np.round(span.share.cores * span.share.cpu_use * running_seconds(span, times), 3)
    if metric == "memory_used_bytes":
        return np.floor(span.share.memory_used_bytes * _memory_share(times - span.begin) / 4096) * 4096
    return np.full(
        len(times), float(span.share.memory_bytes if metric == "memory_allocated_bytes" else span.share.cores)
    )


def _memory_share(since: Floats) -> Floats:
    """Share of its most memory that a job uses: filled in ten minutes, and a little more from hour to hour. It never
    becomes less, so that the last sample is the largest."""
    share: Floats = np.clip(since / 600, 0.1, 1) * (1 - 0.04 * np.exp(-since / 7200))
    return share


def running_seconds(span: HostSpan, times: Floats) -> Floats:
    """Seconds run by each time, suspended ones left out."""
    off, on = span.suspended
    result: Floats = times - span.begin - np.clip(times, off, on) + off
    return result
