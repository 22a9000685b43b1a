"""The datasets of a folder of history as views for one range: only the files that can matter, each key once."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.history.columns import HOURS, RATE_METRICS, RATIO_METRICS, WHO
from data.history.datasets import DATASETS
from data.history.files import Damaged, DayFiles, files
from data.history.footers import Footer, Identity, footer
from data.queries.history.edges import cut, first_whole_hour, hours_cut, last_whole_hour

DAY = timedelta(days=1)
# An attempt that ends later than this after the range is taken as still running there.
HORIZON = timedelta(days=31)
# One that was suspended for longer than this up to the range's end, and has not ended, is not seen there.
LOOK_BACK = timedelta(days=14)
KEYS = DATASETS["jobs"].key
# `jobs` with all of its columns, for the few questions that need others than a report.
ENDED = "ended_jobs"
# The columns of `jobs` of which any report is made: the fewer there are, the faster a question is compiled and planned.
_OF_JOBS = frozenset(
    (
        *KEYS,
        *(column.name for column in (*WHO, *HOURS)),
        *(*RATIO_METRICS, *RATE_METRICS, "gpu_memory_used_bytes", "power_watts", "low_share", "high_share"),
        *("display_id", "name", "account_path", "gpu_count", "state", "nodes", "findings", "collected_at"),
        *("end_time", "eligible_time", "device_hours", "energy_joules", "cores", "elapsed_seconds", "cpu_seconds"),
        *("memory_used_bytes", "memory_allocated_bytes"),
    )
)
# Files whose rows turned out to be damaged, for as long as they stay the same.
_UNREADABLE: dict[Identity, str] = {}


@dataclass(frozen=True)
class Range:
    """[since, until), and the whole hours in it [first_hour, end_hour)."""

    since: datetime
    until: datetime
    first_hour: datetime
    end_hour: datetime


def range_of(since: datetime, until: datetime) -> Range:
    first, end = first_whole_hour(since.astimezone(UTC)), last_whole_hour(until.astimezone(UTC))
    return Range(since.astimezone(UTC), until.astimezone(UTC), first, max(first, end))


@dataclass(frozen=True)
class Found:
    """The files of a dataset, with what their footers say."""

    dataset: str
    files: DayFiles
    footers: tuple[Footer, ...]

    def where(self, keep: Iterable[bool]) -> Found:
        chosen = [number for number, is_kept in enumerate(keep) if is_kept]
        paths = tuple(self.files.paths[number] for number in chosen)
        footers = tuple(self.footers[number] for number in chosen)
        return replace(self, files=replace(self.files, paths=paths), footers=footers)

    @property
    def days(self) -> list[date]:
        return [day_of(path) for path in self.files.paths]


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
        return _found(self.directory, "jobs", self.span.since, self.span.until + HORIZON)

    @cached_property
    def usage(self) -> Found:
        return _found(self.directory, "usage", self.span.since, self.span.until - timedelta(microseconds=1))

    @property
    def damaged(self) -> tuple[Damaged, ...]:
        """The files of the range that were left out."""
        return (*self.jobs.files.damaged, *self.usage.files.damaged)

    def leave_out_damaged(self) -> None:
        """Read every file of the range whole, and leave out from now on those that cannot be read: a footer may be
        whole where the rows are not. Costs as much as it sounds: only after the engine failed."""
        for found in (self.jobs, self.usage):
            for path, one in zip(found.files.paths, found.footers, strict=True):
                try:
                    pq.ParquetFile(path, page_checksum_verification=True).read()
                except (pa.ArrowException, OSError, ValueError) as err:
                    _UNREADABLE[one.identity] = f"it is damaged: {(str(err).splitlines() or [''])[0][:160]}"

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
            where = f"start_time >= {_time(self._open_since)}" if name == "open" else ""
            self._view(name, views[name](), where)
        else:
            everyone, crossing = self._cut
            self.give("edges", everyone)
            self.give("crossing_edges", crossing)

    def _view(self, name: str, found: Found, where: str = "", *, whole: bool = False) -> None:
        """Make a view of the rows of these files, in today's form and order of columns, each key once (the newest)."""
        schema = DATASETS[found.dataset].schema if whole else schema_used(found.dataset)
        parts = [_select(found.dataset, one, schema.names) for one in _by_form(found)]
        if not parts:
            return self.give(name, schema.empty_table())
        body = " UNION ALL ".join(parts) + (f" WHERE {where}" if where and len(parts) == 1 else "")
        if where and len(parts) > 1:
            body = f"SELECT * FROM ({body}) WHERE {where}"
        if self._has_twins(found):
            key = ", ".join(DATASETS[found.dataset].key)
            newest = f"row_number() OVER (PARTITION BY {key} ORDER BY collected_at DESC) = 1"
            body = f"SELECT * FROM ({body}) QUALIFY {newest}"
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
        since, until = _time(self.span.since), _time(self.span.until)
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
            f" {_time(last)} AND end_time > {_time(first)}) USING ({', '.join(KEYS)})"
            f" WHERE hour IN ({', '.join(_time(hour) for hour in hours)})"
        )
        return cut(self.cursor.sql(query).to_arrow_table(), self.span.since, self.span.until)

    def _has_twins(self, found: Found) -> bool:
        """Whether any key is there twice, which is so only after a crash or while rows are being moved: looked up once
        per set of files, because taking the newest of each costs more than all the rest."""
        key = DATASETS[found.dataset].key
        suspects = found.where(_shares_its_day(found.files.paths)) if "hour" in key else found
        if len(suspects.files.paths) < 2:
            return False
        keys = " UNION ALL ".join(_select(found.dataset, one, key) for one in _by_form(suspects))
        query = f"SELECT 1 FROM ({keys}) GROUP BY {', '.join(key)} HAVING count(*) > 1 LIMIT 1"
        return _TWINS.get(suspects, lambda: bool(self._rows(query)))


