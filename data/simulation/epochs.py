"""One epoch of one group, decoded: every job that its lanes run, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from data.simulation import campaigns
from data.simulation.campaigns import ARRAY, CHAIN, NICE, NONE, RESTART, Draw, Rows, draw_rows
from data.simulation.chance import Ints, key_of, units
from data.simulation.clockwork import HOUR, workload
from data.simulation.columns import Columns
from data.simulation.faults import Faults
from data.simulation.layout import EPOCH, Group, Lane, lanes_of
from data.simulation.numbers import Numbers
from data.simulation.placing import DROPPED, FAILED_NODE, TRIMMED, Placed, blocks_of_node, place
from data.simulation.submissions import submit
from data.simulation.traits import core_share, memory_share, trait

_MEMORY_STEP = 256 << 20
_AT_REST = {"block": 0.85, "node": 0.55, "part": 0.35, "single": 0.2, "slice": 0.2, "shard": 0.2, "cpu": 0.3}


@dataclass(frozen=True, slots=True)
class Epoch:
    group: Group
    number: int
    lanes: tuple[Lane, ...]
    jobs: Columns


def decode(wanted: Sequence[tuple[Group, int]], faults: Faults, numbers: Numbers) -> list[Epoch]:
    """Decode epochs: cut lanes, draw and place jobs, then settle what depends on where they came to lie.

    Many at once cost far less than one by one, and each comes out the same whatever others are asked for.
    """
    cuts = [lanes_of(group, number, apart=_is_troubled(group, number, faults)) for group, number in wanted]
    draws = [_draw(group, number, lanes) for (group, number), lanes in zip(wanted, cuts, strict=True)]
    begins = [group.begin_of(number) for group, number in wanted]
    lanes = [lane for cut in cuts for lane in cut]
    rows = draw_rows(draws)
    jobs = _kept(lanes, rows, _placed(cuts, rows, faults, begins))
    edges = np.cumsum([0, *map(len, cuts)])
    _link_attempts(jobs)
    _limit(jobs)
    _suspend(jobs, lanes)
    _share(jobs, lanes)
    submit(jobs, wanted, np.searchsorted(edges, jobs.lane, side="right") - 1, numbers)
    return _parted(wanted, cuts, jobs, edges)


def _draw(group: Group, number: int, lanes: tuple[Lane, ...]) -> Draw:
    bundle = key_of(group.key, number, 5) if group.key % 3 == 0 else None
    return Draw(lanes, key_of(group.key, number, 6), bundle, group.companion is not None)


def _parted(
    wanted: Sequence[tuple[Group, int]], cuts: Sequence[tuple[Lane, ...]], jobs: Columns, edges: Ints
) -> list[Epoch]:
    """One epoch after the other, each with lanes and rows numbered from 0."""
    first = np.searchsorted(jobs.lane, edges)
    begin = first[np.searchsorted(edges, jobs.lane, side="right") - 1]
    jobs.lane -= edges[np.searchsorted(edges, jobs.lane, side="right") - 1]
    for column in (jobs.origin, jobs.previous):
        column[column >= 0] -= begin[column >= 0]
    columns = [(field.name, getattr(jobs, field.name)) for field in fields(Columns)]
    parts = zip(wanted, cuts, pairwise(first.tolist()), strict=True)
    return [
        Epoch(group, number, lanes, Columns(**{name: column[a:b] for name, column in columns}))
        for (group, number), lanes, (a, b) in parts
    ]


def _is_troubled(group: Group, number: int, faults: Faults) -> bool:
    """Whether a node of the group is out for long: then nobody gets several of them at once, but for a few who
    lose their node in the middle of a run."""
    begin = group.begin_of(number)
    for machine in group.machines:
        if faults.at_node("drain", machine.name, begin, begin + EPOCH):
            return True
        if faults.at_node("down", machine.name, begin, begin + EPOCH) and group.key % 5:
            return True
    return False


def _placed(cuts: Sequence[tuple[Lane, ...]], rows: Rows, faults: Faults, begins: Sequence[int]) -> Placed:
    edges = pairwise(np.searchsorted(rows.lane, np.arange(sum(map(len, cuts)) + 1)).tolist())
    parts = []
    for lanes, begin in zip(cuts, begins, strict=True):
        end = begin + EPOCH
        machines = {machine.name: machine for lane in lanes for machine, _ in lane.places}
        known = {name: blocks_of_node(machine, faults, begin - 1, end) for name, machine in machines.items()}
        for lane, (a, b) in zip(lanes, edges, strict=False):
            blocks = sorted({block for machine, _ in lane.places for block in known[machine.name]})
            parts.append(place(rows.gap[a:b], rows.duration[a:b], begin, end, blocks))
    return Placed(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Placed)})


def _kept(lanes: Sequence[Lane], rows: Rows, placed: Placed) -> Columns:
    """Leave out what found no place, and part of the work that would have begun at a quiet time."""
    rest = np.array([_AT_REST[lane.kind] for lane in lanes])[rows.lane]
    first = placed.start[np.arange(len(rows.place)) - rows.place]
    accepted = rest + (1 - rest) * workload(first)
    return _columns(rows, placed, np.flatnonzero((placed.fate != DROPPED) & (units(rows.owner, 41) < accepted)))


def _columns(rows: Rows, placed: Placed, kept: Ints) -> Columns:
    n = len(kept)
    none, zero = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    taken = {f.name: getattr(rows, f.name)[kept] for f in fields(rows) if f.name not in {"duration", "gap"}}
    return Columns(
        start=placed.start[kept],
        end=placed.end[kept],
        ceiling=placed.ceiling[kept],
        fate=placed.fate[kept],
        origin=none,
        previous=none.copy(),
        limit=np.zeros(n),
        submit=np.zeros(n),
        eligible=np.zeros(n),
        job_id=zero.copy(),
        array_id=zero.copy(),
        task=none.copy(),
        restarts=zero.copy(),
        suspend_from=np.zeros(n),
        suspend_to=np.zeros(n),
        cores=zero.copy(),
        memory=zero.copy(),
        cpu_use=np.zeros(n),
        memory_used=zero.copy(),
        **taken,
    )


def _link_attempts(jobs: Columns) -> None:
    """Tie attempts to the one before: requeued jobs, and those that lost their node and run again after it."""
    jobs.state[jobs.fate == FAILED_NODE] = campaigns.NODE_FAIL
    trimmed = (jobs.fate == TRIMMED) & ((jobs.state == campaigns.TIMEOUT) | (jobs.state == campaigns.REQUEUED))
    jobs.state[trimmed] = campaigns.COMPLETED
    same = np.zeros(len(jobs.lane), dtype=bool)
    same[1:] = (jobs.lane[1:] == jobs.lane[:-1]) & (jobs.campaign[1:] == jobs.campaign[:-1])
    again = same & (jobs.link == RESTART)
    again[1:] &= (jobs.state[:-1] == campaigns.REQUEUED) | (jobs.state[:-1] == campaigns.NODE_FAIL)
    jobs.origin[again] = np.flatnonzero(again) - 1
    chained = same & (jobs.link == CHAIN)
    chained[1:] &= jobs.state[:-1] == campaigns.COMPLETED
    jobs.previous[chained] = np.flatnonzero(chained) - 1
    for row in np.flatnonzero(jobs.state == campaigns.NODE_FAIL).tolist():
        _rerun(jobs, row)
    alone = jobs.state == campaigns.REQUEUED
    alone[jobs.origin[jobs.origin >= 0]] = False
    jobs.state[alone] = campaigns.FAILED
    for row in np.flatnonzero(jobs.origin >= 0).tolist():
        before = int(jobs.origin[row])
        jobs.key[row], jobs.restarts[row] = jobs.key[before], jobs.restarts[before] + 1


def _rerun(jobs: Columns, row: int) -> None:
    """Let the next plain job of the lane be the second attempt of one whose node failed."""
    after = row + 1
    if jobs.link[row] not in (NONE, RESTART) or after >= len(jobs.lane) or jobs.lane[after] != jobs.lane[row]:
        return
    if jobs.link[after] == NONE and jobs.origin[after] < 0:
        jobs.origin[after] = row
        for name in ("archetype", "campaign", "owner", "link"):
            getattr(jobs, name)[after] = getattr(jobs, name)[row]
        if jobs.state[after] == campaigns.TIMEOUT:
            jobs.state[after] = campaigns.COMPLETED


def _limit(jobs: Columns) -> None:
    """The time limit: what a timed-out job ran, else a usual value above, and never into a maintenance."""
    run = jobs.end - jobs.start
    asked = np.where(jobs.fate == FAILED_NODE, run * 1.3, run) * (1.02 + 3.0 * units(jobs.key, 51) ** 2)
    usual = NICE[np.minimum(np.searchsorted(NICE, asked), len(NICE) - 1)]
    first = np.flatnonzero(jobs.origin >= 0)
    limit = np.where(jobs.state == campaigns.TIMEOUT, run, np.maximum(usual, run))
    for row in first.tolist():
        before = int(jobs.origin[row])
        limit[before] = limit[row] = max(limit[before], limit[row])
        if jobs.state[row] == campaigns.TIMEOUT and limit[row] > run[row]:
            jobs.state[row] = campaigns.COMPLETED
    limit = np.minimum(limit, np.floor(jobs.ceiling / 60) * 60)
    jobs.limit[:] = np.maximum(limit, np.where(jobs.state == campaigns.TIMEOUT, run, np.ceil(run / 60) * 60))


def _suspend(jobs: Columns, lanes: Sequence[Lane]) -> None:
    """Suspend a few long jobs for an hour or two, CPU jobs more often."""
    run = jobs.end - jobs.start
    plain = np.array([lane.kind == "cpu" for lane in lanes])[jobs.lane]
    chance = np.where(plain, 0.12, 0.012)
    usable = (run > 3 * HOUR) & ((jobs.link == NONE) | (jobs.link == ARRAY)) & (jobs.state != campaigns.TIMEOUT)
    chosen = usable & (units(jobs.key, 52) < chance) & (jobs.fate != FAILED_NODE)
    begin = np.floor(jobs.start + run * (0.2 + 0.3 * units(jobs.key, 53)))
    jobs.suspend_from[chosen] = begin[chosen]
    jobs.suspend_to[chosen] = np.floor(begin + np.minimum(run * 0.4, (0.5 + 3 * units(jobs.key, 54)) * HOUR))[chosen]


def _share(jobs: Columns, lanes: Sequence[Lane]) -> None:
    """What each job asked for on a node and what it uses of that; a job out of memory used it all."""
    is_fixed = np.array([lane.kind in {"cpu", "slice", "shard"} for lane in lanes])[jobs.lane]
    cores = np.array([lane.cores for lane in lanes])[jobs.lane]
    memory = np.array([lane.memory_bytes for lane in lanes])[jobs.lane]
    jobs.cores[:] = np.maximum(1, np.where(is_fixed, cores, cores * core_share(jobs.key)))
    jobs.memory[:] = (memory * memory_share(jobs.key)).astype(np.int64) // _MEMORY_STEP * _MEMORY_STEP
    jobs.cpu_use[:] = trait("cpu", jobs.archetype, jobs.key)
    used = trait("host", jobs.archetype, jobs.key)
    jobs.memory_used[:] = jobs.memory * np.where(jobs.state == campaigns.OUT_OF_MEMORY, 0.995, used)
