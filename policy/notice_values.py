"""What the mails of a ladder say, value by value, each as it is read; and which steps follow. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from data.findings.advice import advice
from data.metrics.registry import METRICS
from data.words import clean, count, duration, gpu_hours, percent
from policy.calendar import next_opening
from policy.decide import Act, ActKey, warn_only_until
from policy.ladder import Episode, EpisodeKey, due_at, next_step, take
from policy.model import attempt_of
from policy.rules import MINUTE, Rule, rule_of
from settings import RuleKind, RuleSettings, Settings, StepAction, StepSettings

_NAME_CHARS, _MOST_NODES = 60, 3


@dataclass(frozen=True, slots=True)
class Following:
    """A step that comes if the job stays as it is: what, and not before when."""

    action: StepAction
    at: datetime


@dataclass(frozen=True, slots=True)
class JobLine:
    """A row of a mail's table, every value as it is read. `next` is "" where nothing follows, `link` without a
    dashboard."""

    id: str
    name: str
    partition: str
    gpus: str
    nodes: str
    since: str
    measured: str
    coverage: str
    wasted: str
    next: str
    link: str


def followings(
    acts: Sequence[Act],
    episodes: Mapping[EpisodeKey, Episode],
    acting_since: Mapping[str, datetime],
    settings: Settings,
    now: datetime,
) -> dict[ActKey, tuple[Following, ...]]:
    """The `following` steps of each act by its key; `episodes` are those of the decision, before the acts."""
    return {
        act.key: following(act, episodes[(attempt_of(act.job), act.rule)], acting_since, settings, now) for act in acts
    }


def following(
    act: Act, episode: Episode, acting_since: Mapping[str, datetime], settings: Settings, now: datetime
) -> tuple[Following, ...]:
    """The steps after this one, if it is taken now and the job stays low; the rule's clock and notices, its first days
    of warnings alone and quiet hours are kept."""
    policy, zone = settings.policy, ZoneInfo(settings.site_timezone)
    rule = _rule(act, settings)
    found: list[Following] = []
    moment = now
    while True:
        episode = take(episode, moment)
        step = next_step(episode, rule)
        if step is None:
            return tuple(found)
        until = warn_only_until(rule, step, acting_since, policy, now)
        due = max(moment, due_at(episode, rule, act.verdict, now, warn_only_until=until))
        moment = next_opening(policy, zone, due)
        found.append(Following(step.action, moment))


def notice_values(
    acts: Sequence[Act],
    settings: Settings,
    *,
    now: datetime,
    after: Mapping[ActKey, tuple[Following, ...]],
) -> dict[str, Any]:
    """What the templates can show; docs/how-to/mail.md describes each."""
    first, rule, zone = acts[0], _rule(acts[0], settings), ZoneInfo(settings.site_timezone)
    steps = [after.get(act.key, ()) for act in acts]
    ordered = sorted(zip(acts, steps, strict=True), key=lambda pair: (pair[0].low_since, pair[0].job.job_id))
    cancels = [one.at for later in steps for one in later if one.action is StepAction.CANCEL]
    nexts = [later[0] for later in steps if later]
    soonest = min(nexts, key=lambda one: one.at, default=None)
    return {
        "user": clean(first.job.user or ""),
        "site": site_of(settings, first.job.cluster),
        "rule": rule.name,
        "kind": rule.kind.value,
        "action": first.action.value,
        "step": first.step,
        "steps": len(rule.steps),
        "jobs": [_row(act, later, rule, settings, zone) for act, later in ordered],
        "count": len(acts),
        "criterion": criterion(rule),
        "relief": relief(rule),
        "reasons": list(dict.fromkeys(act.verdict.sentence for act, _ in ordered if act.verdict.sentence)),
        "wasted": _wasted(acts),
        "window": duration(rule.windows[0]),
        "next_action": "" if soonest is None else _clause(soonest.action, len(acts)),
        "next_at": "" if soonest is None else moment_words(soonest.at, zone),
        "cancel_at": moment_words(min(cancels), zone) if cancels else "",
        "advice": advice(settings.findings)["idle"].advice,
        "now": moment_words(now, zone),
        "reply_to": settings.mail.reply_to or settings.mail.sender,
        "dashboard": settings.mail.dashboard,
        "help": settings.mail.help,
    }


def criterion(rule: Rule) -> str:
    """When the rule calls a job low, as a clause."""
    given, window = rule.settings, duration(rule.windows[0])
    which = {"all": "each of its GPUs", "any": "one of its GPUs"}.get(given.which)
    gpus = which or f"at least {percent(given.share)} of its GPUs"
    if rule.kind is RuleKind.IDLE:
        return f"{gpus} had nothing but idle samples for {window} or longer"
    return f"{gpus} had a mean {METRICS[rule.metric].label} below {percent(given.threshold)} over {window}"


def relief(rule: Rule) -> str:
    """What ends the ladder, as a clause."""
    if rule.kind is RuleKind.IDLE:
        return "as soon as the GPUs are in use"
    window, limit = duration(rule.windows[0]), percent(rule.settings.threshold)
    return f"when the mean {METRICS[rule.metric].label} of the last {window} is {limit} or more"


def _clause(action: StepAction, jobs: int) -> str:
    if action is StepAction.WARN:
        return "another mail follows"
    return "the job is cancelled" if jobs == 1 else "these jobs are cancelled"


def moment_words(time: datetime, zone: ZoneInfo) -> str:
    """A clock time that can be read days later and elsewhere: Tue 10 Mar, 14:30 CET."""
    return f"{day_words(time, zone)}, {time.astimezone(zone):%H:%M %Z}"


def day_words(time: datetime, zone: ZoneInfo) -> str:
    """Tue 10 Mar."""
    here = time.astimezone(zone)
    return f"{here:%a} {here.day} {here:%b}"


def site_of(settings: Settings, cluster: str = "") -> str:
    """What mails call the site; `cluster` is what Slurm calls it."""
    return settings.mail.site or settings.cluster or cluster or "the cluster"


def shortened(text: str, most: int) -> str:
    """At most so many characters, with a mark where some are missing."""
    return text if len(text) <= most else f"{text[:most]}…"


def _rule(act: Act, settings: Settings) -> Rule:
    """The rule as it is; one that is off by now, or gone, as far as its verdict tells of it: whoever lost a job by it
    is told all the same."""
    given = settings.policy.rules.get(act.rule)
    return rule_of(act.rule, _settings_of(act) if given is None else given)


def _settings_of(act: Act) -> RuleSettings:
    verdict = act.verdict
    minutes = (verdict.window_seconds or MINUTE) / MINUTE
    steps = [StepSettings(action=StepAction.WARN, at_minutes=minutes + number) for number in range(act.step)]
    if verdict.kind is RuleKind.IDLE:
        return RuleSettings(kind=verdict.kind, steps=steps)
    return RuleSettings(kind=verdict.kind, window_minutes=minutes, threshold=verdict.threshold or 1.0, steps=steps)


def _row(act: Act, later: Sequence[Following], rule: Rule, settings: Settings, zone: ZoneInfo) -> JobLine:
    job, verdict = act.job, act.verdict
    nodes = [clean(node) for node in job.nodes]
    more = len(nodes) - _MOST_NODES
    measured = (
        f"idle for {duration(verdict.idle_seconds)}"
        if rule.kind is RuleKind.IDLE
        else f"mean {percent(verdict.mean, limit=verdict.threshold)}"
    )
    board = settings.mail.dashboard
    return JobLine(
        id=job.display_id,
        name=shortened(clean(job.name), _NAME_CHARS),
        partition=clean(job.partition),
        gpus="not known" if verdict.devices_allocated is None else str(verdict.devices_allocated),
        nodes=", ".join(nodes[:_MOST_NODES]) + (f" and {more} more" if more > 0 else ""),
        since=moment_words(act.low_since, zone),
        measured=measured,
        coverage=percent(None if verdict.coverage is None else min(1.0, verdict.coverage)),
        wasted=gpu_hours(verdict.wasted_gpu_hours_window),
        next=moment_words(later[0].at, zone) if later else "",
        link=f"{board}/jobs/{job.display_id}" if board else "",
    )


def _wasted(acts: Sequence[Act]) -> str:
    """The sum over the jobs, only where each of them is measured."""
    hours = [act.verdict.wasted_gpu_hours_window for act in acts]
    known = [value for value in hours if value is not None]
    if len(known) == len(hours):
        return gpu_hours(sum(known))
    return f"{gpu_hours(sum(known))} of {count(len(known), 'measured job')}" if known else gpu_hours(None)
