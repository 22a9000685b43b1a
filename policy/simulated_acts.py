"""Past acts of the simulated enforcer: they ended the jobs that stopped working and went on holding their GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from data.model import Job
from data.slurm.simulated import SimulatedScheduler
from data.sources import Sources
from policy.decide import Act, cancel_id
from policy.model import Status, Verdict
from policy.rules import Rule, rules_of
from policy.simulated import next_pass
from policy.store.audit import AuditRow, Outcome
from settings import StepAction


def simulated_acts(sources: Sources, since: datetime, until: datetime) -> tuple[AuditRow, ...]:
    """Acts of [since, until), the newest first."""
    scheduler = sources.scheduler
    rule = next((rule for rule in rules_of(sources.settings.policy) if rule.acts and rule.steps), None)
    if not isinstance(scheduler, SimulatedScheduler) or rule is None:
        return ()
    jobs = scheduler.stalled_jobs(since, until + timedelta(hours=3))
    rows = [row for job in jobs for row in _acts_of(job, rule, len(rule.steps))]
    found = sorted((row for row in rows if since <= row.intended_at < until), key=lambda row: row.intended_at)
    return tuple(found[::-1])


def _acts_of(job: Job, rule: Rule, steps: int) -> Sequence[AuditRow]:
    """A job that was cancelled by its end had all steps; another one was warned once in the middle, and recovered."""
    start, end = job.start_time, job.end_time
    if start is None or end is None or (end - start).total_seconds() < 2 * rule.steps[-1].at_seconds:
        return ()
    if job.state != "CANCELLED":
        middle = start + (end - start) / 2
        return [_act(job, rule, 1, next_pass(middle), middle - timedelta(seconds=rule.steps[0].at_seconds))]
    begin = end - timedelta(seconds=rule.steps[-1].at_seconds)
    times = [begin + timedelta(seconds=step.at_seconds) for step in rule.steps]
    return [_act(job, rule, number, at, begin) for number, at in enumerate(times[:steps], 1)]


def _act(job: Job, rule: Rule, step: int, at: datetime, since: datetime) -> AuditRow:
    wanted = rule.steps[step - 1]
    gpus = job.allocated.gpus
    verdict = Verdict(
        rule.name,
        rule.kind,
        rule.settings.mode,
        Status.LOW,
        metric=rule.metric,
        sentence="Simulated: all of its GPUs were idle.",
        window_seconds=rule.windows[0],
        devices_idle=gpus,
        devices_allocated=gpus,
        since=since,
    )
    is_cancel = wanted.action is StepAction.CANCEL
    act = Act(job, verdict, rule.name, 1, step, wanted.action, since, cancel_id(job) if is_cancel else None)
    return AuditRow(job.job_id * 10 + step, at, act, Outcome.DONE, settled_at=at, told_at=at)
