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

    def assign(self, group: Group, epoch: int, port: Ints, wanted: Floats) -> tuple[Ints, Floats]:
        """Give each submission (port within the group, wanted time) an id and the exact time, never a later one."""
        residues = np.array(self._ports[(group.number, epoch % 2)])
        ids = np.zeros(len(wanted), dtype=np.int64)
        times = np.zeros(len(wanted))
        total = len(self._owners)
        for number, residue in enumerate(residues.tolist()):
            rows = np.flatnonzero(port % len(residues) == number)
            rows = rows[np.argsort(wanted[rows], kind="stable")]
            offset = residue * PERIOD / total
            slot = np.floor((wanted[rows] - BEGIN - offset) / PERIOD).astype(np.int64)
            order = np.arange(len(rows))
            slot = order + np.minimum.accumulate((slot - order)[::-1])[::-1]
            ids[rows] = slot * total + residue + 1
            times[rows] = np.floor(BEGIN + slot * PERIOD + offset)
        return ids, times

    def origin(self, job_id: int) -> Place | None:
        """Read an id backwards; None for one that this cluster cannot have given."""
        if job_id < 1:
            return None
        slot, residue = divmod(job_id - 1, len(self._owners))
        group, parity = self._owners[residue]
        return Place(group, parity, BEGIN + slot * PERIOD + residue * PERIOD / len(self._owners))
