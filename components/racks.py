"""Which nodes stand together on the map: as the site says, else by the rack in their name, else in rows of six."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from data.slurm.hosts import hostlist
from settings import RackSettings

ROW = 6
NO_RACK = "other"
_TWO_NUMBERS = re.compile(r"^([A-Za-z]*[-_]?\d+)[^0-9]+\d+$")
_PARTS = re.compile(r"(\d+)")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Order in which n2 comes before n10; any text has one."""
    return tuple(
        (0, int(part), "") if part.isascii() and part.isdigit() and len(part) < 19 else (1, 0, part)
        for part in _PARTS.split(name)
        if part
    )


def racks(names: Sequence[str], rule: RackSettings | None = None) -> dict[str, str]:
    """Rack label by node name, for names in map order; in the order of racks where `rule` lists their hosts.

    With a rule, nodes that it does not place are "other".
    Names such as r3n07 or rack12-gpu4 carry their rack. All others stand in rows of six (R1, R2 ...), a new row where
    the letters of the name change.
    """
    if rule is not None and (rule.hosts or rule.pattern):
        return _by_rule(names, rule)
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


def _by_rule(names: Sequence[str], rule: RackSettings) -> dict[str, str]:
    listed = _listed(tuple(rule.hosts.items()))
    pattern = re.compile(rule.pattern) if rule.pattern else None
    found = {name: listed.get(name) or _named(name, pattern) for name in names}
    order = {rack: place for place, rack in enumerate(rule.hosts)}
    last = len(order)
    places = {rack: (order.get(rack, last), rack == NO_RACK) for rack in found.values()}
    return dict(sorted(found.items(), key=lambda one: places[one[1]]))


@lru_cache(maxsize=8)
def _listed(hosts: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Rack by host; the first rack that lists a host has it."""
    return {host: rack for rack, names in reversed(hosts) for host in hostlist(names)}


def _named(name: str, pattern: re.Pattern[str] | None) -> str:
    match = pattern.search(name) if pattern else None
    return (match[1] if match else None) or NO_RACK
