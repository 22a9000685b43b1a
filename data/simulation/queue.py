"""The waiting jobs of one instant: why each waits, how urgent it is, when it may start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from data.model import Job, PendingDetail
from data.simulation.campaigns import ARRAY
from data.simulation.chance import key_of, unit_of, word
from data.simulation.clockwork import DAY, utc
from data.simulation.describe import jobs_of, lane_of, owner_of, partition_of
from data.simulation.hardware import PARTITIONS
from data.simulation.holdings import Held, free_units, holdings
from data.simulation.layout import Lane
from data.simulation.placing import blocks_of
from data.simulation.world import Ref, World

_TIER = {row.name: row.tier for row in PARTITIONS}
_QOS = {"normal": 0.0, "high": 1000.0, "long": 100.0, "interactive": 1500.0, "preempt": 0.0}
_SCHEDULER_PERIOD = 30
Free = dict[str, dict[str, int]]  # partition -> node -> free devices (cores in the CPU partition)


@dataclass(frozen=True, slots=True)
class Waiting:
    """One waiting job as Slurm shows it, with its priority parts."""

    job: Job
    detail: PendingDetail


def queue_at(world: World, at: float, running: list[Ref]) -> list[Waiting]:
    """All waiting jobs, most urgent first; the tasks of an array that have not started are one entry."""
    held = holdings(world, running, at)
    free = free_places(world, held, at)
    users = {owner_of(world, ref).name for ref in running}
    accounts = {owner_of(world, ref).account for ref in running}
    entries = []
    for ref, tasks in _entries(world.waiting(at)):
        parts = _priority(world, ref, at)
        entries.append((sum(value for _, value in parts), ref, tasks, parts))
    entries.sort(key=lambda entry: (-entry[0], int(entry[1].epoch.jobs.job_id[entry[1].row])))
    blocked: set[str] = set()
    result: list[Waiting] = []
    for priority, ref, tasks, parts in entries:
        reason = _reason(world, ref, tasks, at, (users, accounts), free, blocked)
        result += _shown(world, ref, tasks, at, reason, priority, parts)
    return result


def free_places(world: World, held: dict[str, Held], at: float) -> Free:
    """What a new job could get now: nodes that are down, drained or in maintenance give nothing."""
    free: Free = {row.name: {} for row in PARTITIONS}
    closed = closed_nodes(world, at)
    for machine in world.machines:
        if machine.name in closed:
            continue
        left = held[machine.name]
        count = sum(map(len, free_units(machine, left).values())) if machine.units else machine.cpus - left.cpus
        for name in machine.partitions:
            free[name][machine.name] = count
    return free


def closed_nodes(world: World, at: float) -> set[str]:
    """Nodes that take no new work at the instant."""
    closed = {fault.node for kind in ("down", "drain") for fault in world.faults.between(kind, at, at + 1)}
    racks = {rack for _, _, _, rack in world.faults.maintenances(at, at + 1)}
    return closed | {machine.name for machine in world.machines if machine.rack in racks and machine.units}


def _entries(waiting: list[Ref]) -> list[tuple[Ref, list[int]]]:
    """Single jobs, and arrays with the numbers of their waiting tasks under the row that keeps the array's id."""
    singles: list[tuple[Ref, list[int]]] = []
    arrays: dict[int, list[Ref]] = {}
    for ref in waiting:
        jobs, row = ref.epoch.jobs, ref.row
        if jobs.array_id[row]:
            arrays.setdefault(int(jobs.array_id[row]), []).append(ref)
        else:
            singles.append((ref, []))
    for refs in arrays.values():
        refs.sort(key=lambda ref: int(ref.epoch.jobs.task[ref.row]))
        singles.append((refs[-1], [int(ref.epoch.jobs.task[ref.row]) for ref in refs]))
    return singles


