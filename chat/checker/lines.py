"""What a line of a batch script asks for: its time, memory, GPUs, cores and nodes as numbers with units. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chat.units import Kind, Unit

_OPTION = re.compile(r"--(?P<name>[a-z-]+)=(?:[a-z_]\w*:)?(?P<value>[\d:-]*\d)(?P<size>[KMGT]?)(?![\w:])")
_SIZES = {"K": 2.0**10, "": 2.0**20, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}  # Slurm counts memory in MiB
_NOUNS = {"gpus": "gpus", "cpus": "cpus", "nodes": "nodes"}


def asked_in(line: str) -> Iterator[tuple[float, Unit]]:
    """The numbers of a line's options: seconds, bytes and counts."""
    for match in _OPTION.finditer(line):
        name, value = match["name"], match["value"]
        if name == "time":
            yield _seconds(value), Unit(Kind.SECONDS)
        elif value.isdigit() and name.startswith("mem"):
            yield float(value) * _SIZES[match["size"]], Unit(Kind.BYTES)
        elif value.isdigit():
            yield float(value), Unit(Kind.COUNT, noun=_NOUNS.get(name.partition("-")[0], ""))


def _seconds(value: str) -> float:
    """2-12:00:00, 12:00:00, 30:00 or 30 (minutes)."""
    days, _, clock = value.rpartition("-")
    parts = [int(part) for part in clock.split(":") if part]
    if days or len(parts) == 3:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    else:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    return int(days or 0) * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds
