"""Replace a file so that a crash leaves the old one or the new one, and readers never see a part of either."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

Reached = Callable[[str], None]
TEMPORARY = ".tmp"


def replace_file(path: Path, write: Callable[[Path], None], reached: Reached, name: str) -> None:
    """Let `write` fill a file beside `path`, make it last, and put it in place.

    `reached` hears of each step by `name` and step, before and after it: tests stop there. Raises OSError.
    """
    folder = path.parent
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True, mode=0o750)
        _sync_folder(folder.parent)
    beside = folder / f".{path.name}.{uuid4().hex[:12]}{TEMPORARY}"
    reached(f"{name}: to be written")
    try:
        write(beside)
        reached(f"{name}: written")
        _sync(beside)
        reached(f"{name}: synced")
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink()
    reached(f"{name}: in place")
    _sync_folder(folder)


def remove_file(path: Path, reached: Reached, name: str) -> None:
    """Remove a file for good, and its folder when it was the last."""
    reached(f"{name}: to be removed")
    path.unlink(missing_ok=True)
    _sync_folder(path.parent)
    with suppress(OSError):
        path.parent.rmdir()
    reached(f"{name}: removed")


def remove_leftovers(folder: Path) -> None:
    """Remove what crashes left half written; only for whoever holds the lease."""
    for path in folder.glob(f".*{TEMPORARY}"):
        with suppress(OSError):
            path.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder last; some network file systems refuse this, and keep them by themselves."""
    with suppress(OSError):
        _sync(folder)
