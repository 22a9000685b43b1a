"""The ladders for those who only read: pages, API, terminal and chat."""

from __future__ import annotations

from data.errors import FullwarpError
from data.model import SourceCondition, SourceState
from data.sources import Sources
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
        kind = "sqlite" if settings.directory is not None else "database"
        return NO_LADDERS, SourceState(NAME, kind, SourceCondition.DOWN, error=str(err), hint=err.hint or None)


def _read(sources: Sources, cluster: str) -> Ladders:
    from policy.store.ladders import read_ladders

    store = sources.enforcement.store(sources.settings.enforcement)
    try:
        return NO_LADDERS if store is None else read_ladders(store, cluster)
    except FullwarpError as err:
        sources.enforcement.failed(err)
        raise
