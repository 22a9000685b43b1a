"""Which acts follow from the verdicts: at most one per job, within the caps. Pure; nothing here acts.

Whoever acts keeps the returned episodes, checks each job again from raw data right before its act, and calls
`ladder.take` once the act is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from data.model import Job
from policy.calendar import may_step
from policy.ladder import Episode, EpisodeKey, close, due_at, freeze, low_since, next_step, observe
from policy.model import Attempt, JobVerdict, Status, Verdict, attempt_of
from policy.rules import MINUTE, Rule, Step
from settings import PolicySettings, StepAction

HOUR = timedelta(hours=1)
ActKey = tuple[Attempt, str, int, int]
"""What makes an act unique: attempt, rule, episode, step."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A cancellation of the last hour."""

    user: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Situation:
    """What a pass knows. `acting_since` is when each rule began to act; a rule that is not there begins now.

    `running_gpu_jobs` counts all of them, judged or not. `present` are all attempts that have not ended, suspended
    ones too; None = Slurm did not answer, and nothing is taken to have ended.
    """

    verdicts: tuple[JobVerdict, ...]
    running_gpu_jobs: int
    episodes: Mapping[EpisodeKey, Episode] = field(default_factory=dict)
    acting_since: Mapping[str, datetime] = field(default_factory=dict)
    cancelled: tuple[Cancelled, ...] = ()
    present: frozenset[Attempt] | None = None
    is_stopped: bool = False


@dataclass(frozen=True, slots=True)
class Act:
    """One step to take. `number` is the episode's, `step` counts from 1; `cancel_id` is what scancel gets."""

    job: Job
    verdict: Verdict
    rule: str
    number: int
    step: int
    action: StepAction
    low_since: datetime
    cancel_id: str | None = None

    @property
    def key(self) -> ActKey:
        return (attempt_of(self.job), self.rule, self.number, self.step)


@dataclass(frozen=True, slots=True)
class Withheld:
    """A step that is due and not taken in this pass, and why."""

    act: Act
    why: str


@dataclass(frozen=True, slots=True)
class Decision:
    """`episodes` are those of all attempts that still exist; `alarms` is for the staff."""

    acts: tuple[Act, ...]
    episodes: Mapping[EpisodeKey, Episode]
    withheld: tuple[Withheld, ...] = ()
    alarms: tuple[str, ...] = ()


def decide(
    situation: Situation, rules: Sequence[Rule], policy: PolicySettings, zone: tzinfo, now: datetime
) -> Decision:
    """Observe all verdicts, and choose the acts of this pass. Warnings come before cancellations, which come
    longest-low first."""
    by_name = {rule.name: rule for rule in rules}
    episodes = _observed(situation, by_name, now)
    due = [act for one in situation.verdicts if (act := _due(one, episodes, by_name, situation, policy, now))]
    if situation.is_stopped:
        return Decision((), episodes, tuple(Withheld(act, "stopped by the kill switch") for act in due))
    acts, withheld = _in_time(due, by_name, policy, zone, now)
    warnings = [act for act in acts if act.action is StepAction.WARN]
    cancels = sorted((act for act in acts if act.action is StepAction.CANCEL), key=lambda act: act.low_since)
    kept, capped, alarms = _capped(cancels, situation, policy, now)
    return Decision((*warnings, *kept), episodes, (*withheld, *capped), tuple(alarms))


def cancel_id(job: Job) -> str | None:
    """What to cancel: ARRAYID_TASK of an array task (one task has the array's own id as raw id), the leader of a het
    job, else the raw id. None = it cannot be told, and nothing may be cancelled."""
    if job.array_job_id is not None or job.array_task_id is not None or "_" in job.display_id:
        if job.array_job_id is None or job.array_task_id is None:
            return None
        return f"{job.array_job_id}_{job.array_task_id}"
    if job.het_job_id is not None:
        return str(job.het_job_id)
    return str(job.job_id) if job.job_id > 0 else None


def _observed(situation: Situation, rules: Mapping[str, Rule], now: datetime) -> dict[EpisodeKey, Episode]:
    """Episodes after this pass. Those of jobs that are gone are dropped; those that no rule feeds any more close."""
    found: dict[EpisodeKey, Episode] = {}
    judged: set[Attempt] = set()
    for one in situation.verdicts:
        attempt = attempt_of(one.job)
        judged.add(attempt)
        for verdict in one.verdicts:
            if verdict.is_acted_on and verdict.rule in rules:
                last = situation.episodes.get((attempt, verdict.rule))
                episode = observe(last, attempt, rules[verdict.rule], verdict, now)
                if episode is not None:
                    found[episode.key] = episode
    for key, episode in situation.episodes.items():
        if key in found:
            continue
        if key[0] in judged:
            found[key] = close(episode, now)
        elif situation.present is None or key[0] in situation.present:
            found[key] = freeze(episode, now)
    return found


