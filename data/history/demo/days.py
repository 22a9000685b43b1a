"""One UTC day of simulated history: the attempts that ended on it, or also those that run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from data.collection import without_collection
from data.history.account_paths import account_paths
from data.history.demo.cuts import accumulate
from data.history.demo.note import start_of
from data.history.measure.accumulate import Accumulated
from data.history.measure.finish import uses_of
from data.history.measure.reports import Reporter
from data.history.measure.rows import jobs_table, usage_table
from data.history.measure.spans import Spans
from data.history.measure.use import AttemptKey, AttemptUse
from data.history.usage_columns import USAGE_SCHEMA
from data.model import Job, Window
from data.simulation import World
from data.simulation.clockwork import utc
from data.simulation.describe import jobs_of
from data.simulation.world import Ref
from data.slurm.simulated import SimulatedScheduler
from settings import Settings

DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class DayTables:
    """Rows of `jobs/` of the day, and of `usage/` of this day and earlier ones."""

    jobs: pa.Table
    usage: pa.Table


class DayMaker:
    """Makes days as the collector would have found them at `now`."""

    def __init__(self, world: World, settings: Settings, now: datetime) -> None:
        self.world, self.now = world, now
        slurm = SimulatedScheduler(world, lambda: now)
        nodes, partitions = slurm.nodes().rows, slurm.partitions().rows
        self._reporter = Reporter(settings, now, None, nodes, partitions)
        self._settings = settings
        self._accounts = account_paths(world.organization.associations)

    def day(self, day: date) -> DayTables:
        """Attempts that ended on the day; on today those that run, too."""
        with without_collection():
            uses, at = self.uses(self.refs(day)), self.now
            return DayTables(
                jobs_table(uses, collected_at=at, account_path=self._accounts),
                usage_table(uses, collected_at=at, account_path=self._accounts),
            )

    def refs(self, day: date) -> list[Ref]:
        start = start_of(day).timestamp()
        end, now = start + DAY_SECONDS, self.now.timestamp()
        found = self.world.overlapping(start, min(end, now))
        return [ref for ref in found if start <= _end(ref) < end or now < end]

    def carried(self, day: date) -> pa.Table:
        """Hours of the day by attempts that ended on a later one, as far as they are over."""
        start, now = start_of(day), self.now.timestamp()
        end = start.timestamp() + DAY_SECONDS
        refs = [ref for ref in self.world.overlapping(end - 1.0, end) if end <= _end(ref) and _begin(ref) < end]
        if end > now:
            return USAGE_SCHEMA.empty_table()
        usage = usage_table(self.uses(refs), collected_at=self.now, account_path=self._accounts)
        hours = usage.column("hour")
        low, high = (pa.scalar(edge, hours.type) for edge in (start, start + timedelta(days=1)))
        return usage.filter(pc.and_(pc.greater_equal(hours, low), pc.less(hours, high)))

    def uses(self, refs: Sequence[Ref]) -> list[AttemptUse]:
        """What each attempt used, leaders before their components."""
        jobs: list[Job] = []
        held: dict[int, Ref] = {}
        hosts: dict[tuple[str, float], int] = {}
        suspensions: dict[AttemptKey, tuple[Window, ...]] = {}
        for ref in refs:
            begin = float(ref.epoch.jobs.start[ref.row])
            for part, job in enumerate(jobs_of(self.world, ref, self.now.timestamp())):
                hosts[(str(job.job_id), begin)] = len(jobs)
                if part == 0:
                    held[len(jobs)] = ref
                if (window := _suspension(ref, self.now)) is not None:
                    suspensions[job.key] = (window,)
                jobs.append(job)
        spans = Spans(jobs, self.now, None, suspensions)
        read = Accumulated(spans, self._settings.findings)
        accumulate(read, self.world, held, hosts)
        return uses_of(read, self._reporter)


def _end(ref: Ref) -> float:
    return float(ref.epoch.jobs.end[ref.row])


def _begin(ref: Ref) -> float:
    return float(ref.epoch.jobs.start[ref.row])


def _suspension(ref: Ref, now: datetime) -> Window | None:
    begin, end = float(ref.epoch.jobs.suspend_from[ref.row]), float(ref.epoch.jobs.suspend_to[ref.row])
    end = min(end, now.timestamp())
    return Window(utc(begin), utc(end)) if end > begin else None
