"""Samples of many devices over a long time, in columns: what history is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from data.metrics.values import Floats
from data.model import Device, Window

STEP_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class GridRun:
    """One metric of one device (None: of the node's share of a job) under one job label (None: without).

    `times` are seconds since 1970: of each sample, or of the begin of each step, in order. `sums` and `counts` add up
    the samples of a step; counts None = every entry is one sample. Counters come as increases, at the later sample.
    """

    metric: str
    node: str
    device: Device | None
    job_label: str | None
    times: Floats
    sums: Floats
    counts: Floats | None = None
    minima: Floats | None = None
    maxima: Floats | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """All runs of a window, each only with its samples with start <= time < end."""

    window: Window
    runs: tuple[GridRun, ...]
    step_seconds: float
    interval_seconds: float | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
