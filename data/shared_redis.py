"""A Redis server that several hosts share: where it is, how long anybody waits for it, and the picture in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cachelib import RedisCache
from pydantic import SecretStr

from configuration.checks import redis_address as checked
from configuration.section import secret_text
from data.breaker import REST_SECONDS, Breaker
from data.cache import MemoryCache, RawBytes, Release
from data.errors import SettingsError
from settings import CacheSettings

T = TypeVar("T")
WAIT_SECONDS = 2.0


def redis_address(settings: CacheSettings) -> str:
    """Where Redis is, with its password; "" where the cache is of another kind. Raises SettingsError."""
    if settings.kind != "redis":
        return ""
    try:
        address = checked(SecretStr(secret_text(settings.redis_url, settings.redis_url_file))).get_secret_value()
    except (OSError, ValueError) as err:
        raise SettingsError(f"cache.redis_url_file: {settings.redis_url_file} cannot be used: {err}") from err
    if not address:
        empty = "redis_url" if settings.redis_url_file is None else "redis_url_file"
        raise SettingsError(f"cache.{empty} is empty", hint="Set it to redis://host:6379/0 or choose cache.kind files.")
    return address


def patience(seconds: float = WAIT_SECONDS) -> dict[str, Any]:
    """Options of a client that does not wait long: a cut connection is made anew once, silence is waited for once.

    Raises SettingsError where the package is missing.
    """
    try:
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError
        from redis.retry import Retry
    except ImportError as err:
        raise SettingsError("cache.kind is redis, and its package is missing", hint="pip install redis") from err
    again = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds, "retry": again}


class SharedRedis:
    """A Redis server. While it does not answer, this process keeps its values and locks to itself."""

    def __init__(self, url: str, *, timeout_seconds: float = WAIT_SECONDS, rest_seconds: float = REST_SECONDS) -> None:
        options = patience(timeout_seconds)
        import redis

        self.fault: str | None = None
        self._error: type[Exception] = redis.RedisError
        self._client = redis.Redis.from_url(url, **options)
        self._values = _RawRedis(self._client, default_timeout=0)
        self._own = MemoryCache()
        self._breaker = Breaker(rest_seconds)

    def get(self, key: str) -> bytes | None:
        found = self._asked(lambda: self._values.get(key), lambda: self._own.get(key))
        return found if isinstance(found, bytes) else None

    def set(self, key: str, value: bytes) -> None:
        self._asked(lambda: self._values.set(key, value, timeout=0), lambda: self._own.set(key, value))

    def try_lock(self, name: str, lapse_seconds: float) -> Release | None:
        def shared() -> Release | None:
            lock = self._client.lock(name, timeout=lapse_seconds, blocking=False, thread_local=False)
            return (lambda: self._release(lock)) if lock.acquire() else None

        return self._asked(shared, lambda: self._own.try_lock(name, lapse_seconds))

    def _asked(self, ask: Callable[[], T], alone: Callable[[], T]) -> T:
        """What Redis answers; while it does not, what this process has by itself."""
        if not self._breaker.may_try():
            return alone()
        try:
            found = ask()
        except self._error as err:
            self._failing(err)
            return alone()
        self._answered()
        return found

    def _release(self, lock: Any) -> None:
        """Give the lock back; one that has lapsed is another's now."""
        from redis.exceptions import LockError

        if self._breaker.is_resting:
            return  # it lapses by itself
        try:
            lock.release()
        except LockError:
            return
        except self._error as err:
            self._failing(err)

    def _failing(self, err: Exception) -> None:
        self._breaker.failed()
        self.fault = f"Redis does not answer: {type(err).__name__}"

    def _answered(self) -> None:
        """What was kept here meanwhile is old now: it must not come up again at the next failure."""
        self._breaker.answered()
        if self.fault is not None:
            self.fault, self._own = None, MemoryCache()


class _RawRedis(RedisCache):
    serializer: Any = RawBytes()
