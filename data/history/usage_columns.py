"""`usage/`: one row per job attempt and UTC hour, running jobs too, in the file of that hour's day."""

from __future__ import annotations

import pyarrow as pa

from data.history.columns import (
    ACCOUNTS,
    FLOAT,
    HOURS,
    KEY,
    RATIO_METRICS,
    TEXT,
    TIME,
    WHO,
    WHOLE,
    Column,
    numbers,
    schema_of,
    texts,
)

_NODE = pa.struct([("node", TEXT), *((column.name, FLOAT) for column in HOURS)])

USAGE = (
    Column("schema_version", pa.int16(), "Version of this table's form.", is_key=True),
    *KEY,
    Column("hour", TIME, "Begin of the hour.", is_key=True),
    Column("collected_at", TIME, "When this row was written.", is_key=True),
    *texts(("display_id", "The id as people write it."), ("name", "Job name."), ("state", "State when written.")),
    *WHO,
    ACCOUNTS,
    Column("gpu_count", WHOLE, "Allocated GPUs and slices; null = not known."),
    Column("gpu_source", TEXT, "Where the GPU numbers come from."),
    Column("is_apportioned", pa.bool_(), "Spread evenly over the run, for want of a profile."),
    *numbers("seconds", ("seconds", "Seconds of this hour in which it ran, suspended time left out.")),
    *HOURS,
    *numbers("GPU-hours", ("device_hours", "Slurm's own count of GPU-hours in this hour.")),
    *(
        column
        for name in RATIO_METRICS
        for column in numbers(
            "GPU-hours",
            (f"{name}_hours", f"{name} x measured hours."),
            (f"{name}_measured_hours", f"Hours in which {name} was measured."),
        )
    ),
    *numbers("byte-hours", ("gpu_memory_used_byte_hours", "GPU memory in use x hours.")),
    *numbers("GPU-hours", ("gpu_memory_used_measured_hours", "Hours in which GPU memory was measured.")),
    *numbers("joules", ("energy_joules", "Energy of the cards in this hour; null = not measured.")),
    *numbers("core-seconds", ("core_seconds", "Cores x seconds held.")),
    *numbers("seconds", ("cpu_seconds", "CPU time used in this hour; null = not measured.")),
    Column("by_node", pa.list_(_NODE), "The GPU-hours by node."),
)
USAGE_SCHEMA = schema_of(USAGE)