def _due(
    one: JobVerdict,
    episodes: Mapping[EpisodeKey, Episode],
    rules: Mapping[str, Rule],
    situation: Situation,
    policy: PolicySettings,
    now: datetime,
) -> Act | None:
    """The one act of a job that is due; of several rules the one that is furthest up its ladder."""
    acts = []
    for verdict in one.verdicts:
        episode = episodes.get((attempt_of(one.job), verdict.rule))
        rule = rules.get(verdict.rule)
        if rule is None or episode is None or verdict.status is not Status.LOW or not verdict.is_acted_on:
            continue
        step = next_step(episode, rule)
        if step is None:
            continue
        until = warn_only_until(rule, step, situation.acting_since, policy, now)
        if due_at(episode, rule, verdict, now, warn_only_until=until) <= now:
            acts.append(_act(one.job, verdict, episode, rule, step))
    return max(acts, key=lambda act: (act.action is StepAction.CANCEL, act.step), default=None)


def warn_only_until(
    rule: Rule, step: Step, acting_since: Mapping[str, datetime], policy: PolicySettings, now: datetime
) -> datetime | None:
    """When the rule may cancel at the earliest; None for steps that only warn."""
    if step.action is not StepAction.CANCEL or policy.warn_only_days <= 0:
        return None
    return acting_since.get(rule.name, now) + timedelta(days=policy.warn_only_days)


def _act(job: Job, verdict: Verdict, episode: Episode, rule: Rule, step: Step) -> Act:
    wanted = cancel_id(job) if step.action is StepAction.CANCEL else None
    since = low_since(episode, rule)
    return Act(job, verdict, rule.name, episode.number, len(episode.taken) + 1, step.action, since, wanted)


def _in_time(
    due: Iterable[Act], rules: Mapping[str, Rule], policy: PolicySettings, zone: tzinfo, now: datetime
) -> tuple[list[Act], list[Withheld]]:
    """Without those that must wait: quiet hours, the last minutes before the limit, and jobs that cannot be named."""
    acts, withheld = [], []
    is_open = may_step(policy, zone, now)
    for act in due:
        why = "" if is_open else "quiet hours"
        if ends_soon(act.job, rules[act.rule], now):
            why = "its time limit ends it soon"
        if act.action is StepAction.CANCEL and act.cancel_id is None:
            why = "it cannot be told what to cancel"
        if why:
            withheld.append(Withheld(act, why))
        else:
            acts.append(act)
    return acts, withheld


def ends_soon(job: Job, rule: Rule, now: datetime) -> bool:
    """Whether the job's time limit ends it within the minutes in which the rule does nothing."""
    last = rule.settings.no_action_before_limit_minutes * MINUTE
    elapsed = job.elapsed_at(now)
    if last <= 0 or job.time_limit_seconds is None or elapsed is None:
        return False
    return job.time_limit_seconds - elapsed <= last


def _capped(
    cancels: Sequence[Act], situation: Situation, policy: PolicySettings, now: datetime
) -> tuple[list[Act], list[Withheld], list[str]]:
    """The cancellations that the caps allow; none at all when too many jobs would be hit at once."""
    most = max(policy.stop_share * situation.running_gpu_jobs, policy.stop_jobs)
    if len(cancels) > most:
        text = f"{len(cancels)} of {situation.running_gpu_jobs} running GPU jobs would be cancelled: nothing was"
        return [], [Withheld(act, "too many jobs would be hit at once") for act in cancels], [text]
    recent = [one for one in situation.cancelled if abs(now - one.time) < HOUR]
    by_user = Counter(one.user for one in recent)
    kept: list[Act] = []
    withheld: list[Withheld] = []
    for act in cancels:
        user = act.job.user or ""
        if len(kept) >= policy.cancels_per_run:
            withheld.append(Withheld(act, f"at most {policy.cancels_per_run} cancellations a run"))
        elif len(recent) + len(kept) >= policy.cancels_per_hour:
            withheld.append(Withheld(act, f"at most {policy.cancels_per_hour} cancellations an hour"))
        elif by_user[user] >= policy.cancels_per_user_hour:
            withheld.append(Withheld(act, f"at most {policy.cancels_per_user_hour} cancellations a user and hour"))
        else:
            kept.append(act)
            by_user[user] += 1
    return kept, withheld, []
