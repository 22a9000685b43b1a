"""Whose samples are whose: a window's sums by job label, and raw series where a label alone cannot tell. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from data.metrics.registry import METRICS
from data.model import Job, Series, Window, WindowReading, WindowStat
from data.queries.metrics.attempts import span_in

EDGE_INTERVALS = 2


@dataclass(slots=True)
class SortedOut:
    """Statistics of each attempt, by its place in the list. `open` are nodes of attempts whose samples the sums cannot
    tell apart: devices without a job label that changed hands (`bare` nodes), or two attempts under one label
    (`labels`)."""

    stats: list[list[WindowStat]]
    open: dict[int, frozenset[str]] = field(default_factory=dict)
    shared: dict[int, frozenset[tuple[str, str, str]]] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset().union(*self.open.values()) if self.open else frozenset()

    def is_open(self, stat: WindowStat) -> bool:
        """Whether the samples behind a sum must be read to tell whose they are."""
        return stat.device is not None and (stat.node in self.bare or stat.job_label in self.labels)


def sort_out(reading: WindowReading, jobs: Sequence[Job], window: Window) -> SortedOut:
    """Give each attempt its statistics."""
    by_label: defaultdict[str, list[WindowStat]] = defaultdict(list)
    unlabeled: defaultdict[str, list[WindowStat]] = defaultdict(list)
    labeled_nodes: set[str] = set()
    for stat in reading.stats:
        if stat.job_label is not None:
            by_label[stat.job_label].append(stat)
            if stat.device is not None:
                labeled_nodes.add(stat.node)
        elif stat.device is not None:
            unlabeled[stat.node].append(stat)
    rivals = _rivals(jobs)
    slack = EDGE_INTERVALS * (reading.interval_seconds or 30.0)
    found = SortedOut([])
    for place, job in enumerate(jobs):
        own = [stat for label in job.labels for stat in by_label.get(label, ())]
        if place in rivals:
            mine = frozenset(job.nodes)
            contested = mine & rivals[place]
            own = [stat for stat in own if stat.node in mine - contested]
            if contested:
                found.open[place] = contested
                found.labels |= job.labels
        found.stats.append(own + _of_node(found, place, job, own, unlabeled, labeled_nodes, window, slack))
    found.shared = _shared(found.stats, jobs, window, slack)
    return found


def _of_node(
    found: SortedOut,
    place: int,
    job: Job,
    own: Sequence[WindowStat],
    unlabeled: dict[str, list[WindowStat]],
    labeled_nodes: set[str],
    window: Window,
    slack: float,
) -> list[WindowStat]:
    """Samples without a label: the attempt's where it held its devices for the whole window, else left open."""
    seen = {stat.node for stat in own if stat.device is not None}
    nodes = [node for node in job.nodes if unlabeled.get(node)]
    if window.seconds - span_in(job, window).seconds <= slack:
        return [stat for node in nodes for stat in unlabeled[node]]
    bare = frozenset(node for node in nodes if node not in seen and node not in labeled_nodes)
    if bare:
        found.open[place] = found.open.get(place, frozenset()) | bare
        found.bare |= bare
    return []


def _rivals(jobs: Sequence[Job]) -> dict[int, frozenset[str]]:
    """Attempts that have their label in common with others (a requeued job), with the nodes of those others."""
    by_label: defaultdict[str, list[int]] = defaultdict(list)
    for place, job in enumerate(jobs):
        by_label[str(job.job_id)].append(place)
    found: dict[int, frozenset[str]] = {}
    for places in by_label.values():
        for place in places if len(places) > 1 else ():
            others = (jobs[other].nodes for other in places if other != place)
            found[place] = frozenset(node for nodes in others for node in nodes)
    return found


def _shared(
    stats: Sequence[Sequence[WindowStat]], jobs: Sequence[Job], window: Window, slack: float
) -> dict[int, frozenset[tuple[str, str, str]]]:
    """Devices that carried the labels of several attempts at one time."""
    holders: defaultdict[tuple[str, str, str], set[int]] = defaultdict(set)
    for place, mine in enumerate(stats):
        for stat in mine:
            if stat.device is not None and stat.job_label is not None:
                holders[stat.device.key].add(place)
    found: defaultdict[int, set[tuple[str, str, str]]] = defaultdict(set)
    for device, places in holders.items():
        for place in places if len(places) > 1 else ():
            if any(_overlap(jobs[place], jobs[other], window) > slack for other in places if other != place):
                found[place].add(device)
    return {place: frozenset(devices) for place, devices in found.items()}


def _overlap(first: Job, second: Job, window: Window) -> float:
    one, other = span_in(first, window), span_in(second, window)
    return (min(one.end, other.end) - max(one.start, other.start)).total_seconds()


def settle(found: SortedOut, jobs: Sequence[Job], window: Window, series: Iterable[Series]) -> None:
    """Give the open attempts what the raw samples of their own time say."""
    by_node: defaultdict[str, list[Series]] = defaultdict(list)
    for one in series:
        if one.device is not None and one.node in found.nodes:
            by_node[one.node].append(one)
    for place, nodes in found.open.items():
        job = jobs[place]
        labels, span = job.labels, span_in(job, window)
        for node in nodes:
            for one in by_node.get(node, ()):
                if one.job_label is None or one.job_label in labels:
                    found.stats[place] += _within(one, span)


def _within(one: Series, span: Window) -> list[WindowStat]:
    times, values = np.asarray(one.times), np.asarray(one.values)
    inside = values[(times >= span.start.timestamp()) & (times < span.end.timestamp())]
    if not len(inside):
        return []
    epsilon = METRICS[one.metric].idle_epsilon
    idle = 0 if epsilon is None else int((inside <= epsilon).sum())
    edges = float(inside.min()), float(inside.max())
    total = float(inside.sum())
    return [WindowStat(one.metric, one.node, one.device, one.job_label, total, len(inside), *edges, idle)]
