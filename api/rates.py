"""How often each user may ask: counted per minute, in Redis for all workers, else in each worker for its part."""

from __future__ import annotations

import logging
import math
import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from data.breaker import Breaker
from settings import CacheSettings

if TYPE_CHECKING:
    from limits.strategies import FixedWindowRateLimiter

log = logging.getLogger(__name__)


class Rates:
    """Counts from the first request on, so that nothing runs before a fork. `per_minute` 0 = no limit; counts of
    another `name` are counts apart. Workers count together where `cache` is Redis."""

    def __init__(self, per_minute: int, workers: int, cache: CacheSettings | None = None, *, name: str = "api") -> None:
        self._name, self._cache = name, cache or CacheSettings()
        is_shared = self._cache.kind == "redis"
        self._per_minute = per_minute if is_shared else math.ceil(per_minute / max(1, workers))
        self._lock = threading.Lock()
        self._breaker = Breaker()

    @cached_property
    def _limiter(self) -> FixedWindowRateLimiter:
        from limits.storage import storage_from_string
        from limits.strategies import FixedWindowRateLimiter

        url, options = self._place()
        return FixedWindowRateLimiter(storage_from_string(url, **options))

    def _place(self) -> tuple[str, dict[str, Any]]:
        """The storage and its options."""
        if self._cache.kind != "redis":
            return "memory://", {}
        from data.shared_redis import patience, redis_address

        return redis_address(self._cache), patience()

    def wait_seconds(self, user: str) -> int:
        """0 = go on; else how long until the user may ask again. A store that does not answer stops nobody."""
        if not self._per_minute or not self._breaker.may_try():
            return 0
        from limits import RateLimitItemPerMinute

        item = RateLimitItemPerMinute(self._per_minute)
        with self._lock:
            limiter = self._limiter
        try:
            is_early = limiter.hit(item, self._name, user)
            until = 0.0 if is_early else limiter.get_window_stats(item, self._name, user).reset_time
        except limiter.storage.base_exceptions as err:
            self._breaker.failed()
            log.warning("requests are not counted: %s", err)
            return 0
        self._breaker.answered()
        return 0 if is_early else max(1, math.ceil(until - time.time()))
