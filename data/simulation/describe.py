"""Turn one attempt of the simulation into the `Job` that Slurm would show of it at a given instant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from data.model import ExitCode, Job, JobUsage, NodeDevices, Tres
from data.simulation import campaigns
from data.simulation.archetypes import ARCHETYPES, NOTEBOOK
from data.simulation.campaigns import STATES
from data.simulation.chance import key_of, pick, unit_of
from data.simulation.clockwork import HOUR, utc
from data.simulation.layout import Lane
from data.simulation.organization import User
from data.simulation.world import CLUSTER, Ref, World, has_companion

REMEMBERED = 300.0  # slurmctld's MinJobAge: how long it knows a finished job's devices
_REASONS = {
    campaigns.FAILED: "NonZeroExitCode",
    campaigns.TIMEOUT: "TimeLimit",
    campaigns.OUT_OF_MEMORY: "OutOfMemory",
    campaigns.NODE_FAIL: "NodeDown",
}


@dataclass(frozen=True, slots=True)
class Share:
    """What a job holds on each of its nodes, and what it uses of that."""

    cores: int
    memory_bytes: int
    cpu_use: float
    memory_used_bytes: int


COMPANION_SHARE = Share(8, 32 << 30, 0.7, 12 << 30)  # what the CPU part of a het job holds


def owner_of(world: World, ref: Ref) -> User:
    """The campaign's user: a few people run most of the work."""
    roll = unit_of(int(ref.epoch.jobs.owner[ref.row]), 61) ** 1.7
    users = world.organization.users
    return users[int(roll * len(users))]


def lane_of(ref: Ref) -> Lane:
    return ref.epoch.lanes[int(ref.epoch.jobs.lane[ref.row])]


def share_of(ref: Ref) -> Share:
    jobs, row = ref.epoch.jobs, ref.row
    return Share(int(jobs.cores[row]), int(jobs.memory[row]), float(jobs.cpu_use[row]), int(jobs.memory_used[row]))


def partition_of(ref: Ref) -> tuple[str, str]:
    """(partition, QOS) of the job; one campaign keeps to one partition."""
    jobs, row, lane = ref.epoch.jobs, ref.row, lane_of(ref)
    family = lane.places[0][0].family
    roll = unit_of(int(jobs.owner[row]), 62)
    if family in {"c", "m"}:
        return ("cpu" if family == "c" else "mig", "normal")
    if jobs.limit[row] > 48 * HOUR:
        return ("gpu-long", "long")
    if jobs.archetype[row] == NOTEBOOK:
        return ("interactive", "interactive") if family == "a" else ("gpu", "interactive")
    if roll < 0.07 and lane.kind in {"single", "part"}:
        return ("preempt", "preempt")
    return ("a100" if family == "a" else "gpu", "high" if roll > 0.92 else "normal")


def jobs_of(world: World, ref: Ref, now: float) -> list[Job]:
    """The job as Slurm shows it at `now`, with its het component if it has one. Nothing of its future is in it."""
    leader = _job(world, ref, now)
    if not has_companion(ref):
        return [leader]
    leader = replace(leader, het_job_id=leader.job_id, het_offset=0, display_id=f"{leader.job_id}+0")
    return [leader, _component(ref, leader, now)]


def _job(world: World, ref: Ref, now: float) -> Job:
    jobs, row = ref.epoch.jobs, ref.row
    user, share, lane = owner_of(world, ref), share_of(ref), lane_of(ref)
    archetype = ARCHETYPES[int(jobs.archetype[row])]
    partition, qos = partition_of(ref)
    name = archetype.job_names[pick(len(archetype.job_names), int(jobs.owner[row]), 63)]
    job_id, array_id, task = int(jobs.job_id[row]), int(jobs.array_id[row]) or None, int(jobs.task[row])
    tres = _tres(lane, share)
    project = f"/home/{user.name}/{name}"
    facts: dict[str, Any] = {
        "cluster": CLUSTER,
        "job_id": job_id,
        "display_id": f"{array_id}_{task}" if array_id else str(job_id),
        "state": "PENDING",
        "name": name,
        "user": user.name,
        "user_id": user.uid,
        "account": user.account,
        "partition": partition,
        "qos": qos,
        "array_job_id": array_id,
        "array_task_id": task if array_id else None,
        "submit_time": utc(float(jobs.submit[row])),
        "eligible_time": utc(float(jobs.eligible[row])),
        "time_limit_seconds": float(jobs.limit[row]),
        "restart_count": int(jobs.restarts[row]),
        "requested": tres,
        "requested_memory_per": "node",
        "is_batch": archetype.is_batch,
        "command": f"{project}/run.sh" if archetype.is_batch else None,
        "working_directory": project,
        "dependency": _dependency(ref, now),
    }
    if jobs.start[row] <= now:
        _start(ref, facts, share, now)
    return Job(**facts)


