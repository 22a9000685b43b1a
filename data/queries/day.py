"""The last 24 hours of the whole cluster, added up behind everyone's back at most every ten minutes."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from data.errors import FullwarpError
from data.last_day import DayOfUse, day_of_use
from data.model import Viewer

if TYPE_CHECKING:
    from data.sources import Sources

EVERY = timedelta(minutes=10)
log = logging.getLogger(__name__)


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
