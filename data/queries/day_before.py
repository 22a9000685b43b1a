"""The 24 hours before a past moment, as the history has them."""

from __future__ import annotations

import logging
from datetime import datetime

from data.errors import CannotKnow, FullwarpError
from data.last_day import SPAN, DayOfUse
from data.model import Viewer
from data.sources import Sources

log = logging.getLogger(__name__)


def day_before(viewer: Viewer, sources: Sources, at: datetime) -> DayOfUse:
    """The 24 hours up to the last whole hour of a past moment, from the history: what jobs wasted, without lines. Where
    that is not in it, `why` says so. It names nobody, so that every viewer gets the same."""
    hour = at.replace(minute=0, second=0, microsecond=0)  # a replay in small steps asks once for each hour
    return sources.reports.get(("day before", hour), lambda: _from_history(viewer, sources, hour))


def _from_history(viewer: Viewer, sources: Sources, at: datetime) -> DayOfUse:
    from data.queries import history  # Arrow is loaded only where a past moment is asked for

    try:
        found = history.cluster_report(viewer, sources, history.ReportQuery(at - SPAN, at, by=history.Group.NONE))
    except CannotKnow:
        return DayOfUse(at, why="no history is kept")
    except FullwarpError as err:
        log.info("the 24 hours before %s are not known: %s", at, err)
        return DayOfUse(at, why="the history could not be read")
    wasted, measured = (found.total.value(f"gpu_hours_{name}") for name in ("wasted", "measured"))
    collected = found.state.collected_at
    if collected is None or collected < at:
        return DayOfUse(at, why="not in the history yet")
    if not isinstance(wasted, float) or not isinstance(measured, float) or not measured:
        return DayOfUse(at, why="not measured")
    return DayOfUse(at, wasted, measured)