@lru_cache(maxsize=4)
def schema_used(dataset: str) -> pa.Schema:
    """The columns of a dataset that reports use."""
    schema = DATASETS[dataset].schema
    return pa.schema([field for field in schema if dataset != "jobs" or field.name in _OF_JOBS])


def day_of(path: Path) -> date:
    return date.fromisoformat(path.parent.name.partition("=")[2])


def _found(directory: Path, dataset: str, since: datetime, until: datetime) -> Found:
    listed = files(directory, dataset, since.date(), until.date())
    footers = {path: footer(path) for path in listed.paths}
    damaged = [Damaged(path, _UNREADABLE[one.identity]) for path, one in footers.items() if one.identity in _UNREADABLE]
    left_out = {one.path for one in damaged}
    paths = tuple(path for path in listed.paths if path not in left_out)
    return Found(dataset, DayFiles(paths, (*listed.damaged, *damaged)), tuple(footers[path] for path in paths))


def _by_form(found: Found) -> list[Found]:
    """Files with the same columns apart: one look at a footer is enough for each."""
    forms = dict.fromkeys(one.form for one in found.footers)
    return [found.where(one.form == form for one in found.footers) for form in forms]


def _select(dataset: str, found: Found, names: Sequence[str]) -> str:
    """The rows of files of one form; a column that it does not have is null."""
    there = {field.name for field in pq.read_schema(found.files.paths[0])}
    kinds = {field.name: _sql_type(field.type) for field in DATASETS[dataset].schema}
    columns = [f'"{name}"' if name in there else f'CAST(NULL AS {kinds[name]}) AS "{name}"' for name in names]
    paths = ", ".join(_text(str(path)) for path in found.files.paths)
    return f"SELECT {', '.join(columns)} FROM read_parquet([{paths}])"


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"{_sql_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return "STRUCT(" + ", ".join(f'"{one.name}" {_sql_type(one.type)}' for one in kind) + ")"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMPTZ"
    words = {"string": "VARCHAR", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "uint8": "UTINYINT"}
    return words.get(str(kind), "BOOLEAN" if pa.types.is_boolean(kind) else "DOUBLE")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _time(value: datetime) -> str:
    return f"TIMESTAMPTZ '{value.astimezone(UTC).isoformat()}'"


def _may_be_less(value: datetime | None, than: datetime) -> bool:
    return value is None or value < than


def _may_be_more(value: datetime | None, than: datetime) -> bool:
    return value is None or value >= than


def _shares_its_day(paths: Sequence[Path]) -> list[bool]:
    count = Counter(path.parent for path in paths)
    return [count[path.parent] > 1 for path in paths]


class _Twins:
    """Which sets of files hold a key twice."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Identity, ...], bool] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, found: Found, look: Callable[[], bool]) -> bool:
        key = tuple(one.identity for one in found.footers)
        with self._guard:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        answer = look()
        with self._guard:
            self._known[key] = answer
            while len(self._known) > 64:
                self._known.popitem(last=False)
        return answer


_TWINS = _Twins()
