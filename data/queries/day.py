"""The last 24 hours of the whole cluster, added up behind everyone's back at most every ten minutes."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

from data.errors import CannotKnow, FullwarpError
from data.last_day import SPAN, DayOfUse, day_of_use
from data.model import Viewer
from data.sources import Sources

EVERY = timedelta(minutes=10)
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


class DayKeeper:
    """Keeps the last answer; makes the next one in a thread of its own, one at a time."""

    def __init__(self) -> None:
        self._kept: DayOfUse | None = None
        self._tried: datetime | None = None
        self._guard = threading.Lock()

    def last_day(self, viewer: Viewer, sources: Sources) -> DayOfUse | None:
        """The last answer, at most about ten minutes old; None while the first is being made. Never waits.

        It names nobody, so that every viewer gets the same.
        """
        now = sources.clock()
        with self._guard:
            is_due = self._tried is None or now - self._tried >= EVERY
            if is_due:
                self._tried = now
                threading.Thread(target=self._make, args=(sources, now), name="last-day", daemon=True).start()
        return self._kept

    def _make(self, sources: Sources, now: datetime) -> None:
        try:
            self._kept = day_of_use(sources, now)
        except FullwarpError as err:
            log.info("the last 24 hours are not known: %s", err)
            self._kept = DayOfUse(now, why="the metrics server did not answer")
        except Exception:  # a mistake of ours must not end the thread without a word
            log.exception("the last 24 hours could not be added up")
            self._kept = DayOfUse(now, why="it could not be added up")
