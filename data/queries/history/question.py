"""One question to history: who asks, what, and the relations that answer it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pyarrow as pa

from data.errors import CannotKnow, SettingsError, SourceGarbled, SourceUnreachable
from data.model import Viewer
from data.queries.history import narrowing
from data.queries.history.compiled import MARKS, Compiled, CompiledQuestions, compiled, named_table, named_tables
from data.queries.history.groups import IN_TIME, SPLIT, Group
from data.queries.history.marks import Marked, filled, marked
from data.queries.history.measures import measures_of
from data.queries.history.model import HistoryState, ReportQuery
from data.queries.history.reading import Reading
from data.queries.history.relations import (
    PATH_SEPARATOR,
    Tables,
    Wanted,
    attempts,
    by_node,
    in_time,
    path_of,
)
from data.queries.history.span import Range, range_of
from data.queries.history.state import state_of
from data.queries.history.words import require_known_words
from data.sources import Sources

Table = Any

T = TypeVar("T")
TRIES = 3
KEPT = "kept"
HOUR = timedelta(hours=1)
HOURS_SCHEMA = pa.schema([("hour", pa.timestamp("us", tz="UTC")), ("bucket", pa.string())])
_COMPILED = CompiledQuestions()
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass
class Question:
    """What is asked, over the tables of any engine. `rates` are the costs by the name of the model in the rows."""

    viewer: Viewer
    query: ReportQuery
    reading: Reading
    zone: ZoneInfo
    rates: Mapping[str, float]
    department_rows: Mapping[str, str]
    name_pattern: str = ""
    currency: str = ""
    kept: pa.Schema | None = None

    @property
    def state(self) -> HistoryState:
        return state_of(self.viewer, self.reading, by_node=self.query.by is Group.NODE or bool(self.query.filter.nodes))

    @property
    def tables(self) -> Tables:
        return named_tables(self.reading.has_edges)

    def asking(self, viewer: Viewer | None = None, **changes: Any) -> Question:
        """The same with changes to the query (and for somebody else), over the same range. Of attempts that are kept
        only the group, the order and the findings may change."""
        kept = None if viewer is not None else self.kept
        return replace(self, viewer=viewer or self.viewer, query=replace(self.query, **changes), kept=kept)

    def keep(self, *measures: str) -> Question:
        """The same, with its attempts kept in a table: for several questions to a few of them."""
        return replace(self, kept=self.keep_as(KEPT, lambda: self.parts(*measures), measures))

    def keep_as(self, name: str, build: Callable[[], Any], *more: Hashable) -> pa.Schema:
        """Keep the rows of an expression as a table of this name; gives its columns."""
        made = self._compiled(name, build, *more)
        return self.reading.keep(name, self._filled(made), made.tables)

    def run(self, name: str, build: Callable[[], Any], *more: Hashable) -> list[dict[str, Any]]:
        """The rows of the expression that `build` makes, which depends on the form of this question, `name` and `more`
        alone: on which of its filters are set, not on their values."""
        rows: list[dict[str, Any]] = self.table(name, build, *more).to_pylist()
        return rows

    def table(self, name: str, build: Callable[[], Any], *more: Hashable) -> pa.Table:
        """The same as columns, for many rows."""
        found = self._compiled(name, build, *more)
        if "hours" in found.tables:
            self.reading.give("hours", self._hours())
        return self.reading.run(self._filled(found), found.tables)

    def _compiled(self, name: str, build: Callable[[], Any], *more: Hashable) -> Compiled:
        rates = tuple(sorted(self.rates.items()))
        is_kept = None if self.kept is None else tuple(self.kept.names)
        return _COMPILED.get(
            (name, self.form, self.marked.viewer, self.reading.has_edges, rates, is_kept, *more), build
        )

    def _filled(self, found: Compiled) -> str:
        return filled(found.of(self.reading.span), self.marked.values)

    @cached_property
    def marked(self) -> Marked:
        names = self.query.filter.departments
        departments = self.departments if names else {}
        own = [account for account, name in departments.items() if name in names]
        return marked(self.viewer, self.query.filter, own)

    @property
    def form(self) -> ReportQuery:
        """The query without what the engine does not see of it: its range, the values of its filter, the columns
        beyond their measures, the order and the level of groups."""
        query, is_by_job = self.query, self.query.by is Group.JOB
        return ReportQuery(
            MARKS.since,
            MARKS.until,
            query.by,
            self.marked.filter,
            columns=measures_of(query.columns),
            sort=query.sort if is_by_job else "",
        )

    @cached_property
    def departments(self) -> Mapping[str, str]:
        """The department of every account in the tables: its own, or that of the nearest account above it."""
        if not self.department_rows:
            return {}
        found: dict[str, str] = {}
        for rows in (self.tables.jobs, self.tables.usage):
            text = compiled(rows.select("account", path=path_of(rows)).distinct())
            accounts = self.reading.run(text.sql, text.tables).to_pylist()
            found |= {row["account"]: name for row in accounts if (name := self.department_of(row["path"])) is not None}
        return found

    def department_of(self, path: str | None) -> str | None:
        above = reversed((path or "").split(PATH_SEPARATOR))
        return next((self.department_rows[name] for name in above if name in self.department_rows), None)

    def allowed(self, rows: Table) -> Table:
        return narrowing.fitting(self.marked.filter, narrowing.visible(self.marked.viewer, rows))

    def wanted(self, *measures: str) -> Wanted:
        names = dict.fromkeys((*measures_of(self.query.columns), *self._means, *measures))
        return Wanted(tuple(names), self.allowed, narrowing.ended_as(self.marked.filter), self.rates)

    @property
    def _means(self) -> tuple[str, ...]:
        return measures_of(["gpu_memory_used_bytes"]) if self.query.filter.gpu_memory_gib is not None else ()

    @property
    def selects_by_means(self) -> bool:
        return self.query.filter.utilization is not None or self.query.filter.gpu_memory_gib is not None

    def parts(self, *measures: str) -> Table:
        """The attempts of the question, split by what it is grouped by: `node`, or `bucket` of time."""
        wanted = self.wanted(*measures)
        if self.kept is not None and self.query.by not in SPLIT:
            return wanted.known(named_table(self.kept, KEPT))
        nodes = sorted(self.marked.filter.nodes)
        buckets = self.buckets if self.query.by in IN_TIME else None
        if nodes or self.query.by is Group.NODE:
            found = by_node(self.tables, MARKS, wanted, nodes, buckets)
        elif buckets is not None:
            found = in_time(self.tables, MARKS, wanted, buckets)
        else:
            return narrowing.with_means(self.query.filter, attempts(self.tables, MARKS, wanted))
        return self._with_means(found)

    def _with_means(self, parts: Table) -> Table:
        """Of attempts that are split, those whose means over the whole range fit."""
        if not self.selects_by_means:
            return parts
        whole = attempts(self.tables, MARKS, self.wanted())
        keys = ["cluster", "job_id", "submit_time", "start_time"]
        return parts.semi_join(narrowing.with_means(self.query.filter, whole), keys)

    @property
    def buckets(self) -> Table:
        """Every hour that the range touches, with its bucket: `hour`, `bucket`."""
        return named_table(HOURS_SCHEMA, "hours")

    def _hours(self) -> pa.Table:
        name = week_hour_name if self.query.by is Group.WEEK_HOUR else day_name
        hours = list(hours_of(self.reading.span, self.zone))
        columns = ([hour for hour, _ in hours], [name(local) for _, local in hours])
        arrays = [pa.array(column, field.type) for column, field in zip(columns, HOURS_SCHEMA, strict=True)]
        return pa.Table.from_arrays(arrays, schema=HOURS_SCHEMA)


def hours_of(span: Range, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """The UTC hours that the range touches, each with its begin in site time."""
    hour = span.since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while hour < span.until:
        yield hour, hour.astimezone(zone)
        hour += HOUR


def day_name(local: datetime) -> str:
    return local.date().isoformat()


def week_hour_name(local: datetime) -> str:
    return f"{local.weekday()} {local.hour:02}"


def ask(
    viewer: Viewer, sources: Sources, query: ReportQuery, answer: Callable[[Question], T], *, checks_words: bool = True
) -> T:
    """Answer from the history that the settings name. Raises BadRequest for a finding or state that nothing knows
    (`checks_words` False: the same words were looked up for another range).

    A file may be replaced or vanish while it is read: then everything is read again, at most three times. Raises
    CannotKnow without a history, SourceUnreachable for a folder that cannot be read, SourceTimeout, SourceGarbled.
    """
    directory = sources.settings.history.directory
    if directory is None:
        raise CannotKnow(
            "no history is kept here",
            hint="Set history.directory and run `fullwarp collect`; see docs/how-to/history.md.",
        )
    if sources.demo_history is not None:
        sources.demo_history.prepare(query.since)
    failed: Exception | None = None
    for _ in range(TRIES):
        with sources.engine.connection() as cursor:
            reading = Reading(cursor, directory, range_of(query.since, query.until))
            try:
                question = _question(viewer, sources, query, reading)
                if checks_words:
                    require_known_words(query.filter, question.tables, reading)
                return answer(question)
            except OSError as err:
                failed = err
            except Exception as err:
                if not _is_of_engine(err):
                    raise
                failed = err
                reading.leave_out_damaged()
    if isinstance(failed, OSError):
        raise SourceUnreachable(
            f"history.directory: {directory} cannot be read: {failed}", hint="See Health."
        ) from failed
    raise SourceGarbled(f"history cannot be read: {str(failed).splitlines()[0][:300]}", hint="See Health.") from failed


def _is_of_engine(err: Exception) -> bool:
    import duckdb

    return isinstance(err, duckdb.Error)


def _question(viewer: Viewer, sources: Sources, query: ReportQuery, reading: Reading) -> Question:
    settings = sources.settings
    return Question(
        viewer=viewer,
        query=query,
        reading=reading,
        zone=ZoneInfo(settings.site_timezone),
        rates=settings.history.gpu_hour_rates,
        department_rows=department_rows(settings.history.departments_file),
        name_pattern=settings.applications.name_pattern,
        currency=settings.history.currency,
    )


def department_rows(path: Path | None) -> Mapping[str, str]:
    """The departments by account, from the CSV that the settings name. Raises SettingsError for a wrong file."""
    if path is None:
        return {}
    try:
        status = path.stat()
        return _department_rows(path, status.st_mtime_ns, status.st_size)
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise SettingsError(f"history.departments_file: {path} cannot be read: {err}") from err


@lru_cache(maxsize=4)
def _department_rows(path: Path, modified: int, size: int) -> Mapping[str, str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if not {"account", "department"} <= set(rows.fieldnames or ()):
            raise SettingsError(
                f"history.departments_file: {path} has the columns {', '.join(rows.fieldnames or ()) or 'none'}",
                hint="Its first line must name the columns account and department.",
            )
        pairs = [((row["account"] or "").strip(), (row["department"] or "").strip()) for row in rows]
    return {account: department for account, department in pairs if account and department}
