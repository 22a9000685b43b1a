"""One column of a dataset: its name, Parquet type, unit and meaning. The tables below are also the reference page."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = 1

TEXT = pa.string()
TEXTS = pa.list_(pa.string())
WHOLE = pa.int64()
FLOAT = pa.float64()
TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class Column:
    """`unit` is empty for names, flags and counts of things that the name says. Null = not measured or not known."""

    name: str
    type: pa.DataType
    help: str
    unit: str = ""
    is_key: bool = False


def schema_of(columns: tuple[Column, ...]) -> pa.Schema:
    """The Parquet schema, with the version in its metadata too."""
    fields = [pa.field(column.name, column.type, nullable=not column.is_key) for column in columns]
    return pa.schema(fields, metadata={"fullwarp_schema_version": str(SCHEMA_VERSION)})


def texts(*rows: tuple[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name, TEXT, help) for name, help in rows)


def numbers(unit: str, *rows: tuple[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name, FLOAT, help, unit) for name, help in rows)


KEY = (
    Column("cluster", TEXT, "Cluster, as Slurm names it.", is_key=True),
    Column("job_id", WHOLE, "Raw job id.", is_key=True),
    Column("submit_time", TIME, "When the attempt was submitted or requeued.", is_key=True),
    Column("start_time", TIME, "When the attempt began to run.", is_key=True),
)
WHO = texts(
    ("user", "Owner."),
    ("account", "Slurm account that was charged."),
    ("partition", "Partition in which it ran."),
    ("qos", "Quality of service."),
    ("gpu_model", 'GPU model as `data.gpu_models` names it; "mixed" for several, null without GPUs or unknown.'),
)
ACCOUNTS = Column("account_path", TEXTS, "The account with its parents, from the top down, without root.")
RATIO_METRICS = (
    "gpu_utilization",
    "graphics_engine_activity",
    "sm_activity",
    "sm_occupancy",
    "tensor_activity",
    "fp64_activity",
    "fp32_activity",
    "fp16_activity",
    "dram_activity",
)
RATE_METRICS = (
    "nvlink_tx_bytes_per_second",
    "nvlink_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
    "pcie_rx_bytes_per_second",
)
HOURS = numbers(
    "GPU-hours",
    ("gpu_hours_allocated", "Allocated devices x hours, slices by weight, suspended time left out; null = unknown."),
    ("gpu_hours_measured", "The part of them that was measured."),
    ("gpu_hours_used", "Utilization x measured hours; null when nothing was measured."),
    ("gpu_hours_idle", "Idle samples as hours; null when idleness was not measured."),
    ("gpu_hours_idle_measured", "The measured hours of which idleness is known."),
)
