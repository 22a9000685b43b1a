"""Sentences that say why."""

from __future__ import annotations

from data.model import Job
from data.words import count, duration, of, percent
from policy.model import Verdict
from policy.rules import Rule
from settings import RuleKind


def calculating_words(rule: Rule, job: Job, clean: float) -> str:
    """What the rule waits for."""
    if job.suspended_seconds > 0 and job.resumed_time is None:
        return "It was suspended, and Slurm does not say when it was resumed."
    ran = "It was suspended, and has run since then" if job.suspended_seconds > 0 else "It has run"
    return f"{ran} for {duration(clean)}; the rule needs {duration(rule.needs_seconds)}."


def low_words(rule: Rule, verdict: Verdict) -> str:
    """Why the job is low."""
    if rule.kind is RuleKind.IDLE:
        return f"{_devices(verdict)} idle for at least {duration(verdict.idle_seconds)}."
    limit = rule.settings.threshold
    mean = f"Mean {verdict.metric} {percent(verdict.mean, limit=limit)} in {duration(verdict.window_seconds)}"
    part = "" if rule.settings.which == "all" else f", {of(verdict.devices_low or 0, verdict.devices_allocated, 'GPU')}"
    return f"{mean}{part}, below {percent(limit)}."


def ok_words(rule: Rule, verdict: Verdict) -> str:
    """Why the job is not low."""
    if rule.kind is RuleKind.IDLE:
        idle, total = verdict.devices_low or 0, verdict.devices_allocated
        return f"{of(idle, total, 'GPU')} idle in the last {duration(verdict.window_seconds)}."
    limit = rule.settings.threshold
    return f"Mean {verdict.metric} {percent(verdict.mean, limit=limit)} in {duration(verdict.window_seconds)}."


def _devices(verdict: Verdict) -> str:
    total, low = verdict.devices_allocated or 0, verdict.devices_low or 0
    if low == total:
        return "Its only GPU is" if total == 1 else f"All {count(total, 'GPU')} are"
    return f"{of(low, total, 'GPU')} are"
