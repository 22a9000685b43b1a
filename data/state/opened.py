"""A store of one process: opened at its first use, in the process that asks (never before a fork)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from data.breaker import Breaker
from data.errors import FullwarpError, SettingsError, SourceError, SourceUnreachable
from data.model import SourceCondition, SourceState

if TYPE_CHECKING:
    from data.state.store import Place, StateStore

Found = TypeVar("Found")


@dataclass
class OpenedState:
    """Keeps the store open. One that failed is left alone for a while and then asked by one caller at a time, so that
    no page waits for it."""

    _pid: int = 0
    _store: StateStore | None = None
    _failed: FullwarpError | None = None
    _breaker: Breaker = field(default_factory=Breaker)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def store(self, settings: Place) -> StateStore | None:
        """The store, None where none is set or none is there yet. Raises SettingsError, SourceUnreachable."""
        if not settings.is_set:
            return None
        if self._is_open and not self._breaker.is_resting:
            return self._store
        return self._opened(settings)

    def read(self, settings: Place, ask: Callable[[StateStore], Found]) -> Found | None:
        """What `ask` finds in the store, None where there is none. Raises as `store`, and what `ask` raises: where that
        is a fault of the store, it counts as one that failed."""
        store = self._opened(settings) if settings.is_set else None
        if store is None:
            return None
        try:
            found = ask(store)
        except (SourceError, SettingsError) as err:
            self._fail(err)
            raise
        except FullwarpError:  # an answer, and no fault of the store
            self._breaker.answered()
            raise
        self._breaker.answered()
        return found

    @property
    def _is_open(self) -> bool:
        return self._store is not None and self._pid == os.getpid()

    def _opened(self, settings: Place) -> StateStore | None:
        """The store for one who has leave to ask it."""
        before = self._breaker.failures
        if not self._breaker.may_try():
            raise copy(self._failed) or SourceUnreachable("the store does not answer")
        with self._guard:
            if self._is_open:
                return self._store
            if self._failed is not None and self._breaker.failures > before:  # while this one waited for the guard
                raise copy(self._failed)
            try:
                self._store, self._pid = self._open(settings), os.getpid()
            except FullwarpError as err:
                self._fail(err)
                raise
            self._breaker.answered()
            return self._store

    def _fail(self, err: FullwarpError) -> None:
        self._failed = copy(err)  # an error that is raised again and again grows by the frames that it went through
        self._breaker.failed()

    def _open(self, settings: Place) -> StateStore | None:
        from data.state.store import open_store

        return open_store(settings)


def store_down(name: str, settings: Place, err: FullwarpError) -> SourceState:
    """The state of a store that does not answer."""
    kind = "sqlite" if settings.directory is not None else "database"
    return SourceState(name, kind, SourceCondition.DOWN, error=str(err), hint=err.hint or None)
