"""Numbers as a terminal shows them. Not measured is a dash, never a zero."""

from __future__ import annotations

import math
from datetime import datetime, tzinfo

NOT_MEASURED = "–"
BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def percent(ratio: float | None) -> str:
    return NOT_MEASURED if ratio is None else f"{ratio * 100:.0f}%"


def count(number: int | None) -> str:
    return NOT_MEASURED if number is None else f"{number:,}"


def watts(value: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    return f"{value / 1000:.1f} kW" if value >= 10_000 else f"{value:,.0f} W"


def size(value: float | None) -> str:
    """Bytes in the unit that leaves at most four digits."""
    if value is None:
        return NOT_MEASURED
    step = 0
    while abs(value) >= 1024 and step < len(BINARY) - 1:
        value, step = value / 1024, step + 1
    return f"{value:.1f} {BINARY[step]}" if step and value < 100 else f"{value:.0f} {BINARY[step]}"


def duration(seconds: float | None) -> str:
    """As Slurm writes it: D-HH:MM:SS; inf is UNLIMITED."""
    if seconds is None:
        return NOT_MEASURED
    if math.isinf(seconds):
        return "UNLIMITED"
    days, rest = divmod(int(max(0.0, seconds)), 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def age(seconds: float | None) -> str:
    """A rough distance in words: 12 s, 5 min, 3 h, 2 d."""
    if seconds is None:
        return NOT_MEASURED
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86400:.0f} d"


def clock(moment: datetime | None, zone: tzinfo) -> str:
    return NOT_MEASURED if moment is None else moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
