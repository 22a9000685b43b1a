"""Expand Slurm's host lists and index lists, by ClusterShell's range sets.

Only `ClusterShell.RangeSet` is used: importing its NodeSet reads configuration files of the host and the user.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final

from ClusterShell.RangeSet import RangeSet, RangeSetParseError

from data.errors import SourceGarbled
from data.slurm.scalars import is_blank

_MOST_HOSTS: Final = 65536  # Slurm's own limit on one list; keeps a garbled range from filling the memory
_LITERAL: Final = re.compile(r"[\w.\-]*")
_RANGES: Final = re.compile(r"\d{1,18}(?:-\d{1,18})?(?:,\d{1,18}(?:-\d{1,18})?)*", re.ASCII)
_PIECE: Final = re.compile(r"[^\[\],]+|\[([^\[\]]*)\]")
_TOP_LEVEL_COMMA: Final = re.compile(r",(?![^\[]*\])")
_CFG_RANGE: Final = re.compile(r"(.*?)(\d+)\.\.(\d+)")


@lru_cache(maxsize=8192)
def hostlist(value: str | None) -> tuple[str, ...]:
    """Node names of a Slurm host list, in its order; zero padding, suffixes and several brackets are kept.

    Blank values (None assigned, (null)) are (). Raises SourceGarbled for anything that is no host list.
    """
    if is_blank(value) or value is None:
        return ()
    hosts: dict[str, None] = {}
    for part in _TOP_LEVEL_COMMA.split(value.strip()):
        hosts.update(dict.fromkeys(_expand(part.strip())))
        if len(hosts) > _MOST_HOSTS:
            raise SourceGarbled(f"host list {value[:80]!r} names more than {_MOST_HOSTS} hosts")
    return tuple(hosts)


def cfg_range(value: str) -> tuple[str, ...]:
    """Node names from prefix001..010; the padding is that of the left number."""
    match = _CFG_RANGE.fullmatch(value.strip())
    if match is None:
        return hostlist(value)
    prefix, first, last = match.groups()
    return tuple(f"{prefix}{number}" for number in _ranges(f"{first}-{int(last):0{len(first)}d}"))


@lru_cache(maxsize=2048)
def index_list(value: str) -> tuple[int, ...]:
    """Indices of 0,2-3; N/A and blank are ()."""
    return () if is_blank(value) else tuple(sorted(int(index) for index in _ranges(value.strip())))


def _expand(part: str) -> tuple[str, ...]:
    if _LITERAL.fullmatch(part) and part:
        return (part,)
    pieces = list(_PIECE.finditer(part))
    if not part or "".join(piece[0] for piece in pieces) != part:
        raise SourceGarbled(f"{part[:80]!r} is no host name or host list")
    choices = [_choices(piece) for piece in pieces]
    if prod(len(choice) for choice in choices) > _MOST_HOSTS:
        raise SourceGarbled(f"host list {part[:80]!r} names more than {_MOST_HOSTS} hosts")
    return tuple("".join(combination) for combination in product(*choices))


def _choices(piece: re.Match[str]) -> tuple[str, ...]:
    if piece[1] is not None:
        return _ranges(piece[1])
    if not _LITERAL.fullmatch(piece[0]):
        raise SourceGarbled(f"{piece[0][:80]!r} is no host name")
    return (piece[0],)


def _ranges(value: str) -> tuple[str, ...]:
    if not _RANGES.fullmatch(value) or _width(value) > _MOST_HOSTS:
        raise SourceGarbled(f"{value[:80]!r} is no list of ranges like 01-04,07, or too long")
    try:
        return tuple(dict.fromkeys(host for part in value.split(",") for host in RangeSet(part).striter()))
    except RangeSetParseError as err:
        raise SourceGarbled(f"{value[:80]!r} is no list of ranges: {err}") from err


def _width(value: str) -> int:
    spans = (span.partition("-") for span in value.split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in spans)
