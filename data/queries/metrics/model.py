"""The detailed table: its question, its rows and what they are made of. None and absent = not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from data.efficiency import NO_HOURS, GpuHours
from data.findings.advice import Advice


class Group(StrEnum):
    """What one row of the table is."""

    JOB = "job"
    USER = "user"
    ACCOUNT = "account"
    PARTITION = "partition"
    MODEL = "model"
    APPLICATION = "application"


class Origin(StrEnum):
    LIVE = "live"  # from the metrics server, joined with Slurm's jobs
    HISTORY = "history"  # from what the collector has kept


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: [since, until) and filters that combine; empty = no limit. `by_model` splits each row by GPU
    model; `finding` keeps rows that have it. `sort` is gpu_hours, coverage, name, jobs, finding or a column, with "-"
    before it for the largest first."""

    since: datetime
    until: datetime
    group: Group = Group.JOB
    by_model: bool = False
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    applications: frozenset[str] = frozenset()
    text: str = ""
    finding: str = ""
    sort: str = "-gpu_hours"

    @property
    def seconds(self) -> float:
        return (self.until - self.since).total_seconds()


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean, and the GPU-hours that it is a mean of."""

    value: float
    hours: float


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose GPU-hours: one attempt of a job. `job` is the id as people write it."""

    job: str
    name: str = ""
    user: str | None = None
    account: str | None = None
    partition: str = ""
    application: str = ""
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """One device in the hands of one attempt: the smallest part of every row.

    `model` names GPUs of a kind, with the profile of a slice. `metric` is gpu_utilization or graphics_engine_activity:
    what the utilization was read from. `findings` are ids; they hold for these GPU-hours.
    """

    owner: Owner
    model: str
    hours: GpuHours
    cells: Mapping[str, Cell] = field(default_factory=dict)
    metric: str | None = None
    findings: tuple[str, ...] = ()
    is_estimate: bool = False
    is_shared: bool = False
    is_fault: bool = False


@dataclass(frozen=True, slots=True)
class FindingUse:
    """A diagnosis, the GPU-hours for which it holds, and of how many jobs they are."""

    id: str
    gpu_hours: float
    jobs: int


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """One row. `models` are GPU-hours by model, most first. `utilization_metric` "mixed" = UTIL and GR.

    `user`, `account` and `partition` are set where all jobs of the row have the same. `estimated_hours` came to their
    job by the node alone, `shared_hours` are of devices that several jobs used, `fault_hours` of jobs for which
    metrics and Slurm disagree.
    """

    key: str
    name: str
    jobs: int
    running: int
    hours: GpuHours
    cells: Mapping[str, Cell]
    models: tuple[tuple[str, float], ...] = ()
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    job_name: str | None = None
    utilization_metric: str | None = None
    findings: tuple[FindingUse, ...] = ()
    estimated_hours: float = 0.0
    shared_hours: float = 0.0
    fault_hours: float = 0.0

    def value(self, column: str) -> float | None:
        cell = self.cells.get(column)
        return cell.value if cell else None


@dataclass(frozen=True, slots=True)
class NotExported:
    """A column that no exporter at this site gives, and the lines that make it (for staff)."""

    column: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricsTable:
    """The answer. `total` is of all rows that the viewer may see and the filters let through, `findings` of the same;
    `options` are the values that filters can have, `unknown` says in words what could not be read."""

    since: datetime
    until: datetime
    group: Group
    origin: Origin
    rows: tuple[MetricsRow, ...]
    total: MetricsRow
    findings: tuple[FindingUse, ...] = ()
    advice: Mapping[str, Advice] = field(default_factory=dict)
    not_exported: tuple[NotExported, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    interval_seconds: float | None = None
    unknown: tuple[str, ...] = ()
    made_at: datetime | None = None


NOTHING = MetricsRow("", "", 0, 0, NO_HOURS, {})
