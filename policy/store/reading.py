"""The ladders for those who only read: pages, API, terminal and chat."""

from __future__ import annotations

from data.errors import FullwarpError
from data.model import SourceState
from data.sources import Sources
from data.state.opened import store_down
from policy.ladder import NO_LADDERS, Ladders

NAME = "enforcement"


def ladders_now(sources: Sources, cluster: str) -> tuple[Ladders, SourceState | None]:
    """What the enforcer has written down, at most half a minute old, and the store's state while it does not answer.

    Without a store nobody enforces, and every ladder looks as if it began now.
    """
    settings = sources.settings.enforcement
    try:
        if sources.enforcement.store(settings) is None:
            return NO_LADDERS, None
        return sources.recent.get((NAME, cluster), lambda: _read(sources, cluster)), None
    except FullwarpError as err:
        return NO_LADDERS, store_down(NAME, settings, err)


def _read(sources: Sources, cluster: str) -> Ladders:
    from policy.store.ladders import read_ladders

    found = sources.enforcement.read(sources.settings.enforcement, lambda store: read_ladders(store, cluster))
    return found or NO_LADDERS
