"""One writer at a time, also between hosts that share the folder.

On one host the kernel's file lock decides: it is free as soon as its holder dies. Between hosts, where many file
systems keep such locks to themselves, a lease file decides: made whole by a hard link, renewed while its holder lives,
and taken over by whoever saw it unchanged for `LAPSE_SECONDS` on its own clock, so that clocks need not agree.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from uuid import uuid4

from data.errors import FullwarpError
from data.filelock import try_file_lock

LAPSE_SECONDS = 60.0
_RENEW_SECONDS = LAPSE_SECONDS / 6
_POLL_SECONDS = 0.2


class HeldByAnother(FullwarpError):
    """Another writer is at work; nothing was changed."""

    code = "busy"


class Lease:
    """The right to write to the folder, from `take` to `release`; `require` raises once another has taken it."""

    def __init__(self, directory: Path, *, host: str = "", work: str = "is writing to the history") -> None:
        self._host = host or socket.gethostname()
        self._file, self._lock = directory / ".writer", directory / f".writer-{self._host}.lock"
        self._token, self._work = uuid4().hex, work
        self._release_lock: Callable[[], None] | None = None
        self._stop = threading.Event()

    def take(self, wait_seconds: float = 0.0, lapse_seconds: float = LAPSE_SECONDS) -> None:
        """Take it, waiting for at most `wait_seconds`. Raises HeldByAnother, OSError for an unusable folder."""
        until = time.monotonic() + wait_seconds
        seen: tuple[str, float] = ("", time.monotonic())
        while not self._try(seen, lapse_seconds):
            if time.monotonic() >= until:
                raise HeldByAnother(f"{self._holder()} {self._work}", hint="Try again when it is done.")
            now = self._content()
            seen = seen if now == seen[0] else (now, time.monotonic())
            time.sleep(_POLL_SECONDS)
        threading.Thread(target=self._renew, name="renew-lease", daemon=True).start()

    def require(self) -> None:
        """Raise HeldByAnother when the lease is not ours any more (this host slept, or lost the file system)."""
        if self._token not in self._content():
            raise HeldByAnother(f"{self._holder()} has taken over: this process stood still for too long")

    def release(self) -> None:
        self._stop.set()
        with suppress(OSError):
            if self._token in self._content():
                self._file.unlink()
        if self._release_lock is not None:
            self._release_lock()
            self._release_lock = None

    def _try(self, seen: tuple[str, float], lapse_seconds: float) -> bool:
        if self._release_lock is None:
            self._release_lock = try_file_lock(self._lock, inf)
        if self._release_lock is None:
            return False
        found = self._content()
        if found and (self._is_of_this_host(found) or self._has_lapsed(found, seen, lapse_seconds)):
            self._take_away(found)
        if self._claim():
            return True
        self._release_lock()
        self._release_lock = None
        return False

    def _is_of_this_host(self, found: str) -> bool:
        """The kernel's lock is ours, so whoever wrote this on our host is gone."""
        return _field(found, "host") == self._host

    def _has_lapsed(self, found: str, seen: tuple[str, float], lapse_seconds: float) -> bool:
        return found == seen[0] and time.monotonic() - seen[1] >= lapse_seconds

    def _take_away(self, found: str) -> None:
        """Move the old lease aside under a name of ours: of several who try, one succeeds."""
        aside = self._file.with_name(f".writer-{self._token}")
        with suppress(OSError):
            self._file.rename(aside)
            if aside.read_text(encoding="utf-8") != found:
                os.link(aside, self._file)
        aside.unlink(missing_ok=True)

    def _claim(self) -> bool:
        mine = self._file.with_name(f".writer-{self._token}")
        mine.write_text(self._text(), encoding="utf-8")
        try:
            os.link(mine, self._file)
        except FileExistsError:
            return False
        finally:
            mine.unlink(missing_ok=True)
        return True

    def _renew(self) -> None:
        """Write a new text into the lease while it is ours; its change is what others see."""
        while not self._stop.wait(_RENEW_SECONDS):
            with suppress(OSError):
                if self._token in self._content():
                    with self._file.open("r+", encoding="utf-8") as file:
                        file.write(self._text())

    def _text(self) -> str:
        text = {"host": self._host, "pid": os.getpid(), "token": self._token, "renewed": f"{time.time():017.3f}"}
        return json.dumps(text)

    def _content(self) -> str:
        try:
            return self._file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def _holder(self) -> str:
        found = self._content()
        host, pid = _field(found, "host"), _field(found, "pid")
        return f"Process {pid} on {host}" if host else "Another process"


def _field(text: str, name: str) -> str:
    try:
        return str(json.loads(text)[name])
    except (ValueError, KeyError, TypeError):
        return ""
