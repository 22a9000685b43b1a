"""How the cluster is cut into lanes: a lane is a fixed set of devices (or cores) that runs one job after another.

Nodes are bound into groups; each group has epochs of one length and a phase of its own, and in every epoch its nodes
are cut anew. No job crosses an epoch's edge, so that any instant needs one or two epochs of each group, whatever the
history before it. The phases are spread, so that the edges do not show.
"""

from __future__ import annotations

from dataclasses import dataclass

from data.simulation.archetypes import (
    CPU,
    CRASH,
    FINETUNE,
    INFERENCE,
    KERNELS,
    LLM,
    NOTEBOOK,
    SIMULATION,
    STALLED,
    SWEEP,
    UNBALANCED,
    VISION,
)
from data.simulation.chance import key_of, pick, unit_of, word
from data.simulation.clockwork import BEGIN, HOUR
from data.simulation.hardware import Machine

EPOCH = 144 * HOUR
_MARGIN = 11
WEIGHTS: dict[str, dict[int, float]] = {
    "block": {LLM: 0.9, SIMULATION: 0.08, UNBALANCED: 0.02},
    "node": {LLM: 0.5, FINETUNE: 0.12, VISION: 0.2, KERNELS: 0.04, SIMULATION: 0.09, UNBALANCED: 0.045, CRASH: 0.02},
    "part": {
        LLM: 0.14,
        FINETUNE: 0.34,
        VISION: 0.2,
        KERNELS: 0.11,
        SIMULATION: 0.1,
        UNBALANCED: 0.05,
        INFERENCE: 0.02,
        STALLED: 0.045,
        CRASH: 0.03,
        SWEEP: 0.05,
    },
    "single": {
        FINETUNE: 0.27,
        VISION: 0.2,
        KERNELS: 0.17,
        SIMULATION: 0.08,
        INFERENCE: 0.1,
        NOTEBOOK: 0.12,
        STALLED: 0.03,
        CRASH: 0.03,
        SWEEP: 0.08,
    },
    "slice": {INFERENCE: 0.42, NOTEBOOK: 0.3, KERNELS: 0.16, FINETUNE: 0.12},
    "shard": {INFERENCE: 0.6, NOTEBOOK: 0.4},
    "cpu": {CPU: 1.0},
}
_H_GROUPS = ((4, 2), (4, 1, 1), (4, 2), (2, 2, 1, 1), (2, 2, 2), (2, 1, 1, 1, 1))
_H_SPLITS = ((8,), (8,), (8,), (8,), (4, 4), (4, 2, 1, 1), (2, 2, 2, 2), (4, 1, 1, 1, 1), (1,) * 8)
_A_SPLITS = ((4,), (4,), (2, 2), (2, 1, 1), (1,) * 4)
_C_SPLITS = ((64, 32, 16, 8), (32, 32, 32, 16, 8), (96, 16, 8), (48, 48, 16, 8), (16,) * 7)


