"""The verdicts of all running GPU jobs, as a viewer may see them: at most four requests to the metrics for everybody.

The same answer serves pages, API, terminal, chat and enforcement. Nothing in here acts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from data.errors import FullwarpError, NotFound, SourceError
from data.model import ClusterSnapshot, Job, SourceCondition, SourceState, SumAsk, SumsReading, Viewer
from data.queries.job_report import job_report
from data.queries.scope import may_see, scope_source
from data.sources import Sources
from data.words import duration
from policy.asks import asks_about, asks_for, signal_windows
from policy.doubts import limits_of
from policy.exemptions import KeptNow, as_rules, exemptions_now
from policy.gather import Sums, Whole, devices_of, disagreeing_jobs, evidence_of, running_jobs, sums_of
from policy.judge import Judging, clean_seconds, judge_job
from policy.ladder import Ladders
from policy.model import WORST_FIRST, Attempt, Evidence, JobVerdict, Status, attempt_of
from policy.position import placed
from policy.rules import Exemption, Rule, covers, rules_of
from policy.signs import ByNode, by_node, nodes_of, suspicious_nodes, troubles_of
from policy.standing import standing
from settings import Settings

# Beyond this share of all nodes, naming them costs the server more than reading all.
_MOST_NODES_NAMED = 0.5
# How far the newest sample may be from the time of the picture: scrapes may fail, and pictures take a while.
_INTERVALS_APART, _SECONDS_APART = 3.0, 60.0


@dataclass(frozen=True, slots=True)
class VerdictList:
    """Verdicts that the viewer may see, worst first. `counts` by status are of everybody's jobs, `uncovered` those
    that no rule is about; `wasted_gpu_hours` by status are of each job's window, absent where none is measured. `fault`
    says why nothing new was measured ("" = all answered), `detail` what the source said of it, for staff alone."""

    time: datetime
    verdicts: tuple[JobVerdict, ...]
    counts: Mapping[Status, int] = field(default_factory=dict)
    running_gpu_jobs: int = 0
    uncovered: int = 0
    wasted_gpu_hours: Mapping[str, float] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    fault: str = ""
    detail: str = ""
    sources: tuple[SourceState, ...] = ()


def verdicts(
    viewer: Viewer,
    sources: Sources,
    *,
    exemptions: Sequence[Exemption] | None = None,
    ladders: Ladders | None = None,
    totals: Mapping[Attempt, float] | None = None,
) -> VerdictList:
    """Answer with the verdict of every running GPU job that the viewer may see.

    Asked once per picture however many viewers there are. `exemptions` and `ladders` are those of the stores unless
    they are given; a store that does not answer stands in `sources`. `totals` are GPU-hours wasted since the start by
    attempt, from whoever keeps them. When the metrics do not answer, verdicts are unknown (or still calculating), and
    `fault` says so. Raises SourceError when there is no picture at all.
    """
    kept = exemptions_now(sources) if exemptions is None else KeptNow()
    whole = _everybody(sources, as_rules(kept.rows) if exemptions is None else tuple(exemptions))
    enforcement = None
    if ladders is None:
        ladders, enforcement = standing(sources, sources.live.snapshot().cluster, whole.verdicts, whole.time)
    stores = [source for source in (kept.source, enforcement) if source is not None]
    policy, zone = sources.settings.policy, ZoneInfo(sources.settings.site_timezone)
    by_name = {rule.name: rule for rule in rules_of(policy)}
    seen = [one for one in whole.verdicts if may_see(viewer, one.job)]
    placed_here = [placed(one, by_name, ladders.episodes, ladders.acting_since, policy, zone) for one in seen]
    if totals:
        placed_here = [replace(one, wasted_gpu_hours_total=totals.get(attempt_of(one.job))) for one in placed_here]
    return VerdictList(
        time=whole.time,
        verdicts=tuple(placed_here),
        counts=whole.counts,
        running_gpu_jobs=whole.running_gpu_jobs,
        uncovered=whole.uncovered,
        wasted_gpu_hours=whole.wasted_gpu_hours,
        rules=whole.rules,
        fault=whole.fault,
        detail=whole.detail if viewer.is_staff else "",
        sources=tuple(scope_source(viewer, source) for source in (*whole.sources, *stores)),
    )


def verdict(
    viewer: Viewer,
    sources: Sources,
    job_id: str,
    *,
    exemptions: Sequence[Exemption] | None = None,
    ladders: Ladders | None = None,
) -> JobVerdict:
    """Answer for one running job, by its raw or written id (123, 123_7, 123+1), with its waste since the start.

    Raises NotFound for a job that does not run, has no GPU, is covered by no rule or may not be seen.
    """
    text = job_id.strip()
    found = verdicts(viewer, sources, exemptions=exemptions, ladders=ladders).verdicts
    by_written = [one for one in found if one.job.display_id == text]
    by_raw = [one for one in found if _is_named(one.job, text)]
    for one in (*by_written, *by_raw):
        return replace(one, wasted_gpu_hours_total=_wasted_since_start(viewer, sources, one))
    raise NotFound(
        f"There is no verdict on job {text[:60]}: it does not run with GPUs, no rule covers it, or you may not see it",
        hint=f"See `fullwarp job {text[:60]}` for what is known of it.",
    )


def _is_named(job: Job, text: str) -> bool:
    """Whether a raw id names the job; any part of a het job names the whole."""
    if job.het_job_id is not None and str(job.het_job_id) == text.split("+")[0]:
        return True
    return str(job.job_id) == text


def _wasted_since_start(viewer: Viewer, sources: Sources, one: JobVerdict) -> float | None:
    """From the job's report, which is kept a while; None where it is not measured or not there."""
    try:
        report = job_report(viewer, sources, one.job.display_id)
    except FullwarpError:
        return None
    is_same = report.job.start_time == one.job.start_time
    return report.hours.wasted if is_same and report.hours is not None and not report.faults else None


