"""The site's rules as values, which of them cover a job, and who is exempt."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from data.exemption import SUBJECTS
from data.gpu_models import gpu_model
from data.metrics.registry import METRICS
from data.model import Job
from settings import JobKind, PolicySettings, RuleKind, RuleMode, RuleSettings, StepAction

MINUTE = 60.0
_NOT_OF_THE_FORM = {"mode", "exempt_users", "exempt_accounts", "exempt_partitions", "exempt_qos"}
# A mean at the threshold is not below it, however it was rounded on the way.
_HAIR = 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """`at_seconds` is of the rule's clock, `notice_seconds` the least time since the step before."""

    action: StepAction
    at_seconds: float
    notice_seconds: float


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in seconds; `settings` holds what it matches and exempts.

    `windows` up to now are what the rule needs, shortest first: the one of a mean, or one for each idle step.
    """

    name: str
    settings: RuleSettings
    steps: tuple[Step, ...]
    windows: tuple[float, ...]

    @property
    def kind(self) -> RuleKind:
        return self.settings.kind

    @property
    def metric(self) -> str:
        return self.settings.metric

    @property
    def acts(self) -> bool:
        return self.settings.mode is RuleMode.ACT

    @property
    def form(self) -> str:
        """What makes the rule the one that it is: a digest of its settings, but for its mode and whom it spares."""
        given = self.settings.model_dump(mode="json", exclude=_NOT_OF_THE_FORM, exclude_defaults=True)
        return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()

    @property
    def grace_seconds(self) -> float:
        return self.settings.grace_minutes * MINUTE

    @property
    def needs_seconds(self) -> float:
        """Runtime before which the rule says nothing."""
        return self.windows[0] + self.grace_seconds

    @property
    def epsilon(self) -> float:
        """Largest value of an idle sample of a whole GPU."""
        own = self.settings.idle_epsilon
        return (METRICS[self.metric].idle_epsilon or 0.0) if own is None else own

    def epsilon_of(self, is_slice: bool) -> float:
        """Largest value of an idle sample; on a slice GR stands in for UTIL."""
        if is_slice and self.metric == "gpu_utilization" and self.settings.idle_epsilon is None:
            return METRICS["graphics_engine_activity"].idle_epsilon or 0.0
        return self.epsilon

    @property
    def low_below(self) -> float:
        """Kind mean: a mean below this is low (ratio)."""
        return (self.settings.threshold or 0.0) - _HAIR

    def exempts_memory(self, share: float | None) -> bool | None:
        """Whether a job that uses this share of its GPU memory is exempt; None = it would have to be measured."""
        most = self.settings.exempt_memory_share
        if most is None:
            return False
        return None if share is None else share > most

    @property
    def least_notice(self) -> float:
        """The shortest notice of the ladder: what a first step waits after a gap."""
        return min((step.notice_seconds for step in self.steps[1:]), default=0.0)

    def needed(self, devices: int) -> int:
        """How many of so many devices must be low."""
        which = self.settings.which
        if which == "all":
            return devices
        return 1 if which == "any" else max(1, math.ceil(self.settings.share * devices - 1e-9))


@dataclass(frozen=True, slots=True)
class Exemption:
    """A time-limited exemption. `kind` is one of KINDS; of a job any id counts by which people may know it: raw or
    written, its own or that of its array or het job. `rule` "" means every rule."""

    kind: str
    name: str
    until: datetime
    reason: str = ""
    rule: str = ""

    def holds(self, job: Job, rule: str, now: datetime) -> bool:
        if now >= self.until or self.rule not in {"", rule}:
            return False
        if self.kind == "job":
            whole = self.name.partition("+")[0]
            return self.name in _ids_of(job) or (job.het_job_id is not None and whole == str(job.het_job_id))
        return getattr(job, self.kind, None) == self.name if self.kind in SUBJECTS else False


def _ids_of(job: Job) -> set[str]:
    numbers = (job.job_id, job.array_job_id, job.het_job_id)
    return {job.display_id, *(str(number) for number in numbers if number is not None)}


def rules_of(policy: PolicySettings) -> tuple[Rule, ...]:
    """The rules that are looked at, in the order of the settings."""
    return tuple(rule_of(name, one) for name, one in policy.rules.items() if one.mode is not RuleMode.OFF)


def rule_named(policy: PolicySettings, name: str) -> Rule | None:
    """The rule of this name where it is looked at."""
    return next((rule for rule in rules_of(policy) if rule.name == name), None)


def rule_of(name: str, given: RuleSettings) -> Rule:
    """The settings of one rule as a value."""
    steps: list[Step] = []
    for step in given.steps:
        at = step.at_minutes * MINUTE
        notice = step.notice_minutes
        seconds = (at - steps[-1].at_seconds if steps else 0.0) if notice is None else notice * MINUTE
        steps.append(Step(step.action, at, seconds))
    if given.kind is RuleKind.MEAN:
        return Rule(name, given, tuple(steps), ((given.window_minutes or 0.0) * MINUTE,))
    return Rule(name, given, tuple(steps), tuple(step.at_seconds for step in steps))


def covers(rule: Rule, job: Job, policy: PolicySettings, models: Iterable[str | None] = ()) -> bool:
    """Whether a rule is about this job; `models` are those of its devices as the exporter calls them."""
    wanted, gpus = rule.settings, job.allocated.gpus
    named = (
        (wanted.clusters, job.cluster),
        (wanted.partitions, job.partition),
        (wanted.accounts, job.account),
        (wanted.qos, job.qos),
        (wanted.job_names, job.name),
    )
    if not all(not patterns or matches(patterns, name) for patterns, name in named):
        return False
    if wanted.gpu_models and not _is_model(wanted.gpu_models, job, models):
        return False
    if gpus is not None and not wanted.min_gpus <= gpus <= (wanted.max_gpus or math.inf):
        return False
    if wanted.jobs is JobKind.ANY:
        return True
    return (wanted.jobs is JobKind.INTERACTIVE) == bool(is_interactive(job, policy))


def matches(patterns: Sequence[str], name: str | None) -> bool:
    """Whether a name is one of these; * and ? stand for any text and any letter."""
    return name is not None and any(fnmatchcase(name, pattern) for pattern in patterns)


def _is_model(wanted: Sequence[str], job: Job, models: Iterable[str | None]) -> bool:
    names = {name for name in (*models, *job.allocated.gpus_by_type) if name}
    names |= {found.name for name in names if (found := gpu_model(name)) is not None}
    lowered = [pattern.lower() for pattern in wanted]
    return any(matches(lowered, name.lower()) for name in names)


def is_interactive(job: Job, policy: PolicySettings) -> bool | None:
    """Whether the job has no batch script, or is one of Open OnDemand's by its name; None = Slurm does not say."""
    if job.is_batch is False or matches(policy.ondemand_names, job.name):
        return True
    return None if job.is_batch is None else False


