"""What is taken on every node at one instant, added up from the running jobs."""

from __future__ import annotations

from dataclasses import dataclass, field

from data.simulation.describe import COMPANION_CORES, COMPANION_MEMORY, lane_of, share_of
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
        works = not jobs.suspend_from[row] <= at < jobs.suspend_to[row]
        for machine, indices in lane.places:
            node = held[machine.name]
            _add(node, share.cores, share.memory_bytes, share.cores * share.cpu_use * works, share.memory_used_bytes)
            if lane.kind == "shard":
                node.shards[indices[0]] = node.shards.get(indices[0], 0) + 1
            else:
                node.units.update(indices)
        companion = ref.epoch.group.companion
        if companion is not None and has_companion(ref):
            _add(held[companion.name], COMPANION_CORES, COMPANION_MEMORY, 5.6, int(0.4 * COMPANION_MEMORY))
    return held


def _add(node: Held, cores: int, memory: int, load: float, used: int) -> None:
    node.jobs += 1
    node.cpus += cores
    node.memory_bytes += memory
    node.load += load
    node.memory_used_bytes += used


def free_units(machine: Machine, held: Held) -> dict[str, list[int]]:
    """Indices that a job could get, by type; a card of which shards are given away is not free."""
    free: dict[str, list[int]] = {}
    for unit in machine.units:
        if unit.index not in held.units and unit.index not in held.shards:
            free.setdefault(unit.type, []).append(unit.index)
    return free
