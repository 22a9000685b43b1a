"""What a lane runs during an epoch: campaigns (one piece of somebody's work) and the jobs in them, not yet placed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.simulation import archetypes as kinds
from data.simulation.archetypes import ARCHETYPES
from data.simulation.chance import Flags, Floats, Ints, Keys, bells, choose, mix, units
from data.simulation.clockwork import HOUR
from data.simulation.layout import EPOCH, WEIGHTS, Lane

NONE, LOOP, ARRAY, RESTART, CHAIN, HET = range(6)
COMPLETED, FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL, REQUEUED, PREEMPTED = range(8)
STATES = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "REQUEUED", "PREEMPTED")
NICE = np.array([0.25, 0.5, 1, 2, 4, 6, 8, 12, 18, 24, 36, 48, 72, 96]) * HOUR
LANE_KINDS = ("block", "node", "part", "single", "slice", "shard", "cpu")
_LONGEST = np.array([90, 47, 36, 24, 20, 11, 60]) * HOUR
_QUEUED = np.array([0.93, 0.9, 0.82, 0.68, 0.35, 0.2, 0.5])
_GAP = np.array([3.0, 2.5, 1.8, 1.4, 1.6, 2.0, 1.2]) * HOUR
_WAIT = np.array([5.0, 2.5, 1.2, 0.6, 0.5, 0.3, 0.4]) * HOUR
_COUNT = np.array([16, 22, 36, 48, 52, 52, 60])
MOST_WAIT = 32 * HOUR
_SIZES = np.array([(1, 1), (5, 14), (4, 12), (2, 2), (2, 3), (1, 1)]).T
_HOURS = np.array([row.hours for row in ARCHETYPES])
_SPREAD = np.array([row.spread for row in ARCHETYPES])
_ENDS = np.cumsum([(a.failed, a.cancelled, a.timed_out, a.out_of_memory) for a in ARCHETYPES], axis=1)


@dataclass(frozen=True, slots=True)
class Draw:
    """What the jobs of one epoch are drawn for. With `bundle`, single-GPU lanes begin with tasks of that shared array;
    `may_pair` allows het jobs in the first lane."""

    lanes: Sequence[Lane]
    key: int
    bundle: int | None
    may_pair: bool


@dataclass(slots=True)
class Rows:
    """Jobs of the lanes in order, lane after lane, of all draws. `lane` is numbered through all draws, `campaign`
    within its draw, `place` within the campaign. `key` is the job's chance, `owner` the campaign's; times in seconds;
    `gap` is the idle time before."""

    lane: Ints
    archetype: Ints
    link: Ints
    campaign: Ints
    place: Ints
    count: Ints
    key: Keys
    owner: Keys
    state: Ints
    duration: Floats
    gap: Floats
    wait: Floats
    queued: Flags


def draw_rows(draws: Sequence[Draw]) -> Rows:
    """Draw more jobs than the epochs can hold. A draw gives the same jobs whatever others are drawn beside it."""
    kind = np.array([LANE_KINDS.index(lane.kind) for draw in draws for lane in draw.lanes])
    draw, first = _numbered(np.array([len(draw.lanes) for draw in draws]))  # by lane: its draw, the draw's first lane
    lane = np.repeat(np.arange(len(kind)), _COUNT[kind])
    number = np.arange(len(lane)) - np.searchsorted(lane, first)[lane]
    owner = mix(np.array([draw.key for draw in draws], dtype=np.uint64)[draw][lane], number)
    archetype = _archetypes(kind[lane], owner)
    may_pair = np.array([draw.may_pair for draw in draws])[draw] & (first == np.arange(len(kind)))
    link, count = _links(kind[lane], archetype, owner, may_pair[lane])
    _bundle(draws, draw, kind, (lane, archetype, link, count, owner))
    campaign, begin = _numbered(count)
    place = np.arange(len(campaign)) - begin
    lane, count = lane[campaign], count[campaign]
    archetype, link, owner = archetype[campaign], link[campaign], owner[campaign]
    own = mix(mix(owner, place), lane - first[lane])
    state, duration = _ends(kind[lane], archetype, link, place == count - 1, own)
    gap, wait, queued = _gaps(kind[lane], link, place > 0, own)
    return Rows(lane, archetype, link, number[campaign], place, count, own, owner, state, duration, gap, wait, queued)


def _numbered(sizes: Ints) -> tuple[Ints, Ints]:
    """For parts of these sizes laid end to end, by entry: the part's number, and the part's first entry."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    return number, (np.cumsum(sizes) - sizes)[number]


