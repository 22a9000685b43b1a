"""What a turn tells, kept while it is under way: in memory for a stream, in a file where other requests read on.

A server that serves one request at a time cannot hold a stream open. There the turn writes its events into a file of
the private cache folder, and each short request reads what is new; the file goes when its end was read.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from data.private import private_folder

LEFT_SECONDS = 900.0
_NAME = re.compile(r"[0-9a-f]{24}")


class Log(Protocol):
    """Takes the events of one turn in order; `end` is told once, last."""

    def put(self, event: bytes) -> None: ...

    def end(self) -> None: ...


class MemoryLog:
    """For one reader in the same process, who waits for what is new."""

    def __init__(self) -> None:
        self._events: list[bytes] = []
        self._is_over = False
        self._news = threading.Condition()

    def put(self, event: bytes) -> None:
        with self._news:
            self._events.append(event)
            self._news.notify_all()

    def end(self) -> None:
        with self._news:
            self._is_over = True
            self._news.notify_all()

    def after(self, seen: int, wait_seconds: float) -> tuple[Sequence[bytes], bool]:
        """The events after the first `seen`, and whether there will be no more. Waits while there is neither."""
        with self._news:
            self._news.wait_for(lambda: self._is_over or len(self._events) > seen, wait_seconds)
            return self._events[seen:], self._is_over


class FileLog:
    """For readers in any process of this host: one event a line, an empty line at the end."""

    def __init__(self, folder: Path, name: str, user: str) -> None:
        self._path = log_path(folder, name)
        self._write(user.encode(), os.O_CREAT | os.O_EXCL)

    def put(self, event: bytes) -> None:
        with suppress(FileNotFoundError):  # a reader took it away: nobody wants to know
            self._write(event)

    def _write(self, line: bytes, how: int = 0) -> None:
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | how, 0o600), "ab") as file:
            file.write(line + b"\n")

    def end(self) -> None:
        self.put(b"")

    @property
    def is_stopped(self) -> bool:
        """Whether a reader asked to stop, or took the log away."""
        return stop_path(self._path).exists() or not self._path.exists()


def log_folder(cache_folder: Path) -> Path:
    """The folder of the logs; those that nobody read to their end are removed. Raises SettingsError."""
    folder = private_folder(private_folder(cache_folder) / "chat")
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > LEFT_SECONDS:
                path.unlink()
    return folder


def log_path(folder: Path, name: str) -> Path:
    """Where the log of this turn is. Raises FileNotFoundError for a name that is none."""
    if not _NAME.fullmatch(name):
        raise FileNotFoundError(name)
    return folder / f"{name}.log"


def stop_path(log: Path) -> Path:
    return log.with_suffix(".stop")


def read_log(folder: Path, name: str, user: str, seen: int) -> tuple[list[bytes], bool, float]:
    """As `MemoryLog.after`, without waiting, and the seconds since the last event. What was read to its end is
    removed. Raises FileNotFoundError for a turn that is not there and for another person's."""
    path = log_path(folder, name)
    lines = path.read_bytes().split(b"\n")
    if lines[0] != user.encode():
        raise FileNotFoundError(name)
    whole = lines[1:-1]  # what is after the last line break is not written to its end
    is_over = bool(whole) and whole[-1] == b""
    events = whole[:-1] if is_over else whole
    age = time.time() - path.stat().st_mtime
    if is_over:
        remove_log(folder, name)
    return events[seen:], is_over, age


def remove_log(folder: Path, name: str) -> None:
    path = log_path(folder, name)
    for one in (stop_path(path), path):
        one.unlink(missing_ok=True)


def ask_to_stop(folder: Path, name: str, user: str) -> None:
    """Leave word for the turn's process. Raises FileNotFoundError as `read_log`."""
    path = log_path(folder, name)
    with path.open("rb") as file:
        if file.readline().rstrip(b"\n") != user.encode():
            raise FileNotFoundError(name)
    stop_path(path).touch(0o600)
