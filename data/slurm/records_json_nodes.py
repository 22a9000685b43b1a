"""Read nodes of slurmrestd and `scontrol show nodes --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.model import Node, Rows
from data.slurm.answers import listed
from data.slurm.broken_rows import read_rows
from data.slurm.node_gpus import NodeGpus, implausible, node_gpus
from data.slurm.records_json_fields import label, mebibytes, named
from data.slurm.scalars import count, cpu_load, measured_watts, string_list, text, timestamp
from data.slurm.states import node_state
from data.slurm.tres import tres_string


def nodes(payload: object, cluster: str) -> Rows[Node]:
    """Nodes of a /slurm/vX/nodes answer. Raises what errors[] says, SourceGarbled for no answer of Slurm's."""
    rows = read_rows(listed(payload, "nodes"), lambda record: _node(record, cluster), label)
    return implausible(rows)


def _node(record: Mapping[str, Any], cluster: str) -> Node:
    allocated_cpus = count(record.get("alloc_cpus"))
    gpus = _gpus(record, allocated_cpus)
    return Node(
        cluster=cluster,
        name=named(record),
        state=node_state(record.get("state"), record.get("state_flags")),
        partitions=string_list(record.get("partitions")),
        features=string_list(record.get("active_features")) or string_list(record.get("features")),
        cpus=count(record.get("cpus")),
        allocated_cpus=allocated_cpus,
        cpu_load=cpu_load(record.get("cpu_load")),
        memory_bytes=mebibytes(record.get("real_memory")),
        allocated_memory_bytes=mebibytes(record.get("alloc_memory")),
        free_memory_bytes=mebibytes(record.get("free_mem", record.get("free_memory"))),
        gres=gpus.configured,
        gres_used=gpus.used,
        gpu_pools=gpus.pools,
        gpus_allocated=gpus.allocated,
        power_watts=measured_watts(record.get("energy")),
        reason=text(record.get("reason")),
        reason_user=text(record.get("reason_set_by_user")) if text(record.get("reason")) else None,
        reason_time=timestamp(record.get("reason_changed_at")),
        boot_time=timestamp(record.get("boot_time")),
        last_busy_time=timestamp(record.get("last_busy")),
        slurm_version=text(record.get("version")) or text(record.get("slurmd_version")),
        address=text(record.get("address")),
    )


def _gpus(record: Mapping[str, Any], allocated_cpus: int | None) -> NodeGpus:
    return node_gpus(
        record.get("gres"),
        record.get("gres_used"),
        tres_string(text(record.get("tres"))),
        tres_string(text(record.get("tres_used"))),
        allocated_cpus,
    )
