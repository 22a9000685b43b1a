"""Evidence of all running GPU jobs from one snapshot and the sums of several windows. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from data.model import ClusterSnapshot, Device, Gpu, Job, JoinMethod, SumsReading, WindowSum
from policy.asks import STAND_INS
from policy.doubts import SIGNALS
from policy.model import DeviceUse, Evidence, WindowUse
from policy.rules import Rule

Alias = tuple[str, str, object, str | None]
DeviceSums = Mapping[tuple[str, float], Sequence[WindowSum]]
"""Sums of one device by (metric, window)."""


@dataclass(frozen=True, slots=True)
class Whole:
    """One job to judge: itself, or a het job whose components are one (`job` is then the leader with all nodes)."""

    job: Job
    parts: tuple[Job, ...]
    gpus: tuple[Gpu, ...]

    @property
    def labels(self) -> frozenset[str]:
        """The job labels under which its samples may stand."""
        return frozenset(label for part in self.parts for label in part.labels)


@dataclass(frozen=True, slots=True)
class Sums:
    """A reading by the devices (their keys) of the snapshot. `fault` says why there is none, in words for everyone;
    `detail` is what the source said of it, for staff."""

    by_device: Mapping[tuple[str, str, str], DeviceSums] = field(default_factory=dict)
    interval_seconds: float | None = None
    restarts: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""
    detail: str = ""

    def of(self, gpu: Gpu) -> DeviceSums:
        return self.by_device.get(gpu.device.key, {})


def running_jobs(snapshot: ClusterSnapshot) -> list[Whole]:
    """The running jobs with GPUs, or whose GPU count is not known while they hold some; het jobs once."""
    held: dict[int, list[Gpu]] = defaultdict(list)
    for gpu in snapshot.gpus:
        for job_id in gpu.job_ids:
            held[job_id].append(gpu)
    families: dict[int, list[Job]] = defaultdict(list)
    found = []
    for job in snapshot.jobs:
        if job.het_job_id is not None:
            families[job.het_job_id].append(job)
        elif job.is_running and _has_gpus(job, held):
            found.append(Whole(job, (job,), tuple(held.get(job.job_id, ()))))
    for parts in families.values():
        whole = _family(parts, held)
        if whole is not None:
            found.append(whole)
    return found


def _has_gpus(job: Job, held: Mapping[int, Sequence[Gpu]]) -> bool:
    return bool(job.allocated.gpus) or (job.allocated.gpus is None and bool(held.get(job.job_id)))


def _family(parts: Sequence[Job], held: Mapping[int, Sequence[Gpu]]) -> Whole | None:
    """A het job as one, by its leader; None unless all components run."""
    leader = next((part for part in parts if part.het_offset == 0), None)
    if leader is None or not all(part.is_running for part in parts):
        return None
    if not any(_has_gpus(part, held) for part in parts):
        return None
    counts = [part.allocated.gpus for part in parts]
    types: dict[str, int] = defaultdict(int)
    for part in parts:
        for name, count in part.allocated.gpus_by_type.items():
            types[name] += count
    total = None if None in counts else sum(count or 0 for count in counts)
    whole = replace(
        leader,
        nodes=tuple(dict.fromkeys(node for part in parts for node in part.nodes)),
        allocated=replace(leader.allocated, gpus=total, gpus_by_type=dict(types)),
        devices=tuple(share for part in parts for share in part.devices),
    )
    return Whole(whole, tuple(parts), tuple(gpu for part in parts for gpu in held.get(part.job_id, ())))


def sums_of(gpus: Sequence[Gpu], reading: SumsReading) -> Sums:
    """Sort the sums of a reading by the devices of the snapshot; those of strangers are left out."""
    known: dict[Alias, tuple[str, str, str]] = {}
    for gpu in gpus:
        for alias in _aliases(gpu.device):
            known.setdefault(alias, gpu.device.key)
    found: dict[tuple[str, str, str], dict[tuple[str, float], list[WindowSum]]] = {}
    for one in reading.sums:
        key = next((known[alias] for alias in _aliases(one.device) if alias in known), None)
        if key is not None:
            found.setdefault(key, {}).setdefault((one.metric, one.window_seconds), []).append(one)
    return Sums(found, reading.interval_seconds, reading.restarts)


def _aliases(device: Device) -> list[Alias]:
    names = (("uuid", device.uuid), ("bus", device.bus_id), ("index", device.index))
    return [(kind, device.node, name, device.slice_id) for kind, name in names if name is not None]


def disagreeing_jobs(snapshot: ClusterSnapshot) -> frozenset[int]:
    """Raw ids of jobs of which exporter and Slurm tell different devices or nodes."""
    notes = (note for note in snapshot.notes if note.kind == "mapping_disagrees")
    return frozenset(job_id for note in notes for job_id in note.job_ids)


def evidence_of(whole: Whole, rules: Sequence[Rule], sums: Sums, disagreeing: frozenset[int] = frozenset()) -> Evidence:
    """What the first reading says of one job."""
    job, gpus, labels = whole.job, whole.gpus, whole.labels
    return Evidence(
        job=job,
        gpu_count=job.allocated.gpus,
        devices=devices_of(whole, rules, sums),
        by_node=_by_node(job),
        interval_seconds=sums.interval_seconds,
        is_estimate=any(gpu.join in (JoinMethod.NODE_ESTIMATE, None) for gpu in gpus),
        is_shared=any(gpu.is_shared or _has_others(sums.of(gpu), labels, sums.interval_seconds) for gpu in gpus),
        disagrees=any(part.job_id in disagreeing for part in whole.parts),
        memory_share=_memory_share(gpus),
        fault=sums.fault,
    )


def devices_of(whole: Whole, rules: Sequence[Rule], sums: Sums) -> tuple[DeviceUse, ...]:
    """What a reading says of each device of a job: the rules' metrics, and what else was asked for as a signal."""
    labels = whole.labels
    keys = sorted({(rule.metric, window) for rule in rules for window in rule.windows})
    return tuple(_device(gpu, keys, sums.of(gpu), labels) for gpu in whole.gpus)


