"""A lock between processes of one host: free at once when its holder dies, and open to others when it is held too
long."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path


def try_file_lock(path: Path, lapse_seconds: float) -> Callable[[], None] | None:
    """Take the lock without waiting and give what releases it; None while another holds it, OSError without a folder.

    The time in the file is the host's monotonic clock, so that a step of the wall clock changes nothing. A lock that
    is held for longer than `lapse_seconds` is left to its holder and a new file takes its place.
    """
    for _ in range(3):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if not _flock(descriptor):
            lapsed = _has_lapsed(descriptor, lapse_seconds)
            if lapsed and _is_current(path, descriptor):
                path.unlink(missing_ok=True)
            os.close(descriptor)
            if not lapsed:
                return None
        elif _is_current(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, repr(time.monotonic()).encode(), 0)
            return partial(os.close, descriptor)
        else:
            os.close(descriptor)
    return None


def _flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_current(path: Path, descriptor: int) -> bool:
    """Whether the path still names this open file (another may have replaced it)."""
    try:
        found = path.stat()
    except OSError:
        return False
    mine = os.fstat(descriptor)
    return (found.st_ino, found.st_dev) == (mine.st_ino, mine.st_dev)


def _has_lapsed(descriptor: int, lapse_seconds: float) -> bool:
    try:
        begun = float(os.pread(descriptor, 64, 0))
    except ValueError:
        return False
    return time.monotonic() - begun > lapse_seconds