def _bundle(draws: Sequence[Draw], draw: Ints, kind: Ints, campaigns: tuple[Ints, Ints, Ints, Ints, Keys]) -> None:
    """Make the first campaign of every single-GPU lane a part of its draw's shared array."""
    lane, archetype, link, count, owner = campaigns
    shared = np.array([draw.bundle or 0 for draw in draws], dtype=np.uint64)
    begins = (np.diff(lane, prepend=-1) > 0) & (kind[lane] == LANE_KINDS.index("single"))
    rows = np.flatnonzero(begins & np.array([draw.bundle is not None for draw in draws])[draw][lane])
    owner[rows] = shared[draw[lane[rows]]]
    archetype[rows], link[rows], count[rows] = kinds.SWEEP, ARRAY, 3 + owner[rows] % np.uint64(9)


def _archetypes(kind: Ints, owner: Keys) -> Ints:
    numbers = units(owner, 11)
    result = np.zeros(len(kind), dtype=np.int64)
    for code in set(kind.tolist()):
        table, here = WEIGHTS[LANE_KINDS[code]], kind == code
        result[here] = np.array(list(table))[choose(np.array(list(table.values())), numbers[here])]
    return result


def _links(kind: Ints, archetype: Ints, owner: Keys, may_pair: Flags) -> tuple[Ints, Ints]:
    roll, size = units(owner, 12), units(owner, 13)
    plain = (archetype != kinds.NOTEBOOK) & (archetype != kinds.CRASH) & (archetype != kinds.SWEEP)
    link = np.zeros(len(archetype), dtype=np.int64)
    link[archetype == kinds.CRASH] = LOOP
    link[archetype == kinds.SWEEP] = ARRAY
    link[plain & (roll < 0.05)] = RESTART
    link[plain & (roll > 0.965)] = CHAIN
    link[plain & (kind == LANE_KINDS.index("cpu")) & (roll > 0.4) & (roll < 0.46)] = ARRAY
    link[may_pair & plain & ((archetype == kinds.SIMULATION) | ((roll > 0.8) & (roll <= 0.965)))] = HET
    low, high = _SIZES[0][link], _SIZES[1][link]
    return link, (low + size * (high - low + 1)).astype(np.int64)


def _ends(kind: Ints, archetype: Ints, link: Ints, last: Flags, key: Keys) -> tuple[Ints, Floats]:
    """How each job ends and after how long. Runs that time out last exactly as long as they asked."""
    order = np.array([FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY, COMPLETED])
    state = order[(_ENDS[archetype] <= units(key, 21)[:, None]).sum(axis=1)]
    state[((link == CHAIN) & ~last) | (link == HET)] = COMPLETED
    state[(link == RESTART) & ~last] = REQUEUED
    spread = np.where(link == ARRAY, 0.25, _SPREAD[archetype])
    hours = _HOURS[archetype] * np.exp(spread * bells(key, 22))
    hours[(archetype == kinds.CPU) & (link == ARRAY)] *= 0.3
    hours[state == FAILED] *= (0.05 + 0.9 * units(key, 23))[state == FAILED]
    seconds = np.clip(hours * HOUR, 75, _LONGEST[kind])
    usual = NICE[np.maximum(np.searchsorted(NICE, seconds, side="right") - 1, 0)]
    return state, np.floor(np.where(state == TIMEOUT, usual, seconds))


def _gaps(kind: Ints, link: Ints, follows: Flags, key: Keys) -> tuple[Floats, Floats, Flags]:
    """Idle time before each job and its wait. A job that had to wait begins right after the one before it."""
    queued = (units(key, 31) < _QUEUED[kind]) | (follows & ((link == ARRAY) | (link == CHAIN)))
    roll = units(key, 32)
    idle = np.minimum(60 - np.log1p(-units(key, 33)) * _GAP[kind], EPOCH / 12)
    wait = np.where(queued, np.clip(np.exp(bells(key, 34) * 0.9) * _WAIT[kind], 90, MOST_WAIT), 1 + 15 * roll)
    gap = np.where(queued, 4 + 36 * roll, idle)
    gap = np.where(follows & (link == LOOP), 30 + 200 * roll, gap)
    gap = np.where(follows & (link == RESTART), 140 + 1500 * roll, gap)
    return np.floor(gap), np.floor(wait), queued
