"""What a pass looks at: the verdicts of now, the jobs that exist, and the last look before an act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from data.live.fresh import fresh_picture
from data.model import Job
from data.sources import Sources
from policy.decide import Act
from policy.exemptions import as_rules, exemptions_for_acts, exemptions_now
from policy.model import Attempt, attempt_of
from policy.queries import VerdictList, judge_all
from policy.recheck import Checked, recheck_all
from policy.rules import Exemption
from policy.simulated import is_simulated


@dataclass(frozen=True, slots=True)
class Look:
    """One moment: everybody's verdicts, and every attempt that has not ended."""

    time: datetime
    cluster: str
    verdicts: VerdictList
    jobs: Mapping[Attempt, Job] = field(default_factory=dict)


class Looking(Protocol):
    """Looks, and does nothing else. Every method may raise SourceError: then nothing may be done."""

    def now(self) -> datetime: ...

    def look(self) -> Look: ...

    def again(self, acts: Sequence[Act]) -> list[Checked]:
        """The last look before each act, from raw and fresh data."""

    def known(self, job: Job) -> Job | None:
        """The same attempt as Slurm knows it now, ended or not; None = Slurm knows nothing of it."""


class LiveLooking:
    """Looks at Slurm and the metrics. Exemptions are read anew for each look: one that is made now counts now."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def now(self) -> datetime:
        return self._sources.clock()

    def look(self) -> Look:
        sources, settings = self._sources, self._sources.settings
        exemptions = self._exemptions()
        snapshot = fresh_picture(sources.live, sources.clock, settings.refresh_seconds).snapshot
        found = judge_all(settings, sources.metrics, snapshot, exemptions)
        return Look(snapshot.time, snapshot.cluster, found, {attempt_of(job): job for job in snapshot.jobs})

    def again(self, acts: Sequence[Act]) -> list[Checked]:
        return recheck_all(self._sources, acts, self.now(), self._exemptions())

    def known(self, job: Job) -> Job | None:
        found = self._sources.scheduler.job(job.display_id)
        # Without the restart count: slurmdbd does not keep it before Slurm 23.11.
        return next((one for one in found if one.key == job.key), None)

    def _exemptions(self) -> tuple[Exemption, ...]:
        if is_simulated(self._sources):
            return as_rules(exemptions_now(self._sources).rows)
        return exemptions_for_acts(self._sources.settings, self._sources.state, self.now())