def _everybody(sources: Sources, exemptions: tuple[Exemption, ...]) -> VerdictList:
    """Everybody's verdicts of the newest picture, made once whoever asks."""
    snapshot = sources.live.snapshot()
    key = ("verdicts", snapshot.version, exemptions)
    return sources.recent.get(key, lambda: judge_all(sources.settings, sources.metrics, snapshot, exemptions))


class Adding(Protocol):
    """What judging asks of the metrics."""

    def sums(
        self, asks: Sequence[SumAsk], at: datetime, nodes: frozenset[str] | None = None, restarts: Sequence[float] = ()
    ) -> SumsReading: ...


def judge_all(
    settings: Settings,
    metrics: Adding,
    snapshot: ClusterSnapshot,
    exemptions: tuple[Exemption, ...] = (),
    only: frozenset[int] | None = None,
) -> VerdictList:
    """Judge all running GPU jobs of a picture, or those with these raw ids, on their nodes alone.

    Never raises for a metrics server that does not answer: the verdicts say so.
    """
    judging = Judging(rules_of(settings.policy), settings.policy, limits_of(settings), exemptions)
    wholes = [one for one in running_jobs(snapshot) if only is None or one.job.job_id in only]
    covered = [(whole, rules) for whole in wholes if (rules := _rules_for(whole, judging))]
    nodes = None if only is None else nodes_of(wholes)
    first = _stale(snapshot) or _ask(metrics, snapshot, asks_for(judging.rules), nodes, ()) if covered else Sums()
    first = _of_now(snapshot, first)
    disagreeing = disagreeing_jobs(snapshot)
    evidence = [evidence_of(whole, rules, first, disagreeing) for whole, rules in covered]
    now = snapshot.time
    found = [judge_job(one, rules, judging, now) for one, (_, rules) in zip(evidence, covered, strict=True)]
    low = [number for number, one in enumerate(found) if _may_be_low(one)]
    if low:
        gpus = by_node(snapshot.gpus)
        more = _corroborated(metrics, snapshot, gpus, [covered[number][0] for number in low], first, judging.rules)
        for number in low:
            whole, rules = covered[number]
            sure = _with_more(evidence[number], whole, judging, gpus, first, more, now)
            found[number] = judge_job(sure, rules, judging, now)
    return _listed(snapshot, found, len(wholes), first, judging)


