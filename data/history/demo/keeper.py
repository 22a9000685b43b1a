"""Keeps the demo's history in step with its clock: in the background for the web, waited for in the terminal."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from data.errors import FullwarpError
from data.history.demo.note import announce, read_made
from data.history.lease import HeldByAnother
from settings import Settings

FRESH = timedelta(minutes=10)
_POLL_SECONDS = 1.0
_PROCESSES = 4  # 90 days take them about 15 s; more would only hold more memory

Progress = Callable[[int, int, str], None]
Bar = Callable[[str], AbstractContextManager[Progress]]

log = logging.getLogger(__name__)


class DemoHistory:
    """The simulated cluster's history in `directory`, of `days` days up to now.

    Safe to use from several threads and processes: one of them makes it, the others read. `is_patient` questions wait
    until all of their range is there; the others answer with what is, and say so. `bar` shows progress while waiting.
    """

    def __init__(self, settings: Settings, directory: Path, clock: Callable[[], datetime], days: int) -> None:
        self.is_patient = False
        self.bar: Bar = lambda title: nullcontext(lambda done, of, what: None)
        self._settings, self._directory, self._clock, self._days = settings, directory, clock, days
        self._started = threading.Event()

    def prepare(self, since: datetime) -> None:
        """Before a question about the time from `since` on."""
        if not self.is_patient:
            self.start()
            return
        back = (self._clock().astimezone(UTC).date() - since.astimezone(UTC).date()).days + 1
        try:
            with self.bar("adding up the demo's history") as progress:
                self._make(min(max(1, back), self._days), wait_seconds=600.0, progress=progress)
        except (FullwarpError, OSError) as err:
            log.warning("the demo's history is not whole: %s", err)

    def start(self) -> None:
        """Begin to make it in the background, once per process."""
        if not self._started.is_set():
            self._started.set()
            with suppress(OSError):  # the thread says what is wrong
                announce(self._directory, self._days)
            threading.Thread(target=self._keep, name="demo-history", daemon=True).start()

    def _keep(self) -> None:
        pause = threading.Event()
        while not pause.wait(_POLL_SECONDS):
            try:
                self._make(self._days, wait_seconds=0.0)
            except HeldByAnother:
                continue
            except (FullwarpError, OSError) as err:
                log.warning("the demo's history cannot be kept: %s", err)
            pause.wait(FRESH.total_seconds())

    def _make(self, days: int, *, wait_seconds: float, progress: Progress = lambda done, of, what: None) -> None:
        from data.history.demo.making import make, missing_days
        from data.history.store import writing

        now = self._clock()
        if not missing_days(read_made(self._directory), now, days, FRESH):
            return
        with writing(self._directory, wait_seconds=wait_seconds) as store:
            missing = missing_days(read_made(self._directory), now, days, FRESH)
            processes = min(_PROCESSES, os.cpu_count() or 1) if len(missing) > 2 else 0
            make(store, self._settings, now, missing, self._days, processes=processes, progress=progress)


def demo_folder(base: Path, seed: int) -> Path:
    """The folder below `base` for what this version of the simulation makes of the seed."""
    data = Path(__file__).parents[2]
    parts = [*sorted((data / "simulation").glob("*.py")), *sorted((data / "history").rglob("*.py"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()[:12]
    return base / f"demo-history-{seed}-{digest}"
