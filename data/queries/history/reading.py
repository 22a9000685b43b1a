"""The datasets of a folder of history as views for one range: only the files that can matter, each key once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from data.history.datasets import DATASETS
from data.history.files import Damaged
from data.queries.history.day_files import Found, Twins, found_in, leave_out_damaged, shares_its_day
from data.queries.history.edges import cut, hours_cut
from data.queries.history.span import Range
from data.queries.history.view_sql import schema_used, time_sql, view_of

DAY = timedelta(days=1)
# An attempt that ends later than this after the range is taken as still running there.
HORIZON = timedelta(days=31)
# One that was suspended for longer than this up to the range's end, and has not ended, is not seen there.
LOOK_BACK = timedelta(days=14)
KEYS = DATASETS["jobs"].key
# `jobs` with all of its columns, for the few questions that need others than a report.
ENDED = "ended_jobs"
_TWINS = Twins()


@dataclass
class Reading:
    """One range of one folder, through one connection. Raises OSError for a folder that may not be read.

    Views are made when they are first asked for; `jobs` and `usage` are whole, the others narrowed as
    `relations.Tables` says.
    """

    cursor: Any
    directory: Path
    span: Range
    _made: set[str] = field(default_factory=set)

    def run(self, sql: str, tables: Iterable[str]) -> pa.Table:
        for name in tables:
            self._make(name)
        return self.cursor.sql(sql).to_arrow_table()

    def keep(self, name: str, sql: str, tables: Iterable[str]) -> pa.Schema:
        """Keep the rows of a question as a table of this connection; gives its columns."""
        for one in tables:
            self._make(one)
        self._do(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {sql}')
        self._made.add(name)
        return self.cursor.sql(f'SELECT * FROM "{name}" LIMIT 0').to_arrow_table().schema

    def give(self, name: str, rows: pa.Table) -> None:
        """Make rows in memory a table of this connection."""
        self.cursor.register(name, rows)
        self._made.add(name)

    def _do(self, sql: str) -> None:
        """Run a statement to its end: a connection does nothing else while the result of one is open."""
        self.cursor.execute(sql).complete()

    def _rows(self, sql: str) -> list[Any]:
        found: list[Any] = self.cursor.sql(sql).fetchall()
        return found

    @property
    def has_edges(self) -> bool:
        return bool(hours_cut(self.span.since, self.span.until))

    @cached_property
    def jobs(self) -> Found:
        """Of attempts that ended in the range, and after it up to the horizon."""
        return found_in(self.directory, "jobs", self.span.since, self.span.until + HORIZON)

    @cached_property
    def usage(self) -> Found:
        return found_in(self.directory, "usage", self.span.since, self.span.until - timedelta(microseconds=1))

    @property
    def damaged(self) -> tuple[Damaged, ...]:
        """The files of the range that were left out."""
        return (*self.jobs.files.damaged, *self.usage.files.damaged)

    def leave_out_damaged(self) -> None:
        """Look at every file of the range whole: only after the engine failed."""
        for found in (self.jobs, self.usage):
            leave_out_damaged(found)

    def _make(self, name: str) -> None:
        if name in self._made:
            return
        views: dict[str, Callable[[], Found]] = {
            "jobs": lambda: self.jobs,
            "usage": lambda: self.usage,
            "before": self._before,
            "open": lambda: self._days_from(self._open_since.date()),
            "open_jobs": lambda: self._ended_since(self._open_since),
            "edge_jobs": self._edge_jobs,
        }
        if name == ENDED:
            self._view(name, self.jobs, whole=True)
        elif name in views:
            where = f"start_time >= {time_sql(self._open_since)}" if name == "open" else ""
            self._view(name, views[name](), where)
        else:
            everyone, crossing = self._cut
            self.give("edges", everyone)
            self.give("crossing_edges", crossing)

    def _view(self, name: str, found: Found, where: str = "", *, whole: bool = False) -> None:
        """Make a view of the rows of these files, in today's form and order of columns, each key once (the newest)."""
        schema = DATASETS[found.dataset].schema if whole else schema_used(found.dataset)
        if not found.files.paths:
            return self.give(name, schema.empty_table())
        body = view_of(found, schema.names, where, newest=self._has_twins(found))
        self._do(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {body}')
        self._made.add(name)
        return None

    def _before(self) -> Found:
        since = self.span.since
        return self.usage.where(_may_be_less(one.first_start, since) for one in self.usage.footers)

    def _edge_jobs(self) -> Found:
        since, until = self.span.since, self.span.until
        across = [
            _may_be_less(one.first_start, since) or _may_be_more(one.last_end, until) for one in self.jobs.footers
        ]
        return self.jobs.where(across)

    def _days_from(self, day: date) -> Found:
        return self.usage.where(one >= day for one in self.usage.days)

    def _ended_since(self, moment: datetime) -> Found:
        return self.jobs.where(_may_be_more(one.last_end, moment) for one in self.jobs.footers)

    @cached_property
    def _open_since(self) -> datetime:
        """The earliest start of attempts that began in the range and may not have ended in it; days in which no row
        of `jobs` lies, although hours do, are looked at whole."""
        days = sorted(set(self.usage.days))
        if not days:
            return self.span.until
        known = set(self.jobs.days)
        unknown = [day for day in days if day not in known and day < days[-1]]
        starts = [datetime(day.year, day.month, day.day, tzinfo=UTC) for day in unknown[:1]]
        self._view("late", self._days_from(days[-1] - LOOK_BACK))
        self._view("lately_ended", self._ended_since(self.span.until - LOOK_BACK - DAY))
        since, until = time_sql(self.span.since), time_sql(self.span.until)
        inside = f"SELECT * FROM lately_ended WHERE start_time >= {since} AND end_time <= {until}"
        others = f"late ANTI JOIN ({inside}) USING ({', '.join(KEYS)})"
        queries = (
            f"SELECT min(start_time) FROM {others} WHERE start_time >= {since}",
            f"SELECT min(start_time) FROM lately_ended WHERE end_time > {until} AND start_time >= {since}"
            f" AND start_time < {until}",
        )
        found = [self._rows(query)[0][0] for query in queries]
        return min([*starts, *(value for value in found if value is not None)], default=self.span.until)

    @cached_property
    def _cut(self) -> tuple[pa.Table, pa.Table]:
        """The hours that an edge cuts, of all attempts and of those that cross an edge."""
        hours = hours_cut(self.span.since, self.span.until)
        if not hours:
            empty = DATASETS["usage"].schema.empty_table()
            return empty, empty
        first, last = hours[0], hours[-1] + timedelta(hours=1)
        at_edges = {hour.date() for hour in hours}
        self._view("hours_cut", self.usage.where(day in at_edges for day in self.usage.days))
        early = self.jobs.where(_may_be_less(one.first_start, last) for one in self.jobs.footers)
        self._view("jobs_cut", early, whole=True)
        query = (
            f"SELECT hours_cut.*, end_time, profile FROM hours_cut LEFT JOIN (SELECT * FROM jobs_cut WHERE start_time <"
            f" {time_sql(last)} AND end_time > {time_sql(first)}) USING ({', '.join(KEYS)})"
            f" WHERE hour IN ({', '.join(time_sql(hour) for hour in hours)})"
        )
        return cut(self.cursor.sql(query).to_arrow_table(), self.span.since, self.span.until)

    def _has_twins(self, found: Found) -> bool:
        """Whether any key is there twice, which is so only after a crash or while rows are being moved: looked up once
        per set of files, because taking the newest of each costs more than all the rest."""
        key = DATASETS[found.dataset].key
        suspects = found.where(shares_its_day(found.files.paths)) if "hour" in key else found
        if len(suspects.files.paths) < 2:
            return False
        query = f"SELECT 1 FROM ({view_of(suspects, key)}) GROUP BY {', '.join(key)} HAVING count(*) > 1 LIMIT 1"
        return _TWINS.get(suspects, lambda: bool(self._rows(query)))


def _may_be_less(value: datetime | None, than: datetime) -> bool:
    return value is None or value < than


def _may_be_more(value: datetime | None, than: datetime) -> bool:
    return value is None or value >= than
