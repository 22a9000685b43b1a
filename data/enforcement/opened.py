"""The enforcement store of a process that only reads it: opened read-only at its first use. One
without tables is one in which nothing was ever written: it counts as not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from data.state.opened import OpenedState

if TYPE_CHECKING:
    from data.state.store import Place, StateStore


class OpenedEnforcement(OpenedState):
    def _open(self, settings: Place) -> StateStore | None:
        from data.enforcement.store import ENFORCEMENT
        from data.state.store import open_store

        found = open_store(settings, kind=ENFORCEMENT)
        if found is not None and found.revision() is None:
            found.close()
            return None
        return found
