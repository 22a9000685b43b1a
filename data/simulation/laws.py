"""Sums of signals over many samples at once, without the value of each.

Most signals are a few products of what differs from sample to sample (the work, and four patterns of noise), each
with a weight that a span keeps. So the products are added up once for all signals. The sums are those of `SIGNALS`,
but for rounding; a test holds the two together. Not for slices, whose power is their card's, nor for a card that is
throttled: its clock changes within a span.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from data.simulation.archetypes import FREE
from data.simulation.chance import Floats, Ints
from data.simulation.signals import (
    IDLE_WATTS,
    MOST_WATTS,
    NVLINK,
    OPEN_WATTS,
    PCIE,
    SHARES_OF_SM,
    Moment,
    Table,
    memory_used,
)

Law = dict[tuple[str, ...], Floats]
"""Weights by product of factors, one entry per span; () = the samples themselves."""

_WORK = "work"


def law_sums(now: Moment, first: Ints) -> dict[str, Floats]:
    """Sums of every signal that has a law, over stretches of samples that begin at `first`, each within a span."""
    spans = now.at[first]
    counts = np.diff(np.append(first, len(now.at))).astype(np.float64)
    added: dict[tuple[str, ...], Floats] = {(): counts}
    found = {}
    for name, law in ((name, make(now.table)) for name, make in LAWS.items()):
        total = np.zeros(len(first))
        for factors, weights in law.items():
            if factors not in added:
                added[factors] = np.add.reduceat(_product(now, factors), first)
            total += weights[spans] * added[factors]
        found[name] = total
    found["gpu_memory_used_bytes"] = _memory_sums(now, first, counts)
    return found


def memory_peaks(now: Moment, first: Ints) -> Floats:
    """The most memory used in each stretch: that of its last sample, for memory only grows."""
    last = np.append(first[1:], len(now.at)) - 1
    return memory_used(now.table, now.at[last], now.time[last])


def _memory_sums(now: Moment, first: Ints, counts: Floats) -> Floats:
    """The memory is filled while a job starts; from then on it stays."""
    spans = np.arange(len(now.table.begin))
    filled = memory_used(now.table, spans, np.full(len(spans), np.inf))
    growing = np.flatnonzero(now.time - now.table.begin[now.at] < now.table.ramp_seconds[now.at])
    at = now.at[growing]
    missing = filled[at] - memory_used(now.table, at, now.time[growing])
    stretch = np.searchsorted(first, growing, "right") - 1
    sums: Floats = filled[now.at[first]] * counts - np.bincount(stretch, missing, minlength=len(first))
    return sums


def _product(now: Moment, factors: tuple[str, ...]) -> Floats:
    """The product of the factors, sample by sample; each is worked out once."""
    if len(factors) == 1:
        return now.work if factors[0] == _WORK else now.pattern(int(factors[0]))
    name = "*".join(factors)
    if name not in now.known:
        now.known[name] = _product(now, factors[:-1]) * _product(now, factors[-1:])
    return now.known[name]


def _of(weights: Floats | float, table: Table) -> Law:
    return {(): np.broadcast_to(np.asarray(weights, dtype=np.float64), table.begin.shape)}


def _times(*laws: Law) -> Law:
    product, *more = laws
    for other in more:
        both: Law = {}
        for left, weights in product.items():
            for right, factor in other.items():
                names = tuple(sorted((*left, *right), key=lambda name: (name != _WORK, name)))
                both[names] = both.get(names, 0.0) + weights * factor
        product = both
    return product


def _plus(*laws: Law) -> Law:
    total: Law = {}
    for law in laws:
        for names, weights in law.items():
            total[names] = total.get(names, 0.0) + weights
    return total


def _noise(table: Table, pattern: int, amount: float) -> Law:
    return {**_of(1.0, table), (str(pattern),): _of(amount, table)[()]}


def _working(table: Table, trait: Floats, pattern: int, amount: float) -> Law:
    return _times({(_WORK,): trait}, _noise(table, pattern, amount))


def _sm(table: Table) -> Law:
    return _working(table, table.traits["sm"], 1, 0.04)


def _share_of_sm(name: str, pattern: int) -> Callable[[Table], Law]:
    return lambda table: _times(_sm(table), _of(table.traits[name], table), _noise(table, pattern, 0.04))


def _dram(table: Table) -> Law:
    return _working(table, table.traits["dram"], 2, 0.05)


def _power(table: Table) -> Law:
    idle, opened, most = (np.array(watts)[table.hopper] for watts in (IDLE_WATTS, OPEN_WATTS, MOST_WATTS))
    base = idle + np.where(table.archetype == FREE, 0.0, opened)
    work: Law = {(_WORK,): np.ones(len(idle))}
    parts = ((work, 0.25), (_sm(table), 0.55), (_dram(table), 0.2))
    load = _plus(*(_times(law, _of(share, table)) for law, share in parts))
    return _times(_plus(_of(base, table), _times(load, _of(most - idle, table))), _noise(table, 0, 0.015))


def _link(name: str, peaks: tuple[float, float], pattern: int, *, alone: bool) -> Callable[[Table], Law]:
    def link(table: Table) -> Law:
        peak = table.traits[name] * np.array(peaks)[table.hopper]
        return _working(table, peak if alone else np.where(table.count > 1, peak, 0.0), pattern, 0.1)

    return link


LAWS: dict[str, Callable[[Table], Law]] = {
    "sm_activity": _sm,
    **{name: _share_of_sm(trait, pattern) for name, (trait, pattern) in SHARES_OF_SM.items()},
    "dram_activity": _dram,
    "gpu_memory_total_bytes": lambda table: _of(table.total, table),
    "power_watts": _power,
    "nvlink_tx_bytes_per_second": _link("nvlink", NVLINK, 1, alone=False),
    "nvlink_rx_bytes_per_second": _link("nvlink", NVLINK, 3, alone=False),
    "pcie_tx_bytes_per_second": _link("pcie", PCIE, 0, alone=True),
    "pcie_rx_bytes_per_second": _link("pcie", PCIE, 2, alone=True),
}
