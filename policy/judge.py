"""From evidence to a verdict: the first line of the table that fits. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from data.efficiency import coverage, device_hours, job_mean
from data.metrics.registry import METRICS
from data.model import Job
from policy.doubts import Limits, contradicted, data_doubt, trouble_of
from policy.model import Doubt, Evidence, JobVerdict, Status, Verdict, WindowUse, worst
from policy.rules import Exemption, Rule, exemption_of, may_be_interactive
from policy.words import calculating_words, low_words, ok_words
from settings import PolicySettings, RuleKind


@dataclass(frozen=True, slots=True)
class Judging:
    """What judging stands on besides the evidence."""

    rules: tuple[Rule, ...]
    policy: PolicySettings
    limits: Limits
    exemptions: tuple[Exemption, ...] = ()


def judge_job(evidence: Evidence, rules: Sequence[Rule], judging: Judging, now: datetime) -> JobVerdict:
    """Judge one running job by the rules that cover it (at least one)."""
    verdicts = tuple(judge(rule, evidence, judging, now) for rule in rules)
    return JobVerdict(evidence.job, now, worst(verdicts), verdicts, gpu_weight=_weight(evidence))


def _weight(evidence: Evidence) -> float | None:
    """By the devices where all of them are seen, else what Slurm counts."""
    if evidence.devices and evidence.gpu_count in (None, len(evidence.devices)):
        return sum(device.weight for device in evidence.devices)
    return None if evidence.gpu_count is None else float(evidence.gpu_count)


def judge(rule: Rule, evidence: Evidence, judging: Judging, now: datetime) -> Verdict:
    """exempt, calculating, unknown, low or ok: the first that fits; an exempt one keeps its measured status."""
    measured = _measured(rule, evidence, judging, now)
    found = exemption_of(rule, evidence.job, judging.policy, judging.exemptions, now)
    if found is None and measured.status is Status.LOW:
        measured, found = _by_memory(rule, evidence, measured)
    if found is not None:
        code, words = found
        return replace(
            measured, status=Status.EXEMPT, reason=code, sentence=_capital(words), measured_status=measured.status
        )
    if measured.status is Status.LOW and may_be_interactive(rule, evidence.job, judging.policy):
        return _unknown(measured, Doubt.INTERACTIVE, "Slurm does not say whether the job is interactive")
    return measured


def clean_seconds(job: Job, now: datetime) -> float | None:
    """Seconds up to now that the job ran without a break: since its start, or since it was last resumed.

    0 for a job that was suspended at an unknown time; None without a start.
    """
    if job.start_time is None:
        return None
    since = job.start_time
    if job.suspended_seconds > 0:
        if job.resumed_time is None:
            return 0.0
        since = max(since, job.resumed_time)
    return max(0.0, (now - since).total_seconds())


def _measured(rule: Rule, evidence: Evidence, judging: Judging, now: datetime) -> Verdict:
    clean = clean_seconds(evidence.job, now)
    if clean is None:
        return _unknown(_blank(rule, evidence), Doubt.START, "Slurm does not say when the job started")
    if clean < rule.needs_seconds:
        words = calculating_words(rule, evidence.job, clean)
        return replace(_blank(rule, evidence), status=Status.CALCULATING, sentence=words)
    usable = [window for window in rule.windows if clean >= window + rule.grace_seconds]
    verdict = _numbers(rule, evidence)
    if rule.kind is RuleKind.IDLE:
        verdict = replace(verdict, busy_within_seconds=_busy_within(rule, evidence, usable))
    doubt = data_doubt(rule, evidence, judging.limits)
    if doubt is not None:
        return _unknown(verdict, *doubt)
    return _low_or_ok(rule, evidence, judging, verdict, usable)


def _low_or_ok(rule: Rule, evidence: Evidence, judging: Judging, verdict: Verdict, usable: Sequence[float]) -> Verdict:
    """The devices are measured well enough: low unless too few are, or something speaks against it."""
    needed = rule.needed(len(evidence.devices))
    stretches = _stretches(rule, evidence, usable, judging.limits)
    low = [number for number, stretch in enumerate(stretches) if stretch > 0]
    verdict = replace(verdict, devices_low=len(low))
    if len(low) < needed:
        return replace(verdict, sentence=ok_words(rule, verdict))
    stretch = sorted(stretches, reverse=True)[needed - 1]
    if rule.kind is RuleKind.IDLE:
        verdict = replace(verdict, idle_seconds=stretch)
    if not evidence.has_signals:
        return _unknown(verdict, Doubt.SOURCE, "the other signals could not be read")
    speaking = {
        number: contradicted(rule, evidence.devices[number], stretches[number], judging.limits) for number in low
    }
    if sum(signal is None for signal in speaking.values()) < needed:
        number, signal = next((number, signal) for number, signal in speaking.items() if signal is not None)
        words = f"{signal} of {evidence.devices[number].label} speaks against it"
        return _unknown(verdict, Doubt.SIGNALS, f"signals disagree: {words}")
    trouble = trouble_of(rule, evidence, stretch)
    if trouble is not None:
        return _unknown(verdict, trouble.doubt, trouble.text)
    return replace(verdict, status=Status.LOW, sentence=low_words(rule, verdict))


def _stretches(rule: Rule, evidence: Evidence, usable: Sequence[float], limits: Limits) -> list[float]:
    """By device: the longest well-measured window in which it was low; 0 = it is not low."""
    found = []
    for device in evidence.devices:
        longest = 0.0
        for window in usable:
            use = device.uses.get((rule.metric, window))
            if use is None or not _is_low(rule, use, device.is_slice):
                break
            share = coverage(use.count, window, evidence.interval_seconds)
            if share is None or not rule.settings.min_coverage <= share <= limits.max_coverage:
                break
            longest = window
        found.append(longest)
    return found


def _busy_within(rule: Rule, evidence: Evidence, usable: Sequence[float]) -> float | None:
    """The shortest window in which so many devices were surely busy that the job was not idle; None = not known."""
    needed = rule.needed(len(evidence.devices))
    for window in usable:
        busy = 0
        for device in evidence.devices:
            use = device.uses.get((rule.metric, window))
            busy += use is not None and use.high is not None and use.high > rule.epsilon_of(device.is_slice)
        if len(evidence.devices) - busy < needed:
            return window
    return None


def _is_low(rule: Rule, use: WindowUse, is_slice: bool) -> bool:
    if rule.kind is RuleKind.MEAN:
        return use.mean is not None and use.mean < rule.low_below
    return use.count > 0 and use.high is not None and use.high <= rule.epsilon_of(is_slice)


def _blank(rule: Rule, evidence: Evidence) -> Verdict:
    """A verdict without numbers: the window would begin before the job did."""
    return Verdict(
        rule=rule.name,
        kind=rule.kind,
        mode=rule.settings.mode,
        status=Status.OK,
        metric=_metric_label(rule, evidence),
        window_seconds=rule.windows[0],
        threshold=rule.settings.threshold,
        devices_allocated=evidence.gpu_count,
    )


def _numbers(rule: Rule, evidence: Evidence) -> Verdict:
    """A verdict with everything that was measured in the rule's first window, and the status still open."""
    window = rule.windows[0]
    uses = [(device, device.uses.get((rule.metric, window))) for device in evidence.devices]
    shares = [coverage(0 if use is None else use.count, window, evidence.interval_seconds) for _, use in uses]
    known = [share for share in shares if share is not None]
    missing = evidence.gpu_count is not None and len(uses) < evidence.gpu_count
    means = [None if use is None else use.mean for _, use in uses]
    idle = [use.high <= rule.epsilon_of(one.is_slice) for one, use in uses if use is not None and use.high is not None]
    hours = [
        device_hours(window, measured_share=share, mean=mean, idle=None, weight=device.weight)
        for (device, _), share, mean in zip(uses, shares, means, strict=True)
    ]
    wasted = [part.wasted for part in hours if part is not None and part.wasted is not None]
    return replace(
        _blank(rule, evidence),
        mean=job_mean(means, total=evidence.gpu_count).value,
        coverage=0.0 if missing and known else min(known, default=None),
        devices_idle=sum(idle) if idle else None,
        devices_measured=sum(mean is not None for mean in means),
        wasted_gpu_hours_window=sum(wasted) if wasted else None,
    )


def _metric_label(rule: Rule, evidence: Evidence) -> str:
    slices = bool(evidence.devices) and all(device.is_slice for device in evidence.devices)
    name = "graphics_engine_activity" if slices and rule.metric == "gpu_utilization" else rule.metric
    return METRICS[name].label


def _by_memory(rule: Rule, evidence: Evidence, low: Verdict) -> tuple[Verdict, tuple[str, str] | None]:
    is_exempt = rule.exempts_memory(evidence.memory_share)
    if is_exempt is None:
        return _unknown(low, Doubt.MEMORY, "the GPU memory is not measured, and the rule exempts high use of it"), None
    return low, ("memory", f"it uses {evidence.memory_share:.0%} of its GPU memory") if is_exempt else None


def _unknown(verdict: Verdict, doubt: Doubt, words: str) -> Verdict:
    return replace(verdict, status=Status.UNKNOWN, reason=doubt.value, sentence=f"Not judged: {words}.")


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
