"""Which device Slurm's GPU index means on a node, remembered from snapshot to snapshot.

Slurm's (IDX:N), the exporter's index and the minor number of /dev/nvidiaN need not agree (gres.conf may list the
files by hand, NVML orders by PCI bus). A pair seen in a job label together with the job's one allocated index is
*proven*; any other pair is only the last one that fitted. Remembered pairs keep the identity of a GPU whose series
are missing for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from data.model import Device

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Known:
    """The device behind one (node, Slurm index)."""

    device: Device
    is_proven: bool = False


@dataclass(frozen=True, slots=True)
class Inventory:
    """All known pairs, by (short node name, Slurm index)."""

    places: Mapping[Place, Known] = field(default_factory=dict)

    def known(self, node: str, index: int) -> Known | None:
        return self.places.get((node, index))

    def updated(self, pairs: Iterable[tuple[Place, Known]], nodes: Iterable[str]) -> Inventory:
        """Take over newer pairs and forget nodes that no longer exist; a proven pair outlives an unproven guess
        for the same device, and gives way to newer proof."""
        alive = set(nodes)
        places = {place: known for place, known in self.places.items() if place[0] in alive}
        for place, known in pairs:
            old = places.get(place)
            same = old is not None and old.device.key == known.device.key
            if old is not None and same and old.is_proven and not known.is_proven:
                known = Known(known.device, is_proven=True)
            places[place] = known
        return Inventory(places)
