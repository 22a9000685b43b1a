"""Read GRES strings: what a node has, what is used of it, and what a job was given.

Grammar (all versions): name[:type][:no_consume]:count[K|M|G|T|P], then in parentheses S:sockets, IDX:indices,
CNT:count, or allocated/available per GPU for shards and MPS. Commas inside parentheses do not separate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from data.errors import SourceGarbled
from data.model import GpuPool, Gres, Tres
from data.slurm.hosts import index_list
from data.slurm.scalars import is_blank

_ENTRY: Final = re.compile(r"((?:[^,(]|\((?!null\))[^)]*\)|\(null\))+)")
_PARENTHESES: Final = re.compile(r"\((?!null\))([^()]*)\)")
_COUNT: Final = re.compile(r"(\d{1,18})([KMGTP]?)", re.ASCII)
_SUFFIX: Final = {"": 1, **{unit: 1024**power for power, unit in enumerate("KMGTP", start=1)}}
_SHARE: Final = re.compile(r"(-|\d{1,9})/(\d{1,9})", re.ASCII)


@lru_cache(maxsize=8192)
def gres(value: str | None) -> tuple[Gres, ...]:
    """The entries of a GRES string; the type "(null)" and an absent one are None, no count means one.

    Raises SourceGarbled for text that is no GRES string.
    """
    if is_blank(value) or value is None:
        return ()
    return tuple(_entry(match[0].strip()) for match in _ENTRY.finditer(value) if match[0].strip())


def gpu_entries(value: str | None) -> tuple[Gres, ...]:
    """Only the GPUs of a GRES string (MIG slices too); shards and MPS are not GPUs."""
    return tuple(entry for entry in gres(value) if entry.name == "gpu")


def gpu_pools(
    configured: str | None, used: str | None, allocated: Tres | None = None, is_tracked: bool = True
) -> tuple[GpuPool, ...]:
    """The GPUs of one node by type, with how many and which are used where the strings say so.

    `used` is preferred; where it is blank, `allocated` counts (by type), and where Slurm does not track GPUs
    (`is_tracked`) nothing is known. More used than configured is not believed: None.
    """
    totals = _totals(gpu_entries(configured))
    entries = gpu_entries(used)
    if not entries:
        return tuple(
            GpuPool(type_, total, _believable(_tres_used(type_, totals, allocated, is_tracked), total))
            for type_, total in totals.items()
        )
    return tuple(_pool(type_, totals, entries, gres(used)) for type_ in totals)


def gpus_used(
    pools: Iterable[GpuPool], used: str | None, allocated: Tres | None = None, is_tracked: bool = True
) -> int | None:
    """GPUs in use on a node over all types, known even where the split by type is not; None = not known."""
    pools = tuple(pools)
    total = sum(pool.total for pool in pools)
    if not total:
        return 0
    entries = gpu_entries(used)
    if entries:
        return _believable(sum(entry.count for entry in entries), total)
    if not is_tracked:
        return None
    return _believable((allocated.gpus or 0) if allocated else 0, total)


def _entry(value: str) -> Gres:
    details = _PARENTHESES.findall(value)
    words = [word for word in re.split(r"[:=]", _PARENTHESES.sub("", value).removeprefix("gres/")) if word]
    words = words[1:] if words[:1] == ["gres"] and len(words) > 1 else words
    if not words:
        raise SourceGarbled(f"{value[:80]!r} is no GRES entry like gpu:a100:4")
    count = _COUNT.fullmatch(words[-1]) if len(words) > 1 else None
    kinds = [word for word in words[1 : len(words) - bool(count)] if word not in ("(null)", "no_consume")]
    given = int(count[1]) * _SUFFIX[count[2]] if count else _counted(details)
    return Gres(
        words[0],
        ":".join(kinds) or None,
        given,
        _indices_of("S", details),
        _indices_of("IDX", details),
        next((_shares(value, detail) for detail in details if _SHARE.search(detail)), None),
    )


def _counted(details: list[str]) -> int:
    """The count in parentheses, or as many as there are indices; neither means one."""
    counts = [detail.removeprefix("CNT:") for detail in details if detail.startswith("CNT:")]
    if counts and counts[0].isdecimal():
        return int(counts[0][:18])
    indices = _indices_of("IDX", details)
    return 1 if indices is None else len(indices)


def _indices_of(key: str, details: list[str]) -> tuple[int, ...] | None:
    found = [detail.partition(":")[2] for detail in details if detail.startswith(f"{key}:")]
    return index_list(found[0]) if found else None


def _shares(value: str, detail: str) -> tuple[tuple[int | None, int], ...]:
    return tuple(_share(value, part) for part in detail.split(","))


def _share(value: str, part: str) -> tuple[int | None, int]:
    match = _SHARE.fullmatch(part.strip())
    if match is None:
        raise SourceGarbled(f"{value[:80]!r} has no shares like 2/4 in its parentheses")
    return (None if match[1] == "-" else int(match[1]), int(match[2]))


def _totals(entries: tuple[Gres, ...]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for entry in entries:
        totals[entry.type or ""] = totals.get(entry.type or "", 0) + entry.count
    return totals


def _pool(type_: str, totals: dict[str, int], used: tuple[Gres, ...], everything: tuple[Gres, ...]) -> GpuPool:
    total, is_only = totals[type_], len(totals) == 1
    own = tuple(entry for entry in used if is_only or entry.type == (type_ or None))
    if not own and any(entry.type is None and entry.count for entry in used):
        return GpuPool(type_, total, None)
    count = _believable(sum(entry.count for entry in own), total)
    indices = _indices(own)
    if count is None or indices is None or len(indices) != count:
        return GpuPool(type_, total, count)
    return GpuPool(type_, total, count, indices, _free(indices, total, is_only, everything))


def _indices(entries: tuple[Gres, ...]) -> tuple[int, ...] | None:
    found: list[int] = []
    for entry in entries:
        if entry.indices is None:
            return None
        found += entry.indices
    return tuple(sorted(set(found))) if entries else None


def _free(used: tuple[int, ...], total: int, is_only: bool, everything: tuple[Gres, ...]) -> tuple[int, ...] | None:
    """Indices that a whole-GPU job could still get; a GPU of which a shard is given away is not free."""
    if len(used) == total:
        return ()
    if not is_only or (used and used[-1] >= total):
        return None
    shared = [
        index
        for entry in everything
        if entry.shared is not None and len(entry.shared) == total
        for index, (given, _) in enumerate(entry.shared)
        if given
    ]
    return tuple(index for index in range(total) if index not in used and index not in shared)


def _tres_used(type_: str, totals: dict[str, int], allocated: Tres | None, is_tracked: bool) -> int | None:
    if not is_tracked:
        return None
    if allocated is None or not allocated.gpus:
        return 0
    if len(totals) == 1:
        return allocated.gpus
    return allocated.gpus_by_type.get(type_, 0) if allocated.gpus_by_type else None


def _believable(used: int | None, total: int) -> int | None:
    return used if used is not None and used <= total else None
