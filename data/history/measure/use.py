"""What one attempt of a job used: its report, and what only its samples over time can tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from data.model import Job
from data.report import JobReport

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]


def per_owner(owner: Ints, values: Floats | NDArray[np.bool_], count: int) -> Floats:
    """Add values up by the number of their owner, 0 .. count - 1."""
    return np.bincount(owner, values, minlength=count).astype(np.float64)


AttemptKey = tuple[object, ...]
"""`Job.key`: (cluster, raw job id, submit time, start time)."""

NOT_MEASURED = 255
"""Stands for null in the bytes of a profile."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Utilization over the run in steps from its start, as whole percent; NOT_MEASURED = null. `measured` is the
    share of the expected samples of all devices."""

    step_seconds: int
    mean: Bytes
    maximum: Bytes
    measured: Bytes


@dataclass(frozen=True, slots=True)
class Shape:
    """How the utilization samples of the allocated devices are spread (ratios), and when all of them were idle
    (seconds of the run)."""

    p05: float
    p50: float
    p95: float
    low_share: float
    high_share: float
    idle_longest_seconds: float
    idle_start_seconds: float
    idle_end_seconds: float


@dataclass(frozen=True, slots=True)
class Hours:
    """An attempt by UTC hour: `begin` in seconds since 1970, one entry per hour in which it ran.

    `values` are the numeric columns of `usage/` by name, NaN = null; `by_node` the GPU-hours of each node by name.
    """

    begin: Ints
    values: Mapping[str, Floats] = field(default_factory=dict)
    by_node: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttemptUse:
    """`source` is a `UseSource` in words, or an importer's own name. `is_apportioned` hours are spread evenly over
    the run. `energy` is joules by place in `report.gpus`. `findings` are ids of `data.findings`."""

    report: JobReport
    source: str
    hours: Hours
    is_apportioned: bool = False
    profile: Profile | None = None
    shape: Shape | None = None
    energy: Mapping[int, float] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def job(self) -> Job:
        return self.report.job


@dataclass(frozen=True, slots=True)
class Measured:
    """The attempts' use by `Job.key`; `dropped` counts blank and implausible values by reason, `missing` names metrics
    that no exporter gives."""

    uses: Mapping[AttemptKey, AttemptUse]
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
