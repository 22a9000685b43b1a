"""Where a verdict stands on its ladder, for people: since when, which steps were taken, what comes next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, tzinfo

from policy.calendar import next_opening
from policy.decide import warn_only_until
from policy.ladder import Episode, EpisodeKey, due_at, low_since, next_step, observe
from policy.model import JobVerdict, Status, Verdict, attempt_of
from policy.rules import Rule
from settings import PolicySettings, RuleKind


def placed(
    one: JobVerdict,
    rules: Mapping[str, Rule],
    episodes: Mapping[EpisodeKey, Episode],
    acting_since: Mapping[str, datetime],
    policy: PolicySettings,
    zone: tzinfo,
) -> JobVerdict:
    """The verdicts with their place on the ladder. Without a known episode, as if it began now; since when a mean is
    low is then not known."""
    attempt = attempt_of(one.job)
    verdicts = tuple(
        _placed(verdict, rules[verdict.rule], episodes.get((attempt, verdict.rule)), one, acting_since, policy, zone)
        for verdict in one.verdicts
    )
    named = next(verdict for verdict in verdicts if verdict.rule == one.verdict.rule)
    return replace(one, verdict=named, verdicts=verdicts)


def _placed(
    verdict: Verdict,
    rule: Rule,
    known: Episode | None,
    one: JobVerdict,
    acting_since: Mapping[str, datetime],
    policy: PolicySettings,
    zone: tzinfo,
) -> Verdict:
    now = one.time
    episode = observe(known, attempt_of(one.job), rule, verdict, now)
    if episode is None or not episode.is_open:
        return verdict
    is_known = known is not None or rule.kind is RuleKind.IDLE  # how long it was idle is measured
    since = low_since(episode, rule) if is_known else None
    verdict = replace(verdict, since=since, steps_taken=len(episode.taken))
    step = next_step(episode, rule)
    if step is None or verdict.status is not Status.LOW or not rule.acts:
        return verdict
    until = warn_only_until(rule, step, acting_since, policy, now)
    due = max(now, due_at(episode, rule, verdict, now, warn_only_until=until))
    return replace(verdict, next_action=step.action, next_at=next_opening(policy, zone, due))
