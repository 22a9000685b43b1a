"""Which nodes stand together on the map: by the rack in their name where there is one, else rows of six."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

ROW = 6
_TWO_NUMBERS = re.compile(r"^([A-Za-z]*[-_]?\d+)[^0-9]+\d+$")
_PARTS = re.compile(r"(\d+)")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Order in which n2 comes before n10; any text has one."""
    return tuple(
        (0, int(part), "") if part.isascii() and part.isdigit() and len(part) < 19 else (1, 0, part)
        for part in _PARTS.split(name)
        if part
    )


def racks(names: Sequence[str]) -> dict[str, str]:
    """Rack label by node name, for names in map order.

    Names such as r3n07 or rack12-gpu4 carry their rack. All others stand in rows of six (R1, R2 ...), a new row where
    the letters of the name change.
    """
    found = {name: match[1] for name in names if (match := _TWO_NUMBERS.match(name))}
    sizes = Counter(found.values())
    if len(found) == len(names) and len(sizes) > 1 and max(sizes.values()) > 1:
        return found
    return _rows(names)


def _rows(names: Sequence[str]) -> dict[str, str]:
    rows: list[list[str]] = []
    for _, same in groupby(names, key=_letters):
        members = list(same)
        rows += [members[first : first + ROW] for first in range(0, len(members), ROW)]
    return {name: f"R{number}" for number, row in enumerate(rows, start=1) for name in row}


def _letters(name: str) -> str:
    return _PARTS.split(name, maxsplit=1)[0]