def exemption_of(
    rule: Rule, job: Job, policy: PolicySettings, exemptions: Iterable[Exemption], now: datetime
) -> tuple[str, str] | None:
    """Code and words of what exempts the job from this rule; None = nothing does."""
    for word in SUBJECTS:
        name = getattr(job, word)
        if name and matches([*_listed(policy, word), *_listed(rule.settings, word)], name):
            return word, f"{_WORDS[word]} {name} is exempt"
    for one in exemptions:
        if one.holds(job, rule.name, now):
            because = f": {one.reason}" if one.reason else ""
            return "exemption", f"{one.kind} {one.name} is exempt until {one.until:%Y-%m-%d %H:%M} UTC{because}"
    if _fits_interactive(rule, job) and is_interactive(job, policy):
        hours = rule.settings.exempt_interactive_hours
        return "interactive", f"interactive with a time limit of at most {hours:g} h"
    return None


def may_be_interactive(rule: Rule, job: Job, policy: PolicySettings) -> bool:
    """Whether only Slurm's silence about a batch script keeps the job from being exempt."""
    return _fits_interactive(rule, job) and is_interactive(job, policy) is None


def _fits_interactive(rule: Rule, job: Job) -> bool:
    hours, limit, gpus = rule.settings.exempt_interactive_hours, job.time_limit_seconds, job.allocated.gpus
    if hours is None or limit is None or gpus is None:
        return False
    return limit <= hours * 3600.0 and gpus <= rule.settings.exempt_interactive_gpus


def _listed(settings: PolicySettings | RuleSettings, word: str) -> list[str]:
    return list(getattr(settings, f"exempt_{_PLURALS[word]}"))


_PLURALS = {"user": "users", "account": "accounts", "partition": "partitions", "qos": "qos"}
_WORDS = {"user": "user", "account": "account", "partition": "partition", "qos": "QOS"}
