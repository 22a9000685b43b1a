"""What a device does at any instant, and what every metric shows of it. Pure numpy over (span, time) pairs.

To add a metric, add a function and its row in `SIGNALS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from data.simulation.archetypes import COLUMNS, FREE
from data.simulation.chance import Flags, Floats, Ints, Keys, bells, mix, units, waves
from data.simulation.hardware import H100
from data.simulation.spans import Span
from data.simulation.traits import trait

NVLINK = (300e9, 450e9)
PCIE = (32e9, 64e9)
IDLE_WATTS, OPEN_WATTS, MOST_WATTS = (52.0, 68.0), (17.0, 22.0), (400.0, 700.0)
_CARD_LOAD = "load of the card"
_TRAITS = tuple(name for name in COLUMNS if name not in {"cpu", "host"})


@dataclass(slots=True)
class Table:
    """Spans as columns, one entry per span, and the traits of their jobs."""

    spans: Sequence[Span]
    key: Keys
    device_key: Keys
    noise_key: Keys
    card_key: Keys
    begin: Floats
    archetype: Ints
    ordinal: Ints
    count: Ints
    hopper: Ints
    total: Floats
    suspended: tuple[Floats, Floats]
    stuck: tuple[Floats, Floats]
    hot: tuple[Floats, Floats]
    xid: tuple[Floats, Floats, Floats]
    traits: dict[str, Floats]

    @property
    def is_used(self) -> Flags:
        """Whether the span's device is one that its job works on."""
        given = np.ceil(self.traits["used"] * self.count - 1e-9)
        used: Flags = (self.ordinal < given) & (self.archetype != FREE)
        return used

    @property
    def ramp_seconds(self) -> Floats:
        """How long a job fills the memory from its start on."""
        longest: Floats = np.maximum(30.0, self.traits["startup"])
        return longest


def tabulate(spans: Sequence[Span]) -> Table:
    key = np.array([span.key for span in spans], dtype=np.uint64)
    archetype = np.array([span.archetype for span in spans], dtype=np.int64)
    ordinal = np.array([span.ordinal for span in spans], dtype=np.int64)
    device_key = mix(key, ordinal + 1000)
    return Table(
        spans,
        key,
        device_key,
        mix(device_key, 221),
        mix(np.array([span.machine.number * 16 + span.unit.card for span in spans], dtype=np.uint64), 228),
        _floats(span.begin for span in spans),
        archetype,
        ordinal,
        np.array([span.count for span in spans], dtype=np.int64),
        np.array([span.unit.device.model == H100 for span in spans], dtype=np.int64),
        _floats(span.unit.memory_bytes for span in spans),
        (_floats(s.suspended[0] for s in spans), _floats(s.suspended[1] for s in spans)),
        (_floats(s.stuck[0] for s in spans), _floats(s.stuck[1] for s in spans)),
        (_floats(s.hot[0] for s in spans), _floats(s.hot[1] for s in spans)),
        (_floats(s.xid[0] for s in spans), _floats(s.xid[1] for s in spans), _floats(s.xid[2] for s in spans)),
        {name: trait(name, archetype, key) for name in _TRAITS},
    )


def _floats(values: object) -> Floats:
    return np.fromiter(values, dtype=np.float64)  # type: ignore[call-overload, no-any-return]


@dataclass(slots=True)
class Moment:
    """(span, time) pairs under evaluation: `at` indexes the table, `time` in seconds, `tick` names the instant for
    chance, `work` is the share of time with a kernel running; `find_card_load` looks up the loads of cut cards."""

    table: Table
    at: Ints
    time: Floats
    tick: Ints
    work: Floats
    find_card_load: Callable[[Moment], Floats | None] = lambda now: None
    known: dict[str, Floats] = field(default_factory=dict)

    def value(self, metric: str) -> Floats:
        """The metric's values; each is worked out once."""
        if metric not in self.known:
            self.known[metric] = SIGNALS[metric](self)
        return self.known[metric]

    def trait(self, name: str) -> Floats:
        return self.table.traits[name][self.at]

    @property
    def card_load(self) -> Floats | None:
        """The load of the whole card (0..1) where the pair is of a slice, else NaN; None where no pair is."""
        if _CARD_LOAD not in self.known:
            found = self.find_card_load(self)
            self.known[_CARD_LOAD] = np.zeros(0) if found is None else found
        found = self.known[_CARD_LOAD]
        return found if len(found) else None

    @property
    def on_card(self) -> Flags:
        """Whether the pair is of a slice, whose power, heat and clock are those of its whole card."""
        load = self.card_load
        return np.zeros(len(self.at), dtype=bool) if load is None else ~np.isnan(load)

    def noise(self, pattern: int, amount: float) -> Floats:
        """Factors around 1 that differ from sample to sample; those of the four patterns have nothing in common."""
        factors: Floats = 1.0 + amount * self.pattern(pattern)
        return factors

    def pattern(self, pattern: int) -> Floats:
        """Numbers of mean 0 and deviation 1: one hash per sample gives four, each pattern adds them up with signs of
        its own."""
        name = f"noise {pattern}"
        if name not in self.known:
            first, second, third, fourth = self._lanes()
            near, far = (first + second, third + fourth) if pattern < 2 else (first - second, third - fourth)
            self.known[name] = near + far if pattern % 2 == 0 else near - far
        return self.known[name]

    def _lanes(self) -> list[Floats]:
        """Four numbers between -0.87 and 0.87 per sample, from one hash."""
        if "lane 0" not in self.known:
            mixed = mix(self.table.noise_key[self.at], self.tick)
            for lane in range(4):
                part = (mixed >> np.uint64(16 * lane)) & np.uint64(0xFFFF)
                self.known[f"lane {lane}"] = (part / 65535.0 - 0.5) * 1.7320508
        return [self.known[f"lane {lane}"] for lane in range(4)]

    def within(self, spell: tuple[Floats, ...]) -> Flags:
        result: Flags = (self.time >= spell[0][self.at]) & (self.time < spell[1][self.at])
        return result


