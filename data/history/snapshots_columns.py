"""`snapshots/`: the cluster every few minutes as Slurm said then, one row per moment, in the file of its UTC day."""

from __future__ import annotations

import pyarrow as pa

from data.history.columns import FLOAT, TEXT, TEXTS, TIME, WHOLE, Column, schema_of

_INDICES = pa.list_(pa.int32())
GRES = pa.struct([("name", TEXT), ("type", TEXT), ("count", WHOLE), ("indices", _INDICES)])
POOL = pa.struct(
    [("type", TEXT), ("total", WHOLE), ("used", WHOLE), ("used_indices", _INDICES), ("free_indices", _INDICES)]
)
NODE = pa.struct(
    [
        ("name", TEXT),
        ("state", TEXT),
        ("state_flags", TEXTS),
        ("state_display", TEXT),
        ("state_bucket", TEXT),
        ("is_schedulable", pa.bool_()),
        ("reason", TEXT),
        ("reason_user", TEXT),
        ("reason_time", TIME),
        ("partitions", TEXTS),
        ("features", TEXTS),
        ("cpus", WHOLE),
        ("allocated_cpus", WHOLE),
        ("memory_bytes", WHOLE),
        ("allocated_memory_bytes", WHOLE),
        ("gpus_allocated", WHOLE),
        ("gres", pa.list_(GRES)),
        ("gpu_pools", pa.list_(POOL)),
    ]
)
JOB = pa.struct(
    [
        ("job_id", WHOLE),
        ("display_id", TEXT),
        ("state", TEXT),
        ("state_flags", TEXTS),
        ("name", TEXT),
        ("user", TEXT),
        ("account", TEXT),
        ("partition", TEXT),
        ("qos", TEXT),
        ("reason", TEXT),
        ("array_job_id", WHOLE),
        ("array_task_id", WHOLE),
        ("array_tasks", TEXT),
        ("array_task_count", WHOLE),
        ("het_job_id", WHOLE),
        ("het_offset", WHOLE),
        ("submit_time", TIME),
        ("eligible_time", TIME),
        ("start_time", TIME),
        ("expected_start_time", TIME),
        ("suspend_time", TIME),
        ("suspended_seconds", FLOAT),
        ("time_limit_seconds", FLOAT),
        ("restart_count", WHOLE),
        ("priority", WHOLE),
        ("nodes", TEXTS),
        ("requested_cpus", WHOLE),
        ("requested_memory_bytes", WHOLE),
        ("requested_gpus", WHOLE),
        ("requested_nodes", WHOLE),
        ("allocated_cpus", WHOLE),
        ("allocated_memory_bytes", WHOLE),
        ("allocated_gpus", WHOLE),
    ]
)
HELD = pa.struct(
    [
        ("node", TEXT),
        ("slurm_index", WHOLE),
        ("index", WHOLE),
        ("uuid", TEXT),
        ("slice_id", TEXT),
        ("state", TEXT),
        ("job_ids", pa.list_(WHOLE)),
        ("join", TEXT),
    ]
)

SNAPSHOTS = (
    Column("schema_version", pa.int16(), "Version of this table's form.", is_key=True),
    Column("cluster", TEXT, "Cluster, as Slurm names it.", is_key=True),
    Column("time", TIME, "The moment.", is_key=True),
    Column("collected_at", TIME, "When this row was written.", is_key=True),
    Column("nodes", pa.list_(NODE), "Every node with its state and reason; null where Slurm did not tell."),
    Column("jobs", pa.list_(JOB), "Running, pending and suspended jobs; null where Slurm did not tell."),
    Column("devices", pa.list_(HELD), "Every GPU and slice with the jobs that held it."),
)
SNAPSHOTS_SCHEMA = schema_of(SNAPSHOTS)
