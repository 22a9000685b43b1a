"""The application store of one process: opened at its first use, in the process that asks (never before a fork)."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from data.errors import FullwarpError

if TYPE_CHECKING:
    from data.state.store import Place, StateStore

RETRY_SECONDS = 10.0


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
                self._store, self._pid = self._open(settings), os.getpid()
            return self._store

    def failed(self, err: FullwarpError) -> None:
        """Remember that the store did not answer."""
        with self._guard:
            self._failed, self._failed_at = err, time.monotonic()

    def _open(self, settings: Place) -> StateStore | None:
        from data.state.store import open_store

        try:
            return open_store(settings)
        except FullwarpError as err:
            self._failed, self._failed_at = err, time.monotonic()
            raise
