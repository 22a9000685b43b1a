"""Episodes of low use, and which step of the ladder is due. A pure state machine over verdicts and times.

The first low opens an episode of one attempt and rule, ok closes it (kind mean: after a while of ok; kind idle: at
once). Unknown, calculating, exempt and a suspension freeze it: the clock stands, and the next step comes no earlier
than one notice after the first fresh low. When no pass looked for longer than the windows reach back, an idle job may
have been busy meanwhile: a new episode begins; for kind mean it counts as a freeze.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from policy.model import Attempt, Doubt, Status, Verdict
from policy.rules import MINUTE, Rule, Step
from settings import RuleKind

EpisodeKey = tuple[Attempt, str]


@dataclass(frozen=True, slots=True)
class Episode:
    """`number` counts the episodes of this attempt and rule from 1. `taken` are the times of the steps taken.

    `low_at` is the last low that was seen, after `low_seconds` of idleness (kind idle); `seen_at` is the last pass.
    `fresh_at` is the first low after the last freeze. `is_held`: the node's devices all turned idle at once, and
    nothing follows until a busy sample.
    """

    attempt: Attempt
    rule: str
    number: int
    opened_at: datetime
    low_at: datetime
    seen_at: datetime
    is_open: bool = True
    is_held: bool = False
    low_seconds: float = 0.0
    frozen_since: datetime | None = None
    frozen_seconds: float = 0.0
    fresh_at: datetime | None = None
    ok_since: datetime | None = None
    taken: tuple[datetime, ...] = ()

    @property
    def key(self) -> EpisodeKey:
        return (self.attempt, self.rule)

    def clock(self, now: datetime) -> float:
        """Seconds since the episode opened, frozen time left out."""
        end = now if self.frozen_since is None else self.frozen_since
        return (end - self.opened_at).total_seconds() - self.frozen_seconds


@dataclass(frozen=True, slots=True)
class Ladders:
    """What the enforcer has written down: episodes by (attempt, rule), since when each rule acts, and in which form;
    a form that was not written down yet is absent."""

    episodes: Mapping[EpisodeKey, Episode] = field(default_factory=dict)
    acting_since: Mapping[str, datetime] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)


NO_LADDERS = Ladders()


def of_these_rules(ladders: Ladders, rules: Iterable[Rule], now: datetime) -> Ladders:
    """The ladders without what was climbed on another form of a rule: nobody was told of the steps that it has now.

    The episodes of a rule that was changed are over, and it acts since now.
    """
    changed = {rule.name for rule in rules if ladders.forms.get(rule.name, rule.form) != rule.form}
    if not changed:
        return ladders
    episodes = {
        key: replace(close(one, now), is_held=one.is_held) if one.rule in changed and one.is_open else one
        for key, one in ladders.episodes.items()
    }
    since = {name: at for name, at in ladders.acting_since.items() if name not in changed}
    return replace(ladders, episodes=episodes, acting_since=since)


def observe(episode: Episode | None, attempt: Attempt, rule: Rule, verdict: Verdict, now: datetime) -> Episode | None:
    """The episode after this pass; None = there never was one. A closed one is kept for its number."""
    holds = verdict.status is Status.UNKNOWN and verdict.reason == Doubt.NODE_ZERO
    if episode is None or not episode.is_open:
        return _without_open(episode, attempt, rule, verdict, now, holds=holds)
    if now < episode.seen_at:
        return replace(_frozen(episode, now), seen_at=now)
    if verdict.status is Status.LOW:
        return _still_low(episode, rule, verdict, now)
    if verdict.status is Status.OK:
        return _seen_ok(episode, rule, now)
    if rule.kind is RuleKind.IDLE and _was_busy(episode, verdict, now):
        return close(episode, now)
    return replace(_frozen(episode, episode.seen_at), seen_at=now, is_held=episode.is_held or holds)


def freeze(episode: Episode, now: datetime) -> Episode:
    """The episode of a job that was not judged in this pass, such as a suspended one."""
    return replace(_frozen(episode, min(episode.seen_at, now)), seen_at=now) if episode.is_open else episode


def close(episode: Episode, now: datetime) -> Episode:
    return replace(episode, is_open=False, is_held=False, seen_at=now, frozen_since=None, ok_since=None)


def take(episode: Episode, now: datetime) -> Episode:
    """The episode after its next step was taken."""
    return replace(episode, taken=(*episode.taken, now))


def low_since(episode: Episode, rule: Rule) -> datetime:
    """Since when at least the job is low: an idle one opened its episode only after its first window."""
    if rule.kind is RuleKind.MEAN:
        return episode.opened_at
    opened_after = timedelta(seconds=rule.windows[0])
    return min(episode.opened_at - opened_after, episode.low_at - timedelta(seconds=episode.low_seconds))


def next_step(episode: Episode, rule: Rule) -> Step | None:
    """The step that comes next, in order; None when all are taken, and while nothing may follow."""
    if not episode.is_open or episode.is_held or episode.frozen_since is not None:
        return None
    return rule.steps[len(episode.taken)] if len(episode.taken) < len(rule.steps) else None


def due_at(
    episode: Episode, rule: Rule, verdict: Verdict, now: datetime, *, warn_only_until: datetime | None
) -> datetime:
    """When the next step is due if the job stays low; not after `now` = it is due now.

    `warn_only_until` None = the rule has no such time before a cancel.
    """
    number = len(episode.taken)
    step = rule.steps[number]
    moments = [_by_clock(episode, rule, step, verdict, now)]
    notice = timedelta(seconds=step.notice_seconds if number else rule.least_notice)
    if episode.taken:
        moments.append(episode.taken[-1] + notice)
    if episode.fresh_at is not None:
        moments.append(episode.fresh_at + notice)
    if warn_only_until is not None and number:
        moments.append(max(warn_only_until, episode.taken[-1]) + notice)
    return max(moments)


def _by_clock(episode: Episode, rule: Rule, step: Step, verdict: Verdict, now: datetime) -> datetime:
    """By the idle stretch up to now, as measured, or by the time since the first low."""
    if rule.kind is RuleKind.MEAN:
        return now + timedelta(seconds=step.at_seconds - episode.clock(now))
    idle = verdict.idle_seconds or 0.0
    if idle >= step.at_seconds:
        return now
    known = max(idle, rule.steps[0].at_seconds + (now - episode.opened_at).total_seconds() - episode.frozen_seconds)
    return now + timedelta(seconds=max(1.0, step.at_seconds - known))


def _without_open(
    last: Episode | None, attempt: Attempt, rule: Rule, verdict: Verdict, now: datetime, *, holds: bool
) -> Episode | None:
    number = last.number if last is not None else 0
    is_held = last is not None and last.is_held
    if holds or (is_held and verdict.status is not Status.OK):
        return Episode(attempt, rule.name, number, now, now, now, is_open=False, is_held=True)
    if verdict.status is Status.LOW:
        return _opened(attempt, rule, number + 1, verdict, now)
    return None if last is None else replace(last, seen_at=now, is_held=False)


def _still_low(episode: Episode, rule: Rule, verdict: Verdict, now: datetime) -> Episode:
    is_gap = False
    if rule.kind is RuleKind.IDLE:
        idle = verdict.idle_seconds or 0.0
        looked = episode.low_at if episode.frozen_since is None else episode.seen_at
        if _was_busy(episode, verdict, now) or (now - looked).total_seconds() > idle:
            return _opened(episode.attempt, rule, episode.number + 1, verdict, now)
    else:
        is_gap = (now - episode.seen_at).total_seconds() > rule.windows[0]
    if is_gap and episode.frozen_since is None:
        episode = replace(episode, frozen_since=episode.seen_at)
    if episode.frozen_since is not None:
        stood = max(0.0, (now - episode.frozen_since).total_seconds())
        episode = replace(episode, frozen_since=None, frozen_seconds=episode.frozen_seconds + stood, fresh_at=now)
    return replace(episode, low_at=now, low_seconds=verdict.idle_seconds or 0.0, seen_at=now, ok_since=None)


def _was_busy(episode: Episode, verdict: Verdict, now: datetime) -> bool:
    """Whether a sample since the last low was surely busy: the window in which it lies begins after that idleness."""
    within = verdict.busy_within_seconds
    return within is not None and within <= (now - episode.low_at).total_seconds() + episode.low_seconds


def _opened(attempt: Attempt, rule: Rule, number: int, verdict: Verdict, now: datetime) -> Episode:
    return Episode(attempt, rule.name, number, now, now, now, low_seconds=verdict.idle_seconds or 0.0)


def _seen_ok(episode: Episode, rule: Rule, now: datetime) -> Episode:
    since = episode.ok_since or now
    long_enough = (now - since).total_seconds() >= rule.settings.close_minutes * MINUTE
    if rule.kind is RuleKind.IDLE or long_enough:
        return close(episode, now)
    return replace(episode, ok_since=since, seen_at=now, is_held=False)


def _frozen(episode: Episode, since: datetime) -> Episode:
    return episode if episode.frozen_since is not None else replace(episode, frozen_since=since)
