"""The detailed metrics of a past range, from history: the same pieces, one per attempt, so that rows are made alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from data.applications import application_of
from data.model import Viewer, Window
from data.queries.metrics.columns import COLUMNS, GAP, UTILIZATION
from data.queries.metrics.live import Pieces
from data.queries.metrics.model import Cell, Owner, Piece
from data.queries.metrics.pieces import UNKNOWN_MODEL
from data.sources import Sources
from settings import Settings

if TYPE_CHECKING:
    from data.queries.history.details import Detailed, DetailedRow

MOST_ATTEMPTS = 60_000
_UTIL, _GR = "gpu_utilization", "graphics_engine_activity"


@dataclass(frozen=True, slots=True)
class Past:
    """What history holds of a range, as far as the viewer may see it. `absent` are columns that nobody measured."""

    found: Pieces
    absent: tuple[str, ...] = ()
    is_empty: bool = False


def past_pieces(viewer: Viewer, sources: Sources, since: datetime, until: datetime) -> Past:
    """The pieces of [since, until), kept for ten minutes for each viewer (staff share theirs).

    Raises CannotKnow where no history is kept, SourceError when it cannot be read.
    """
    who: object = "staff" if viewer.is_staff else viewer
    minute = int(until.timestamp() // 60)
    key = ("past metrics", who, int((until - since).total_seconds() // 60), minute)
    return sources.windows.get(key, lambda: _read(viewer, sources, since, until))


def _read(viewer: Viewer, sources: Sources, since: datetime, until: datetime) -> Past:
    from data.queries.history.details import detailed
    from data.queries.history.groups import Group
    from data.queries.history.model import ReportQuery

    query = ReportQuery(since, until, by=Group.JOB, sort="-gpu_hours_allocated", limit=MOST_ATTEMPTS)
    answer = detailed(viewer, sources, query)
    pieces = [_piece(row, sources.settings) for row in answer.rows if row.hours.allocated > 0]
    found = Pieces(Window(since, until), tuple(pieces), unknown=_unknown(answer))
    return Past(found, _absent(answer), answer.state.is_empty)


def _unknown(answer: Detailed) -> tuple[str, ...]:
    said = list(answer.state.notes)
    left = answer.total.jobs - len(answer.rows)
    if left > 0:
        said.append(f"{left} attempts with the fewest GPU-hours are left out: the range has {answer.total.jobs}.")
    return tuple(said)


def _absent(answer: Detailed) -> tuple[str, ...]:
    """Columns of which nobody's job has any part in the range."""
    gone = set(answer.not_exported)
    absent = []
    for name, column in COLUMNS.items():
        parts = (GAP,) if name == GAP else column.metrics
        if all(part in gone for part in parts):
            absent.append(name)
    return tuple(absent)


def _piece(row: DetailedRow, settings: Settings) -> Piece:
    about = row.about
    owner = Owner(
        str(about.get("display_id") or row.label),
        about.get("name") or "",
        about.get("user"),
        about.get("account"),
        about.get("partition") or "",
        application_of(about.get("name") or "", settings.applications.name_pattern),
        about.get("end_time") is None,
    )
    return Piece(
        owner,
        row.model or UNKNOWN_MODEL,
        row.hours,
        _cells(row),
        _metric(row),
        _findings(row, about, settings),
    )


def _metric(row: DetailedRow) -> str | None:
    """What the utilization was read from: UTIL, GR where there is no UTIL."""
    if row.utilization is None:
        return None
    return _GR if _UTIL not in row.metrics and _GR in row.metrics else _UTIL


def _cells(row: DetailedRow) -> Mapping[str, Cell]:
    cells = {}
    if row.utilization is not None:
        cells[UTILIZATION] = Cell(row.utilization, row.hours.measured)
    for name, column in COLUMNS.items():
        parts = (GAP,) if name == GAP else column.metrics
        there = [found for part in parts if (found := row.metrics.get(part)) is not None]
        if name != UTILIZATION and there:
            cells[name] = Cell(sum(one.value for one in there), min(one.hours for one in there))
    return cells


def _findings(row: DetailedRow, about: Mapping[str, Any], settings: Settings) -> tuple[str, ...]:
    """The diagnoses of the attempt's means; none of thin data or of a run of a few minutes."""
    limits, hours = settings.findings, row.hours
    seconds = 3600 * hours.allocated / max(1, about.get("gpu_count") or 1)
    if (hours.coverage or 0.0) < limits.min_coverage or seconds < settings.judgement.min_seconds:
        return ()
    still = row.row.idle_share is not None and row.row.idle_share >= limits.mostly_idle
    is_mostly_idle = still and "idle" not in row.diagnoses and not row.row.reads_idle
    return (*row.diagnoses, "mostly_idle") if is_mostly_idle else row.diagnoses
