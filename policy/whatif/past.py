"""Rows of `jobs/` as the past that rules are replayed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.history.measure.flags import DISAGREES, ESTIMATE, SHARED
from data.history.measure.use import NOT_MEASURED
from data.model import Job, Tres
from policy.whatif.replay import Past
from policy.whatif.timelines import Floats, Ints, PastJob, Timelines

# Of the rows: what a rule matches, exempts and counts.
COLUMNS = (
    *("cluster", "job_id", "submit_time", "start_time", "end_time", "display_id", "name", "user", "account"),
    *("partition", "qos", "array_job_id", "het_job_id", "restart_count", "is_batch", "nodes", "cores", "gpu_count"),
    *("gpu_weight", "gpus_measured", "gpu_hours_allocated", "time_limit_seconds", "suspended_seconds"),
    *("gpu_memory_used_bytes", "gpu_memory_total_bytes", "memory_allocated_bytes", "flags", "profile"),
)
MODELS, SLICES = "models", "has_slices"
_SECOND = 1.0
_HUNDRED = 100.0


def parts_of(table: pa.Table, most: int) -> Iterator[Past]:
    """The rows (COLUMNS, MODELS, SLICES) in parts of at most so many attempts, for the memory that steps take."""
    for first in range(0, table.num_rows, most):
        yield past_of(table.slice(first, most))


def past_of(table: pa.Table) -> Past:
    profile = table.column("profile").combine_chunks()
    rows = table.drop_columns(["profile"]).to_pylist()
    has_profile = _lengths(profile) > 0
    jobs = tuple(_past_job(row, bool(has)) for row, has in zip(rows, has_profile, strict=True))
    run = np.array([one.run_seconds for one in jobs], dtype=np.float64)
    slices = np.array([one.has_slices for one in jobs], dtype=np.bool_)
    steps = pc.fill_null(pc.struct_field(profile, "step_seconds"), 1).to_numpy(zero_copy_only=False)
    return Past(
        jobs,
        Timelines(
            np.concatenate([[0], np.cumsum(_lengths(profile))]).astype(np.int64),
            steps.astype(np.float64),
            run,
            slices,
            *(_values(profile, name) for name in ("mean", "maximum", "measured")),
        ),
    )


def _lengths(profile: pa.StructArray) -> Ints:
    found = pc.fill_null(pc.list_value_length(pc.struct_field(profile, "mean")), 0)
    lengths: Ints = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _values(profile: pa.StructArray, name: str) -> Floats:
    """Percent as ratios; what was not measured weighs nothing, so that it may be 0."""
    flat = pc.fill_null(pc.struct_field(profile, name).flatten(), NOT_MEASURED).to_numpy(zero_copy_only=False)
    found: Floats = np.where(flat == NOT_MEASURED, 0.0, flat / _HUNDRED)
    return found


def _past_job(row: Mapping[str, Any], has_profile: bool) -> PastJob:
    start, end = row["start_time"], row["end_time"]
    used, total = row["gpu_memory_used_bytes"], row["gpu_memory_total_bytes"]
    flags = frozenset(row["flags"] or ())
    return PastJob(
        _job(row, start),
        run_seconds=max(0.0, (end - start).total_seconds()),
        gpu_hours=row["gpu_hours_allocated"],
        gpu_weight=row["gpu_weight"] if row["gpu_weight"] is not None else row["gpu_count"],
        gpus_measured=row["gpus_measured"],
        memory_share=used / total if used is not None and total else None,
        models=tuple(name for name in row[MODELS] or () if name),
        has_slices=bool(row[SLICES]),
        is_shared=SHARED in flags,
        is_estimate=ESTIMATE in flags,
        disagrees=DISAGREES in flags,
        has_profile=has_profile,
    )


def _job(row: Mapping[str, Any], start: datetime) -> Job:
    """As it was while it ran. Less than a second between times is rounding, no suspension."""
    suspended = row["suspended_seconds"] or 0.0
    return Job(
        row["cluster"],
        row["job_id"],
        row["display_id"] or str(row["job_id"]),
        "RUNNING",
        name=row["name"] or "",
        user=row["user"],
        account=row["account"],
        partition=row["partition"] or "",
        qos=row["qos"],
        array_job_id=row["array_job_id"],
        het_job_id=row["het_job_id"],
        submit_time=row["submit_time"],
        start_time=start,
        suspended_seconds=suspended if suspended > _SECOND else 0.0,
        time_limit_seconds=row["time_limit_seconds"],
        restart_count=row["restart_count"] or 0,
        nodes=tuple(row["nodes"] or ()),
        allocated=Tres(row["cores"], _whole(row["memory_allocated_bytes"]), gpus=row["gpu_count"]),
        is_batch=row["is_batch"],
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
