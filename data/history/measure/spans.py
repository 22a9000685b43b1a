"""When each attempt ran, and on which nodes and under which labels its samples may be: columns over attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from data.history.measure.use import AttemptKey, Floats, Ints
from data.model import Job, Window

HOUR = 3600.0
Suspensions = Mapping[AttemptKey, Sequence[Window]]


class Spans:
    """Attempts in the order given. `start` is where reading begins: the attempt's begin, or `since` for a running one;
    `begin` is always its begin. `end` is its end or now. Seconds since 1970."""

    def __init__(
        self, jobs: Sequence[Job], now: datetime, since: datetime | None = None, suspensions: Suspensions | None = None
    ) -> None:
        self.jobs = jobs
        self.is_over = np.array([job.end_time is not None and job.end_time <= now for job in jobs], dtype=np.bool_)
        self.begin = np.array([_seconds(job.start_time, now) for job in jobs])
        self.end = np.array([min(_seconds(job.end_time, now), now.timestamp()) for job in jobs])
        floor = -np.inf if since is None else np.floor(since.timestamp() / HOUR) * HOUR
        self.start = np.where(self.is_over, self.begin, np.maximum(self.begin, floor))
        self.holes = _holes(jobs, suspensions or {}, now)
        self.by_label: dict[str, list[int]] = defaultdict(list)
        by_node: dict[str, list[int]] = defaultdict(list)
        for place, job in enumerate(jobs):
            if self.end[place] > self.start[place]:
                for label in job.labels:
                    self.by_label[label].append(place)
                for node in dict.fromkeys((*job.nodes, *(held.node for held in job.devices))):
                    by_node[node].append(place)
        self.by_node = {node: np.array(places, dtype=np.int64) for node, places in by_node.items()}

    def on_node(self, node: str, first: float, last: float) -> Ints:
        """Attempts on the node that overlap the time."""
        places = self.by_node.get(node)
        if places is None:
            return np.zeros(0, dtype=np.int64)
        found: Ints = places[(self.start[places] <= last) & (self.end[places] > first)]
        return found

    def labeled(self, label: str, first: float, last: float) -> list[int]:
        """Attempts that exporters know by the label and that overlap the time."""
        return [
            place for place in self.by_label.get(label, ()) if self.start[place] <= last and self.end[place] > first
        ]

    def suspended_seconds(self) -> Floats:
        """Known suspended time of each attempt within what is read."""
        total = np.zeros(len(self.jobs))
        for place, holes in self.holes.items():
            inside = ((max(a, self.start[place]), min(b, self.end[place])) for a, b in holes)
            total[place] = sum(max(0.0, b - a) for a, b in inside)
        return total


def _seconds(time: datetime | None, otherwise: datetime) -> float:
    return (otherwise if time is None else time).timestamp()


def _holes(jobs: Sequence[Job], suspensions: Suspensions, now: datetime) -> dict[int, list[tuple[float, float]]]:
    """Suspended spans by place, a suspension under way included."""
    holes = {}
    for place, job in enumerate(jobs):
        known = [(window.start.timestamp(), window.end.timestamp()) for window in suspensions.get(job.key, ())]
        if job.state == "SUSPENDED" and job.suspend_time is not None:
            known.append((job.suspend_time.timestamp(), now.timestamp()))
        if known:
            holes[place] = _merged(sorted(known))
    return holes


def _merged(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > begin:
            merged.append((begin, end))
    return merged
