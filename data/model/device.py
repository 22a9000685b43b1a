"""GPUs and MIG slices, and what was measured on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Device:
    """The identity of a GPU or MIG slice: UUID (or bus id) before index.

    `node` is the short host name. `uuid` is lower case, beginning with "gpu-" or "mig-". `index` is what the exporter
    calls the GPU, `minor` the N of /dev/nvidiaN where known. `slice_id` is GPU_I_ID, None for a whole GPU.
    """

    node: str
    index: int | None = None
    uuid: str | None = None
    bus_id: str | None = None
    minor: int | None = None
    slice_id: str | None = None
    slice_profile: str | None = None
    model: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """(node, gpu, slice): the same for every metric and exporter that sees this device."""
        gpu = self.uuid or self.bus_id or ("" if self.index is None else str(self.index))
        return (self.node, gpu, self.slice_id or "")

    @property
    def is_slice(self) -> bool:
        """Whether this is a part of a GPU (MIG slice, AMD partition) and so never counted as a GPU."""
        return self.slice_id is not None

    @property
    def label(self) -> str:
        """node/index, or node/index/slice."""
        index = "?" if self.index is None else str(self.index)
        return f"{self.node}/{index}" + (f"/{self.slice_id}" if self.slice_id else "")


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """The latest values of one device, by metric name (see `data.metrics.registry`); absent = not measured.

    `job_labels` are the raw job ids (or 123_4 forms) that the exporter put on the series; empty = none said.
    """

    device: Device
    values: Mapping[str, float]
    job_labels: tuple[str, ...] = ()
    user_labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """One consistent reading of many devices.

    `sample_time` is the newest sample's time; `dropped` counts blank or implausible values by reason;
    `missing` names asked metrics that no exporter gives.
    """

    at: datetime
    devices: tuple[DeviceReading, ...]
    sample_time: datetime | None = None
    interval_seconds: float | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Half-open span of time (aware UTC)."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True)
class Scope:
    """Which series to read; None = no limit. Job labels and nodes combine with *or*: a series counts when
    its job label fits or its node does."""

    job_labels: frozenset[str] | None = None
    nodes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class WindowStat:
    """Raw samples of one series within a window, summed up.

    `device` is None for host metrics (cpu_seconds, memory_used_bytes ...) of a (job, node).
    For counters (cpu_seconds, energy_joules) `sum` is the increase. `idle_count` is None where it is not known (the
    server added up a metric from which nobody reads idleness). Coverage is not here: it needs the job's span.
    """

    metric: str
    node: str
    device: Device | None
    job_label: str | None
    sum: float
    count: int
    minimum: float
    maximum: float
    idle_count: int | None

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class WindowReading:
    window: Window
    stats: tuple[WindowStat, ...]
    interval_seconds: float | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one device (or (job, node) for host metrics); a gap is an absent point, never a 0."""

    metric: str
    node: str
    device: Device | None
    job_label: str | None
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SumAsk:
    """One metric over the last `window_seconds`. `stats` are of sum, count, minimum and maximum.

    `instead_of` names the metric for which this one stands in: only devices that lack that one are asked for.
    `nodes` narrows one ask further than the whole question.
    """

    metric: str
    window_seconds: float
    stats: tuple[str, ...] = ("sum", "count", "minimum", "maximum")
    instead_of: str = ""
    nodes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class WindowSum:
    """Raw samples of one device under one job label in the last `window_seconds`, added up. None = not asked for.

    `device` may know no more of itself than its node and what tells it apart there.
    """

    metric: str
    node: str
    device: Device
    job_label: str | None
    window_seconds: float
    count: int
    sum: float | None = None
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class SumsReading:
    """`restarts` is by node the shortest asked window in which its exporter failed a scrape or began to run."""

    at: datetime
    sums: tuple[WindowSum, ...]
    interval_seconds: float | None = None
    restarts: Mapping[str, float] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
