"""Counts of a snapshot, with what each mean and sum rests on. Pure; of one snapshot, so that all add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from data.collection import without_collection
from data.model import ClusterSnapshot, Gpu, GpuState, Job

HELD = frozenset({GpuState.BUSY, GpuState.IDLE, GpuState.UNMEASURED})


@dataclass(frozen=True, slots=True)
class Counts:
    """Devices by state; the states and `elsewhere` add up to `total`. Whole numbers, except for weighted counts.

    `unknown`: Slurm does not say whether they are held. `elsewhere`: in the numbers of a partition, held by jobs of
    other partitions. `shared` are held devices with more than one job (already in the states).
    """

    total: float = 0
    busy: float = 0
    idle: float = 0
    unmeasured: float = 0
    unknown: float = 0
    free: float = 0
    drained: float = 0
    down: float = 0
    elsewhere: float = 0
    shared: float = 0

    @property
    def allocated(self) -> float:
        """Held by jobs: busy, idle and not measured."""
        return self.busy + self.idle + self.unmeasured


@dataclass(frozen=True, slots=True)
class Use:
    """The numbers of one set of devices. None = nothing of it was measured.

    `utilization` is the mean over the `utilization_devices` held devices whose signals can be trusted, of
    `held_devices`; a slice weighs its share of a whole GPU. `power_watts` is the sum over `power_cards` measured cards
    of `cards`; each card counts once, however many slices it is cut into.
    """

    gpus: Counts = Counts()
    slices: Counts = Counts()
    weighted: Counts = Counts()
    utilization: float | None = None
    utilization_devices: int = 0
    held_devices: int = 0
    power_watts: float | None = None
    power_cards: int = 0
    cards: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """Jobs by what they do. `gpus_requested` are those of pending jobs, arrays counted by task;
    `requests_unknown` pending jobs do not say how many GPUs they ask for."""

    running: int = 0
    suspended: int = 0
    pending: int = 0
    gpus_requested: int = 0
    requests_unknown: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """One partition or model."""

    name: str
    nodes: int
    use: Use
    queue: Queue


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole of a snapshot. `by_state` counts GPUs and slices alike, `nodes_by_state` nodes by bucket."""

    nodes: int
    nodes_by_state: Mapping[str, int]
    use: Use
    queue: Queue
    by_state: Mapping[GpuState, int] = field(default_factory=dict)
    by_partition: tuple[Group, ...] = ()
    by_model: tuple[Group, ...] = ()


def totals(snapshot: ClusterSnapshot) -> Totals:
    """Count everything once for the cluster, and by partition and model.

    A node of three partitions counts once in the cluster and in each of its partitions; what is held counts in the
    partition of its job.
    """
    with without_collection():
        return Totals(
            nodes=len(snapshot.nodes),
            nodes_by_state=dict(Counter(node.state.bucket for node in snapshot.nodes)),
            use=use_of(snapshot.gpus),
            queue=queue_of(snapshot.jobs),
            by_state={state: sum(gpu.state is state for gpu in snapshot.gpus) for state in GpuState},
            by_partition=_by_partition(snapshot),
            by_model=_by_model(snapshot),
        )


def use_of(gpus: Iterable[Gpu], is_elsewhere: Callable[[Gpu], bool] = lambda gpu: False) -> Use:
    """Count devices, their mean utilization and the power of their cards."""
    rows = [(gpu, is_elsewhere(gpu)) for gpu in gpus]
    whole = [row for row in rows if not row[0].device.is_slice]
    slices = [row for row in rows if row[0].device.is_slice]
    held = [gpu for gpu, elsewhere in rows if gpu.state in HELD and not elsewhere]
    measured = [(gpu.utilization, gpu.weight) for gpu in held if gpu.state is not GpuState.UNMEASURED]
    values = [(value, weight) for value, weight in measured if value is not None]
    weight = sum(weight for _, weight in values)
    cards = _cards(gpu for gpu, _ in rows)
    watts = [value for value in cards.values() if value is not None]
    return Use(
        gpus=_counts(whole),
        slices=_counts(slices),
        weighted=_counts(rows, lambda gpu: gpu.weight) if slices else _counts(whole),
        utilization=sum(value * weight for value, weight in values) / weight if weight else None,
        utilization_devices=len(values),
        held_devices=len(held),
        power_watts=sum(watts) if watts else None,
        power_cards=len(watts),
        cards=len(cards),
    )


