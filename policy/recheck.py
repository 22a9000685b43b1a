"""The last look before an act: the job from Slurm again, and its samples raw and fresh. Asks, and does not act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from data.model import Job
from data.sources import Sources
from policy.decide import Act
from policy.model import JobVerdict, Status, attempt_of
from policy.queries import judge_all
from policy.raw import RawSums
from policy.rules import Exemption


@dataclass(frozen=True, slots=True)
class Checked:
    """`why` is "" where the act may go on; `job` is the job as it was just read, None where it is not there."""

    why: str
    job: Job | None = None
    verdict: JobVerdict | None = None

    @property
    def may_act(self) -> bool:
        return not self.why


def recheck(sources: Sources, act: Act, now: datetime, exemptions: Sequence[Exemption] = ()) -> Checked:
    """The last look at one act."""
    return recheck_all(sources, [act], now, exemptions)[0]


def recheck_all(
    sources: Sources, acts: Sequence[Act], now: datetime, exemptions: Sequence[Exemption] = ()
) -> list[Checked]:
    """Read the jobs again, and judge those of the acts by raw samples up to `now`.

    Each must be the same attempt of the same user, running, and still low by the act's rule. Raises SourceError when
    Slurm does not answer: then nothing may be done. While the metrics do not, no job is low.
    """
    rows = sources.scheduler.jobs().rows
    there = {attempt_of(job): job for job in rows}
    same = [there.get(attempt_of(act.job)) for act in acts]
    running = frozenset(job.job_id for job in same if job is not None and job.is_running)
    if not running:
        return [compared(act, job, None) for act, job in zip(acts, same, strict=True)]
    picture = replace(sources.live.snapshot(), jobs=rows, time=now)
    found = judge_all(sources.settings, RawSums(sources.metrics), picture, tuple(exemptions), running)
    judged = {attempt_of(one.job): one for one in found.verdicts}
    return [compared(act, job, judged.get(attempt_of(act.job))) for act, job in zip(acts, same, strict=True)]


def compared(act: Act, same: Job | None, judged: JobVerdict | None) -> Checked:
    """Whether the act may go on, by the job and the verdict of right now. Pure."""
    if same is None:
        return Checked("it is no longer there, or was started anew")
    if same.user != act.job.user:
        return Checked("it is another user's", same)
    if not same.is_running:
        return Checked(f"it is {same.state}", same)
    named = None if judged is None else next((one for one in judged.verdicts if one.rule == act.rule), None)
    if judged is None or named is None:
        return Checked(f"the rule {act.rule} no longer covers it", same, judged)
    if named.status is not Status.LOW:
        return Checked(f"it is {named.status} now: {named.sentence}", same, judged)
    step = act.verdict.idle_seconds
    if step is not None and (named.idle_seconds or 0.0) < step:
        return Checked("it was busy meanwhile", same, judged)
    return Checked("", same, judged)
