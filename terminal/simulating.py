"""Writes the simulated cluster's series where a real Prometheus can take them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from data.errors import BadRequest, SettingsError
from data.model import Window
from data.simulation import World
from data.simulation.openmetrics import openmetrics


def span(since: datetime | None, until: datetime | None, now: datetime) -> Window:
    """The span to write. Raises BadRequest for one that is empty or turned round."""
    window = Window(since or now, until or now)
    if window.start >= window.end:
        raise BadRequest(f"nothing lies between {window.start:%Y-%m-%d %H:%M} and {window.end:%Y-%m-%d %H:%M} UTC")
    return window


def days(window: Window) -> Iterator[Window]:
    """The span cut at midnights UTC: promtool wants one file per day."""
    start = window.start
    while start < window.end:
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        end = min(midnight, window.end)
        yield Window(start, end)
        start = end


def write_folder(world: World, window: Window, folder: Path) -> Iterator[tuple[Path, int]]:
    """Write one file per UTC day into `folder`; gives each with its number of samples. Raises SettingsError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for day in days(window):
            path = folder / f"{day.start:%Y%m%dT%H%M%S}.om"
            unfinished = path.with_suffix(".part")
            with unfinished.open("w", encoding="utf-8") as out:
                count = openmetrics(world, day, out)
            unfinished.replace(path)
            yield path, count
    except OSError as err:
        raise SettingsError(f"{folder} cannot be written: {err.strerror}") from err
