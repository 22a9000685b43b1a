"""How often each user may ask: counted per minute, in Redis for all workers, else in each worker for its part."""

from __future__ import annotations

import logging
import math
import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limits.strategies import FixedWindowRateLimiter

log = logging.getLogger(__name__)


class Rates:
    """Counts from the first request on, so that nothing runs before a fork. `per_minute` 0 = no limit; counts of
    another `name` are counts apart."""

    def __init__(self, per_minute: int, workers: int, redis_url: str = "", *, name: str = "api") -> None:
        self._name = name
        self._per_minute = per_minute if redis_url else math.ceil(per_minute / max(1, workers))
        self._url = redis_url or "memory://"
        self._lock = threading.Lock()

    @cached_property
    def _limiter(self) -> FixedWindowRateLimiter:
        from limits.storage import storage_from_string
        from limits.strategies import FixedWindowRateLimiter

        return FixedWindowRateLimiter(storage_from_string(self._url))

    def wait_seconds(self, user: str) -> int:
        """0 = go on; else how long until the user may ask again. A store that does not answer stops nobody."""
        if not self._per_minute:
            return 0
        from limits import RateLimitItemPerMinute

        item = RateLimitItemPerMinute(self._per_minute)
        with self._lock:
            limiter = self._limiter
        try:
            if limiter.hit(item, self._name, user):
                return 0
            return max(1, math.ceil(limiter.get_window_stats(item, self._name, user).reset_time - time.time()))
        except limiter.storage.base_exceptions as err:
            log.warning("requests are not counted: %s", err)
            return 0