def _signals(sums: DeviceSums) -> dict[float, dict[str, float]]:
    """Means by window and metric; of several jobs' rows of one device the largest."""
    found: dict[float, dict[str, float]] = defaultdict(dict)
    for (metric, window), rows in sums.items():
        means = [row.sum / row.count for row in rows if row.sum is not None and row.count]
        if means and metric in SIGNALS:
            found[window][metric] = max(means)
    return dict(found)


def _device(gpu: Gpu, keys: Sequence[tuple[str, float]], sums: DeviceSums, labels: frozenset[str]) -> DeviceUse:
    uses: dict[tuple[str, float], WindowUse] = {}
    for metric, window in keys:
        row = _own(sums, metric, window, gpu.device.is_slice, labels)
        if row is not None:
            uses[metric, window] = WindowUse(window, row.count, row.sum or 0.0, row.minimum, row.maximum)
    device = gpu.device
    model = gpu.model or device.model
    return DeviceUse(device.node, device.label, uses, _signals(sums), model, device.is_slice, gpu.weight)


def _own(sums: DeviceSums, metric: str, window: float, is_slice: bool, labels: frozenset[str]) -> WindowSum | None:
    """The sums of a device under the job's own label, or without any; GR where UTIL is not given.

    Rows under the labels of others are theirs: a device that only they name is not measured for this job.
    """
    names = [metric, STAND_INS[metric]] if metric in STAND_INS else [metric]
    for name in names[-1:] if is_slice else names:
        rows = sums.get((name, window), ())
        own = [row for row in rows if row.job_label in labels] or [row for row in rows if row.job_label is None]
        if own:
            return max(own, key=lambda row: row.count)
    return None


def _has_others(sums: DeviceSums, labels: frozenset[str], interval: float | None) -> bool:
    """Whether a device had samples of this and of another job at the same time: more than fit one after the other."""
    for (_, window), rows in sums.items():
        own = max((row.count for row in rows if row.job_label in labels), default=0)
        others = sum(row.count for row in rows if row.job_label is not None and row.job_label not in labels)
        if own and others and interval and own + others > window / interval * 1.05 + 2:
            return True
    return False


def _by_node(job: Job) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for part in job.devices:
        if part.gpu_count is None:
            return {}
        counts[part.node] += part.gpu_count
    return {node: count for node, count in counts.items() if count}


def _memory_share(gpus: Sequence[Gpu]) -> float | None:
    """Used of total GPU memory now; None unless every device is measured."""
    used = [gpu.values.get("gpu_memory_used_bytes") for gpu in gpus]
    total = [gpu.values.get("gpu_memory_total_bytes") for gpu in gpus]
    if not gpus or None in used or None in total:
        return None
    whole = sum(value or 0.0 for value in total)
    return sum(value or 0.0 for value in used) / whole if whole > 0 else None
