"""Verdicts of the newest picture, made behind everyone's back: pages that only mention them never wait."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from data.errors import FullwarpError
from data.model import Role, Viewer
from data.queries.scope import may_see

if TYPE_CHECKING:
    from data.sources import Sources
    from policy.queries import VerdictList

_EVERYBODY = Viewer("", Role.STAFF)
log = logging.getLogger(__name__)
DELAY_SECONDS = 1.0  # a page that is being shown goes first
OLDEST = timedelta(minutes=15)  # what is older says nothing of now


class VerdictKeeper:
    """Keeps the last answer, and makes that of a new picture in a thread of its own, one at a time."""

    def __init__(self, delay_seconds: float = DELAY_SECONDS) -> None:
        self._delay = delay_seconds
        self._kept: VerdictList | None = None
        self._of = ""
        self._making = ""
        self._guard = threading.Lock()

    def newest(self, viewer: Viewer, sources: Sources) -> VerdictList | None:
        """The last answer as far as the viewer may see it; None while the first is being made. Never waits.

        Raises SourceError when there is no picture at all.
        """
        version = sources.live.snapshot().version
        with self._guard:
            if version not in (self._of, self._making):
                self._making = version
                timer = threading.Timer(self._delay, self._make, (sources, version))
                timer.name, timer.daemon = "verdicts", True
                timer.start()
            kept = self._kept
        return None if kept is None else _scoped(kept, viewer)

    def known(self, viewer: Viewer, now: datetime) -> VerdictList | None:
        """The last answer as far as the viewer may see it, made by nobody for this; None where it is too old."""
        with self._guard:
            kept = self._kept
        return None if kept is None or now - kept.time > OLDEST else _scoped(kept, viewer)

    @property
    def is_making(self) -> bool:
        """Whether newer ones are to come soon."""
        with self._guard:
            return self._making != self._of

    def _make(self, sources: Sources, version: str) -> None:
        from policy.queries import verdicts

        found = None
        try:
            found = verdicts(_EVERYBODY, sources)
        except FullwarpError as err:
            log.info("no verdicts: %s", err)
        except Exception:  # a mistake of ours must not end the thread without a word
            log.exception("jobs could not be judged")
        with self._guard:
            self._of, self._kept = version, found or self._kept


def _scoped(kept: VerdictList, viewer: Viewer) -> VerdictList:
    if viewer.is_staff:
        return kept
    seen = tuple(one for one in kept.verdicts if may_see(viewer, one.job))
    return replace(kept, verdicts=seen, detail="", sources=())
