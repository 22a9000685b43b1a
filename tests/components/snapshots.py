"""Builders of clusters for the tests of components and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from data.model import (
    ClusterSnapshot,
    Device,
    Gpu,
    GpuPool,
    GpuState,
    Job,
    Node,
    NodeState,
    SourceCondition,
    SourceState,
)

NOON = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
IDLE = NodeState("IDLE", (), "IDLE", "idle", True)
GIB = 1 << 30


def node(name: str, **changes: object) -> Node:
    plain = Node("larch", name, IDLE, partitions=("h100",), features=("h100",), gpu_pools=(GpuPool("h100", 8, 0),))
    return replace(plain, **changes)  # type: ignore[arg-type]


def values(utilization: float | None, **more: float) -> Mapping[str, float]:
    if utilization is None:
        return {}
    return {
        "gpu_utilization": utilization,
        "sm_activity": utilization / 2,
        "tensor_activity": utilization / 4,
        "gpu_memory_used_bytes": 40.0 * GIB * utilization,
        "gpu_memory_total_bytes": 80.0 * GIB,
        "power_watts": 80 + 600 * utilization,
        "temperature_celsius": 35 + 40 * utilization,
        **more,
    }


def gpu(
    name: str, index: int, state: GpuState = GpuState.BUSY, utilization: float | None = 0.9, **changes: object
) -> Gpu:
    plain = Gpu(
        Device(name, index=index, uuid=f"gpu-{name}-{index}"),
        "H100",
        state,
        values=values(utilization),
        slurm_index=index,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def job(job_id: int, **changes: object) -> Job:
    plain = Job("larch", job_id, str(job_id), "RUNNING", name="train", user="alice", account="nlp", partition="h100")
    return replace(plain, **changes)  # type: ignore[arg-type]


def source(name: str, condition: SourceCondition = SourceCondition.OK, **changes: object) -> SourceState:
    plain = SourceState(name, "rest", condition, last_success=NOON - timedelta(seconds=12))
    return replace(plain, **changes)  # type: ignore[arg-type]


def snapshot(**changes: object) -> ClusterSnapshot:
    """Two nodes of 8 GPUs: h001 busy, h002 with one of every other state."""
    kinds = [
        (GpuState.IDLE, 0.0),
        (GpuState.UNMEASURED, None),
        (GpuState.FREE, 0.0),
        (GpuState.DRAINED, None),
        (GpuState.DOWN, None),
        (GpuState.HELD_UNKNOWN, None),
        (GpuState.BUSY, 0.004),
        (GpuState.FREE, 0.0),
    ]
    gpus = [gpu("h001", index, job_ids=(48211,)) for index in range(8)]
    gpus += [gpu("h002", index, state, utilization) for index, (state, utilization) in enumerate(kinds)]
    plain = ClusterSnapshot(
        cluster="larch",
        time=NOON,
        made_at=NOON,
        nodes=(node("h001"), node("h002")),
        gpus=tuple(gpus),
        jobs=(job(48211, nodes=("h001",)),),
        sources=(source("slurm"), source("metrics")),
        slurm_time=NOON,
        metrics_time=NOON,
        version="1",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]
