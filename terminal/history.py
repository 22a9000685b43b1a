"""`fullwarp report` on screen, and the cells of its columns, the same in every form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from rich.console import RenderableType

from data import words
from data.efficiency.coverage import PARTLY_MEASURED
from data.queries.history import COLUMNS, GROUP_LABELS, Group, Report, ReportRow
from data.queries.history.model import HistoryState, Value
from terminal.tables import Column, line, table

# On a narrow screen; a wide one shows all that the query has.
NARROW = frozenset(("jobs", "gpu_hours_allocated", "utilization", "coverage", "gpu_hours_idle", "gpu_hours_wasted"))
# Coverages stand in the files; on screen a cell with a small one has a mark.
Names = Sequence[str]


def report_lines(found: Report, zone: tzinfo, width: int, limit: int) -> Iterator[RenderableType]:
    """The table with its total, the waits by number of GPUs, and what the numbers stand on."""
    names = shown_columns(found.query.columns)
    heads = [Column(_title(name), True, name not in NARROW) for name in names]
    shown = found.rows[:limit]
    label = GROUP_LABELS[found.query.by]
    groups = () if found.query.by is Group.NONE else shown
    rows = [(_label(row), *cells(row, names, found.currency)) for row in (*groups, found.total)]
    yield table([Column(label), *heads], rows, width)
    yield line(range_words(found, zone))
    if found.groups > len(shown):
        yield line(f"{words.of(len(shown), found.groups, 'row')} shown; --limit, --csv and --json give more.")
    for wait in found.waits:
        if wait.jobs and wait.size:
            median, most = words.duration(wait.p50_seconds), words.duration(wait.p90_seconds)
            yield line(f"wait with {wait.size} GPUs: half under {median}, nine of ten under {most} ({wait.jobs} jobs)")
    yield from state_lines(found.state)


def _title(name: str) -> str:
    """What is neither hours, a share nor a count has its unit in the head."""
    return f"{COLUMNS[name].label} kWh" if COLUMNS[name].unit == "kWh" else COLUMNS[name].label


def shown_columns(names: Names) -> list[str]:
    """Without coverages, which mark the cells that they belong to."""
    return [name for name in names if not name.endswith("_coverage")]


def cells(row: ReportRow, names: Names, currency: str) -> list[str]:
    return [cell_text(row, name, currency) for name in names]


def cell_text(row: ReportRow, name: str, currency: str) -> str:
    """A value with its unit; "*" where less than four fifths of its hours were measured."""
    text = value_text(row.value(name), COLUMNS[name].unit, currency)
    share = row.value(COLUMNS[name].coverage) if COLUMNS[name].coverage else None
    return f"{text}*" if text and share is not None and share < PARTLY_MEASURED else text


def value_text(value: Value, unit: str, currency: str = "") -> str:
    if value is None:
        return ""
    if unit == "ratio":
        return words.percent(value)
    if unit == "seconds":
        return words.duration(value)
    if unit == "bytes":
        return words.gib(value)
    if unit == "currency":
        return f"{words.number(value, 0 if value >= 100 else 2)} {currency}"
    decimals = 1 if unit and 0 < abs(value) < 99.95 else 0
    return words.number(value, decimals)


def range_words(found: Report, zone: tzinfo) -> str:
    since, until = (moment.astimezone(zone) for moment in (found.query.since, found.query.until))
    return f"{since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M %Z}; * = under 80 % of its GPU-hours measured"


def state_lines(state: HistoryState) -> Iterator[RenderableType]:
    for note in state.notes:
        yield line(("Note: ", "yellow"), note)
    for name in state.damaged:
        yield line(("Damaged: ", "bold red"), name)


def _label(row: ReportRow) -> str:
    return "  " * ((row.level or 1) - 1) + row.label