def _start(ref: Ref, facts: dict[str, Any], share: Share, now: float) -> None:
    """Fill in what is known once a job has started."""
    jobs, row, lane = ref.epoch.jobs, ref.row, lane_of(ref)
    start, end = float(jobs.start[row]), float(jobs.end[row])
    is_over = end <= now
    known = now < end + REMEMBERED and not (is_over and bool((jobs.origin == row).any()))
    suspended = suspended_before(ref, now)
    facts |= {
        "state": "RUNNING",
        "start_time": utc(start),
        "nodes": tuple(machine.name for machine, _ in lane.places),
        "allocated": facts["requested"],
        "devices": _devices(lane, share, known=known),
        "elapsed_seconds": min(end, now) - start - suspended,
        "suspended_seconds": suspended,
        "dependency": None,
    }
    if is_over:
        _end(ref, facts, share)
        return
    facts["priority"] = 4000 + key_of(int(jobs.key[row])) % 2000
    if jobs.suspend_from[row] <= now < jobs.suspend_to[row]:
        since = utc(float(jobs.suspend_from[row]))
        facts |= {"state": "SUSPENDED", "suspend_time": since, "suspended_seconds": 0.0}
    elif suspended > 0:
        facts["resumed_time"] = utc(float(jobs.suspend_to[row]))


def _end(ref: Ref, facts: dict[str, Any], share: Share) -> None:
    """Fill in what is known once a job is over."""
    jobs, row = ref.epoch.jobs, ref.row
    state = int(jobs.state[row])
    if state == campaigns.REQUEUED and facts["partition"] == "preempt":
        state = campaigns.PREEMPTED
    elapsed = facts["elapsed_seconds"]
    cpu = round(share.cpu_use * share.cores * elapsed * len(facts["nodes"]), 3)
    facts |= {
        "state": STATES[state],
        "end_time": utc(float(jobs.end[row])),
        "exit_code": _exit_code(state, int(jobs.key[row])),
        "reason": _REASONS.get(state),
        "cancelled_by": str(facts["user_id"]) if state == campaigns.CANCELLED else None,
        "usage": JobUsage(cpu_seconds=cpu, memory_used_bytes=share.memory_used_bytes) if elapsed >= 30 else JobUsage(),
    }


def suspended_before(ref: Ref, now: float) -> float:
    """Seconds that the job had been suspended up to `now`."""
    jobs, row = ref.epoch.jobs, ref.row
    return max(0.0, min(now, float(jobs.suspend_to[row])) - float(jobs.suspend_from[row]))


def _exit_code(state: int, key: int) -> ExitCode:
    if state == campaigns.FAILED:
        if unit_of(key, 64) < 0.2:
            return ExitCode("SIGNALED", 0, (9, 11, 6)[pick(3, key, 65)])
        return ExitCode("ERROR", (1, 1, 1, 2, 134, 137)[pick(6, key, 65)])
    if state == campaigns.OUT_OF_MEMORY:
        return ExitCode("SIGNALED", 0, 125)
    return ExitCode("SIGNALED", 0, 15) if state == campaigns.CANCELLED else ExitCode("SUCCESS", 0)


def _dependency(ref: Ref, now: float) -> str | None:
    jobs, row = ref.epoch.jobs, ref.row
    before = int(jobs.previous[row])
    if before < 0 or jobs.end[before] <= now:
        return None
    return f"afterok:{int(jobs.job_id[before])}(unfulfilled)"


def _tres(lane: Lane, share: Share) -> Tres:
    nodes = len(lane.places)
    types: dict[str, int] = {}
    if lane.kind == "shard":
        return Tres(share.cores, share.memory_bytes, 1, float(share.cores), gpus=0, shards=1)
    for machine, indices in lane.places:
        for index in indices:
            kind = machine.units[index].type
            types[kind] = types.get(kind, 0) + 1
    total = sum(types.values())
    return Tres(share.cores * nodes, share.memory_bytes * nodes, nodes, float(share.cores * nodes), total, types)


def _devices(lane: Lane, share: Share, *, known: bool) -> tuple[NodeDevices, ...]:
    rows = []
    for machine, indices in lane.places:
        if lane.kind == "shard" or not indices:
            shards = len(indices)
            rows.append(NodeDevices(machine.name, 0, (), None, share.cores, share.memory_bytes, shards))
            continue
        kind, seen = machine.units[indices[0]].type, indices if known else None
        rows.append(NodeDevices(machine.name, len(indices), seen, kind, share.cores, share.memory_bytes))
    return tuple(rows)


def _component(ref: Ref, leader: Job, now: float) -> Job:
    """The CPU part of a het job on the group's own CPU node, with the next raw id."""
    machine = ref.epoch.group.companion
    assert machine is not None
    share = COMPANION_SHARE
    tres = Tres(share.cores, share.memory_bytes, 1, float(share.cores), 0)
    part = replace(
        leader,
        job_id=leader.job_id + 1,
        display_id=f"{leader.job_id}+1",
        het_offset=1,
        partition="cpu",
        qos="normal",
        requested=tres,
    )
    if leader.start_time is None:
        return part
    held = NodeDevices(machine.name, 0, (), None, share.cores, share.memory_bytes)
    usage = JobUsage()
    if leader.end_time is not None and (leader.elapsed_seconds or 0) >= 30:
        usage = JobUsage(share.cpu_use * share.cores * (leader.elapsed_seconds or 0), share.memory_used_bytes)
    return replace(part, nodes=(machine.name,), allocated=tres, devices=(held,), usage=usage)
