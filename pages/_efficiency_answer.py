"""The answers of the page of history, as far as they are there in time; the rest comes with the next call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import dash

from components.history_page import HistoryParts, HistoryView
from data.errors import FullwarpError, SourceUnreachable
from data.findings.advice import advice
from data.model import ClusterSnapshot, Role, Viewer
from data.queries import history
from data.queries.live import snapshot
from data.sources import Sources
from pages._answers import scope_of
from pages._by_and_by import some_of
from pages._efficiency_address import AskedHistory, parse_efficiency_address
from pages._request import backing, viewer

FIRST_SECONDS, NEXT_SECONDS = 0.6, 4.0
WEEKS_FROM = timedelta(days=120)
Make = Callable[[], Any]


def efficiency_view(asked: AskedHistory, *, seconds: float = FIRST_SECONDS, more_than: int = -1) -> HistoryView:
    """One answer for one viewer. An error of history is part of the view."""
    own, who = backing(), viewer()
    parts, error = HistoryParts(), None
    try:
        parts = history_parts(who, own.sources, asked, seconds, more_than)
    except FullwarpError as err:
        error = err.with_traceback(None)  # which holds this frame, and all that the view is made of
    seen = _snapshot(asked)
    return HistoryView(
        address=asked.address,
        query=asked.table,
        parts=parts,
        now=asked.now,
        zone=ZoneInfo(own.settings.site_timezone),
        prefix=dash.get_relative_path("/"),
        user=who.user,
        is_staff=who.is_staff,
        snapshot=seen,
        options=_options(seen),
        error=error,
        ignored=asked.ignored,
        advice=advice(own.settings.findings),
        has_departments=own.settings.history.departments_file is not None,
        is_growing=own.sources.demo_history is not None and _is_short(parts, asked),
    )


def ask_ahead(sources: Sources) -> None:
    """Ask what the page asks first, in the background: a first question costs seconds, each like it a fraction."""
    if sources.settings.history.directory is not None:
        threading.Thread(target=_ask_default, args=(sources,), name="history-ahead", daemon=True).start()


def _ask_default(sources: Sources) -> None:
    asked = parse_efficiency_address({}, sources.clock(), sources.settings.site_timezone, "")
    with suppress(FullwarpError):
        for _, make in _makers(Viewer("", Role.STAFF), sources, asked).values():
            make()


def history_parts(who: Viewer, sources: Sources, asked: AskedHistory, seconds: float, more_than: int) -> HistoryParts:
    """The parts in the order in which they are looked at. Each is kept for a while, so that the next call goes on.

    Waits for all; after `seconds`, or once more than `more_than` are there and the next takes long, gives those.
    """
    makers = {
        name: partial(sources.reports.get, ("efficiency", name, scope_of(who), query), make)
        for name, (query, make) in _makers(who, sources, asked).items()
    }
    found = some_of(makers, seconds, more_than if more_than >= 0 else len(makers))
    missing = tuple(name for name in makers if name not in found)
    if "total" not in makers and "report" in found:
        found["total"] = found["report"]
    return HistoryParts(**found, missing=missing, of=len(makers))


def _makers(who: Viewer, sources: Sources, asked: AskedHistory) -> Mapping[str, tuple[Hashable, Make]]:
    """The total of all jobs is that of the table, as long as nothing is selected on the map."""
    scope, own = asked.scope, replace(asked.scope, compare=False)
    step = "week" if scope.length > WEEKS_FROM else "day"
    makers: dict[str, tuple[Hashable, Make]] = {}
    if asked.has_selection:
        makers["total"] = scope, lambda: history.report(who, sources, scope)
    named = asked.table, asked.text
    makers["report"] = named, lambda: history.report_named(who, sources, *named)
    makers["trend"] = own, lambda: history.trend(who, sources, own, step)
    makers["heat"] = own, lambda: history.heat_map(who, sources, own)
    makers["bins"] = own, lambda: history.hours_by_utilization(who, sources, own)
    makers["week"] = own, lambda: history.week_hours(who, sources, own)
    if asked.wants_findings:
        plain = replace(asked.table, columns=(), sort="name", limit=None, compare=False)
        known = advice(sources.settings.findings)
        makers["findings"] = plain, lambda: history.common_findings(who, sources, plain, known)
    if not who.is_staff and asked.is_public:
        makers["cluster"] = own, lambda: history.cluster_report(who, sources, own)
    return makers


def _is_short(parts: HistoryParts, asked: AskedHistory) -> bool:
    """Whether history begins later than the range."""
    first = parts.total.state.first if parts.total else None
    return parts.total is not None and (first is None or first > asked.table.since.date())


def _snapshot(asked: AskedHistory) -> ClusterSnapshot | None:
    """The picture for the frame and the choices of the filters; the page stands without one too."""
    try:
        return snapshot(viewer(), backing().sources, at=asked.at)
    except (FullwarpError, SourceUnreachable):
        return None


def _options(seen: ClusterSnapshot | None) -> Mapping[str, tuple[str, ...]]:
    if seen is None:
        return {}
    models = {gpu.device.model for gpu in seen.gpus if gpu.device.model}
    return {
        "partition": tuple(sorted(one.name for one in seen.partitions)),
        "model": tuple(sorted(models)),
        "qos": tuple(sorted({job.qos for job in seen.jobs if job.qos})),
    }
