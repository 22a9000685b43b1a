"""The address of the page of history: what is asked, what of it could not be used, and the links that lead on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from components.history_address import DEFAULTS, HistoryAddress, Words
from components.history_table import TOTAL_COLUMNS, VIEWS, columns_of
from data.errors import BadRequest
from data.queries.history import Group, ReportQuery, report_query
from data.queries.history.asking import PARAMETERS
from pages._address import choice_of, moment_of, text_of

# What a parameter means depends on these.
_TOGETHER = {"since": ("since", "until"), "until": ("since", "until"), "level": ("by", "level")}
_NOT_BY = frozenset({Group.NONE.value, Group.DAY.value, Group.WEEK_HOUR.value})
MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class AskedHistory:
    """`table` is what the ranking asks; `scope` the same without what is selected on the map, for all other panels.
    `text` is what the names of the table's rows hold ("" = any)."""

    address: HistoryAddress
    table: ReportQuery
    now: datetime
    at: datetime | None = None
    ignored: tuple[str, ...] = ()
    text: str = ""

    @property
    def scope(self) -> ReportQuery:
        kept = replace(self.table.filter, utilization=None, gpu_memory_gib=None)
        whole = replace(self.table, by=Group.NONE, filter=kept, limit=None, account_level=None)
        return replace(whole, columns=TOTAL_COLUMNS, sort="name")

    @property
    def is_public(self) -> bool:
        """Whether nothing that is chosen names people or their jobs."""
        none: frozenset[str] = frozenset()
        return replace(self.scope.filter, partitions=none, qos=none, models=none, sizes=none).is_empty

    @property
    def wants_findings(self) -> bool:
        """Whether the table has a column of the most frequent finding."""
        return self.address.value("view") == "hours" and self.table.by is not Group.JOB

    @property
    def has_selection(self) -> bool:
        return self.table.filter != self.scope.filter


def parse_efficiency_address(
    query: Mapping[str, str | Sequence[str]], now: datetime, zone: str, path: str
) -> AskedHistory:
    """Read the query string; never fails. A range without an end ends at the last full five minutes, so that those who
    look at the same time see the same numbers, and a step further down answers at once."""
    ignored: list[str] = []
    single = {name: value for name, value in query.items() if isinstance(value, str)}
    at = moment_of(single, now, zone, ignored)
    end = at or now.replace(minute=now.minute // 5 * 5, second=0, microsecond=0)
    words = _usable(query, end, ZoneInfo(zone), ignored)
    words["view"] = choice_of(single, "view", [key for key, _ in VIEWS], str(DEFAULTS["view"]), ignored)
    text = text_of(single, "q")
    if text and words.get("by") == Group.JOB.value:
        ignored.append("q: jobs are not found by a text here. Search for a job's number, or filter by user.")
        text = ""
    words["q"] = text
    if at is not None:
        words["at"] = at.isoformat()
    address = HistoryAddress(path).changed(**words)
    asked = {**DEFAULTS, **address.words}
    table = report_query({name: asked.get(name) for name in PARAMETERS}, end, ZoneInfo(zone))
    if table.by is Group.ACCOUNT:  # a tree is cut by its branches, not by rows
        table = replace(table, limit=None)
    columns = columns_of(address.value("view"), table.sort)
    return AskedHistory(address, replace(table, columns=columns, compare=True), end, at, tuple(ignored), text)


def _usable(
    query: Mapping[str, str | Sequence[str]], now: datetime, zone: ZoneInfo, ignored: list[str]
) -> dict[str, Words]:
    """Each parameter that can be understood, in the order of the address; what is wrong with others is named."""
    found: dict[str, Words] = {}
    for name in query:
        if name not in PARAMETERS or name in ("compare", "columns"):
            continue
        asked = {one: query[one] for one in _TOGETHER.get(name, (name,)) if one in query}
        try:
            _check(name, asked, now, zone)
        except BadRequest as err:
            message = " ".join(part for part in (f"{err}.", err.hint) if part)
            if message not in ignored:
                ignored.append(message)
            continue
        value = query[name]
        found[name] = value if isinstance(value, str) else tuple(value)
    return found


def _check(name: str, asked: Mapping[str, str | Sequence[str]], now: datetime, zone: ZoneInfo) -> None:
    """Raises BadRequest for what the page cannot show."""
    read = report_query(asked, now, zone)
    if name == "by" and read.by.value in _NOT_BY:
        raise BadRequest(f"by={read.by.value} is shown by the charts")
    if name == "limit" and (read.limit or 0) > MOST_ROWS:
        raise BadRequest(f"limit={read.limit} is too much for a page", hint="All rows are in the CSV.")
    if read.until - read.since < timedelta(minutes=1):
        raise BadRequest("The range is shorter than a minute")
