"""One epoch of one group, decoded: every job that its lanes run, as columns."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from data.simulation import archetypes as kinds
from data.simulation import campaigns
from data.simulation.campaigns import ARRAY, CHAIN, HET, LOOP, NICE, NONE, RESTART, Rows, draw_rows
from data.simulation.chance import Flags, Floats, Ints, Keys, key_of, units
from data.simulation.clockwork import HOUR, workload
from data.simulation.faults import Faults
from data.simulation.layout import EPOCH, Group, Lane, lanes_of
from data.simulation.numbers import Numbers
from data.simulation.placing import DROPPED, FAILED_NODE, TRIMMED, Placed, blocks_of_node, place
from data.simulation.traits import core_share, memory_share, trait

_MEMORY_STEP = 256 << 20
_AT_REST = {"block": 0.85, "node": 0.55, "part": 0.35, "single": 0.2, "slice": 0.2, "shard": 0.2, "cpu": 0.3}


@dataclass(slots=True)
class Columns:
    """One entry per attempt of a job. Times in seconds; `origin` is the row of the attempt before (-1 = none),
    `previous` the row that a chained job depends on (-1 = none); `cores`, `memory` (bytes) and what of them is used
    (share of cores, bytes) are per node."""

    lane: Ints
    archetype: Ints
    link: Ints
    campaign: Ints
    place: Ints
    count: Ints
    key: Keys
    owner: Keys
    state: Ints
    start: Floats
    end: Floats
    wait: Floats
    queued: Flags
    ceiling: Floats
    fate: Ints
    origin: Ints
    previous: Ints
    limit: Floats
    submit: Floats
    eligible: Floats
    job_id: Ints
    array_id: Ints
    task: Ints
    restarts: Ints
    suspend_from: Floats
    suspend_to: Floats
    cores: Ints
    memory: Ints
    cpu_use: Floats
    memory_used: Ints


@dataclass(frozen=True, slots=True)
class Epoch:
    group: Group
    number: int
    lanes: tuple[Lane, ...]
    jobs: Columns


def decode(group: Group, number: int, faults: Faults, numbers: Numbers) -> Epoch:
    """Decode one epoch: cut lanes, draw and place jobs, then settle what depends on where they came to lie."""
    lanes = lanes_of(group, number, apart=_is_troubled(group, number, faults))
    bundle = key_of(group.key, number, 5) if group.key % 3 == 0 else None
    rows = draw_rows(lanes, key_of(group.key, number, 6), bundle=bundle, may_pair=group.companion is not None)
    jobs = _kept(lanes, rows, _placed(lanes, rows, faults, group.begin_of(number)))
    _link_attempts(jobs)
    _limit(jobs)
    _suspend(jobs, lanes)
    _share(jobs, lanes)
    _submit(jobs, group, number, numbers)
    return Epoch(group, number, lanes, jobs)


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


def _placed(lanes: tuple[Lane, ...], rows: Rows, faults: Faults, begin: int) -> Placed:
    edges = np.searchsorted(rows.lane, np.arange(len(lanes) + 1)).tolist()
    end = begin + EPOCH
    machines = {machine.name: machine for lane in lanes for machine, _ in lane.places}
    known = {name: blocks_of_node(machine, faults, begin - 1, end) for name, machine in machines.items()}
    parts = [
        place(rows.gap[a:b], rows.duration[a:b], begin, end, sorted({x for m, _ in lane.places for x in known[m.name]}))
        for lane, a, b in zip(lanes, edges, edges[1:], strict=False)
    ]
    return Placed(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Placed)})


def _kept(lanes: tuple[Lane, ...], rows: Rows, placed: Placed) -> Columns:
    """Leave out what found no place, and part of the work that would have begun at a quiet time."""
    rest = np.array([_AT_REST[lane.kind] for lane in lanes])[rows.lane]
    first = placed.start[np.searchsorted(rows.campaign, rows.campaign)]
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


def _suspend(jobs: Columns, lanes: tuple[Lane, ...]) -> None:
    """Suspend a few long jobs for an hour or two, CPU jobs more often."""
    run = jobs.end - jobs.start
    plain = np.array([lane.kind == "cpu" for lane in lanes])[jobs.lane]
    chance = np.where(plain, 0.12, 0.012)
    usable = (run > 3 * HOUR) & ((jobs.link == NONE) | (jobs.link == ARRAY)) & (jobs.state != campaigns.TIMEOUT)
    chosen = usable & (units(jobs.key, 52) < chance) & (jobs.fate != FAILED_NODE)
    begin = np.floor(jobs.start + run * (0.2 + 0.3 * units(jobs.key, 53)))
    jobs.suspend_from[chosen] = begin[chosen]
    jobs.suspend_to[chosen] = np.floor(begin + np.minimum(run * 0.4, (0.5 + 3 * units(jobs.key, 54)) * HOUR))[chosen]


def _share(jobs: Columns, lanes: tuple[Lane, ...]) -> None:
    """What each job asked for on a node and what it uses of that; a job out of memory used it all."""
    is_fixed = np.array([lane.kind in {"cpu", "slice", "shard"} for lane in lanes])[jobs.lane]
    cores = np.array([lane.cores for lane in lanes])[jobs.lane]
    memory = np.array([lane.memory_bytes for lane in lanes])[jobs.lane]
    jobs.cores[:] = np.maximum(1, np.where(is_fixed, cores, cores * core_share(jobs.key)))
    jobs.memory[:] = (memory * memory_share(jobs.key)).astype(np.int64) // _MEMORY_STEP * _MEMORY_STEP
    jobs.cpu_use[:] = trait("cpu", jobs.archetype, jobs.key)
    used = trait("host", jobs.archetype, jobs.key)
    jobs.memory_used[:] = jobs.memory * np.where(jobs.state == campaigns.OUT_OF_MEMORY, 0.995, used)


def _submit(jobs: Columns, group: Group, number: int, numbers: Numbers) -> None:
    """Set submit and eligible times and ids. Later attempts keep the id and are submitted at the requeue."""
    wanted = jobs.start - jobs.wait
    arrays = _arrays(jobs)
    _submit_together(jobs, wanted, arrays)
    heads = np.flatnonzero(jobs.origin < 0)
    port = (jobs.owner[heads] >> np.uint64(17)).astype(np.int64) % 997
    port[jobs.link[heads] == HET] = 0
    jobs.job_id[heads], jobs.submit[heads] = numbers.assign(group, number, port, wanted[heads])
    for row in np.flatnonzero(jobs.origin >= 0).tolist():
        before = int(jobs.origin[row])
        jobs.job_id[row], jobs.submit[row] = jobs.job_id[before], jobs.end[before] + 1
    _share_array_ids(jobs, arrays)
    jobs.eligible[:] = jobs.submit
    late = jobs.queued & (jobs.link == NONE) & (units(jobs.key, 56) < 0.05)
    jobs.eligible[late] = np.maximum(jobs.submit[late], jobs.start[late] - 20)
    again = jobs.origin >= 0
    jobs.eligible[again] = np.minimum(jobs.submit[again] + 120, jobs.start[again] - 5)
    chained = jobs.previous >= 0
    jobs.eligible[chained] = np.maximum(jobs.submit[chained], jobs.end[jobs.previous[chained]])


def _submit_together(jobs: Columns, wanted: Floats, arrays: list[Ints]) -> None:
    """Chains are submitted at once; crash loops again after each crash; array tasks get their ids when they start."""
    for row in np.flatnonzero(jobs.previous >= 0).tolist():
        wanted[row] = max(wanted[jobs.previous[row]] + 1, jobs.start[row] - campaigns.MOST_WAIT)
    loop = np.flatnonzero((jobs.link == LOOP) & (jobs.place > 0))
    wanted[loop] = jobs.start[loop] - 5
    for rows in arrays:
        order = rows[np.argsort(jobs.start[rows], kind="stable")]
        first = float(wanted[order[0]])
        wanted[order] = np.maximum(first + 1, jobs.start[order] - 30)
        wanted[order[-1]] = first
        jobs.task[order] = np.arange(len(order))


def _share_array_ids(jobs: Columns, arrays: list[Ints]) -> None:
    """The last task keeps the array's own id as raw id; all tasks share its time of submission."""
    for rows in arrays:
        last = rows[np.argmax(jobs.task[rows])]
        jobs.array_id[rows] = jobs.job_id[last]
        jobs.submit[rows] = jobs.submit[last]


def _arrays(jobs: Columns) -> list[Ints]:
    """The rows of each array; a lane's own campaign, or the bundle that several lanes share."""
    rows = np.flatnonzero((jobs.link == ARRAY) & (jobs.archetype != kinds.FREE))
    owners, which = np.unique(jobs.owner[rows], return_inverse=True)
    return [rows[which == i] for i in range(len(owners))]
