"""The place of each among peers, who stay without names. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import mean, median

from data.queries.history.model import ReportRow, Standing

# Fewer would let one read off another's numbers.
FEWEST_PEERS = 5
PEER_HOURS = 10.0  # measured GPU-hours
NO_STANDING = Standing(None, 0, None, None, None)


@dataclass
class Peers:
    """Utilizations (ratio) by key of those with enough measured GPU-hours, by level of the account tree (users have
    none), and the levels of everybody."""

    by_level: defaultdict[int | None, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    levels: defaultdict[str, set[int | None]] = field(default_factory=lambda: defaultdict(set))

    def standing(self, name: str) -> Standing:
        """Among those of the same level."""
        peers = {key: value for level in self.levels[name] for key, value in self.by_level[level].items()}
        own = peers.get(name)
        if len(peers) < FEWEST_PEERS:
            return Standing(None, len(peers), own, None, None)
        values = sorted(peers.values(), reverse=True)
        rank = None if own is None else values.index(own) + 1
        return Standing(rank, len(peers), own, median(values), mean(values))


def peers_of(everybody: Iterable[ReportRow]) -> Peers:
    found = Peers()
    for row in everybody:
        utilization = row.value("utilization")
        if row.key is None:
            continue
        found.levels[row.key].add(row.level)
        if row.hours.measured >= PEER_HOURS and utilization is not None:
            found.by_level[row.level][row.key] = float(utilization)
    return found
