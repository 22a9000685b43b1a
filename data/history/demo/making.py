"""Make the days of the simulated history that are missing, newest first, several at once, each file written whole."""

from __future__ import annotations

import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from multiprocessing.pool import AsyncResult

import pyarrow as pa
import pyarrow.compute as pc

from data.history.demo.days import DayMaker, DayTables
from data.history.demo.note import MADE, Made, made_text, read_made, start_of
from data.history.store import HistoryStore
from data.history.usage_columns import USAGE_SCHEMA
from data.simulation import World
from settings import Settings

# Days in memory at once beside those that are being made.
_AHEAD = 3
_NICE = 10

Progress = Callable[[int, int, str], None]


def missing_days(made: Made, now: datetime, days: int, fresh: timedelta) -> list[date]:
    """Days to make, newest first; today again when it was made longer ago than `fresh`."""
    today = now.astimezone(UTC).date()
    wanted = (today - timedelta(days=back) for back in range(days))
    return [
        day
        for day in wanted
        if not made.is_whole(day) and (day != today or now - made.until.get(day, start_of(day)) >= fresh)
    ]


def make(
    store: HistoryStore,
    settings: Settings,
    now: datetime,
    days: Sequence[date],
    total: int,
    *,
    processes: int,
    progress: Progress = lambda done, of, what: None,
) -> None:
    """Make these days (newest first). What is written stays when this is cut off."""
    until = dict(read_made(store.directory).until)
    store.write_text(store.directory / MADE, made_text(until, total), "made")
    carried: dict[date, list[pa.Table]] = defaultdict(list)
    before: date | None = None
    for done, (day, tables, later) in enumerate(_made(settings, now, days, processes)):
        if before is None or before - day > timedelta(days=1):
            carried.clear()
            carried[day].append(later())
        _keep(carried, tables.usage)
        _write(store, day, carried.pop(day, []), tables.jobs)
        until[day] = min(now, start_of(day) + timedelta(days=1))
        store.write_text(store.directory / MADE, made_text(until, total), "made")
        progress(done + 1, len(days), f"{day:%Y-%m-%d}")
        before = day


def _write(store: HistoryStore, day: date, usage: Sequence[pa.Table], jobs: pa.Table) -> None:
    store.replace_day("usage", day, pa.concat_tables([USAGE_SCHEMA.empty_table(), *usage]))
    store.replace_day("jobs", day, jobs)


def _keep(carried: dict[date, list[pa.Table]], usage: pa.Table) -> None:
    """Put hours by day: those of earlier days wait until all attempts that ended later are there."""
    days = pc.floor_temporal(usage.column("hour"), unit="day")
    for day in pc.unique(days).to_pylist():
        carried[day.date()].append(usage.filter(pc.equal(days, pa.scalar(day, days.type))))


def _made(
    settings: Settings, now: datetime, days: Sequence[date], processes: int
) -> Iterator[tuple[date, DayTables, Callable[[], pa.Table]]]:
    """The tables of each day in order, and how to get hours of the day by attempts that ended later."""
    if processes < 1:
        maker = DayMaker(World(settings.demo.seed), settings, now)
        for day in days:
            yield day, maker.day(day), lambda day=day: maker.carried(day)  # type: ignore[misc]
        return
    # A pool whose processes end with this one, whatever they are at.
    with multiprocessing.get_context("spawn").Pool(processes, _begin, (settings, now)) as pool:
        waiting: list[AsyncResult[DayTables]] = []
        for place, day in enumerate(days):
            ahead = days[place + len(waiting) : place + processes + _AHEAD]
            waiting += [pool.apply_async(_day, (one,)) for one in ahead]
            yield day, waiting.pop(0).get(), lambda day=day: pool.apply(_carried, (day,))  # type: ignore[misc]


_maker: DayMaker


def _begin(settings: Settings, now: datetime) -> None:
    """A worker process: out of the way of whoever works on this machine."""
    global _maker
    with suppress(OSError):
        os.nice(_NICE)
    _maker = DayMaker(World(settings.demo.seed), settings, now)


def _day(day: date) -> DayTables:
    return _maker.day(day)


def _carried(day: date) -> pa.Table:
    return _maker.carried(day)