def _rules_for(whole: Whole, judging: Judging) -> tuple[Rule, ...]:
    models = {gpu.model for gpu in whole.gpus}
    return tuple(rule for rule in judging.rules if covers(rule, whole.job, judging.policy, models))


def _may_be_low(one: JobVerdict) -> bool:
    return any(Status.LOW in (verdict.status, verdict.measured_status) for verdict in one.verdicts)


def _stale(snapshot: ClusterSnapshot) -> Sums | None:
    """No reading where the picture's own parts are not of now: nothing may be said of jobs that may be gone."""
    for source in snapshot.sources:
        if source.condition in (SourceCondition.STALE, SourceCondition.DOWN):
            return Sums(fault=f"{source.name} does not answer")
    return None


def _of_now(snapshot: ClusterSnapshot, first: Sums) -> Sums:
    """The reading, unless the newest samples are not of the picture's time: one of the clocks is wrong."""
    newest, every = snapshot.metrics_time, first.interval_seconds
    if newest is None or every is None or first.fault:
        return first
    apart = abs((snapshot.time - newest).total_seconds())
    if apart <= _INTERVALS_APART * every + _SECONDS_APART:
        return first
    return Sums(fault=f"the newest samples are {duration(apart)} away from this host's clock")


def _ask(
    metrics: Adding,
    snapshot: ClusterSnapshot,
    asks: Sequence[SumAsk],
    nodes: frozenset[str] | None,
    restarts: Sequence[float],
) -> Sums:
    try:
        return sums_of(snapshot.gpus, metrics.sums(asks, snapshot.time, nodes, restarts))
    except SourceError as err:
        return Sums(fault="the metrics server does not answer", detail=str(err))


def _corroborated(
    metrics: Adding, snapshot: ClusterSnapshot, gpus: ByNode, low: Sequence[Whole], first: Sums, rules: Sequence[Rule]
) -> Sums:
    """The second question: other signals, XID errors and restarts on the nodes of low jobs."""
    nodes = nodes_of(low)
    suspicious = suspicious_nodes(nodes, gpus, first)
    named = None if len(nodes) > _MOST_NODES_NAMED * max(1, len(gpus)) else nodes
    return _ask(metrics, snapshot, asks_about(rules, suspicious), named, signal_windows(rules))


def _with_more(
    evidence: Evidence,
    whole: Whole,
    judging: Judging,
    gpus: ByNode,
    first: Sums,
    more: Sums,
    now: datetime,
) -> Evidence:
    """The evidence made anew of the second reading, which has all windows, signals and what happened on the nodes."""
    if more.fault:
        return replace(evidence, has_signals=False)
    run = clean_seconds(evidence.job, now) or 0.0
    uses = devices_of(whole, judging.rules, more)
    return replace(evidence, devices=uses, troubles=tuple(troubles_of(whole, gpus, first, more, run)))


def _listed(
    snapshot: ClusterSnapshot, found: Sequence[JobVerdict], running: int, first: Sums, judging: Judging
) -> VerdictList:
    ordered = sorted(found, key=lambda one: (WORST_FIRST[one.status], -(_wasted(one) or 0.0), one.job.job_id))
    wasted: dict[str, float] = defaultdict(float)
    for one in found:
        if (hours := _wasted(one)) is not None:
            wasted[one.status.value] += hours
    return VerdictList(
        time=snapshot.time,
        verdicts=tuple(ordered),
        counts=dict(Counter(one.status for one in found)),
        running_gpu_jobs=running,
        uncovered=running - len(found),
        wasted_gpu_hours=dict(wasted),
        rules=tuple(rule.name for rule in judging.rules),
        fault=first.fault,
        detail=first.detail,
        sources=snapshot.sources,
    )


def _wasted(one: JobVerdict) -> float | None:
    return one.verdict.wasted_gpu_hours_window
