"""What a verdict is made of and what it says: frozen values, ratios 0..1, seconds, GPU-hours, aware UTC times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from data.model import Job
from settings import RuleKind, RuleMode, StepAction

Attempt = tuple[str, int, datetime | None, datetime | None, int]
"""One attempt of a job: cluster, raw id, submit time, start time, restart count."""


def attempt_of(job: Job) -> Attempt:
    return (*job.key, job.restart_count)


class Status(StrEnum):
    """Worst first: a job's verdict is the worst of its rules."""

    LOW = "low"
    UNKNOWN = "unknown"
    CALCULATING = "calculating"
    OK = "ok"
    EXEMPT = "exempt"


WORST_FIRST = {status: place for place, status in enumerate(Status)}


class Doubt(StrEnum):
    """Why data do not suffice for a verdict, or why a low one is not believed."""

    SOURCE = "source_down"
    START = "start_unknown"
    GPU_COUNT = "gpu_count_unknown"
    NOT_MEASURED = "not_measured"
    DEVICES = "devices_differ"
    ESTIMATE = "node_estimate"
    SHARED = "shared"
    INTERVAL = "interval_unknown"
    MAPPING = "mapping_disagrees"
    COVERAGE = "coverage"
    IMPLAUSIBLE = "implausible"
    SIGNALS = "signals_disagree"
    NODE_ZERO = "node_zero"
    XID = "xid"
    RESTART = "exporter_restart"
    MEMORY = "memory_not_measured"
    INTERACTIVE = "interactive_unknown"


@dataclass(frozen=True, slots=True)
class WindowUse:
    """Raw samples of one device in the last `seconds`, added up. `low` and `high` are the extremes."""

    seconds: float
    count: int
    total: float
    low: float | None = None
    high: float | None = None

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """One device that a job holds. `uses` by (metric of the rule, window); on a slice GR stands under UTIL's name.

    `signals` are the means of other metrics by window and name; absent = not measured. `weight` is the share of a
    whole GPU.
    """

    node: str
    label: str
    uses: Mapping[tuple[str, float], WindowUse] = field(default_factory=dict)
    signals: Mapping[float, Mapping[str, float]] = field(default_factory=dict)
    model: str | None = None
    is_slice: bool = False
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something on a job's node that forbids acting. `window_seconds` is the shortest window that shows it;
    `is_one_jobs` says that one job holds all devices concerned."""

    doubt: Doubt
    node: str
    text: str
    window_seconds: float
    is_one_jobs: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one running job. None = not known.

    `gpu_count` is what Slurm allocated, `by_node` its parts where Slurm tells them. `memory_share` is used of total
    GPU memory. `disagrees`: exporter and Slurm tell different jobs of a device. `has_signals` says whether the other
    signals were asked and answered; `fault` names the source that did not answer.
    """

    job: Job
    gpu_count: int | None
    devices: tuple[DeviceUse, ...] = ()
    by_node: Mapping[str, int] = field(default_factory=dict)
    interval_seconds: float | None = None
    is_estimate: bool = False
    is_shared: bool = False
    disagrees: bool = False
    memory_share: float | None = None
    troubles: tuple[Trouble, ...] = ()
    has_signals: bool = True
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says of one job.

    `reason` is a doubt's or an exemption's code, "" for the other statuses; `measured_status` stands beside an exempt
    one. `mean`, `coverage` (the least of the devices, uncapped) and `wasted_gpu_hours_window` are those of
    `window_seconds`. `idle_seconds` is how long at least the devices have been idle up to now (kind idle),
    and `busy_within_seconds` the shortest window in which they surely were not.
    `since` and `steps_taken` are those of the running episode, `next_action` and `next_at` what follows if the job
    stays low; None = nothing does.
    """

    rule: str
    kind: RuleKind
    mode: RuleMode
    status: Status
    reason: str = ""
    sentence: str = ""
    metric: str = ""
    window_seconds: float | None = None
    mean: float | None = None
    threshold: float | None = None
    coverage: float | None = None
    devices_low: int | None = None
    devices_idle: int | None = None
    devices_measured: int = 0
    devices_allocated: int | None = None
    idle_seconds: float | None = None
    busy_within_seconds: float | None = None
    wasted_gpu_hours_window: float | None = None
    measured_status: Status | None = None
    since: datetime | None = None
    steps_taken: int = 0
    next_action: StepAction | None = None
    next_at: datetime | None = None

    @property
    def is_acted_on(self) -> bool:
        """Whether the ladder of its rule counts."""
        return self.mode is RuleMode.ACT


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """One running job and the worst of its rules' verdicts; `verdicts` lists all of them in the rules' order.

    `wasted_gpu_hours_total` is since the job's start, None where that is not known. `gpu_weight` are its GPUs with each
    slice as its share of one; None = not known.
    """

    job: Job
    time: datetime
    verdict: Verdict
    verdicts: tuple[Verdict, ...]
    wasted_gpu_hours_total: float | None = None
    gpu_weight: float | None = None

    @property
    def status(self) -> Status:
        return self.verdict.status

    @property
    def gpus(self) -> int | None:
        return self.verdict.devices_allocated


def worst(verdicts: tuple[Verdict, ...]) -> Verdict:
    """The worst in the order low, unknown, calculating, ok, exempt; of several low ones the first that is acted on."""
    return min(verdicts, key=lambda one: (WORST_FIRST[one.status], one.status is Status.LOW and not one.is_acted_on))
