"""The cluster of one moment as a row of `snapshots/`, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from data.model import ClusterSnapshot, Gpu, GpuPool, Gres, Job, Node, NodeState, Tres

Row = Mapping[str, Any]
_SAME_JOB = (
    "job_id",
    "display_id",
    "state",
    "name",
    "user",
    "account",
    "partition",
    "qos",
    "reason",
    "array_job_id",
    "array_task_id",
    "array_tasks",
    "array_task_count",
    "het_job_id",
    "het_offset",
    "submit_time",
    "eligible_time",
    "start_time",
    "expected_start_time",
    "suspend_time",
    "suspended_seconds",
    "time_limit_seconds",
    "restart_count",
    "priority",
)
_SAME_NODE = (
    "name",
    "reason",
    "reason_user",
    "reason_time",
    "cpus",
    "allocated_cpus",
    "memory_bytes",
    "allocated_memory_bytes",
    "gpus_allocated",
)


def snapshot_row(snapshot: ClusterSnapshot) -> dict[str, Any]:
    """One row. Host addresses, folders, comments and commands stay out of it."""
    return {
        "cluster": snapshot.cluster,
        "time": snapshot.time,
        "nodes": [_node_row(node) for node in snapshot.nodes],
        "jobs": [_job_row(job) for job in snapshot.jobs],
        "devices": [_device_row(gpu) for gpu in snapshot.gpus],
    }


def recorded_nodes(row: Row) -> tuple[Node, ...] | None:
    """Nodes with their states, reasons and hardware; what was taken on them belongs to the row's time and is left out.

    None = the row does not say.
    """
    found = row.get("nodes")
    return None if found is None else tuple(_node(row["cluster"], one) for one in found)


def recorded_jobs(row: Row) -> tuple[Job, ...] | None:
    found = row.get("jobs")
    return None if found is None else tuple(_job(row["cluster"], one) for one in found)


def _node_row(node: Node) -> dict[str, Any]:
    return {name: getattr(node, name) for name in _SAME_NODE} | {
        "state": node.state.base,
        "state_flags": node.state.flags,
        "state_display": node.state.display,
        "state_bucket": node.state.bucket,
        "is_schedulable": node.state.schedulable,
        "partitions": node.partitions,
        "features": node.features,
        "gres": [{"name": one.name, "type": one.type, "count": one.count, "indices": one.indices} for one in node.gres],
        "gpu_pools": [
            {
                "type": pool.type,
                "total": pool.total,
                "used": pool.used,
                "used_indices": pool.used_indices,
                "free_indices": pool.free_indices,
            }
            for pool in node.gpu_pools
        ],
    }


def _node(cluster: str, row: Row) -> Node:
    state = NodeState(
        row["state"] or "UNKNOWN",
        _texts(row["state_flags"]),
        row["state_display"] or "UNKNOWN",
        row["state_bucket"] or "unknown",
        bool(row["is_schedulable"]),
    )
    return Node(
        cluster=cluster,
        name=row["name"],
        state=state,
        partitions=_texts(row["partitions"]),
        features=_texts(row["features"]),
        cpus=row["cpus"],
        memory_bytes=row["memory_bytes"],
        gres=tuple(
            Gres(one["name"], one["type"], one["count"], indices=_whole(one["indices"])) for one in row["gres"] or ()
        ),
        gpu_pools=tuple(GpuPool(pool["type"] or "", pool["total"], None) for pool in row["gpu_pools"] or ()),
        reason=row["reason"],
        reason_user=row["reason_user"],
        reason_time=row["reason_time"],
    )


def _job_row(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in _SAME_JOB} | {
        "state_flags": job.state_flags,
        "nodes": job.nodes,
        "requested_cpus": job.requested.cpus,
        "requested_memory_bytes": job.requested.memory_bytes,
        "requested_gpus": job.requested.gpus,
        "requested_nodes": job.requested.nodes,
        "allocated_cpus": job.allocated.cpus,
        "allocated_memory_bytes": job.allocated.memory_bytes,
        "allocated_gpus": job.allocated.gpus,
    }


def _job(cluster: str, row: Row) -> Job:
    same = {name: row[name] for name in _SAME_JOB}
    same |= {name: row[name] or "" for name in ("name", "partition")}
    same |= {"array_task_count": row["array_task_count"] or 1, "restart_count": row["restart_count"] or 0}
    same |= {"suspended_seconds": row["suspended_seconds"] or 0.0}
    return Job(
        cluster=cluster,
        **same,
        state_flags=_texts(row["state_flags"]),
        nodes=_texts(row["nodes"]),
        requested=Tres(
            row["requested_cpus"], row["requested_memory_bytes"], row["requested_nodes"], gpus=row["requested_gpus"]
        ),
        allocated=Tres(row["allocated_cpus"], row["allocated_memory_bytes"], gpus=row["allocated_gpus"]),
    )


def _device_row(gpu: Gpu) -> dict[str, Any]:
    return {
        "node": gpu.device.node,
        "slurm_index": gpu.slurm_index,
        "index": gpu.device.index,
        "uuid": gpu.device.uuid,
        "slice_id": gpu.device.slice_id,
        "state": str(gpu.state),
        "job_ids": gpu.job_ids,
        "join": None if gpu.join is None else str(gpu.join),
    }


def _texts(found: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(found or ())


def _whole(found: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found)