def _priority(world: World, ref: Ref, at: float) -> tuple[tuple[str, float], ...]:
    jobs, row = ref.epoch.jobs, ref.row
    partition, qos = partition_of(ref)
    account = owner_of(world, ref).account
    age = min(1.0, max(0.0, at - float(jobs.eligible[row])) / (7 * DAY))
    fairshare = unit_of(world.seed, word(account), int(at // DAY))
    size = lane_of(ref).gpus / 32
    return (
        ("age", round(1000 * age, 1)),
        ("fairshare", round(2000 * fairshare, 1)),
        ("jobsize", round(300 * size, 1)),
        ("partition", 20.0 * _TIER[partition]),
        ("qos", _QOS[qos]),
    )


def _reason(
    world: World, ref: Ref, tasks: list[int], at: float, busy: tuple[set[str], set[str]], free: Free, blocked: set[str]
) -> str:
    """Slurm's word. `blocked` collects the partitions in which a more urgent job waits for resources."""
    jobs, row = ref.epoch.jobs, ref.row
    if jobs.previous[row] >= 0 and jobs.end[jobs.previous[row]] > at:
        return "Dependency"
    if jobs.eligible[row] > at:
        return "BeginTime"
    if tasks and tasks[0] > 0:
        return "JobArrayTaskLimit"
    fault = _blocking(world, ref, at)
    if fault is not None:
        return fault
    limit = _limit(world, ref, busy)
    if limit is not None:
        return limit
    partition, _ = partition_of(ref)
    if fits(lane_of(ref), free[partition]):
        return "Priority" if partition in blocked else _held_back(world, ref, at, busy)
    first = partition not in blocked
    blocked.add(partition)
    return "Resources" if first or unit_of(int(jobs.key[row]), 71) < 0.15 else "Priority"


def _limit(world: World, ref: Ref, busy: tuple[set[str], set[str]]) -> str | None:
    user = owner_of(world, ref)
    roll = unit_of(int(ref.epoch.jobs.owner[ref.row]), 72)
    if lane_of(ref).kind == "cpu" or not ref.epoch.jobs.queued[ref.row]:
        return None
    if roll < 0.13 and user.name in busy[0]:
        return "QOSMaxGRESPerUser"
    return "AssocGrpGRES" if 0.13 <= roll < 0.22 and user.account in busy[1] else None


def _held_back(world: World, ref: Ref, at: float, busy: tuple[set[str], set[str]]) -> str:
    """What keeps a job waiting that nobody is ahead of and that would fit: the scheduler's turn, or a limit."""
    user, on_cpus = owner_of(world, ref), lane_of(ref).kind == "cpu"
    if at - float(ref.epoch.jobs.submit[ref.row]) < _SCHEDULER_PERIOD:
        return "None"
    if user.name in busy[0]:
        return "QOSMaxCpuPerUserLimit" if on_cpus else "QOSMaxGRESPerUser"
    if user.account in busy[1]:
        return "AssocGrpCpuLimit" if on_cpus else "AssocGrpGRES"
    return "None"


def _blocking(world: World, ref: Ref, at: float) -> str | None:
    """A job that asked for nodes by name waits for those that are broken or reserved."""
    start = float(ref.epoch.jobs.start[ref.row])
    blocks = [b for b in blocks_of(lane_of(ref), world.faults, at, start) if b[0] < start and b[1] > at]
    if any(kind == "maint" for _, _, kind in blocks):
        return "ReqNodeNotAvail, Reserved for maintenance"
    names = [machine.name for machine, _ in lane_of(ref).places]
    closed = [name for name in names if any(world.faults.at_node(k, name, at, at + 1) for k in ("down", "drain"))]
    return f"ReqNodeNotAvail, UnavailableNodes:{','.join(closed)}" if closed else None


def fits(lane: Lane, free: dict[str, int]) -> bool:
    """Whether the job would find its devices (or cores) free now."""
    each = max(1, len(lane.places[0][1])) if lane.kind != "cpu" else lane.cores
    return sum(count >= each for count in free.values()) >= len(lane.places)


def _shown(
    world: World,
    ref: Ref,
    tasks: list[int],
    at: float,
    reason: str,
    priority: float,
    parts: tuple[tuple[str, float], ...],
) -> list[Waiting]:
    result = []
    for job in jobs_of(world, ref, at):
        job = replace(
            job,
            state="PENDING",
            reason=reason,
            priority=round(priority),
            expected_start_time=_expected(ref, at, reason),
            requested_nodes=_requested_nodes(ref, reason),
        )
        if tasks:
            job = _array(ref, job, tasks)
        detail = PendingDetail(job.job_id, job.display_id, job.expected_start_time, float(round(priority)), parts)
        result.append(Waiting(job, detail))
    return result


def _array(ref: Ref, job: Job, tasks: list[int]) -> Job:
    jobs = ref.epoch.jobs
    lanes = {int(lane) for lane in jobs.lane[(jobs.link == ARRAY) & (jobs.array_id == job.array_job_id)]}
    first, last = tasks[0], tasks[-1]
    text = f"{first}%{len(lanes)}" if first == last else f"{first}-{last}%{len(lanes)}"
    return replace(
        job,
        job_id=job.array_job_id or job.job_id,
        display_id=f"{job.array_job_id}_[{text}]",
        array_task_id=None,
        array_tasks=text,
        array_task_count=len(tasks),
    )


def _requested_nodes(ref: Ref, reason: str) -> str | None:
    if not reason.startswith("ReqNodeNotAvail"):
        return None
    return ",".join(machine.name for machine, _ in lane_of(ref).places)


def _expected(ref: Ref, at: float, reason: str) -> datetime | None:
    """Slurm's own guess: never before the job in the way must end by its time limit. Limits have no such time."""
    jobs, row = ref.epoch.jobs, ref.row
    if reason not in {"Resources", "Priority"}:
        return None
    before = jobs.end[(jobs.lane == jobs.lane[row]) & (jobs.start <= at) & (jobs.end > at)]
    late = 1.0 + 0.8 * unit_of(key_of(int(jobs.key[row])), 73)
    ahead = float(jobs.start[row]) - at
    return utc(at + ahead * (late if len(before) else 1.0) // 60 * 60 + 60)
