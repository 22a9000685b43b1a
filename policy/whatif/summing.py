"""Hits added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta

from data.efficiency import saved_gpu_hours
from policy.rules import Rule
from policy.whatif.model import Amount, FalseAlarm, Outcome, UserHit
from policy.whatif.replay import Hit
from policy.whatif.timelines import PastJob
from settings import RuleKind

MOST_USERS, MOST_ALARMS = 20, 20


def amount_of(jobs: Iterable[PastJob]) -> Amount:
    found = list(jobs)
    return Amount(len(found), len({one.job.user for one in found}), sum(one.gpu_hours or 0.0 for one in found))


def outcome_of(rule: Rule, hits: Sequence[Hit], share: float) -> Outcome:
    """`share` is the part of the time limit that jobs are taken to run for."""
    is_mean = rule.kind is RuleKind.MEAN
    cancelled = [hit for hit in hits if hit.climbed.cancelled is not None]
    saved = [saved_of(hit, share) for hit in cancelled]
    return Outcome(
        threshold=rule.settings.threshold,
        window_seconds=rule.windows[0] if is_mean else None,
        first_step_seconds=None if is_mean else rule.steps[0].at_seconds,
        warned=amount_of(hit.past for hit in hits),
        warnings=sum(len(hit.climbed.warned) for hit in hits),
        cancelled=amount_of(hit.past for hit in cancelled),
        false_alarms=amount_of(hit.past for hit in cancelled if hit.became_busy),
        saved_gpu_hours=sum(hours for hours in saved if hours is not None),
        saved_unknown=saved.count(None),
        held_gpu_hours=sum(hit.held_gpu_hours for hit in cancelled),
        used_gpu_hours=sum(hit.used_gpu_hours for hit in cancelled),
    )


def saved_of(hit: Hit, share: float) -> float | None:
    """GPU-hours that the cancel of this attempt saves; None where they are not known."""
    past = hit.past
    return saved_gpu_hours(past.gpu_weight, past.job.time_limit_seconds, hit.climbed.cancelled, share=share)


def users_of(hits: Iterable[Hit], share: float) -> tuple[UserHit, ...]:
    """The users whom it would hit most: by cancelled jobs and the GPU-hours that these held, then by warned ones."""
    by_user: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        by_user[hit.past.job.user or "?"].append(hit)
    rows = [_user(name, own, share) for name, own in by_user.items()]
    rows.sort(key=lambda row: (-row.held_gpu_hours, -row.cancelled, -row.warned, row.user))
    return tuple(rows[:MOST_USERS])


def _user(name: str, hits: Sequence[Hit], share: float) -> UserHit:
    cancelled = [hit for hit in hits if hit.climbed.cancelled is not None]
    return UserHit(
        name,
        warned=len(hits),
        cancelled=len(cancelled),
        false_alarms=sum(hit.became_busy for hit in cancelled),
        saved_gpu_hours=sum(saved_of(hit, share) or 0.0 for hit in cancelled),
        held_gpu_hours=sum(hit.held_gpu_hours for hit in cancelled),
    )


def alarms_of(hits: Iterable[Hit]) -> tuple[FalseAlarm, ...]:
    """The false alarms that lost most work first."""
    rows = [_alarm(hit, hit.climbed.cancelled) for hit in hits if hit.climbed.cancelled and hit.became_busy]
    rows.sort(key=lambda row: (-row.used_gpu_hours, row.job))
    return tuple(rows[:MOST_ALARMS])


def _alarm(hit: Hit, cancelled: float) -> FalseAlarm:
    past = hit.past
    start = past.job.start_time
    assert start is not None  # climbing needs one
    return FalseAlarm(
        past.job.display_id,
        past.job.user or "?",
        past.job.partition,
        past.gpus,
        start + timedelta(seconds=past.run_seconds),
        cancelled,
        hit.held_gpu_hours,
        hit.used_gpu_hours,
    )