def moment(table: Table, at: Ints, time: Floats) -> Moment:
    """Work out what the devices do at the given times."""
    tick = np.floor(time * 4).astype(np.int64)
    now = Moment(table, at, time, tick, np.zeros(len(at)))
    now.work = _work(now)
    return now


def _work(now: Moment) -> Floats:
    """What has no part in a kind of job (no swing, no dips, no pauses) is not worked out for its samples."""
    table, at = now.table, now.at
    since = now.time - table.begin[at]
    work = now.trait("level")
    _swing(now, work, since)
    _flutter(now, work)
    _dip(now, work, since)
    on = (since >= now.trait("startup")) & (since < now.trait("busy")) & table.is_used[at]
    _pause(now, on, since)
    on &= ~now.within(table.suspended)
    result: Floats = np.where(on, np.clip(work, 0.0, 1.0), 0.0)
    return result


def _swing(now: Moment, work: Floats, since: Floats) -> None:
    swing, at = now.table.traits["swing"], now.at
    mine = np.flatnonzero((swing > 0)[at])
    if len(mine):
        at = at[mine]
        curve = waves(now.table.key[at], 211, since[mine] / now.table.traits["period"][at])
        work[mine] += swing[at] * np.clip((curve - 0.5) * 2.6, -1, 1)


def _flutter(now: Moment, work: Floats) -> None:
    noise, at = now.table.traits["noise"], now.at
    mine = np.flatnonzero((noise > 0)[at])
    if len(mine):
        work[mine] += noise[at[mine]] * bells(mix(now.table.device_key, 212)[at[mine]], now.tick[mine])


def _dip(now: Moment, work: Floats, since: Floats) -> None:
    dip, key, at = now.table.traits["dip"], now.table.key, now.at
    mine = np.flatnonzero((dip > 0)[at])
    hit = mine[units(mix(key, 213)[at[mine]], np.floor(since[mine] / 60).astype(np.int64)) < dip[at[mine]]]
    work[hit] = work[hit] * 0.3 * units(mix(key, 214)[at[hit]], now.tick[hit])


def _pause(now: Moment, on: Flags, since: Floats) -> None:
    """Stretches without work."""
    duty, burst, at = now.table.traits["duty"], now.table.traits["burst"], now.at
    mine = np.flatnonzero((duty < 1)[at])
    number = np.floor(since[mine] / burst[at[mine]]).astype(np.int64)
    on[mine] &= units(mix(now.table.key, 215)[at[mine]], number) < duty[at[mine]]


def _utilization(now: Moment) -> Floats:
    shown = np.round(now.work * 100) / 100
    return np.where(now.within(now.table.stuck), 0.0, shown)


def _graphics(now: Moment) -> Floats:
    return np.clip(now.work * now.noise(0, 0.01), 0, 1)


def _sm(now: Moment) -> Floats:
    slowed = np.where(now.within(now.table.hot), 0.75, 1.0)
    return np.clip(now.work * now.trait("sm") * slowed * now.noise(1, 0.04), 0, 1)


def _share_of_sm(name: str, pattern: int) -> Callable[[Moment], Floats]:
    return lambda now: np.clip(now.value("sm_activity") * now.trait(name) * now.noise(pattern, 0.04), 0, 1)


def _dram(now: Moment) -> Floats:
    return np.clip(now.work * now.trait("dram") * now.noise(2, 0.05), 0, 1)


def _copy(now: Moment) -> Floats:
    return np.round(now.value("dram_activity") * 90) / 100


