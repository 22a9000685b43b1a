"""The kill switch: a file that stops acting while it is there."""

from __future__ import annotations

from pathlib import Path

from settings import PolicySettings


def why_stopped(policy: PolicySettings) -> str:
    """Why nothing may be done; "" = acting goes on. A place that cannot be looked at stops, too."""
    file = policy.stop_file
    if file is None:
        return ""
    try:
        file.lstat()
    except FileNotFoundError:
        return _why_no_folder(file.parent)
    except OSError as err:
        return f"it cannot be told whether the kill switch {file} is there: {err.strerror}"
    return f"the kill switch {file} is there"


def _why_no_folder(folder: Path) -> str:
    """A folder that is gone (a file system that is not mounted) could hold the file."""
    return "" if folder.is_dir() else f"the folder of the kill switch is not there: {folder}"
