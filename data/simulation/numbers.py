"""Job ids: unique, stable, growing with the time of submission, and readable backwards.

Every group hands out ids at *ports*; each port may number one submission per period, at a moment of its own. An id is
period x ports + port, so a larger id was submitted later, nobody has to count jobs, and an id names the group and
the epoch that hold the job. Even and odd epochs of a group use different ports: their jobs never meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data.simulation.chance import Floats, Ints
from data.simulation.clockwork import BEGIN
from data.simulation.layout import Group

PERIOD = 300
_FAR = 1 << 24  # periods: 160 years


@dataclass(frozen=True, slots=True)
class Place:
    """Where an id comes from: the group, the parity of its epochs and the moment of numbering (seconds)."""

    group: int
    parity: int
    at: float


class Numbers:
    """The ports of one cluster."""

    def __init__(self, groups: tuple[Group, ...]) -> None:
        self._owners: list[tuple[int, int]] = []
        self._ports: dict[tuple[int, int], list[int]] = {}
        for group in groups:
            for parity in (0, 1):
                for port in range(group.ports):
                    self._ports.setdefault((group.number, parity), []).append(len(self._owners))
                    self._owners.append((group.number, parity))
                    if port == 0 and group.companion is not None:
                        self._owners.append((group.number, parity))

    def residues(self, group: Group, epoch: int) -> list[int]:
        """The ports of a group in one epoch."""
        return self._ports[group.number, epoch % 2]

    def assign(self, epoch: Ints, residue: Ints, wanted: Floats) -> tuple[Ints, Floats]:
        """Give each submission (a number for its epoch, port, wanted time) an id and the exact time, never a later
        one. Submissions of one epoch at one port get different ids."""
        total = len(self._owners)
        offset = residue * PERIOD / total
        slot = np.floor((wanted - BEGIN - offset) / PERIOD).astype(np.int64)
        port = epoch * total + residue
        rows = np.lexsort((wanted, port))
        # far apart, so that one minimum over all ports never reaches from one into another
        apart = (port * _FAR)[rows]
        order = np.arange(len(rows))
        latest = slot[rows] + apart - order
        slot[rows] = order + np.minimum.accumulate(latest[::-1])[::-1] - apart
        return slot * total + residue + 1, np.floor(BEGIN + slot * PERIOD + offset)

    def origin(self, job_id: int) -> Place | None:
        """Read an id backwards; None for one that this cluster cannot have given."""
        if job_id < 1:
            return None
        slot, residue = divmod(job_id - 1, len(self._owners))
        group, parity = self._owners[residue]
        return Place(group, parity, BEGIN + slot * PERIOD + residue * PERIOD / len(self._owners))