def queue_of(jobs: Iterable[Job]) -> Queue:
    """Count jobs; a pending array counts its tasks."""
    running = suspended = pending = asked = unknown = 0
    for job in jobs:
        if job.state == "PENDING":
            tasks = max(1, job.array_task_count)
            pending += tasks
            unknown += tasks if job.requested.gpus is None else 0
            asked += (job.requested.gpus or 0) * tasks
        elif job.state == "SUSPENDED":
            suspended += 1
        else:
            running += 1
    return Queue(running, suspended, pending, asked, unknown)


def _counts(rows: list[tuple[Gpu, bool]], weight: Callable[[Gpu], float] | None = None) -> Counts:
    """One by one without a `weight`: C counts faster than a loop, and this runs over every GPU of the cluster."""
    shared = [gpu for gpu, elsewhere in rows if gpu.is_shared and gpu.state in HELD and not elsewhere]
    if weight is None:
        states: Mapping[str, float] = Counter("elsewhere" if elsewhere else gpu.state for gpu, elsewhere in rows)
        return Counts(total=len(rows), shared=len(shared), **states)
    found: dict[str, float] = {}
    for gpu, elsewhere in rows:
        state = "elsewhere" if elsewhere else gpu.state
        found[state] = found.get(state, 0) + weight(gpu)
    return Counts(total=sum(found.values()), shared=sum(map(weight, shared)), **found)


def _cards(gpus: Iterable[Gpu]) -> dict[tuple[str, object], float | None]:
    """Watts by physical card; the slices of one card share its number, None = not measured."""
    cards: dict[tuple[str, object], float | None] = {}
    for gpu in gpus:
        device = gpu.device
        key: object = gpu.slurm_index
        if device.is_slice:
            key = ("card", device.index) if device.index is not None else ("card", device.uuid or device.bus_id)
        watts = gpu.values.get("power_watts")
        known = cards.get((device.node, key))
        cards[(device.node, key)] = watts if known is None else max(known, watts or 0.0)
    return cards


def _by_partition(snapshot: ClusterSnapshot) -> tuple[Group, ...]:
    names = {name for node in snapshot.nodes for name in node.partitions}
    names |= {job.partition for job in snapshot.jobs if job.partition and "," not in job.partition}
    partition_of = {job.job_id: job.partition for job in snapshot.jobs}
    by_node: dict[str, list[Gpu]] = {}
    for gpu in snapshot.gpus:
        by_node.setdefault(gpu.device.node, []).append(gpu)
    jobs: dict[str, list[Job]] = {}
    for job in snapshot.jobs:
        for name in job.partition.split(","):
            jobs.setdefault(name, []).append(job)
    groups = []
    for name in sorted(names):
        nodes = [node for node in snapshot.nodes if name in node.partitions]
        gpus = [gpu for node in nodes for gpu in by_node.get(node.name, ())]
        use = use_of(gpus, _held_elsewhere(name, partition_of))
        groups.append(Group(name, len(nodes), use, queue_of(jobs.get(name, ()))))
    return tuple(groups)


def _held_elsewhere(name: str, partition_of: Mapping[int, str]) -> Callable[[Gpu], bool]:
    def is_elsewhere(gpu: Gpu) -> bool:
        known = [partition_of[job_id] for job_id in gpu.job_ids if job_id in partition_of]
        return bool(known) and name not in known

    return is_elsewhere


def _by_model(snapshot: ClusterSnapshot) -> tuple[Group, ...]:
    models: dict[str, list[Gpu]] = {}
    for gpu in snapshot.gpus:
        models.setdefault(model_name(gpu), []).append(gpu)
    running = {job.job_id: job for job in snapshot.jobs}
    groups = []
    for name in sorted(models):
        gpus = models[name]
        held_by = {job_id for gpu in gpus for job_id in gpu.job_ids if job_id in running}
        queue = queue_of(running[job_id] for job_id in held_by)
        groups.append(Group(name, len({gpu.device.node for gpu in gpus}), use_of(gpus), queue))
    return tuple(groups)


def model_name(gpu: Gpu) -> str:
    """The name that GPUs of a kind are grouped and filtered by: the model, and the profile of a slice."""
    model = gpu.model or "unknown model"
    return f"{model} {gpu.device.slice_profile}" if gpu.device.slice_profile else model
