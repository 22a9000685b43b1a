"""What is asked of history, and the answers. Frozen values; None = not measured or not known, never 0 in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime, timedelta

from data.efficiency.hours import GpuHours
from data.queries.history.groups import DEFAULT_COLUMNS, Group

Value = float | int | None


@dataclass(frozen=True, slots=True)
class Between:
    """A part of an axis, [low, high); None = open on that side."""

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which attempts count; empty = all. Within a field one of its words must fit, and every field must.

    `accounts` take in what is below them in Slurm's tree. `applications` are patterns of the job name (`*`, `?`,
    any case). `sizes` are those of `groups.SIZES`. With `nodes`, only the hours on these nodes count, and what is not
    split by node is None. `states` and `findings` are those of finished attempts; one that runs is RUNNING, without
    findings. `utilization` (ratio) and `gpu_memory_gib` select by the attempt's own means inside the range.
    """

    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    departments: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()
    qos: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    applications: frozenset[str] = frozenset()
    sizes: frozenset[str] = frozenset()
    utilization: Between | None = None
    gpu_memory_gib: Between | None = None

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, one.name) for one in fields(self))


@dataclass(frozen=True, slots=True)
class ReportQuery:
    """One question. The range is [since, until), aware times.

    `account_level` groups by that level of the tree (1 = top) instead of giving a row for each level. `sort` is the
    name of a column, "-" before it for the largest first, or "name". `limit` None = all rows. `compare` adds the
    numbers of the time of equal length before.
    """

    since: datetime
    until: datetime
    by: Group = Group.USER
    filter: HistoryFilter = HistoryFilter()
    account_level: int | None = None
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    sort: str = "-gpu_hours_allocated"
    limit: int | None = None
    compare: bool = False

    @property
    def length(self) -> timedelta:
        return self.until - self.since


@dataclass(frozen=True, slots=True)
class ReportRow:
    """`key` is the group itself (None = the group of rows that have none), `label` what to show.

    `values` by column name. `previous` are those of the time before, where they were asked for. `level` and `parent`
    are those of an account in the tree (level 1 = top). `about` says more of a job: user, name, state ...
    """

    key: str | None
    label: str
    values: Mapping[str, Value]
    previous: Mapping[str, Value] | None = None
    level: int | None = None
    parent: str | None = None
    about: Mapping[str, str | int | datetime | None] = field(default_factory=dict)

    def value(self, name: str) -> Value:
        return self.values.get(name)

    def change(self, name: str) -> float | None:
        """How much larger the value is than in the time before (ratio of that one); None where either is unknown."""
        before = None if self.previous is None else self.previous.get(name)
        now = self.values.get(name)
        return None if before is None or now is None or before == 0 else (now - before) / abs(before)

    @property
    def hours(self) -> GpuHours:
        return hours_of(self.values)


def hours_of(values: Mapping[str, Value]) -> GpuHours:
    """The GPU-hours of a row as one value: the four parts of every stack."""
    return GpuHours(
        allocated=values.get("gpu_hours_allocated") or 0.0,
        measured=values.get("gpu_hours_measured") or 0.0,
        used=values.get("gpu_hours_used"),
        idle=values.get("gpu_hours_idle"),
        idle_measured=values.get("gpu_hours_idle_measured") or 0.0,
    )


@dataclass(frozen=True, slots=True)
class WaitRow:
    """Waits of the jobs that began in the range, by number of GPUs (`size`; "" = all). Seconds; None = no such job."""

    size: str
    jobs: int
    p50_seconds: float | None
    p90_seconds: float | None


@dataclass(frozen=True, slots=True)
class HistoryState:
    """What the answer stands on. `first` and `last` are the first and last UTC days with hours; None = no history.

    `collected_at` is when the newest row of the range was written. `notes` say in words what is missing. `damaged`
    names files that were left out (staff only; `damaged_files` counts them for all).
    """

    first: date | None = None
    last: date | None = None
    collected_at: datetime | None = None
    damaged_files: int = 0
    damaged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.first is None


NO_STATE = HistoryState()


@dataclass(frozen=True, slots=True)
class Report:
    """`rows` are sorted and limited; `groups` is how many there are in all. `total` is of all, not only of `rows`:
    its hours are the sum of all groups (of the top level of accounts). `currency` is that of `cost`. `before` says what
    the numbers of the time before stand on (None = not asked)."""

    query: ReportQuery
    rows: tuple[ReportRow, ...]
    total: ReportRow
    groups: int
    waits: tuple[WaitRow, ...] = ()
    state: HistoryState = HistoryState()
    currency: str = "EUR"
    before: HistoryState | None = None


@dataclass(frozen=True, slots=True)
class Trend:
    """GPU-hours by the first moment of each day or week (site time), oldest first, empty ones too."""

    step: str
    points: tuple[tuple[datetime, GpuHours], ...]
    total: GpuHours
    state: HistoryState = HistoryState()


@dataclass(frozen=True, slots=True)
class HeatCell:
    """GPU-hours of attempts with these means. A side's `high` None = without end."""

    utilization: Between
    gpu_memory_gib: Between
    jobs: int
    gpu_hours: float


@dataclass(frozen=True, slots=True)
class HeatMap:
    """GPU-hours over mean utilization x mean GPU memory used of each attempt. `not_measured` is what has no place.

    Feed `utilization` and `gpu_memory_gib` of the chosen cells to HistoryFilter for the jobs behind them.
    """

    cells: tuple[HeatCell, ...]
    utilization_edges: tuple[float, ...]
    gpu_memory_gib_edges: tuple[float, ...]
    gpu_hours: float
    not_measured: float
    state: HistoryState = HistoryState()


@dataclass(frozen=True, slots=True)
class UtilizationBin:
    """GPU-hours of attempts whose mean utilization lies in [low, high)."""

    low: float
    high: float
    jobs: int
    gpu_hours: float


@dataclass(frozen=True, slots=True)
class HoursByUtilization:
    bins: tuple[UtilizationBin, ...]
    not_measured: float
    state: HistoryState = HistoryState()


@dataclass(frozen=True, slots=True)
class WeekHours:
    """GPU-hours by (weekday, hour of the day) in site time: Monday 0, 0..23. `spans` is how many such hours the range
    holds (a change of the clock gives one more or less)."""

    hours: Mapping[tuple[int, int], GpuHours]
    spans: Mapping[tuple[int, int], int]
    state: HistoryState = HistoryState()


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding over all finished attempts that have it, the attempts with most GPU-hours first."""

    id: str
    jobs: int
    gpu_hours: float
    gpu_hours_wasted: float | None
    examples: tuple[ReportRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """Place among peers, without their names: `rank` 1 is the best utilization of `of` with enough measured hours.

    `median` and `mean` are of the peers' utilizations. None = too little measured to be ranked.
    """

    rank: int | None
    of: int
    utilization: float | None
    median: float | None
    mean: float | None


@dataclass(frozen=True, slots=True)
class UserHistory:
    user: str
    total: ReportRow
    trend: Trend
    partitions: tuple[ReportRow, ...]
    jobs: tuple[ReportRow, ...]
    findings: tuple[FindingRow, ...]
    standing: Standing
    state: HistoryState = HistoryState()
