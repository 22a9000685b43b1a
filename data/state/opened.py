"""A store of one process: opened at its first use, in the process that asks (never before a fork)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from data.errors import FullwarpError, SettingsError, SourceError
from data.model import SourceCondition, SourceState

if TYPE_CHECKING:
    from data.state.store import Place, StateStore

RETRY_SECONDS = 10.0
Found = TypeVar("Found")


@dataclass
class OpenedState:
    """Keeps the store open. One that failed is not asked again for `RETRY_SECONDS`, so that no page waits for it."""

    _pid: int = 0
    _store: StateStore | None = None
    _failed: FullwarpError | None = None
    _failed_at: float = 0.0
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def store(self, settings: Place) -> StateStore | None:
        """The store, None where none is set or none is there yet. Raises SettingsError, SourceUnreachable."""
        if not settings.is_set:
            return None
        with self._guard:
            if self._failed is not None and time.monotonic() - self._failed_at < RETRY_SECONDS:
                raise self._failed
            if self._store is None or self._pid != os.getpid():
                try:
                    self._store, self._pid = self._open(settings), os.getpid()
                except FullwarpError as err:
                    self._failed, self._failed_at = err, time.monotonic()
                    raise
            return self._store

    def read(self, settings: Place, ask: Callable[[StateStore], Found]) -> Found | None:
        """What `ask` finds in the store, None where there is none. Raises as `store`, and what `ask` raises: where that
        is a fault of the store, it counts as one that failed."""
        store = self.store(settings)
        if store is None:
            return None
        try:
            return ask(store)
        except (SourceError, SettingsError) as err:
            with self._guard:
                self._failed, self._failed_at = err, time.monotonic()
            raise

    def _open(self, settings: Place) -> StateStore | None:
        from data.state.store import open_store

        return open_store(settings)


def store_down(name: str, settings: Place, err: FullwarpError) -> SourceState:
    """The state of a store that does not answer."""
    kind = "sqlite" if settings.directory is not None else "database"
    return SourceState(name, kind, SourceCondition.DOWN, error=str(err), hint=err.hint or None)
