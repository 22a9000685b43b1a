"""An enforcer of the simulated cluster: what it would have written down. Nothing is sent and nothing is cancelled.

It is a function of the cluster and the moment, as the cluster itself: ladders follow from how long jobs have been idle.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from data.exemption import KeptExemption
from data.model import Job, Scope, Window
from data.sources import Sources
from policy.ladder import Episode, Ladders
from policy.model import JobVerdict, Status, Verdict, attempt_of
from policy.rules import Rule, rules_of
from settings import RuleKind, Settings, StepAction

PASS = timedelta(minutes=5)
_LOOK_BACK = timedelta(hours=12)
_FORTNIGHT, _APART = timedelta(days=14), timedelta(days=4)
_EPOCH = datetime(2020, 1, 6, tzinfo=UTC)
_EXEMPT = (
    ("user", "hnguyen", "", "paper deadline, interactive debugging of a long run", "mtanaka"),
    ("account", "genomics", "idle", "pipeline waits for a license server that is being moved", "opark"),
    ("partition", "preempt", "low-mean", "trial of smaller jobs", "mtanaka"),
)


def is_simulated(sources: Sources) -> bool:
    """Whether the whole cluster is simulated, and no store of an enforcer is set."""
    kinds = (sources.scheduler.kind, sources.metrics.kind)
    return kinds == ("simulated", "simulated") and not sources.settings.enforcement.is_set


def simulated_exemptions(settings: Settings, now: datetime) -> tuple[KeptExemption, ...]:
    """Three that are made anew every fortnight, of rules that the settings have."""
    known = {"", *(rule.name for rule in rules_of(settings.policy))}
    found = []
    for number, (kind, name, rule, reason, by) in enumerate(_EXEMPT, 1):
        first = _EPOCH + number * _APART
        begin = first + (now - first) // _FORTNIGHT * _FORTNIGHT
        if rule in known:
            found.append(KeptExemption(f"demo-{number}", kind, name, rule, reason, by, begin, begin + _FORTNIGHT))
    return tuple(found)


def simulated_ladders(sources: Sources, every: Iterable[JobVerdict], now: datetime) -> Ladders:
    """Of each job that is low by a rule that acts: the steps before a cancel that passes every five minutes took."""
    return sources.recent.get(("simulated ladders", now), lambda: _ladders(sources, every, now))


def _ladders(sources: Sources, every: Iterable[JobVerdict], now: datetime) -> Ladders:
    rules = {rule.name: rule for rule in rules_of(sources.settings.policy) if rule.acts}
    episodes = {}
    for one in every:
        for verdict in one.verdicts:
            rule = rules.get(verdict.rule)
            if rule is not None and rule.kind is RuleKind.IDLE and verdict.status is Status.LOW:
                episode = _episode(one, verdict, rule, _idle_since(sources, one.job, now), now)
                episodes[episode.key] = episode
    return Ladders(episodes, dict.fromkeys(rules, _EPOCH))


def _idle_since(sources: Sources, job: Job, now: datetime) -> datetime:
    """The last busy minute of any of its devices, or its start."""
    begin = max(now - _LOOK_BACK, job.start_time or now - _LOOK_BACK)
    scope = Scope(job_labels=frozenset({str(job.job_id)}), nodes=frozenset(job.nodes))
    metrics = ("gpu_utilization", "graphics_engine_activity")
    if begin >= now:
        return begin
    last = begin.timestamp()
    for series in sources.metrics.series(metrics, Window(begin, now), scope, 60.0):
        busy = [time for time, value in zip(series.times, series.values, strict=True) if value > 0.001]
        last = max(last, *busy[-1:]) if busy else last
    return datetime.fromtimestamp(last, UTC)


def _episode(one: JobVerdict, verdict: Verdict, rule: Rule, since: datetime, now: datetime) -> Episode:
    idle = max(verdict.idle_seconds or 0.0, (now - since).total_seconds())
    since = now - timedelta(seconds=idle)
    warned = [since + timedelta(seconds=step.at_seconds) for step in rule.steps if step.action is StepAction.WARN]
    taken = tuple(moment for at in warned if (moment := next_pass(at)) <= now)
    opened = next_pass(since + timedelta(seconds=rule.windows[0]))
    return Episode(attempt_of(one.job), rule.name, 1, min(opened, now), now, now, low_seconds=idle, taken=taken)


def next_pass(moment: datetime) -> datetime:
    """When the simulated timer runs next."""
    return _EPOCH - (_EPOCH - moment) // PASS * PASS