@dataclass(frozen=True, slots=True)
class Lane:
    """`places` are (machine, Slurm's indices of the devices); `cores` and `memory_bytes` are per node."""

    kind: str
    places: tuple[tuple[Machine, tuple[int, ...]], ...]
    cores: int
    memory_bytes: int

    @property
    def gpus(self) -> int:
        return sum(len(indices) for _, indices in self.places)


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that are cut together. `companion` is the CPU node that serves this group's het jobs."""

    number: int
    key: int
    machines: tuple[Machine, ...]
    phase: int
    ports: int
    companion: Machine | None

    def epoch_at(self, at: float) -> int:
        return int((at - BEGIN - self.phase) // EPOCH)

    def begin_of(self, epoch: int) -> int:
        return BEGIN + self.phase + epoch * EPOCH


def build_groups(seed: int, machines: tuple[Machine, ...]) -> tuple[Group, ...]:
    """Bind H100 nodes of a rack into groups of 1, 2 or 4, all other nodes stand alone."""
    companions = [machine for machine in machines if machine.family == "c"][2:]
    racks: dict[str, list[Machine]] = {}
    for machine in machines:
        if machine.family == "h":
            racks.setdefault(machine.rack, []).append(machine)
    bound = [part for rack, members in racks.items() for part in _bind(seed, rack, members)]
    bound += [(machine,) for machine in machines if machine.family != "h"]
    return tuple(
        _group(seed, i, members, companions[i] if i < len(companions) else None) for i, members in enumerate(bound)
    )


def _bind(seed: int, rack: str, members: list[Machine]) -> list[tuple[Machine, ...]]:
    sizes = _H_GROUPS[pick(len(_H_GROUPS), seed, word("bind"), word(rack))]
    parts, at = [], 0
    for size in sizes:
        if members[at : at + size]:
            parts.append(tuple(members[at : at + size]))
        at += size
    return parts


def _group(seed: int, number: int, members: tuple[Machine, ...], companion: Machine | None) -> Group:
    key = key_of(seed, word(members[0].name), len(members))
    units = sum(len(machine.units) + machine.shards_on_last for machine in members)
    phase = int(unit_of(key, _MARGIN) * EPOCH)
    gpu = members[0].family != "c"
    return Group(number, key, members, phase, 1 + units // 6, companion if gpu else None)


def lanes_of(group: Group, epoch: int, *, apart: bool) -> tuple[Lane, ...]:
    """Cut the group's nodes into the lanes of one epoch; `apart` keeps every node for itself."""
    key = key_of(group.key, epoch, 1)
    family = group.machines[0].family
    if family == "h":
        return _hopper_lanes(group, key, apart)
    machine = group.machines[0]
    if family == "c":
        splits = _C_SPLITS[pick(len(_C_SPLITS), key)]
        return tuple(Lane("cpu", ((machine, ()),), n, n * machine.memory_bytes // machine.cpus) for n in splits)
    if family == "m":
        return tuple(_gpu_lane("slice", machine, (unit.index,), 2) for unit in machine.units)
    return _ampere_lanes(machine, key)


def _hopper_lanes(group: Group, key: int, apart: bool) -> tuple[Lane, ...]:
    """Four nodes together, two and two, or each for itself."""
    machines, size = group.machines, len(group.machines)
    roll = unit_of(key, 2)
    step = 1 if apart else size if roll < 0.62 else 2 if roll < 0.85 and size > 2 else 1
    lanes: list[Lane] = []
    for at in range(0, size, step):
        members = machines[at : at + step]
        if len(members) > 1:
            places = tuple((machine, tuple(range(machine.cards))) for machine in members)
            lanes.append(Lane("block", places, members[0].cpus, _memory(members[0], members[0].cards)))
        else:
            lanes += _split(members[0], _H_SPLITS[pick(len(_H_SPLITS), key, 3, at)])
    return tuple(lanes)


def _ampere_lanes(machine: Machine, key: int) -> tuple[Lane, ...]:
    if not machine.shards_on_last:
        return tuple(_split(machine, _A_SPLITS[pick(len(_A_SPLITS), key, 3)]))
    lanes = _split(machine, (2, 1))
    last = machine.cards - 1
    return (*lanes, *(_gpu_lane("shard", machine, (last,), 4) for _ in range(machine.shards_on_last)))


def _split(machine: Machine, widths: tuple[int, ...]) -> list[Lane]:
    lanes, at = [], 0
    for width in widths:
        kind = "node" if width == machine.cards else "part" if width > 1 else "single"
        indices = tuple(range(at, at + width))
        lanes.append(_gpu_lane(kind, machine, indices, width * machine.cpus // machine.cards))
        at += width
    return lanes


def _gpu_lane(kind: str, machine: Machine, indices: tuple[int, ...], cores: int) -> Lane:
    if kind in {"slice", "shard"}:
        return Lane(kind, ((machine, indices),), cores, 32 << 30)
    return Lane(kind, ((machine, indices),), cores, _memory(machine, len(indices)))


def _memory(machine: Machine, cards: int) -> int:
    """What a job on so many cards may have at most; some is left for the system."""
    return int(machine.memory_bytes * 0.96) // machine.cards * cards
