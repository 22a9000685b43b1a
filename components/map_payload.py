"""The GPU map as columns of small integers: what the browser draws from, at any size of cluster."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from components.elements import short_model
from components.racks import natural_key, racks
from data.efficiency.mig import slice_profile
from data.metrics.registry import METRICS
from data.model import ClusterSnapshot, Gpu, GpuState, Job, Node, SourceCondition
from settings import RackSettings

STATES = tuple(state.value for state in GpuState)
_STATE_PLACES = {state: place for place, state in enumerate(GpuState)}
RATIOS = ("gpu_utilization", "sm_activity", "tensor_activity")
AMOUNTS = ("power_watts", "temperature_celsius")
MEMORY = ("gpu_memory_used_bytes", "gpu_memory_total_bytes")
MAP_METRICS = (*RATIOS, MEMORY[0], *AMOUNTS)
GAP = "utilization_gap"  # worked out where it is shown, from UTIL and SM
COLOR_METRICS = (*RATIOS[:2], GAP, *MAP_METRICS[2:])
OLD = timedelta(minutes=15)
PER_MILLE, TENTH_GIB = 1000, (1 << 30) / 10
DeviceKey = tuple[str, str, str]


def map_payload(
    snapshot: ClusterSnapshot, shown: Collection[DeviceKey] | None = None, rule: RackSettings | None = None
) -> dict[str, Any]:
    """Columns of nodes and GPUs, in map order. `shown` are the devices that a filter lets through, None = all; `rule`
    says which nodes stand in one rack.

    Ratios are per mille, memory tenths of a GiB, others whole units; None = not measured. Names are plain text.
    Values that are no longer fresh are marked, and after `OLD` they go.
    """
    by_rack = racks(sorted({gpu.device.node for gpu in snapshot.gpus}, key=natural_key), rule)
    names = list(by_rack)
    places = {name: place for place, name in enumerate(names)}
    gpus = sorted(snapshot.gpus, key=lambda gpu: (places[gpu.device.node], *_order_in_node(gpu)))
    columns = _gpu_columns(gpus, places, snapshot.jobs, shown)
    nodes = _node_columns(by_rack, snapshot.nodes, gpus) | {"cards": _cards(columns["gpus"], len(names))}
    return {
        "version": snapshot.version,
        "shape": _shape(nodes, columns),
        "stale": is_stale(snapshot),
        "states": STATES,
        "nodes": nodes,
        "gpus": columns["gpus"],
        "models": columns["models"],
        "notes": _NOTES,
        "values": _values([replace(gpu, values={}) for gpu in gpus] if _is_old(snapshot) else gpus),
        "metrics": _metrics(gpus),
    }


_NOTES = (
    "UTIL says idle, another signal says busy: not judged.",
    "Shared by several jobs.",
    "Known by node only: an estimate.",
)


def is_stale(snapshot: ClusterSnapshot) -> bool:
    """Whether the metrics are failing now, so that the values are those of the last good answer."""
    return any(state.name == "metrics" and state.condition is not SourceCondition.OK for state in snapshot.sources)


def _is_old(snapshot: ClusterSnapshot) -> bool:
    time = snapshot.metrics_time
    return is_stale(snapshot) and time is not None and snapshot.made_at - time > OLD


def _order_in_node(gpu: Gpu) -> tuple[float, tuple[tuple[int, int, str], ...]]:
    device = gpu.device
    index = device.index if device.index is not None else gpu.slurm_index
    return (math.inf if index is None else index, natural_key(device.slice_id) if device.slice_id else ())


def _node_columns(by_rack: Mapping[str, str], nodes: Iterable[Node], gpus: Sequence[Gpu]) -> dict[str, list[str]]:
    known = {node.name: node for node in nodes}
    names = list(by_rack)
    models = {gpu.device.node: _model(gpu) for gpu in reversed(gpus)}
    states: dict[str, set[GpuState]] = {}
    for gpu in gpus:
        states.setdefault(gpu.device.node, set()).add(gpu.state)
    return {
        "name": names,
        "rack": list(by_rack.values()),
        "partition": [_partition(known.get(name)) for name in names],
        "model": [models[name] for name in names],
        "mark": [_mark(states[name]) for name in names],
        "reason": [_reason(known.get(name)) for name in names],
    }


def _cards(gpus: dict[str, list[Any]], nodes: int) -> list[int]:
    """Physical cards by node."""
    found: list[set[int]] = [set() for _ in range(nodes)]
    for node, parent in zip(gpus["node"], gpus["parent"], strict=True):
        found[node].add(parent)
    return [len(cards) for cards in found]


def _model(gpu: Gpu) -> str:
    return short_model(gpu.model) if gpu.model else "model not known"


def _partition(node: Node | None) -> str:
    return ", ".join(node.partitions) if node and node.partitions else "no partition"


def _reason(node: Node | None) -> str:
    if node is None or not node.reason:
        return ""
    return f"{node.state.display}: {node.reason}"


def _mark(states: set[GpuState]) -> str:
    """The state of the node itself: what all of its GPUs have in common."""
    if states == {GpuState.DOWN}:
        return "down"
    if states == {GpuState.DRAINED}:
        return "drained"
    return "silent" if states == {GpuState.UNMEASURED} else ""


def _gpu_columns(
    gpus: Sequence[Gpu], places: dict[str, int], jobs: Iterable[Job], shown: Collection[DeviceKey] | None
) -> dict[str, Any]:
    models = sorted({_model(gpu) for gpu in gpus})
    model_places = {model: place for place, model in enumerate(models)}
    by_id = {job.job_id: job for job in jobs}
    parents: dict[tuple[str, object], int] = {}
    seen = None if shown is None else frozenset(shown)
    columns = {
        "node": [places[gpu.device.node] for gpu in gpus],
        "label": [_label(gpu) for gpu in gpus],
        "parent": [parents.setdefault(_parent(gpu, place), len(parents)) for place, gpu in enumerate(gpus)],
        "slots": [_slots(gpu) for gpu in gpus],
        "slice": [gpu.device.slice_profile or "" for gpu in gpus],
        "state": [_STATE_PLACES[gpu.state] for gpu in gpus],
        "out": [int(seen is not None and gpu.device.key not in seen) for gpu in gpus],
        "model": [model_places[_model(gpu)] for gpu in gpus],
        "job": [_job_ids(gpu, by_id) for gpu in gpus],
        "user": [_users(gpu, by_id) for gpu in gpus],
        "note": [_note(gpu) for gpu in gpus],
    }
    return {"gpus": columns, "models": models}


def _label(gpu: Gpu) -> str:
    index = gpu.device.index if gpu.device.index is not None else gpu.slurm_index
    label = "?" if index is None else str(index)
    return f"{label}/{gpu.device.slice_id}" if gpu.device.slice_id else label


def _parent(gpu: Gpu, place: int) -> tuple[str, object]:
    """The card that a device is part of; a whole GPU, and a slice of an unknown card, is its own."""
    device = gpu.device
    if not device.is_slice or device.index is None:
        return (device.node, f"own {place}")
    return (device.node, device.index)


def _slots(gpu: Gpu) -> int:
    """Compute slices that a MIG slice covers (1 where the profile is not known); 0 = a whole GPU."""
    if not gpu.device.is_slice:
        return 0
    profile = slice_profile(gpu.device.slice_profile, gpu.model)
    return int(profile.split("g", 1)[0]) if profile else 1


def _job_ids(gpu: Gpu, by_id: dict[int, Job]) -> str:
    return ", ".join(by_id[job_id].display_id if job_id in by_id else str(job_id) for job_id in gpu.job_ids)


def _users(gpu: Gpu, by_id: dict[int, Job]) -> str:
    users = {user for job_id in gpu.job_ids if job_id in by_id and (user := by_id[job_id].user)}
    return ", ".join(sorted(users))


def _note(gpu: Gpu) -> int:
    if gpu.signals_disagree:
        return 0
    if gpu.is_shared:
        return 1
    return 2 if gpu.join == "node_estimate" else -1


def _values(gpus: Sequence[Gpu]) -> dict[str, list[int | None]]:
    def column(read: Callable[[Gpu], float | None], per_unit: float) -> list[int | None]:
        return [None if (value := read(gpu)) is None else round(value * per_unit) for gpu in gpus]

    return {
        "gpu_utilization": column(lambda gpu: gpu.utilization, PER_MILLE),
        **{name: column(_reader(name), PER_MILLE) for name in RATIOS[1:]},
        **{name: column(_reader(name), 1 / TENTH_GIB) for name in MEMORY},
        **{name: column(_reader(name), 1) for name in AMOUNTS},
    }


def _reader(name: str) -> Callable[[Gpu], float | None]:
    return lambda gpu: gpu.values.get(name)


def _metrics(gpus: Sequence[Gpu]) -> dict[str, dict[str, object]]:
    """Label, explanation and range of each metric that can color the map."""
    watts = max((gpu.values.get("power_watts", 0.0) for gpu in gpus), default=0.0)
    ranges = {"power_watts": (0, max(100, math.ceil(watts / 100) * 100)), "temperature_celsius": (20, 100)}
    rows: dict[str, dict[str, object]] = {}
    for name in COLOR_METRICS:
        low, high = ranges.get(name, (0, 1))
        is_amount = name in AMOUNTS
        rows[name] = {
            "label": METRICS[name].label,
            "help": METRICS[name].help,
            "unit": {"power_watts": "W", "temperature_celsius": "°C", GAP: "points"}.get(name, "%"),
            "ramp": "mag" if is_amount else "seq",
            "low": low,
            "high": high,
            "scale": 1 if is_amount else 1 / PER_MILLE,
        }
    return rows


def _shape(nodes: dict[str, list[Any]], columns: dict[str, Any]) -> str:
    """Changes when cells come, go or move: only then is the map built anew."""
    gpus = columns["gpus"]
    placed = {key: column for key, column in nodes.items() if key != "reason"}
    parts = (placed, gpus["node"], gpus["label"], gpus["parent"], gpus["slots"])
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
