"""Leaves alone for a while what does not answer, so that not everybody waits for it."""

from __future__ import annotations

import threading
import time

REST_SECONDS = 5.0


class Breaker:
    """A circuit breaker: what failed is not asked for `rest_seconds`, then by one caller at a time until it answers."""

    def __init__(self, rest_seconds: float = REST_SECONDS) -> None:
        self._rest_seconds = rest_seconds
        self._guard = threading.Lock()
        self._failures = 0
        self._rests_until: float | None = None

    @property
    def failures(self) -> int:
        """How often it failed so far."""
        return self._failures

    @property
    def is_resting(self) -> bool:
        """Whether it failed a short while ago."""
        until = self._rests_until
        return until is not None and time.monotonic() < until

    def may_try(self) -> bool:
        """Whether this caller may ask now; while it is known to fail, one caller gets leave for each rest."""
        with self._guard:
            if self.is_resting:
                return False
            if self._rests_until is not None:
                self._rests_until = time.monotonic() + self._rest_seconds
            return True

    def failed(self) -> None:
        with self._guard:
            self._failures += 1
            self._rests_until = time.monotonic() + self._rest_seconds

    def answered(self) -> None:
        with self._guard:
            self._rests_until = None
