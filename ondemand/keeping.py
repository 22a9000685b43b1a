"""Answers kept for all tabs of one user: in the process, and in a folder of the user's own for the next process.

Passenger stops an app that nobody uses after some minutes; the files let the next one show at once what is still fresh.
"""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.errors import (
    CannotKnow,
    NotFound,
    SettingsError,
    SourceDenied,
    SourceError,
    SourceTimeout,
    SourceUnreachable,
)
from data.private import private_folder

FAILED_SECONDS = 20.0
OLDEST_SECONDS = 900.0
MOST_FILES = 64
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as JSON, when it was asked for, and why nothing newer is there ("" = it is as new as it should be)."""

    asked_at: float
    body: Any
    fault: str = ""


class Keeper:
    """`folder` None = nothing outlives the process. `clock` gives seconds since 1970."""

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}
        self._failed: tuple[float, SourceError] | None = None

    def get(self, name: str, seconds: float, ask: Callable[[], Any]) -> Kept:
        """The answer, asked for again when it is older than `seconds`.

        While the source does not answer, one at most OLDEST_SECONDS old stands in for it, and says so; not for one that
        refuses the asker. While it cannot be reached, nothing is asked for FAILED_SECONDS: every question would wait as
        long. Raises as `ask`.
        """
        with self._lock:
            found = self._kept.get(name) or self._read(name)
            if found is not None and 0 <= self._clock() - found.asked_at < seconds:
                self._kept[name] = found
                return found
            return self._asked(name, found, ask)

    def _asked(self, name: str, before: Kept | None, ask: Callable[[], Any]) -> Kept:
        now = self._clock()
        try:
            if self._failed is not None and 0 <= now - self._failed[0] < FAILED_SECONDS:
                raise self._failed[1]
            found = Kept(now, ask())
        except SourceError as err:
            if self._failed is None or self._failed[1] is not err:
                self._failed = (now, err) if isinstance(err, SourceUnreachable | SourceTimeout) else None
            is_young = before is not None and 0 <= now - before.asked_at < OLDEST_SECONDS
            if before is None or not is_young or isinstance(err, SourceDenied | CannotKnow):
                raise
            return Kept(before.asked_at, before.body, str(err))
        except NotFound:
            self._forget(name)
            raise
        self._failed = None
        self._kept[name] = found
        self._write(name, found)
        return found

    def _forget(self, name: str) -> None:
        self._kept.pop(name, None)
        file = self._file(name)
        if file is not None:
            with suppress(OSError):
                file.unlink()

    def _file(self, name: str) -> Path | None:
        key = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
        return None if self._folder is None else self._folder / f"{key}.json"

    def _read(self, name: str) -> Kept | None:
        """What an earlier process left; anything that is not ours to read is nothing."""
        file = self._file(name)
        try:
            found = json.loads(file.read_bytes()) if file is not None else None
            return Kept(float(found["asked_at"]), found["body"]) if found and found["name"] == name else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _write(self, name: str, found: Kept) -> None:
        """A full disk or quota costs the next start a second, and nothing now."""
        file = self._file(name)
        if file is None:
            return
        try:
            with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", delete=False) as part:
                json.dump({"name": name, "asked_at": found.asked_at, "body": found.body}, part)
            Path(part.name).replace(file)
            self._tidy(file.parent)
        except OSError as err:
            log.info("%s cannot be kept: %s", file, err)
            with suppress(OSError, NameError):
                Path(part.name).unlink()

    def _tidy(self, folder: Path) -> None:
        """Only the newest files stay."""
        files = [(file.stat().st_mtime, file) for file in folder.glob("*") if file.suffix in {".json", ".part"}]
        for _, file in sorted(files, reverse=True)[MOST_FILES:]:
            with suppress(OSError):
                file.unlink()


def own_folder(home: str) -> Path | None:
    """The user's own folder, mode 0700; None where it cannot be had, for nothing depends on it."""
    if not home.startswith("/"):
        return None
    try:
        private_folder(Path(home) / ".cache" / "fullwarp")
        return private_folder(Path(home) / ".cache" / "fullwarp" / "ondemand")
    except SettingsError as err:
        log.info("nothing is kept between two starts: %s", err)
        return None
