"""What is taken on every node at one instant, added up from the running jobs."""

from __future__ import annotations

from dataclasses import dataclass, field

from data.simulation.describe import COMPANION_SHARE, Share, lane_of, share_of
from data.simulation.hardware import Machine
from data.simulation.world import Ref, World, has_companion


@dataclass(slots=True)
class Held:
    """What running and suspended jobs hold on one node. `shards` counts by card."""

    cpus: int = 0
    memory_bytes: int = 0
    load: float = 0.0
    memory_used_bytes: int = 0
    units: set[int] = field(default_factory=set)
    shards: dict[int, int] = field(default_factory=dict)
    jobs: int = 0


def holdings(world: World, running: list[Ref], at: float) -> dict[str, Held]:
    """One entry for every node, held or not."""
    held = {machine.name: Held() for machine in world.machines}
    for ref in running:
        share, lane = share_of(ref), lane_of(ref)
        jobs, row = ref.epoch.jobs, ref.row
        works = not bool(jobs.suspend_from[row] <= at < jobs.suspend_to[row])
        for machine, indices in lane.places:
            node = held[machine.name]
            _add(node, share, works=works)
            if lane.kind == "shard":
                node.shards[indices[0]] = node.shards.get(indices[0], 0) + 1
            else:
                node.units.update(indices)
        companion = ref.epoch.group.companion
        if companion is not None and has_companion(ref):
            _add(held[companion.name], COMPANION_SHARE, works=works)
    return held


def _add(node: Held, share: Share, *, works: bool) -> None:
    node.jobs += 1
    node.cpus += share.cores
    node.memory_bytes += share.memory_bytes
    node.load += share.cores * share.cpu_use if works else 0.0
    node.memory_used_bytes += share.memory_used_bytes


def free_units(machine: Machine, held: Held) -> dict[str, list[int]]:
    """Indices that a job could get, by type; a card of which shards are given away is not free."""
    free: dict[str, list[int]] = {}
    for unit in machine.units:
        if unit.index not in held.units and unit.index not in held.shards:
            free.setdefault(unit.type, []).append(unit.index)
    return free
