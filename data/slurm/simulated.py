"""The simulated cluster's Slurm: answers like a real one, for now and for any past moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from data.errors import BadRequest
from data.model import Association, GpuPool, Gres, Job, Node, Partition, PendingDetail, Reservation, Rows, SourceHealth
from data.simulation import World
from data.simulation.archetypes import STALLED
from data.simulation.chance import key_of, unit_of, word
from data.simulation.clockwork import DAY, EARLIEST, HOUR, MAINTENANCE_SHOWN, seconds, utc
from data.simulation.describe import jobs_of
from data.simulation.faults import Fault
from data.simulation.hardware import PARTITIONS, Machine
from data.simulation.holdings import Held, free_units, holdings
from data.simulation.queue import queue_at
from data.simulation.runaway import runaway_at
from data.simulation.scripts import script_of
from data.simulation.world import Ref
from data.slurm.attempts import named_by
from data.slurm.job_ids import job_id as read_job_id
from data.slurm.states import node_state

VERSION = "25.05.3"


class SimulatedScheduler:
    """SchedulerSource of the simulated cluster. `clock` is the only source of "now"."""

    kind = "simulated"

    def __init__(self, world: World, clock: Callable[[], datetime]) -> None:
        self._world = world
        self._clock = clock
        self.requests = 0

    def nodes(self, at: datetime | None = None) -> Rows[Node]:
        """All nodes with what is taken on them. Raises BadRequest for a moment ahead of the clock."""
        moment = self._moment(at)
        world = self._world
        held = holdings(world, world.running(moment), moment)
        return Rows(tuple(_node(world, machine, held[machine.name], moment) for machine in world.machines))

    def jobs(self, at: datetime | None = None) -> Rows[Job]:
        """Running, suspended and waiting jobs."""
        moment = self._moment(at)
        running = self._world.running(moment)
        rows = [job for ref in running for job in jobs_of(self._world, ref, moment)]
        rows += [entry.job for entry in queue_at(self._world, moment, running)]
        return Rows(tuple(rows))

    def finished_jobs(self, since: datetime, until: datetime) -> Rows[Job]:
        """Attempts that ended by now, with start < until and end > since; none from before the cluster existed."""
        now = self._moment(None)
        start, end = (max(seconds(edge, must_exist=False), EARLIEST) for edge in (since, until))
        refs = self._world.overlapping(start, min(end, now))
        over = [ref for ref in refs if ref.epoch.jobs.end[ref.row] <= now]
        return Rows(tuple(job for ref in over for job in jobs_of(self._world, ref, now)))

    def stalled_jobs(self, since: datetime, until: datetime) -> tuple[Job, ...]:
        """Ended attempts of the kind that stops working and goes on holding its GPUs, with end in [since, until)."""
        now = self._moment(None)
        start, end = seconds(since, must_exist=False), min(seconds(until, must_exist=False), now)
        refs = [ref for ref in self._world.overlapping(max(start, EARLIEST), end) if _has_stalled(ref, start, end)]
        return tuple(job for ref in refs for job in jobs_of(self._world, ref, now) if job.allocated.gpus)

    def job(self, job_id: str) -> tuple[Job, ...]:
        """All attempts, tasks and components that the id names, newest first."""
        now = self._moment(None)
        wanted = read_job_id(job_id)
        refs = self._world.find(wanted.job)
        started = [ref for ref in refs if ref.epoch.jobs.start[ref.row] <= now]
        found = [job for ref in started for job in jobs_of(self._world, ref, now)]
        if any(ref.epoch.jobs.submit[ref.row] <= now < ref.epoch.jobs.start[ref.row] for ref in refs):
            found += self._waiting_of(refs, now)
        chosen = [job for job in found if named_by(job, wanted)]
        return tuple(sorted(chosen, key=_newest_first))

    def job_script(self, job: Job) -> str | None:
        self._moment(None)
        return script_of(job)

    def partitions(self) -> Rows[Partition]:
        self._moment(None)
        return Rows(tuple(_partition(self._world, row.name) for row in PARTITIONS if _members(self._world, row.name)))

    def associations(self) -> Rows[Association]:
        self._moment(None)
        return Rows(self._world.organization.associations)

    def reservations(self) -> Rows[Reservation]:
        """The maintenance under way and the next one."""
        now = self._moment(None)
        windows = self._world.faults.maintenances(now, now + MAINTENANCE_SHOWN)
        return Rows(tuple(_reservation(self._world, *window) for window in windows))

    def pending_details(self) -> Rows[PendingDetail]:
        now = self._moment(None)
        queue = queue_at(self._world, now, self._world.running(now))
        return Rows(tuple(entry.detail for entry in queue))

    def accounted_running(self) -> Rows[Job]:
        """What runs, and one job whose end accounting never heard of."""
        now = self._moment(None)
        running = [job for ref in self._world.running(now) for job in jobs_of(self._world, ref, now)]
        return Rows((*running, *runaway_at(self._world, now)))

    def health(self) -> SourceHealth:
        self._moment(None)
        return SourceHealth(
            True, VERSION, 0.0, cluster_labels=(self._world.cluster,), notes=("This is the simulated cluster.",)
        )

    def _waiting_of(self, refs: list[Ref], now: float) -> list[Job]:
        keys = {int(ref.epoch.jobs.job_id[ref.row]) for ref in refs}
        keys |= {int(ref.epoch.jobs.array_id[ref.row]) for ref in refs} - {0}
        queue = queue_at(self._world, now, self._world.running(now))
        return [entry.job for entry in queue if entry.job.job_id in keys or entry.job.het_job_id in keys]

    def _moment(self, at: datetime | None) -> float:
        self.requests += 1
        now = self._clock()
        if at is not None and seconds(at) > seconds(now):
            raise BadRequest(f"{at.isoformat()} is in the future", hint="Ask for a moment that has passed.")
        return seconds(now if at is None else at)


def _has_stalled(ref: Ref, start: float, end: float) -> bool:
    rows = ref.epoch.jobs
    return bool(rows.archetype[ref.row] == STALLED and start <= rows.end[ref.row] < end)


def _newest_first(job: Job) -> tuple[float, float, int]:
    submit = job.submit_time.timestamp() if job.submit_time else 0.0
    start = job.start_time.timestamp() if job.start_time else float("inf")
    return (-submit, -start, job.job_id)


def _node(world: World, machine: Machine, held: Held, at: float) -> Node:
    down = _fault(world, "down", machine, at)
    drain = _fault(world, "drain", machine, at)
    fault = down or drain
    noise = unit_of(world.seed, word(machine.name), int(at // 60))
    return Node(
        world.cluster,
        machine.name,
        node_state(_state_words(world, machine, held, at, down, drain)),
        machine.partitions,
        machine.features,
        cpus=machine.cpus,
        allocated_cpus=held.cpus,
        cpu_load=None if down else round(held.load + 0.1 + 0.6 * noise, 2),
        memory_bytes=machine.memory_bytes,
        allocated_memory_bytes=held.memory_bytes,
        free_memory_bytes=None
        if down
        else machine.memory_bytes - held.memory_used_bytes - int((9 + noise) * (1 << 30)),
        gres=_gres(machine, None),
        gres_used=_gres(machine, held),
        gpu_pools=_pools(machine, held),
        gpus_allocated=len(held.units),
        reason=fault.reason if fault else None,
        reason_user=fault.user if fault else None,
        reason_time=utc(fault.start) if fault else None,
        boot_time=utc(_boot(world, machine, at)),
        last_busy_time=utc(at) if held.jobs else None,
        slurm_version=VERSION,
        address=f"{machine.name}.{world.cluster}.example",
    )


def _fault(world: World, kind: str, machine: Machine, at: float) -> Fault | None:
    return next(iter(world.faults.at_node(kind, machine.name, at, at + 0.001)), None)


def _state_words(
    world: World, machine: Machine, held: Held, at: float, down: Fault | None, drain: Fault | None
) -> list[str]:
    full = held.cpus >= machine.cpus or (machine.units and len(held.units) == len(machine.units))
    base = "ALLOCATED" if full else "MIXED" if held.jobs else "IDLE"
    racks = {rack for _, _, _, rack in world.faults.maintenances(at, at + 0.001)} if machine.units else set()
    words = ["DOWN" if down else base]
    words += ["DRAIN"] if drain else []
    words += ["MAINTENANCE", "RESERVED"] if machine.rack in racks else []
    return words + (["NOT_RESPONDING"] if down and down.reason == "Not responding" else [])


def _boot(world: World, machine: Machine, at: float) -> float:
    """The last restart: after the last failure, else some weeks before."""
    ends = [
        fault.end + 300 for fault in world.faults.at_node("down", machine.name, at - 30 * DAY, at) if fault.end < at
    ]
    period = 60 * DAY
    phase = key_of(world.seed, word(machine.name), 81) % period
    return max([(at - phase) // period * period + phase, *ends])


def _gres(machine: Machine, held: Held | None) -> tuple[Gres, ...]:
    """Configured GRES, or the used ones with their indices."""
    rows = []
    for kind in dict.fromkeys(unit.type for unit in machine.units):
        mine = [unit.index for unit in machine.units if unit.type == kind]
        taken = None if held is None else tuple(index for index in mine if index in held.units)
        rows.append(Gres("gpu", kind, len(mine if taken is None else taken), indices=taken))
    if machine.shards_on_last:
        each = machine.shards_on_last
        used = sum(held.shards.values()) if held else each * machine.cards
        per_card = None
        if held is not None:
            per_card = tuple(
                (None if card in held.units else held.shards.get(card, 0), each) for card in range(machine.cards)
            )
        rows.append(Gres("shard", machine.units[0].type, used, shared=per_card))
    return tuple(rows)


def _pools(machine: Machine, held: Held) -> tuple[GpuPool, ...]:
    free = free_units(machine, held)
    pools = []
    for kind in dict.fromkeys(unit.type for unit in machine.units):
        mine = [unit.index for unit in machine.units if unit.type == kind]
        used = tuple(index for index in mine if index in held.units)
        pools.append(GpuPool(kind, len(mine), len(used), used, tuple(free.get(kind, ()))))
    return tuple(pools)


def _members(world: World, name: str) -> tuple[str, ...]:
    return tuple(machine.name for machine in world.machines if name in machine.partitions)


def _partition(world: World, name: str) -> Partition:
    row = next(row for row in PARTITIONS if row.name == name)
    return Partition(
        world.cluster,
        name,
        "UP",
        _members(world, name),
        max_time_seconds=row.hours * HOUR,
        default_time_seconds=row.default_hours * HOUR,
        priority_tier=row.tier,
        allowed_qos=row.qos,
        is_default=row.is_default,
    )


def _reservation(world: World, number: int, start: float, end: float, rack: str) -> Reservation:
    nodes = tuple(machine.name for machine in world.machines if machine.rack == rack and machine.units)
    return Reservation(
        world.cluster,
        f"maint_{rack}_{number}",
        nodes,
        utc(start),
        utc(end),
        ("MAINT", "SPEC_NODES", "IGNORE_JOBS"),
        users=("root",),
        is_maintenance=True,
    )
