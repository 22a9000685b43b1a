"""`jobs/`: one row per attempt of a finished job, in the file of the UTC day on which it ended."""

from __future__ import annotations

import pyarrow as pa

from data.history.columns import (
    ACCOUNTS,
    FLOAT,
    HOURS,
    KEY,
    RATE_METRICS,
    RATIO_METRICS,
    TEXT,
    TEXTS,
    TIME,
    WHO,
    WHOLE,
    Column,
    numbers,
    schema_of,
    texts,
)

_MEANS = (*RATIO_METRICS, *RATE_METRICS, "gpu_memory_used_bytes", "power_watts")

DEVICE = pa.struct(
    [
        ("node", TEXT),
        ("index", pa.int32()),
        ("uuid", TEXT),
        ("slice_id", TEXT),
        ("slice_profile", TEXT),
        ("model", TEXT),
        ("weight", FLOAT),
        ("coverage", FLOAT),
        ("idle_share", FLOAT),
        ("is_shared", pa.bool_()),
        ("gpu_memory_peak_bytes", FLOAT),
        ("gpu_memory_total_bytes", FLOAT),
        ("energy_joules", FLOAT),
        *((name, FLOAT) for name in _MEANS),
    ]
)
# Percent of UTIL (GR on slices) over the job's devices per step, and the percent of expected samples; null = none.
_STEPS = pa.list_(pa.uint8())
PROFILE = pa.struct([("step_seconds", pa.int32()), ("mean", _STEPS), ("maximum", _STEPS), ("measured", _STEPS)])

JOBS = (
    Column("schema_version", pa.int16(), "Version of this table's form.", is_key=True),
    *KEY,
    Column("end_time", TIME, "When the attempt ended.", is_key=True),
    Column("collected_at", TIME, "When this row was written; of two rows with one key the newest counts.", is_key=True),
    Column("eligible_time", TIME, "When it could have started; the wait counts from here."),
    *texts(
        ("display_id", "The id as people write it: 123, 123_7, 123+1."),
        ("name", "Job name."),
        ("state", "Final state of the attempt (COMPLETED, FAILED, TIMEOUT, OUT_OF_MEMORY, CANCELLED, REQUEUED ...)."),
    ),
    *WHO,
    ACCOUNTS,
    Column("partitions", TEXTS, "Every partition that was named at submission."),
    Column("array_job_id", WHOLE, "Array to which it belongs."),
    Column("het_job_id", WHOLE, "Heterogeneous job to which it belongs."),
    Column("restart_count", WHOLE, "Attempts before this one."),
    Column("exit_code", WHOLE, "Exit code."),
    Column("exit_signal", WHOLE, "Signal that ended it."),
    Column("is_batch", pa.bool_(), "Whether it ran a batch script."),
    Column("nodes", TEXTS, "Nodes that it held."),
    Column("cores", WHOLE, "CPU cores that it held, over all nodes."),
    *numbers(
        "seconds",
        ("elapsed_seconds", "Run time, suspended time left out."),
        ("suspended_seconds", "Suspended time."),
        ("time_limit_seconds", "Time limit; null without one."),
        ("cpu_seconds", "CPU time used by all steps."),
    ),
    *numbers(
        "bytes",
        ("memory_used_bytes", "Peak host memory used."),
        ("memory_allocated_bytes", "Host memory held."),
    ),
    Column("host_source", TEXT, "Where CPU and memory come from."),
    Column("gpu_count", WHOLE, "Allocated GPUs and slices; null = not known, 0 = none."),
    Column("gpu_weight", FLOAT, "The same, slices by weight.", "GPUs"),
    *numbers("GPU-hours", ("device_hours", "Slurm's own count of GPU-hours; this one ties to sreport.")),
    *HOURS,
    *texts(("gpu_source", "Where the GPU numbers come from: metrics, JS1 summary, Slurm accounting, none.")),
    Column("gpus_measured", WHOLE, "Allocated devices with a utilization."),
    Column("coverage", FLOAT, "Smallest share of expected samples over the allocated devices, uncapped.", "ratio"),
    Column("interval_seconds", FLOAT, "Sampling interval.", "seconds"),
    Column("join", TEXT, "How jobs and devices were joined."),
    *(Column(name, FLOAT, "Mean over the measured devices.", "ratio") for name in RATIO_METRICS),
    *(Column(name, FLOAT, "Mean over the measured devices.", "bytes/s") for name in RATE_METRICS),
    *numbers(
        "ratio",
        ("utilization", "UTIL, or GR on slices: the utilization that hours are counted with."),
        ("utilization_p05", "5th percentile of the utilization samples."),
        ("utilization_p50", "Their median."),
        ("utilization_p95", "95th percentile."),
        ("idle_share", "Share of idle samples, over measured devices."),
        ("low_share", "Share of samples at or below 5 %."),
        ("high_share", "Share of samples at or above 80 %."),
    ),
    *numbers(
        "seconds",
        ("idle_longest_seconds", "Longest stretch in which every measured device was idle."),
        ("idle_start_seconds", "Idle time at the start."),
        ("idle_end_seconds", "Idle time at the end."),
    ),
    *numbers(
        "bytes",
        ("gpu_memory_used_bytes", "Mean GPU memory in use, per device."),
        ("gpu_memory_peak_bytes", "Largest GPU memory in use on a device."),
        ("gpu_memory_total_bytes", "GPU memory of a device."),
    ),
    *numbers("joules", ("energy_joules", "Energy of the cards over the job.")),
    *numbers("watts", ("power_watts", "Mean power of a card.")),
    Column("findings", TEXTS, "What `data.findings` said of it."),
    Column("flags", TEXTS, "What is wrong with the row: implausible values, apportioned, estimate, shared."),
    Column("record", TEXT, "Digest of Slurm's record, by which the collector sees that it changed; it fills this in."),
    Column("devices", pa.list_(DEVICE), "One entry per allocated device."),
    Column("profile", PROFILE, "Utilization over time, in steps from the start: percent as small whole numbers."),
)
JOBS_SCHEMA = schema_of(JOBS)
