"""One row per node for the table and the tiles: plain values, None = not measured or not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from components.elements import short_model
from components.map_payload import OLD, is_stale
from components.node_words import MARKS, bucket_word
from components.racks import natural_key
from data.device_lines import place_of
from data.model import ClusterSnapshot, Gpu, GpuState, Node
from data.node_rows import NodeRow
from data.queries.node_detail import NodesView
from data.uses import Use

GIB = 1 << 30
STEPS = 9
_CLASSES = {
    GpuState.IDLE: "idle",
    GpuState.FREE: "free",
    GpuState.DRAINED: "drained",
    GpuState.DOWN: "down",
    GpuState.UNMEASURED: "unmeasured",
    GpuState.HELD_UNKNOWN: "unmeasured",
}


def node_rows(found: NodesView) -> list[dict[str, Any]]:
    """Rows in the natural order of names. Shares are percent, memory GiB, power W."""
    gpus = _by_node(found.snapshot)
    without_values, faded = is_old(found.snapshot), is_stale(found.snapshot)
    rows = sorted(found.list.rows, key=lambda row: natural_key(row.node.name))
    return [
        {
            **_slurm(row.node),
            **_use(row.use, gpus.get(row.node.name, []), without_values),
            **_place(row, place),
            "faded": faded,
        }
        for place, row in enumerate(rows)
    ]


def is_old(snapshot: ClusterSnapshot) -> bool:
    """Whether the last good values of the GPUs are too old to be shown."""
    time = snapshot.metrics_time
    return is_stale(snapshot) and time is not None and snapshot.made_at - time > OLD


def order_in_node(gpu: Gpu) -> tuple[float, tuple[tuple[int, int, str], ...]]:
    """Order of the devices of one node: by index, slices by number."""
    index, slice_id = place_of(gpu)
    return (math.inf if index is None else index, natural_key(slice_id))


def _by_node(snapshot: ClusterSnapshot) -> Mapping[str, list[Gpu]]:
    found: dict[str, list[Gpu]] = {}
    for gpu in snapshot.gpus:
        found.setdefault(gpu.device.node, []).append(gpu)
    return found


def _place(row: NodeRow, place: int) -> dict[str, Any]:
    models = [short_model(name) for name in row.models]
    return {
        "id": row.node.name or f"row {place}",
        "order": place,
        "models": ", ".join(models),
        "jobs": row.running_jobs,
    }


def _slurm(node: Node) -> dict[str, Any]:
    mark, tone = MARKS.get(node.state.bucket, ("", ""))
    return {
        "name": node.name,
        "partitions": ", ".join(node.partitions),
        "features": ", ".join(node.features),
        "state": node.state.display,
        "state_word": bucket_word(node.state.bucket),
        "mark": mark,
        "tone": tone,
        "reason": node.reason or "",
        "cpu": _share(node.allocated_cpus, node.cpus),
        "cpus": node.cpus,
        "cpus_allocated": node.allocated_cpus,
        "load": node.cpu_load,
        "memory": _share(node.allocated_memory_bytes, node.memory_bytes),
        "memory_gib": _gib(node.memory_bytes),
        "memory_allocated_gib": _gib(node.allocated_memory_bytes),
    }


def _use(use: Use, gpus: list[Gpu], without_values: bool) -> dict[str, Any]:
    """Counts are of GPUs and slices together, as in the map."""
    total = use.gpus.total + use.slices.total
    if not total:
        return dict.fromkeys(("gpus", "busy", "idle", "free", "utilization", "watts"), None) | {"cells": ""}
    measured = not without_values
    ratio, watts = (use.utilization, use.power_watts) if measured else (None, None)
    knows_use = measured and (use.utilization_devices or not use.held_devices)
    return {
        "gpus": int(total),
        "busy": int(use.gpus.busy + use.slices.busy) if knows_use else None,
        "idle": int(use.gpus.idle + use.slices.idle) if knows_use else None,
        "free": int(use.gpus.free + use.slices.free),
        "utilization": None if ratio is None else round(ratio * 100, 1),
        "measured": use.utilization_devices,
        "held": use.held_devices,
        "watts": None if watts is None else round(watts),
        "cells": " ".join(_cell(gpu, without_values) for gpu in sorted(gpus, key=order_in_node)),
    }


def _cell(gpu: Gpu, without_values: bool) -> str:
    """The class of one cell: a state, or the step of UTIL of a busy one."""
    if gpu.state is not GpuState.BUSY:
        return _CLASSES[gpu.state]
    value = None if without_values else gpu.utilization
    return "unmeasured" if value is None else f"s{min(STEPS, int(value * STEPS) + 1)}"


def _share(part: float | None, whole: float | None) -> float | None:
    return round(part / whole * 100, 1) if part is not None and whole else None


def _gib(count: int | None) -> float | None:
    return None if count is None else round(count / GIB, 1)
