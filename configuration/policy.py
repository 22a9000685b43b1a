"""What a low-use job is, what follows, and where acting stops."""

from __future__ import annotations

import re
from datetime import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from configuration.checks import Ratio
from configuration.section import Section

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

Minutes = Annotated[float, Field(ge=0, le=60 * 24 * 366, allow_inf_nan=False)]
Notice = Annotated[float, Field(gt=0, le=60 * 24 * 366, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
_LEAST_COVERAGE = 0.5


def _clock_time(text: str) -> str:
    if text and time.fromisoformat(text).tzinfo is not None:
        raise ValueError("must be without a time zone: it is a time in site_timezone")
    return text


def _absolute(file: Path | None) -> Path | None:
    """A kill switch that is looked for where the process happens to have been started would never be found."""
    if file is not None and not file.is_absolute():
        raise ValueError("must be a whole path, from / on")
    return file


ClockTime = Annotated[str, AfterValidator(_clock_time)]


class RuleKind(StrEnum):
    MEAN = "mean"
    IDLE = "idle"


class RuleMode(StrEnum):
    OFF = "off"
    REPORT = "report"
    ACT = "act"


class JobKind(StrEnum):
    ANY = "any"
    BATCH = "batch"
    INTERACTIVE = "interactive"


class StepAction(StrEnum):
    WARN = "warn"
    CANCEL = "cancel"


class StepSettings(Section):
    """One step of a ladder. Its clock is the idle stretch (kind idle) or the time since first low (kind mean)."""

    action: StepAction = Field(description="warn = a mail; cancel = the job ends, and a mail says why.")
    at_minutes: Minutes = Field(description="Earliest time of the step, in minutes of the rule's clock.")
    notice_minutes: Notice | None = Field(
        None, description="Least minutes since the step before; empty = the difference of their at_minutes."
    )


class RuleSettings(Section):
    """A rule. Lists of names take * and ?, and empty lists match every job."""

    kind: RuleKind = Field(description="mean = the window's mean is below the threshold; idle = idle samples only.")
    mode: RuleMode = Field(
        RuleMode.REPORT, description="off = not looked at; report = verdicts only; act = the ladder counts, too."
    )
    metric: Literal["gpu_utilization", "graphics_engine_activity", "sm_activity", "tensor_activity"] = Field(
        "gpu_utilization", description="What is measured; GR stands in for UTIL on MIG slices."
    )
    window_minutes: Notice | None = Field(None, description="Kind mean: length of the window up to now, in minutes.")
    threshold: Share | None = Field(None, description="Kind mean: a mean below this is low (ratio).")
    idle_epsilon: float | None = Field(
        None, ge=0, le=0.1, description="Kind idle: largest value of an idle sample (ratio); empty = the metric's own."
    )
    which: Literal["all", "any", "share"] = Field("all", description="Which of a job's devices must be low.")
    share: Share = Field(0.5, description="With which = share: at least this share of the devices (ratio).")
    min_coverage: Share = Field(0.8, description="A device measured less than this makes the verdict unknown (ratio).")
    grace_minutes: Minutes = Field(0.0, description="Minutes at the start that no window holds (loading of models).")
    close_minutes: Notice = Field(30.0, description="Kind mean: minutes of ok after which an episode is over.")
    no_action_before_limit_minutes: Minutes = Field(
        0.0, description="No step in the last minutes before the time limit."
    )
    allow_shared: bool = Field(False, description="Judge jobs that share a device with another job, too.")
    single_job_nodes: bool = Field(
        False, description="Act also where all devices of a node turned idle at once, if one job holds all of them."
    )
    power_margin: float | None = Field(
        None, ge=0, description="Power above idle by more than this share contradicts; empty = findings.active_power."
    )
    exempt_memory_share: Share | None = Field(
        None, description="Jobs that use more than this share of their GPU memory are exempt (ratio); empty = none are."
    )
    exempt_interactive_hours: float | None = Field(
        None,
        gt=0,
        description="Interactive jobs with a time limit up to this many hours are exempt; empty = none.",
    )
    exempt_interactive_gpus: int = Field(
        1, ge=1, description="Interactive jobs with more GPUs than this are not exempt."
    )
    exempt_users: list[str] = Field(default_factory=list, description="Users exempt from this rule.")
    exempt_accounts: list[str] = Field(default_factory=list, description="Accounts exempt from this rule.")
    exempt_partitions: list[str] = Field(default_factory=list, description="Partitions exempt from this rule.")
    exempt_qos: list[str] = Field(default_factory=list, description="QOS exempt from this rule.")
    clusters: list[str] = Field(default_factory=list, description="Only jobs of these clusters.")
    partitions: list[str] = Field(default_factory=list, description="Only jobs of these partitions.")
    accounts: list[str] = Field(default_factory=list, description="Only jobs of these accounts.")
    qos: list[str] = Field(default_factory=list, description="Only jobs of these QOS.")
    gpu_models: list[str] = Field(default_factory=list, description="Only jobs on these GPU models, such as H100.")
    job_names: list[str] = Field(default_factory=list, description="Only jobs with these names; never an exemption.")
    jobs: JobKind = Field(JobKind.ANY, description="Only batch or only interactive jobs.")
    min_gpus: int = Field(1, ge=1, description="Only jobs with at least this many devices.")
    max_gpus: int | None = Field(None, ge=1, description="Only jobs with at most this many devices; empty = no limit.")
    steps: list[StepSettings] = Field(default_factory=list, description="The ladder, first step first.")

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind is RuleKind.MEAN:
            for name in ("window_minutes", "threshold"):
                if getattr(self, name) is None:
                    raise ValueError(f"{name} is missing, and kind mean needs it")
            if self.idle_epsilon is not None:
                raise ValueError("idle_epsilon is of kind idle, and kind is mean")
        else:
            for name in ("window_minutes", "threshold"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is of kind mean, and kind is idle")
            if not self.steps:
                raise ValueError("steps are missing: kind idle is idle for as long as its first step says")
            if self.steps[0].at_minutes <= 0:
                raise ValueError("steps.0.at_minutes must be above 0: kind idle is idle for that long")
        if self.max_gpus is not None and self.max_gpus < self.min_gpus:
            raise ValueError(f"max_gpus {self.max_gpus} is below min_gpus {self.min_gpus}")
        return self

    @model_validator(mode="after")
    def _has_a_fair_ladder(self) -> Self:
        """A cancel comes last, and never without a warning before it."""
        if self.mode is RuleMode.ACT and not self.steps:
            raise ValueError("steps are missing, and mode act needs them")
        if self.mode is RuleMode.ACT and self.min_coverage < _LEAST_COVERAGE:
            raise ValueError(f"min_coverage must be {_LEAST_COVERAGE:g} or more, for mode act acts on what it sees")
        for number, step in enumerate(self.steps):
            place = f"steps.{number}"
            if number and step.at_minutes <= self.steps[number - 1].at_minutes:
                raise ValueError(f"{place}.at_minutes must be above that of the step before")
            if step.action is StepAction.CANCEL and number == 0:
                raise ValueError(f"{place}.action cancel needs a warn step before it")
            if step.action is StepAction.CANCEL and number + 1 < len(self.steps):
                raise ValueError(f"{place}.action cancel must be the last step")
        return self


SHIPPED: dict[str, dict[str, Any]] = {
    "low-mean": {
        "kind": "mean",
        "mode": "report",
        "window_minutes": 240.0,
        "threshold": 0.05,
        "steps": [
            {"action": "warn", "at_minutes": 0.0},
            {"action": "warn", "at_minutes": 60.0},
            {"action": "cancel", "at_minutes": 120.0},
        ],
    },
    "idle": {
        "kind": "idle",
        "mode": "act",
        "exempt_interactive_hours": 6.0,
        "exempt_interactive_gpus": 1,
        "steps": [
            {"action": "warn", "at_minutes": 45.0},
            {"action": "warn", "at_minutes": 75.0},
            {"action": "cancel", "at_minutes": 90.0},
        ],
    },
}


def _with_shipped(given: object) -> object:
    """What is said of a shipped rule changes only that; those of which nothing is said stay as they are."""
    if not isinstance(given, dict):
        return given
    rules: dict[str, object] = dict(SHIPPED)
    for name, fields in given.items():
        rules[name] = {**SHIPPED.get(name, {}), **fields} if isinstance(fields, dict) else fields
    return rules


class PolicySettings(Section):
    """Rules for low-use jobs, who is exempt from all of them, and the caps of acting."""

    enforce: bool = Field(False, description="Whether `fullwarp enforce --act` may act.")
    rules: Annotated[dict[str, RuleSettings], BeforeValidator(_with_shipped)] = Field(
        default_factory=dict, validate_default=True, description="Rules by name, beside the shipped low-mean and idle."
    )
    exempt_users: list[str] = Field(default_factory=list, description="Users exempt from every rule; * and ? count.")
    exempt_accounts: list[str] = Field(default_factory=list, description="Accounts exempt from every rule.")
    exempt_partitions: list[str] = Field(default_factory=list, description="Partitions exempt from every rule.")
    exempt_qos: list[str] = Field(default_factory=list, description="QOS exempt from every rule.")
    ondemand_names: list[str] = Field(
        default_factory=lambda: ["sys/dashboard/*"],
        description="Job names of Open OnDemand: interactive although they have a batch script.",
    )
    active_link_bytes_per_second: float = Field(
        100e6, gt=0, description="NVLink or PCIe traffic above this contradicts low use, in bytes per second."
    )
    warn_only_days: float = Field(
        7.0, ge=0, le=3660, description="First days of a rule that acts in which it only warns."
    )
    cancels_per_run: int = Field(10, ge=0, description="Most cancellations of one run.")
    cancels_per_hour: int = Field(20, ge=0, description="Most cancellations within an hour.")
    cancels_per_user_hour: int = Field(5, ge=0, description="Most cancellations of one user's jobs within an hour.")
    stop_share: Ratio = Field(
        0.10, description="No run cancels when more than this share of the running GPU jobs would be hit (ratio)."
    )
    stop_jobs: int = Field(5, ge=0, description="So many jobs may be hit whatever stop_share says.")
    mail_days: list[Day] = Field(
        default_factory=lambda: list(DAYS),
        min_length=1,
        description="Days on which steps are taken, in site_timezone.",
    )
    quiet_from: ClockTime = Field("", description="Begin of the hours without steps, such as 22:00; empty = none.")
    quiet_until: ClockTime = Field("", description="End of the hours without steps, such as 07:00, in site_timezone.")
    stop_file: Annotated[Path | None, AfterValidator(_absolute)] = Field(
        None, description="While this file exists, nothing is done (kill switch); a whole path."
    )
    longest_exemption_days: float = Field(
        366.0, gt=0, le=3660, description="How far away the end of a time-limited exemption may be, in days."
    )
    comment: bool = Field(
        False, description="Note each step in the job's AdminComment, unless something else stands there."
    )
    saved_share: Ratio = Field(
        0.5, description="Share of the time limit that a cancelled job is taken to have run for (ratio)."
    )

    @field_validator("rules", mode="after")
    @classmethod
    def _names_are_plain(cls, rules: dict[str, RuleSettings]) -> dict[str, RuleSettings]:
        for name in rules:
            if not _NAME.fullmatch(name):
                raise ValueError(f"the rule name {name[:60]!r} must be lower-case letters, digits, - and _, at most 40")
        return rules

    @model_validator(mode="after")
    def _quiet_hours_have_two_ends(self) -> Self:
        if bool(self.quiet_from) != bool(self.quiet_until):
            raise ValueError("quiet_from and quiet_until come together")
        if self.quiet_from and time.fromisoformat(self.quiet_from) == time.fromisoformat(self.quiet_until):
            raise ValueError("quiet_from and quiet_until are the same time")
        return self
