"""The GPU map as columns of small integers: what the browser draws from, at any size of cluster."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from components.map_columns import (
    AMOUNTS,
    MEMORY,
    NOTES,
    PER_MILLE,
    RATIOS,
    VERDICTS,
    DeviceKey,
    gpu_columns,
    measured,
    model_word,
    small,
)
from components.racks import natural_key, racks
from data.gpu_columns import Floats, places
from data.metrics.registry import METRICS
from data.model import ClusterSnapshot, Gpu, GpuState, Node, SourceCondition
from settings import RackSettings

STATES = tuple(state.value for state in GpuState)
MAP_METRICS = (*RATIOS, MEMORY[0], *AMOUNTS)
GAP = "utilization_gap"  # worked out where it is shown, from UTIL and SM
COLOR_METRICS = (*RATIOS[:2], GAP, *MAP_METRICS[2:])
OLD = timedelta(minutes=15)


def map_payload(
    snapshot: ClusterSnapshot,
    shown: Collection[DeviceKey] | None = None,
    rule: RackSettings | None = None,
    verdicts: Mapping[int, str] | None = None,
    *,
    is_judging: bool = False,
) -> dict[str, Any]:
    """Columns of nodes and GPUs, in map order. `shown` are the devices that a filter lets through, None = all; `rule`
    says which nodes stand in one rack; `verdicts` are those of jobs by raw id, with newer ones to come `is_judging`.

    Ratios are per mille, memory tenths of a GiB, others whole units; None = not measured. Names are plain text.
    Values that are no longer fresh are marked, and after `OLD` they go.
    """
    by_rack = racks(sorted({gpu.device.node for gpu in snapshot.gpus}, key=natural_key), rule)
    node, gpus = _in_order(snapshot.gpus, by_rack)
    columns = gpu_columns(gpus, node, snapshot.jobs, shown, verdicts)
    model, models = _models(columns["model"])
    nodes = _node_columns(by_rack, snapshot.nodes, node, gpus) | {"cards": _cards(columns, len(by_rack))}
    values = measured(gpus)
    return {
        "version": snapshot.version,
        "shape": _shape(nodes, columns),
        "stale": bool(failing_sources(snapshot)),
        "states": STATES,
        "verdicts": VERDICTS,
        "judging": is_judging,
        "nodes": nodes,
        "gpus": columns | {"model": model},
        "models": models,
        "notes": NOTES,
        "values": small({name: one * np.nan for name, one in values.items()} if _is_old(snapshot) else values),
        "metrics": _metrics(values["power_watts"]),
    }


def failing_sources(snapshot: ClusterSnapshot) -> frozenset[str]:
    """The names of the sources that do not answer now; a past moment shows what was asked for it."""
    if snapshot.is_past:
        return frozenset()
    return frozenset(state.name for state in snapshot.sources if state.condition is not SourceCondition.OK)


def is_stale(snapshot: ClusterSnapshot) -> bool:
    """Whether the metrics are failing now, so that the values are those of the last good answer."""
    return any(state.name == "metrics" and state.condition is not SourceCondition.OK for state in snapshot.sources)


def _is_old(snapshot: ClusterSnapshot) -> bool:
    time = snapshot.metrics_time
    return is_stale(snapshot) and time is not None and snapshot.made_at - time > OLD


def _in_order(found: Sequence[Gpu], names: Iterable[str]) -> tuple[list[int], list[Gpu]]:
    """The place of each GPU's node among the names, and the GPU, in map order."""
    place = {name: number for number, name in enumerate(names)}
    keys = [(place[gpu.device.node], *_order_in_node(gpu)) for gpu in found]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [keys[number][0] for number in order], [found[number] for number in order]


def _order_in_node(gpu: Gpu) -> tuple[float, tuple[tuple[int, int, str], ...]]:
    device = gpu.device
    index = device.index if device.index is not None else gpu.slurm_index
    return (math.inf if index is None else index, natural_key(device.slice_id) if device.slice_id else ())


def _models(named: Sequence[str | None]) -> tuple[list[int], list[str]]:
    """The place of each GPU's model, and the sorted models."""
    place, found = places(named)
    words = [model_word(name) for name in found]
    models = sorted(set(words))
    return np.array([models.index(word) for word in words], np.int64)[place].tolist(), models


def _node_columns(
    by_rack: Mapping[str, str], nodes: Iterable[Node], node: Sequence[int], gpus: Sequence[Gpu]
) -> dict[str, list[Any]]:
    known = {one.name: one for one in nodes}
    names = list(by_rack)
    models: dict[int, str | None] = {}
    states: list[set[GpuState]] = [set() for _ in names]
    for place, gpu in zip(node, gpus, strict=True):
        models.setdefault(place, gpu.model)
        states[place].add(gpu.state)
    return {
        "name": names,
        "rack": list(by_rack.values()),
        "partition": [_partition(known.get(name)) for name in names],
        "model": [model_word(models[place]) for place in range(len(names))],
        "mark": [_mark(found) for found in states],
        "reason": [_reason(known.get(name)) for name in names],
    }


def _cards(gpus: Mapping[str, list[Any]], nodes: int) -> list[int]:
    """Physical cards by node."""
    _, first = np.unique(np.array(gpus["parent"], np.int64), return_index=True)
    return list(np.bincount(np.array(gpus["node"], np.int64)[first], minlength=nodes).tolist())


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


def _metrics(power: Floats) -> dict[str, dict[str, object]]:
    """Label, explanation and range of each metric that can color the map."""
    watts = float(np.fmax.reduce(power, initial=0.0))
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


def _shape(nodes: Mapping[str, list[Any]], gpus: Mapping[str, list[Any]]) -> str:
    """Changes when cells come, go or move: only then is the map built anew."""
    placed = {key: column for key, column in nodes.items() if key != "reason"}
    text = repr((placed, gpus["label"])).encode("utf-8", "replace")
    numbers = np.array([gpus["node"], gpus["parent"], gpus["slots"]], np.int64)
    return hashlib.blake2b(text + numbers.tobytes(), digest_size=8).hexdigest()
