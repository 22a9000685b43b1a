"""Finished answers, kept as bytes for each (picture, viewer, address): made once, however many ask at a time."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from flask_caching import Cache
from flask_caching.backends.simplecache import SimpleCache

from data.model import Viewer

SECONDS = 120
MOST, MOST_BYTES = 400, 64 << 20
_LOCKS = 64


def scope_of(viewer: Viewer) -> str:
    """What decides which answer a viewer gets: staff share theirs, everybody else has an own one."""
    if viewer.is_staff:
        return "staff"
    accounts = (sorted(viewer.accounts), sorted(viewer.coordinated_accounts))
    return repr((viewer.user, viewer.role.value, viewer.visibility.value, accounts))


class SmallCache(SimpleCache):
    """Holds so many bytes at most, besides so many answers: those of a large cluster are large."""

    def __init__(self, most_bytes: int = MOST_BYTES, **options: Any) -> None:
        super().__init__(**options)
        self._most_bytes = most_bytes

    @property
    def bytes_kept(self) -> int:
        return sum(len(value) for _, value in self._cache.values())

    def _over_threshold(self) -> bool:
        return bool(super()._over_threshold()) or self.bytes_kept > self._most_bytes


def _empty() -> Cache:
    return Cache(config={"CACHE_TYPE": f"{__name__}.{SmallCache.__name__}", "CACHE_THRESHOLD": MOST})


@dataclass
class Answers:
    """The cache of one process, with a lock in front of each key: flask-caching alone computes every miss."""

    cache: Cache = field(default_factory=_empty)
    looked_up: Callable[[bool], None] = lambda was_kept: None
    locks: tuple[threading.Lock, ...] = field(default_factory=lambda: tuple(threading.Lock() for _ in range(_LOCKS)))

    @classmethod
    def of(cls, server: Flask, looked_up: Callable[[bool], None] = lambda was_kept: None) -> Answers:
        """An empty cache, tied to the app; `looked_up` is told of each question whether its answer was kept."""
        made = cls(looked_up=looked_up)
        made.cache.init_app(server)
        return made

    def get(self, parts: tuple[str, ...], make: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
        """What is kept under `parts`, or what `make` gives now. An error is not kept."""
        key = hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
        found = self.cache.get(key)
        self.looked_up(found is not None)
        if found is None:
            with self.locks[int(key[:8], 16) % _LOCKS]:
                found = self.cache.get(key)
                if found is None:
                    found = make()
                    self.cache.set(key, found, timeout=SECONDS)
        return tuple(found)
