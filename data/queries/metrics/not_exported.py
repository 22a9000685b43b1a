"""Columns that nobody at this site exports, told apart from those that merely were not measured."""

from __future__ import annotations

from collections.abc import Iterable

from data.check import metrics
from data.errors import FullwarpError
from data.model import SourceHealth, Viewer
from data.queries.metrics.columns import COLUMNS, GAP
from data.queries.metrics.model import NotExported
from data.sources import Sources


def not_exported(viewer: Viewer, sources: Sources, missing: Iterable[str]) -> tuple[NotExported, ...]:
    """The columns of which no exporter gives a part, with the lines for its counters file (for staff).

    `missing` had no sample in the window; what an exporter gives all the same was merely not measured.
    """
    absent = set(missing)
    candidates = [column for column in COLUMNS.values() if _is_absent(column.name, absent)]
    if not candidates:
        return ()
    asked = _health(sources)
    if asked is None:
        return ()
    gone = absent & set(asked.missing_metrics)
    return tuple(
        NotExported(column.name, _lines(column.metrics, gone, asked) if viewer.is_staff else ())
        for column in candidates
        if _is_absent(column.name, gone)
    )


def _is_absent(name: str, absent: set[str]) -> bool:
    """A gap needs both of its parts; of others one is enough."""
    part = any if name == GAP else all
    return part(metric in absent for metric in COLUMNS[name].metrics)


def _lines(names: Iterable[str], gone: set[str], asked: SourceHealth) -> tuple[str, ...]:
    wanted = [name for name in names if name in gone]
    return tuple(line for check in metrics.fields(wanted, asked.dialects) for line in check.fix)


def _health(sources: Sources) -> SourceHealth | None:
    """What the metrics server says of itself, at most half a minute old and shared with Health."""
    try:
        found = sources.recent.get("metrics health", sources.metrics.health)
    except FullwarpError:
        return None
    return found if found.reachable else None
