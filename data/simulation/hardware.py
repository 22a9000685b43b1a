"""The machines of the simulated cluster: nodes, cards, slices, racks and partitions."""

from __future__ import annotations

from dataclasses import dataclass

from data.model import Device
from data.simulation.chance import key_of, pick, word

GIB = 1 << 30
MIB = 1 << 20
NODES_PER_RACK = 6
H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"
_CUTS_FIRST = (
    ("3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"),
    ("3g.40gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"),
    ("2g.20gb", "2g.20gb", "2g.20gb", "1g.10gb"),
    ("3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"),
)
_CUTS_SECOND = (
    ("3g.40gb", "3g.40gb"),
    ("2g.20gb", "2g.20gb", "3g.40gb"),
    ("3g.40gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"),
    ("1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"),
)


@dataclass(frozen=True, slots=True)
class Unit:
    """One device that Slurm hands out: a whole card or a MIG slice. `index` is Slurm's, `card` the exporter's."""

    device: Device
    index: int
    card: int
    type: str
    memory_bytes: int
    share: float
    number: int


@dataclass(frozen=True, slots=True)
class Machine:
    """One node. `family` is h (8 H100), a (4 A100), m (4 A100 in slices) or c (no GPU); `number` is unique."""

    name: str
    family: str
    number: int
    rack: str
    cpus: int
    memory_bytes: int
    units: tuple[Unit, ...] = ()
    shards_on_last: int = 0
    features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()

    @property
    def cards(self) -> int:
        return {"h": 8, "a": 4, "m": 4, "c": 0}[self.family]


@dataclass(frozen=True, slots=True)
class PartitionRow:
    name: str
    hours: float
    default_hours: float
    tier: int
    qos: tuple[str, ...] = ()
    is_default: bool = False


PARTITIONS = (
    PartitionRow("gpu", 48, 4, 10, is_default=True),
    PartitionRow("gpu-long", 96, 24, 8, qos=("long",)),
    PartitionRow("a100", 48, 4, 10),
    PartitionRow("interactive", 12, 2, 20, qos=("interactive",)),
    PartitionRow("mig", 24, 2, 10),
    PartitionRow("preempt", 48, 4, 1, qos=("preempt",)),
    PartitionRow("cpu", 72, 4, 10),
)


def build_machines(seed: int, nodes: int | None) -> tuple[Machine, ...]:
    """The default cluster (42 x 8 H100, 10 x 4 A100, 20 CPU nodes), or `nodes` x 8 H100 and CPU nodes beside them."""
    if nodes is None:
        hopper, ampere, cut, plain = 42, 8, 2, 20
    else:
        hopper, ampere, cut, plain = nodes, 0, 0, max(1, nodes // 20)
    digits = max(3, len(str(hopper)))
    machines = [_hopper(seed, f"h{i:0{digits}d}", i - 1) for i in range(1, hopper + 1)]
    base = len(machines)
    machines += [_ampere(seed, f"a{i:02d}", base + i - 1, is_last=i == ampere) for i in range(1, ampere + 1)]
    base = len(machines)
    machines += [_sliced(seed, f"a{ampere + i:02d}", base + i - 1, i) for i in range(1, cut + 1)]
    base = len(machines)
    machines += [_plain(f"c{i:02d}", base + i - 1) for i in range(1, plain + 1)]
    return tuple(machines)


def _rack(letter: str, number: int) -> str:
    return f"{letter}{number // NODES_PER_RACK + 1}"


def _hopper(seed: int, name: str, number: int) -> Machine:
    units = tuple(_whole(seed, name, number, card, "h100", H100) for card in range(8))
    partitions = ("gpu", "preempt", "gpu-long")
    rack = _rack("r", number)
    return Machine(
        name, "h", number, rack, 96, 2000 * GIB, units, 0, ("h100", "80gb", "nvlink", "ib", rack), partitions
    )


def _ampere(seed: int, name: str, number: int, *, is_last: bool) -> Machine:
    units = tuple(_whole(seed, name, number, card, "a100", A100) for card in range(4))
    partitions = ("a100", "interactive", "preempt", "gpu-long")
    features = ("a100", "80gb", "nvlink", "r8")
    return Machine(name, "a", number, "r8", 64, 1000 * GIB, units, 4 if is_last else 0, features, partitions)


def _sliced(seed: int, name: str, number: int, order: int) -> Machine:
    units: list[Unit] = []
    for card, cut in enumerate(_CUTS_FIRST if order == 1 else _CUTS_SECOND):
        parent = _device(seed, name, card, A100)
        for place, profile in enumerate(cut):
            share = int(profile[0]) / 7
            device = Device(
                name, card, parent.uuid, parent.bus_id, card, slice_id=str(place + 1), slice_profile=profile, model=A100
            )
            memory = int(profile[3:-2]) * GIB - 128 * MIB
            units.append(Unit(device, len(units), card, profile, memory, share, number * 64 + len(units)))
    return Machine(name, "m", number, "r9", 64, 1000 * GIB, tuple(units), 0, ("a100", "mig", "r9"), ("mig",))


def _plain(name: str, number: int) -> Machine:
    return Machine(name, "c", number, "r10", 128, 512 * GIB, (), 0, ("cpu", "epyc"), ("cpu",))


def _whole(seed: int, name: str, number: int, card: int, type_: str, model: str) -> Unit:
    return Unit(_device(seed, name, card, model), card, card, type_, 81559 * MIB, 1.0, number * 64 + card)


def _device(seed: int, node: str, card: int, model: str) -> Device:
    """A card that looks real: its UUID and bus id are functions of the seed and its place."""
    one, two = key_of(seed, word(node), card, 1), key_of(seed, word(node), card, 2)
    text = f"{one:016x}{two:016x}"
    uuid = f"gpu-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    bus = (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF)[card]
    return Device(node, card, uuid, f"00000000:{bus:02x}:00.0", card, model=model)


def choose_machine(machines: tuple[Machine, ...], *parts: int) -> Machine:
    return machines[pick(len(machines), *parts)]
