"""One pass of the collector: from the mark to now, so that a pass cut off anywhere loses and doubles nothing.

Every slice of Slurm's records is written before the mark moves past it, hours before jobs, so that a row of `jobs/`
says that all the rest of its attempt is there. A pass that is repeated finds what it would write, and leaves it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from data.history.account_paths import account_paths
from data.history.ended import Work, work_of, write_ended
from data.history.measuring import Measuring
from data.history.plan import Plan, Slice, plan_of
from data.history.privacy import Privacy, privacy_of
from data.history.state import CollectorState, Import, PassNumbers, read_state, state_path, state_text
from data.history.store import HistoryStore
from data.history.suspensions import noted, windows
from data.history.tables import day_of
from data.history.tidy import tidy
from data.history.watch import record_moment
from data.join import holds
from data.live.fresh import fresh_picture
from data.live.picture import Picture
from data.model import Device, Job, Rows
from data.sources import Sources

Progress = Callable[[int, int, str], None]
"""Slices done, slices in all, what is being read."""

_OLDEST_RUNNING = timedelta(days=14)
_BLOCK = 20_000
_NAMED = 5


class Collector:
    """Collects one cluster into `store`, whose lease is held by the caller."""

    def __init__(self, sources: Sources, store: HistoryStore, progress: Progress = lambda done, of, what: None) -> None:
        self._sources, self._store, self._progress = sources, store, progress
        self._settings = sources.settings.history
        self._privacy = Privacy(self._settings, sources.clock())
        self._state = CollectorState()
        self._numbers = PassNumbers()
        self._cluster = ""
        self._over: set[tuple[Any, ...]] = set()

    def run(self, since: datetime | None = None) -> PassNumbers:
        """Make one pass; `since` = read Slurm's records from there on, however long ago.

        Raises SourceError while Slurm does not answer (what was written stays, the mark does not move), SettingsError,
        FullwarpError. While the metrics do not answer, rows are written without them and looked at again.
        """
        now = self._sources.clock()
        picture = self._picture()
        self._cluster = picture.snapshot.cluster
        self._state = read_state(state_path(self._store.directory, self._cluster))
        self._state = replace(self._state, first_at=self._state.first_at or now)
        self._numbers = PassNumbers()
        self._privacy = privacy_of(self._store, self._settings, now)
        plan = plan_of(self._state, self._settings, now, ZoneInfo(self._sources.settings.site_timezone), since)
        picture = self._watch(picture)
        is_import = since is not None or self._state.collected_until is None
        for done, span in enumerate(plan.slices):
            self._progress(done, len(plan.slices), f"{span[0]:%Y-%m-%d}")
            if is_import:
                days = (day_of(moment) for moment in (plan.slices[0][0], span[0], plan.slices[-1][0]))
                self._remember(replace(self._state, importing=Import(*days)))
            picture = self._watch(picture)
            self._collect(span, picture)
        self._progress(len(plan.slices), len(plan.slices), "running jobs")
        self._running(picture)
        self._finish(plan, now)
        return self._numbers

    def _picture(self) -> Picture:
        return fresh_picture(self._sources.live, self._sources.clock, self._sources.settings.refresh_seconds)

    def _watch(self, picture: Picture) -> Picture:
        """Record the moment; a long import stops for this as often as moments are recorded."""
        every = timedelta(minutes=self._settings.snapshot_minutes)
        if self._state.snapshot_at is not None and self._sources.clock() - picture.snapshot.time >= every:
            picture = self._picture()
        snapshot = picture.snapshot
        state = replace(self._state, suspensions=noted(self._state.suspensions, snapshot.jobs, snapshot.time))
        state = record_moment(self._store, snapshot, state, self._privacy)
        self._remember(state)
        self._numbers = replace(self._numbers, runaway=len(snapshot.runaway))
        return picture

    def _collect(self, span: Slice, picture: Picture) -> None:
        """Attempts that ended within one slice. The mark moves when they are written."""
        found = self._sources.scheduler.finished_jobs(*span)
        work = work_of(self._store, found, span, self._settings)
        self._over |= {job.key for job in work.ended}
        measuring = self._measuring(picture)
        moved = 0
        for first in range(0, max(1, len(work.todo)), _BLOCK):
            part = replace(work, todo=work.todo[first : first + _BLOCK])
            tables = measuring.tables(part.todo, self._now())
            moved += write_ended(self._store, part, tables, self._privacy, self._now(), self._state.first_at)
        self._count(work, moved, measuring, found)
        mark = self._state.collected_until
        if mark is None or span[0] <= mark < span[1]:
            self._remember(replace(self._state, collected_until=span[1]))

    def _running(self, picture: Picture) -> None:
        """The hours of running jobs since they were last measured; those that have ended since the picture was made are
        written already, with all of their hours."""
        snapshot = picture.snapshot
        jobs = [job for job in snapshot.jobs if holds(job) and None not in job.key and job.key not in self._over]
        begun = min((job.start_time for job in jobs if job.start_time), default=snapshot.time)
        since = self._state.measured_until or max(begun, snapshot.time - _OLDEST_RUNNING)
        measuring = self._measuring(picture)
        if jobs:
            usage = measuring.usage(jobs, snapshot.time, min(since, snapshot.time))
            self._store.put("usage", self._privacy.fitted("usage", usage))
        if not measuring.failed:
            self._state = replace(self._state, measured_until=snapshot.time)
        self._numbers = replace(_with_measured(self._numbers, measuring), running=len(jobs))

    def _measuring(self, picture: Picture) -> Measuring:
        places: Mapping[tuple[str, int], Device] = {
            place: known.device for place, known in picture.inventory.places.items()
        }
        return Measuring(
            self._sources,
            picture.snapshot,
            places,
            account_paths(picture.associations or self._sources.associations()),
            windows(self._state.suspensions),
        )

    def _finish(self, plan: Plan, now: datetime) -> None:
        state = self._state
        if plan.is_deep:
            tidy(self._store, self._privacy)
            state = replace(state, tidied_at=now)
        self._remember(
            replace(
                state,
                collected_until=max(now, state.collected_until or now) if plan.slices else state.collected_until,
                wide_at=now if plan.is_wide else state.wide_at,
                deep_at=now if plan.is_deep else state.deep_at,
                passed_at=now,
                importing=None,
                last=self._numbers,
            )
        )

    def _remember(self, state: CollectorState) -> None:
        if state != self._state or state.passed_at is None:
            path = state_path(self._store.directory, self._cluster)
            self._store.write_text(path, state_text(state), "mark")
        self._state = state

    def _count(self, work: Work, moved: int, measuring: Measuring, found: Rows[Job]) -> None:
        old = self._numbers
        self._numbers = replace(
            _with_measured(old, measuring),
            ended=old.ended + len(work.ended),
            written=old.written + len(work.todo),
            moved=old.moved + moved,
            broken=old.broken + found.broken + len(work.unkeyed),
            broken_examples=(*old.broken_examples, *found.broken_examples, *work.unkeyed)[:_NAMED],
        )

    def _now(self) -> datetime:
        return self._sources.clock()


def _with_measured(old: PassNumbers, measuring: Measuring) -> PassNumbers:
    return replace(
        old,
        unmeasured=old.unmeasured + measuring.unmeasured,
        apportioned=old.apportioned + measuring.apportioned,
        dropped=Counter(old.dropped) + measuring.dropped,
        flagged=Counter(old.flagged) + measuring.flagged,
        missing=tuple(dict.fromkeys((*old.missing, *measuring.missing))),
        warnings=tuple(dict.fromkeys((*old.warnings, *measuring.warnings))),
        error=measuring.error or old.error,
    )
