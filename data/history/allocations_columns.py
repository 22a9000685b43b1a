"""`allocations/`: which device an attempt held, one row per attempt, device and UTC day, in the file of that day."""

from __future__ import annotations

import pyarrow as pa

from data.history.columns import FLOAT, KEY, TEXT, TIME, WHOLE, Column, schema_of, texts

ALLOCATIONS = (
    Column("schema_version", pa.int16(), "Version of this table's form.", is_key=True),
    *KEY,
    Column("node", TEXT, "Node.", is_key=True),
    Column("device", TEXT, "UUID, bus id or index of the GPU, with /slice for a slice.", is_key=True),
    Column("from_time", TIME, "When it was held: the attempt's start, or midnight UTC of a later day.", is_key=True),
    Column("to_time", TIME, "Until when: the attempt's end, or midnight; null while it was held when last seen."),
    Column("collected_at", TIME, "When this row was written.", is_key=True),
    Column("slurm_index", WHOLE, "N of Slurm's (IDX:N); need not be the exporter's index."),
    Column("index", WHOLE, "Index as the exporter calls it."),
    *texts(
        ("uuid", "UUID of the GPU or slice."),
        ("slice_id", "GPU instance id of a slice; null for a whole GPU."),
        ("slice_profile", "Profile of a slice, such as 1g.10gb."),
        ("gpu_model", "GPU model."),
        ("join", "How job and device were joined: job_label, index or node_estimate (only the node is known)."),
    ),
    Column("weight", FLOAT, "Share of a whole GPU; 1, or the slice's.", "GPUs"),
    Column("is_shared", pa.bool_(), "Whether another job held it at the same time."),
)
ALLOCATIONS_SCHEMA = schema_of(ALLOCATIONS)
