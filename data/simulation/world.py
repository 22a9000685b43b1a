"""The simulated cluster as a whole: a function of (seed, absolute instant).

Nothing here knows what time it is, and nothing is remembered but decoded epochs, in a bounded cache: the same question
has the same answer in every process, whenever it was started.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

import numpy as np

from data.errors import BadRequest
from data.simulation.campaigns import HET
from data.simulation.clockwork import HOUR
from data.simulation.epochs import Epoch, decode
from data.simulation.faults import Faults
from data.simulation.hardware import Machine, build_machines
from data.simulation.layout import build_groups
from data.simulation.numbers import Numbers
from data.simulation.organization import build_organization

CLUSTER = "larch"
_LOOK_AHEAD = 44 * HOUR
_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Ref:
    """One attempt of a job: a row of an epoch."""

    epoch: Epoch
    row: int


class World:
    """42 x 8 H100, 10 x 4 A100 and 20 CPU nodes; with `nodes`: that many x 8 H100 (benchmarks)."""

    cluster = CLUSTER

    def __init__(self, seed: int, nodes: int | None = None) -> None:
        if nodes is not None and nodes < 1:
            raise BadRequest(f"a cluster of {nodes} nodes cannot be simulated", hint="Ask for at least one node.")
        self.seed = seed
        self.machines = build_machines(seed, nodes)
        self.by_name: dict[str, Machine] = {machine.name: machine for machine in self.machines}
        self.groups = build_groups(seed, self.machines)
        self.group_of = {machine.name: group for group in self.groups for machine in group.machines}
        self.faults = Faults(seed, self.machines)
        self.organization = build_organization(CLUSTER)
        self._numbers = Numbers(self.groups)
        self._most_kept = max(1024, 4 * len(self.groups))
        self._kept: OrderedDict[tuple[int, int], Epoch] = OrderedDict()
        self._lock = Lock()

    def epochs(self, since: float, until: float) -> Iterator[Epoch]:
        """All epochs that touch the span, group by group, in time order."""
        keys = (
            (group.number, number)
            for group in self.groups
            for number in range(group.epoch_at(since), group.epoch_at(until) + 1)
        )
        while part := list(islice(keys, _AT_ONCE)):
            yield from self._epochs(part)

    def _epochs(self, keys: Sequence[tuple[int, int]]) -> list[Epoch]:
        """Decoded once, however many threads ask."""
        with self._lock:
            missing = [key for key in keys if key not in self._kept]
            if missing:
                wanted = [(self.groups[group], number) for group, number in missing]
                self._kept.update(zip(missing, decode(wanted, self.faults, self._numbers), strict=True))
            found = [self._kept[key] for key in keys]
            for key in keys:
                self._kept.move_to_end(key)
            while len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
        return found

    def running(self, at: float) -> list[Ref]:
        """Attempts with start <= at < end, suspended ones too."""
        return [
            Ref(epoch, row)
            for epoch in self.epochs(at, at)
            for row in np.flatnonzero((epoch.jobs.start <= at) & (epoch.jobs.end > at)).tolist()
        ]

    def overlapping(self, since: float, until: float) -> list[Ref]:
        """Attempts with start < until and end > since."""
        return [
            Ref(epoch, row)
            for epoch in self.epochs(since, until)
            for row in np.flatnonzero((epoch.jobs.start < until) & (epoch.jobs.end > since)).tolist()
        ]

    def waiting(self, at: float) -> list[Ref]:
        """Attempts submitted at or before `at` and not started yet."""
        return [
            Ref(epoch, row)
            for epoch in self.epochs(at, at + _LOOK_AHEAD)
            for row in np.flatnonzero((epoch.jobs.submit <= at) & (epoch.jobs.start > at)).tolist()
        ]

    def find(self, job_id: int) -> list[Ref]:
        """All attempts whose raw id, array id or het leader is `job_id`; a het component's id finds its leader."""
        refs = self._named(job_id)
        if not refs:
            refs = [ref for ref in self._named(job_id - 1) if has_companion(ref)]
        return refs

    def _named(self, job_id: int) -> list[Ref]:
        place = self._numbers.origin(job_id)
        if place is None:
            return []
        first = self.groups[place.group].epoch_at(place.at)
        found = []
        for number in (first - 1, first, first + 1):
            if number % 2 == place.parity:
                (epoch,) = self._epochs([(place.group, number)])
                hits = (epoch.jobs.job_id == job_id) | (epoch.jobs.array_id == job_id)
                found += [Ref(epoch, row) for row in np.flatnonzero(hits).tolist()]
        return found


def has_companion(ref: Ref) -> bool:
    """Whether this is the leader of a het job, with a component on the group's CPU node."""
    return bool(ref.epoch.jobs.link[ref.row] == HET)