def memory_used(table: Table, at: Ints, time: Floats) -> Floats:
    """Bytes in use: `at` are places in the table."""
    ramp = np.clip((time - table.begin[at]) / table.ramp_seconds[at], 0, 1)
    share = np.where(table.is_used[at], table.traits["memory"][at] * ramp, 0.0)
    base = np.where(table.archetype[at] == FREE, 0.004, 0.006)
    total = table.total[at]
    used_bytes: Floats = np.floor(np.minimum(total, total * (base + share)) / (1 << 20)) * (1 << 20)
    return used_bytes


def _memory_total(now: Moment) -> Floats:
    return now.table.total[now.at]


def _per_model(now: Moment, values: tuple[float, float]) -> Floats:
    result: Floats = np.array(values)[now.table.hopper[now.at]]
    return result


def load_of(now: Moment) -> Floats:
    """How hard a device works as its power shows it, 0..1."""
    return 0.25 * now.work + 0.55 * now.value("sm_activity") + 0.2 * now.value("dram_activity")


def _power(now: Moment) -> Floats:
    idle, most = _per_model(now, IDLE_WATTS), _per_model(now, MOST_WATTS)
    on_card = now.on_card
    is_open = (now.table.archetype[now.at] != FREE) | on_card
    opened = np.where(is_open, _per_model(now, OPEN_WATTS), 0.0)
    load = load_of(now) if now.card_load is None else np.where(on_card, now.card_load, load_of(now))
    limit = np.where(now.within(now.table.hot), 0.7, 1.0)
    noise = now.noise(0, 0.015)
    if on_card.any():
        shared = 1.0 + 0.015 * bells(mix(now.table.card_key[now.at], 225), now.tick)
        noise = np.where(on_card, shared, noise)
    watts: Floats = (idle + opened + (most - idle) * load * limit) * noise
    return watts


def _is_warm(now: Moment) -> Flags:
    busy = now.work if now.card_load is None else np.where(now.on_card, now.card_load, now.work)
    result: Flags = busy > 0
    return result


def _temperature(now: Moment) -> Floats:
    idle, most = _per_model(now, IDLE_WATTS), _per_model(now, MOST_WATTS)
    place = 26 + 7 * units(now.table.card_key[now.at], 226)
    warm = place + 40 * (now.value("power_watts") - idle) / (most - idle)
    hot = 86.5 + 2.5 * units(mix(now.table.card_key[now.at], 227), now.tick)
    celsius: Floats = np.where(now.within(now.table.hot) & _is_warm(now), hot, warm)
    return celsius.round()


def _clock(now: Moment) -> Floats:
    activity = (
        now.value("sm_activity")
        if now.card_load is None
        else np.where(now.on_card, now.card_load, now.value("sm_activity"))
    )
    awake = _per_model(now, (1410e6, 1980e6)) - 15e6 * np.round(6 * activity)
    slowed = np.where(now.within(now.table.hot), np.round(awake * 0.6 / 15e6) * 15e6, awake)
    return np.where(_is_warm(now), slowed, _per_model(now, (210e6, 345e6)))


def _xid(now: Moment) -> Floats:
    return np.where(now.within(now.table.xid), now.table.xid[2][now.at], 0.0)


def _link(name: str, peaks: tuple[float, float], pattern: int, *, alone: bool) -> Callable[[Moment], Floats]:
    def link(now: Moment) -> Floats:
        used = now.trait(name) * _per_model(now, peaks) * now.work * now.noise(pattern, 0.1)
        if not alone:
            used = np.where(now.table.count[now.at] > 1, used, 0.0)
        return np.maximum(used, 0.0)

    return link


SHARES_OF_SM = {
    "sm_occupancy": ("occupancy", 3),
    "tensor_activity": ("tensor", 0),
    "fp64_activity": ("fp64", 2),
    "fp32_activity": ("fp32", 3),
    "fp16_activity": ("fp16", 0),
}
"""Signals that are a share of SM: the trait that says which, and the pattern of their noise."""

SIGNALS: dict[str, Callable[[Moment], Floats]] = {
    "gpu_utilization": _utilization,
    "graphics_engine_activity": _graphics,
    "sm_activity": _sm,
    **{name: _share_of_sm(trait, pattern) for name, (trait, pattern) in SHARES_OF_SM.items()},
    "dram_activity": _dram,
    "memory_copy_utilization": _copy,
    "gpu_memory_used_bytes": lambda now: memory_used(now.table, now.at, now.time),
    "gpu_memory_total_bytes": _memory_total,
    "power_watts": _power,
    "temperature_celsius": _temperature,
    "sm_clock_hertz": _clock,
    "xid": _xid,
    "nvlink_tx_bytes_per_second": _link("nvlink", NVLINK, 1, alone=False),
    "nvlink_rx_bytes_per_second": _link("nvlink", NVLINK, 3, alone=False),
    "pcie_tx_bytes_per_second": _link("pcie", PCIE, 0, alone=True),
    "pcie_rx_bytes_per_second": _link("pcie", PCIE, 2, alone=True),
}
NOT_ON_SLICES = frozenset({"gpu_utilization", "memory_copy_utilization"})
ENERGY = "energy_joules"
