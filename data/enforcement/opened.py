"""The enforcement store of a process that only reads it: opened read-only at its first use. One
without tables is one in which nothing was ever written: it counts as not there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from data.errors import FullwarpError
from data.state.opened import OpenedState

if TYPE_CHECKING:
    from data.state.store import Place, StateStore


class OpenedEnforcement(OpenedState):
    def _open(self, settings: Place) -> StateStore | None:
        from data.enforcement.store import ENFORCEMENT
        from data.state.store import open_store

        try:
            found = open_store(settings, kind=ENFORCEMENT)
            return None if found is None or found.revision() is None else found
        except FullwarpError as err:
            self._failed, self._failed_at = err, time.monotonic()
            raise
