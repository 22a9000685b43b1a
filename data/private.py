"""Folders that nobody else can read or write."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from data.errors import SettingsError


def private_folder(folder: Path) -> Path:
    """Make the folder (mode 0700) if it is missing and check that it is ours alone; SettingsError if it is not."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as err:
        raise SettingsError(
            f"cache.directory: {folder} cannot be used: {err.strerror}", hint="Set cache.directory to a folder of ours."
        ) from err
    if not stat.S_ISDIR(found.st_mode):
        raise SettingsError(f"cache.directory: {folder} is not a folder", hint="Give the folder itself, not a link.")
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise SettingsError(
            f"cache.directory: {folder} must belong to this user alone", hint=f"chown and chmod 0700 {folder}"
        )
    return folder


def default_folder(environment: Mapping[str, str]) -> Path:
    """The private cache folder of this user: XDG_CACHE_HOME, else ~/.cache; SettingsError without a home."""
    base = environment.get("XDG_CACHE_HOME", "")
    home = environment.get("HOME", "")
    if base.startswith("/"):
        return Path(base) / "fullwarp"
    if home.startswith("/"):
        return Path(home) / ".cache" / "fullwarp"
    raise SettingsError("cache.directory: no home folder is known", hint="Set cache.directory.")
