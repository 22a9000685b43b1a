"""Where processes share the picture: two methods for bytes, and a lock for the one who refreshes.

Kinds: memory (one process), files (one host, a private folder), redis (several hosts). A cache that fails is an
empty one: each process then goes on by itself, and `fault` says so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from cachelib import FileSystemCache
from cachelib.serializers import BaseSerializer

from data.filelock import try_file_lock
from data.private import private_folder

Release = Callable[[], None]


class Cache(Protocol):
    """Bytes by key, without expiry, and a lock that lapses."""

    fault: str | None

    def get(self, key: str) -> bytes | None: ...

    def set(self, key: str, value: bytes) -> None: ...

    def try_lock(self, name: str, lapse_seconds: float) -> Release | None:
        """Take the lock without waiting and give what releases it; None while another holds it.

        It lapses when its holder dies (files: at once; redis: after `lapse_seconds`) or keeps it too long.
        """


class MemoryCache:
    """The cache of one process."""

    fault: str | None = None

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._guard = threading.Lock()
        self._held: dict[str, tuple[object, float]] = {}

    def get(self, key: str) -> bytes | None:
        return self._values.get(key)

    def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    def try_lock(self, name: str, lapse_seconds: float) -> Release | None:
        token = object()
        with self._guard:
            held = self._held.get(name)
            if held is not None and time.monotonic() - held[1] < lapse_seconds:
                return None
            self._held[name] = (token, time.monotonic())
        return lambda: self._release(name, token)

    def _release(self, name: str, token: object) -> None:
        with self._guard:
            if self._held.get(name, (None, 0.0))[0] is token:
                del self._held[name]


class FileCache:
    """Files in a folder that only we can read and write; any other folder is refused (SettingsError)."""

    def __init__(self, folder: Path) -> None:
        self.fault: str | None = None
        self._folder = private_folder(folder)
        self._own = MemoryCache()
        self._files = _RawFiles(str(self._folder), threshold=0, default_timeout=0, mode=0o600)

    def get(self, key: str) -> bytes | None:
        found = self._files.get(key)
        return found if isinstance(found, bytes) else None

    def set(self, key: str, value: bytes) -> None:
        written = self._files.set(key, value, timeout=0)
        self.fault = None if written else f"the cache folder {self._folder} cannot be written to"

    def try_lock(self, name: str, lapse_seconds: float) -> Release | None:
        try:
            return try_file_lock(self._folder / f"{name}.lock", lapse_seconds)
        except OSError as err:
            self.fault = f"the cache folder {self._folder} cannot be used: {err.strerror}"
            return self._own.try_lock(name, lapse_seconds)


class RawBytes(BaseSerializer):
    """Bytes as they are: what is read back is never unpickled here."""

    def dump(self, value: Any, f: IO[bytes], protocol: int = 0) -> None:
        f.write(value)

    def load(self, f: Any) -> bytes:
        return bytes(f.read())

    def dumps(self, value: Any, protocol: int = 0) -> bytes:
        return bytes(value)

    def loads(self, bvalue: bytes | None) -> bytes | None:
        return bvalue


class _RawFiles(FileSystemCache):
    serializer: Any = RawBytes()
