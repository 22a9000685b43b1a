"""The devices of each attempt as columns: hours given, measured, used and idle, and where their samples are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from data.efficiency.coverage import MIN_INTERVALS
from data.history.columns import RATE_METRICS, RATIO_METRICS
from data.history.measure.pairs import BARE, OWN, Pairs
from data.history.measure.sums import HourSums
from data.history.measure.use import Floats, Ints
from data.report import GpuUse, JobReport

DEVICE_METRICS = (*RATIO_METRICS, *RATE_METRICS, "gpu_memory_used_bytes", "power_watts")
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Tracks:
    """One row per allocated device of a report: the attempt, the device's place in `report.gpus` and the device.

    `measured`, `used`, `idle` are GPU-hours of what was read (idle NaN = not known). `own` and `bare` are the pairs in
    which its samples may be, NOWHERE = in none.
    """

    attempt: Ints
    place: Ints
    gpus: list[GpuUse]
    weight: Floats
    measured: Floats
    used: Floats
    idle: Floats
    own: Ints
    bare: Ints

    def pairs(self, metric: str, sums: Mapping[str, HourSums], count: int) -> Ints:
        """The pair that holds the metric's samples of each row; NOWHERE for an estimate or a summary."""
        has = np.zeros(count + 1, dtype=np.bool_)
        if metric in sums:
            has[sums[metric].pair] = True
        found: Ints = np.where(has[self.own], self.own, np.where(has[self.bare], self.bare, NOWHERE))
        return found

    def utilization_pairs(self, sums: Mapping[str, HourSums], count: int) -> Ints:
        """The same for each row's own utilization metric."""
        found = np.full(len(self.gpus), NOWHERE, dtype=np.int64)
        names = [gpu.utilization_metric for gpu in self.gpus]
        for metric in {name for name in names if name}:
            mine = np.array([name == metric for name in names], dtype=np.bool_)
            found[mine] = self.pairs(metric, sums, count)[mine]
        return found


def tracks_of(reports: Mapping[int, JobReport], pairs: Pairs) -> Tracks:
    """All allocated devices of the attempts whose hours are known, in the order of the attempts."""
    rows = [
        (attempt, place, gpu)
        for attempt, report in reports.items()
        for place, gpu in enumerate(report.gpus)
        if gpu.is_allocated and gpu.hours is not None
    ]
    gpus = [gpu for _, _, gpu in rows]
    hours = [gpu.hours for gpu in gpus if gpu.hours is not None]
    own, bare = (
        np.array([_pair(pairs, attempt, gpu, kind) for attempt, _, gpu in rows], dtype=np.int64) for kind in (OWN, BARE)
    )
    return Tracks(
        np.array([attempt for attempt, _, _ in rows], dtype=np.int64),
        np.array([place for _, place, _ in rows], dtype=np.int64),
        gpus,
        np.array([gpu.weight for gpu in gpus], dtype=np.float64),
        np.array([one.measured for one in hours], dtype=np.float64),
        np.array([one.used or 0.0 for one in hours], dtype=np.float64),
        np.array([np.nan if one.idle is None else one.idle for one in hours], dtype=np.float64),
        own,
        bare,
    )


def _pair(pairs: Pairs, attempt: int, gpu: GpuUse, kind: int) -> int:
    found = None if gpu.device is None else pairs.find(attempt, gpu.device, kind)
    return NOWHERE if found is None else found


def measured_shares(samples: Floats, seconds: Floats, interval: Floats) -> Floats:
    """Share of the time of which each was measured, as `coverage` tells it, at most 1; 0 where that cannot be known
    (an interval of NaN, too short)."""
    is_known = (interval > 0) & np.isfinite(interval) & np.isfinite(seconds)
    expected = np.maximum(0.0, np.floor(np.where(is_known, seconds, 0.0) / np.where(is_known, interval, 1.0)))
    seen = np.rint(samples)
    share = np.where(np.abs(seen - expected) <= 1, 1.0, np.maximum(0.0, seen) / np.maximum(expected, 1.0))
    shares: Floats = np.where(expected >= MIN_INTERVALS, np.minimum(1.0, share), 0.0)
    return shares
