"""Acts that were taken: by which rule, on whose job, how they ended, and the GPU-hours that cancellations saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from data import efficiency
from data.errors import FullwarpError
from data.model import SourceState, Tres, Viewer
from data.queries.history import Group, ReportQuery, report
from data.queries.scope import scope_source
from data.sources import Sources
from data.state.opened import store_down
from policy.simulated import is_simulated
from policy.store.reading import NAME
from settings import StepAction

if TYPE_CHECKING:
    from policy.store.audit import AuditRow

DAYS = 30


class Ended(StrEnum):
    """How an act ended; UNDER_WAY = nobody has written it down yet."""

    DONE = "done"
    WITHHELD = "withheld"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    UNDER_WAY = "under_way"


@dataclass(frozen=True, slots=True)
class TakenAct:
    """One step of a ladder. `gpus` (slices counted), `gpu_weight` (each slice as its share of a GPU), `elapsed_seconds`
    and `time_limit_seconds` (inf = no limit) are those of the job when it was taken; None = not known."""

    time: datetime
    job: str
    user: str
    account: str | None
    partition: str
    gpus: int | None
    gpu_weight: float | None
    rule: str
    step: int
    action: StepAction
    ended: Ended
    why: str = ""
    sentence: str = ""
    elapsed_seconds: float | None = None
    time_limit_seconds: float | None = None

    @property
    def is_cancelled(self) -> bool:
        return self.action is StepAction.CANCEL and self.ended is Ended.DONE


@dataclass(frozen=True, slots=True)
class Savings:
    """What the cancellations of [since, until) saved, by METRICS: GPUs x max(0, share x time limit - elapsed).

    `saved_gpu_hours` leaves out `unknown_jobs`, whose GPUs or time limit are not known. `allocated_gpu_hours` and
    `users` (with GPU jobs) are those of the same time from history; None = `why` they are not known.
    """

    since: datetime
    until: datetime
    share: float
    saved_gpu_hours: float
    cancelled_jobs: int = 0
    unknown_jobs: int = 0
    warnings: int = 0
    cancelled_users: int = 0
    touched_users: int = 0
    allocated_gpu_hours: float | None = None
    users: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ActList:
    """Acts that the viewer may see, the newest first. `is_kept` = there is an enforcer's store; `source` is its state
    while it does not answer. `savings` are for staff, None for others."""

    since: datetime
    until: datetime
    rows: tuple[TakenAct, ...] = ()
    is_kept: bool = True
    is_simulated: bool = False
    source: SourceState | None = None
    savings: Savings | None = None


def acts(viewer: Viewer, sources: Sources, until: datetime, days: int = DAYS) -> ActList:
    """Answer with the acts of the last days that the viewer may see. Never raises for a store that does not answer."""
    since = until - timedelta(days=days)
    try:
        found = _rows(sources, since, until)
    except FullwarpError as err:
        down = store_down(NAME, sources.settings.enforcement, err)
        return ActList(since, until, source=scope_source(viewer, down))
    if found is None:
        return ActList(since, until, is_kept=False)
    rows = tuple(_taken(row) for row in found)
    seen = tuple(row for row in rows if viewer.may_see(row.user or None, row.account))
    savings = None
    if viewer.is_staff:
        whole = savings_of(rows, since, until, sources.settings.policy.saved_share)
        savings = _with_totals(whole, _totals(viewer, sources, since, until))
    return ActList(since, until, seen, is_simulated=is_simulated(sources), savings=savings)


def are_acts_near(viewer: Viewer, sources: Sources, until: datetime, days: int = DAYS) -> bool:
    """Whether `acts` would answer without asking the history, which may take seconds."""
    if not viewer.is_staff:
        return True
    return sources.windows.known(_key(until - timedelta(days=days), until)) is not None


def _rows(sources: Sources, since: datetime, until: datetime) -> tuple[AuditRow, ...] | None:
    """Everybody's rows; None where no store is set or none is there."""
    if is_simulated(sources):
        from policy.simulated_acts import simulated_acts

        end = until.replace(minute=until.minute // 5 * 5, second=0, microsecond=0)
        return sources.reports.get(("simulated acts", since.date(), end), lambda: simulated_acts(sources, since, end))
    if sources.enforcement.store(sources.settings.enforcement) is None:
        return None
    span = (sources.live.snapshot().cluster, _hour(since), _hour(until) + timedelta(hours=1))
    rows = sources.recent.get((NAME, "acts", *span), lambda: _read(sources, *span))
    return tuple(row for row in rows if since <= row.intended_at < until)


def _read(sources: Sources, cluster: str, since: datetime, until: datetime) -> tuple[AuditRow, ...]:
    """By whole hours, so that all who ask within half a minute are answered by one reading."""
    from policy.store.audit import audit_rows

    settings = sources.settings.enforcement
    return sources.enforcement.read(settings, lambda store: audit_rows(store, cluster, since, until)) or ()


def _taken(row: AuditRow) -> TakenAct:
    act, job = row.act, row.act.job
    return TakenAct(
        row.intended_at,
        job.display_id,
        job.user or "",
        job.account,
        job.partition,
        job.allocated.gpus,
        weight_of(job.allocated),
        act.rule,
        act.step,
        act.action,
        Ended.UNDER_WAY if row.outcome is None else Ended(row.outcome.value),
        row.why,
        act.verdict.sentence,
        job.elapsed_at(row.intended_at),
        job.time_limit_seconds,
    )


def weight_of(allocated: Tres) -> float | None:
    """GPUs by their types as Slurm names them; those without a type are whole."""
    if allocated.gpus is None:
        return None
    typed = sum(count * efficiency.device_weight(kind, kind).value for kind, count in allocated.gpus_by_type.items())
    return typed + max(0, allocated.gpus - sum(allocated.gpus_by_type.values()))


def saved_gpu_hours(row: TakenAct, share: float) -> float | None:
    """Of one cancellation; None where the GPUs, the time limit or the elapsed time are not known."""
    return efficiency.saved_gpu_hours(row.gpu_weight, row.time_limit_seconds, row.elapsed_seconds, share=share)


def savings_of(rows: Iterable[TakenAct], since: datetime, until: datetime, share: float) -> Savings:
    """The sums of everybody's acts."""
    done = [row for row in rows if row.ended is Ended.DONE]
    cancelled = [row for row in done if row.is_cancelled]
    hours = [saved_gpu_hours(row, share) for row in cancelled]
    return Savings(
        since,
        until,
        share,
        sum(value for value in hours if value is not None),
        len(cancelled),
        hours.count(None),
        len(done) - len(cancelled),
        len({row.user for row in cancelled}),
        len({row.user for row in done}),
    )


@dataclass(frozen=True, slots=True)
class _Totals:
    """Of everybody's GPU jobs in history, kept for ten minutes; None = `why` they are not known."""

    allocated_gpu_hours: float | None = None
    users: int | None = None
    why: str = ""


def _with_totals(found: Savings, totals: _Totals) -> Savings:
    return replace(found, allocated_gpu_hours=totals.allocated_gpu_hours, users=totals.users, why=totals.why)


def _key(since: datetime, until: datetime) -> tuple[str, datetime, datetime]:
    return ("totals beside acts", _hour(since), _hour(until))


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _totals(viewer: Viewer, sources: Sources, since: datetime, until: datetime) -> _Totals:
    try:
        return sources.windows.get(_key(since, until), lambda: _asked(viewer, sources, since, until))
    except FullwarpError as err:
        return _Totals(why=str(err))


def _asked(viewer: Viewer, sources: Sources, since: datetime, until: datetime) -> _Totals:
    query = ReportQuery(_hour(since), _hour(until), by=Group.USER, columns=("gpu_hours_allocated",))
    answer = report(viewer, sources, query)
    if answer.state.is_empty:
        return _Totals(why="the history of this time is empty")
    users = sum(1 for row in answer.rows if (row.values.get("gpu_hours_allocated") or 0.0) > 0)
    return _Totals(answer.total.value("gpu_hours_allocated"), users)
