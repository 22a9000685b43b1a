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
    """Read the jobs again, and judge this one by raw samples up to `now`.

    It must be the same attempt of the same user, running, and still low by the act's rule. Raises SourceError when
    Slurm or the metrics do not answer: then nothing may be done.
    """
    rows = sources.scheduler.jobs().rows
    same = next((job for job in rows if attempt_of(job) == attempt_of(act.job)), None)
    if same is None:
        return Checked("it is no longer there, or was started anew")
    if same.user != act.job.user:
        return Checked("it is another user's", same)
    if not same.is_running:
        return Checked(f"it is {same.state}", same)
    picture = replace(sources.live.snapshot(), jobs=rows, time=now)
    found = judge_all(sources.settings, RawSums(sources.metrics), picture, tuple(exemptions), frozenset({same.job_id}))
    judged = next((one for one in found.verdicts if attempt_of(one.job) == attempt_of(same)), None)
    named = None if judged is None else next((one for one in judged.verdicts if one.rule == act.rule), None)
    if judged is None or named is None:
        return Checked(f"the rule {act.rule} no longer covers it", same, judged)
    if named.status is not Status.LOW:
        return Checked(f"it is {named.status} now: {named.sentence}", same, judged)
    step = act.verdict.idle_seconds
    if step is not None and (named.idle_seconds or 0.0) < step:
        return Checked("it was busy meanwhile", same, judged)
    return Checked("", same, judged)
