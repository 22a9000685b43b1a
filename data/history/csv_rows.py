"""Rows of a CSV as ended attempts. Utilization goes in as a job summary does: 0 is idle, and empty is unknown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from data.errors import BadRequest
from data.history.csv_map import CsvMap
from data.history.csv_values import value_of
from data.js1 import GpuSummary, NodeSummary, Summary, encode
from data.model import Job, JobUsage, NodeDevices, Tres
from data.slurm.job_states import LIVE_STATES

UNKNOWN_NODE = "unknown"
_MOST = {"gpu_count": 100_000, "cores": 100_000_000}
_MOST_WHOLE = 1 << 60  # the history keeps whole numbers in 64 bits
_LAST = datetime(2200, 1, 1, tzinfo=UTC)


def is_wanted(row: Mapping[str, str], given: CsvMap) -> bool:
    return all((row.get(name) or "").strip() in values for name, values in given.where.items())


def job_of(row: Mapping[str, str], given: CsvMap) -> Job:
    """One attempt. Raises BadRequest that says which value is wrong, for a row that cannot be counted."""
    values = {name: value_of(name, row, column, given) for name, column in given.columns.items()}
    for name in ("job_id", "start_time", "cluster"):
        if values.get(name) is None:
            raise BadRequest(f"{name} is empty")
    start: datetime = values["start_time"]
    end = _end(start, values)
    gpus = _whole(values.get("gpu_count"), "gpu_count")
    nodes = values.get("nodes") or (UNKNOWN_NODE,)
    allocated = Tres(
        _whole(values.get("cores"), "cores"),
        _whole(values.get("memory_allocated_bytes"), "memory_allocated_bytes"),
        len(values.get("nodes") or ()) or None,
        gpus=gpus,
        gpus_by_type={values["gpu_type"]: gpus} if values.get("gpu_type") and gpus else {},
    )
    return Job(
        values["cluster"],
        _whole(values["job_id"], "job_id") or 0,
        str(_whole(values["job_id"], "job_id")),
        values.get("state") or "COMPLETED",
        name=values.get("name") or "",
        user=values.get("user"),
        account=values.get("account"),
        partition=values.get("partition") or "",
        qos=values.get("qos"),
        submit_time=values.get("submit_time") or start,
        eligible_time=values.get("eligible_time"),
        start_time=start,
        end_time=end,
        elapsed_seconds=values.get("elapsed_seconds"),
        suspended_seconds=values.get("suspended_seconds") or 0.0,
        time_limit_seconds=values.get("time_limit_seconds"),
        nodes=nodes,
        allocated=allocated,
        devices=_devices(nodes, gpus, values.get("gpu_type")),
        admin_comment=_summary(values, nodes, gpus),
        usage=JobUsage(values.get("cpu_seconds"), _whole(values.get("memory_used_bytes"), "memory_used_bytes")),
    )


def _end(start: datetime, values: Mapping[str, Any]) -> datetime:
    end: datetime | None = values.get("end_time")
    if end is None and values.get("state") in LIVE_STATES:
        raise BadRequest(f"it is {values['state']}, and there is no end_time")
    if end is None:
        elapsed = values.get("elapsed_seconds")
        if elapsed is None or not 0 <= elapsed < 1e10:
            raise BadRequest(f"elapsed_seconds is {elapsed}, and there is no end_time")
        end = start + timedelta(seconds=elapsed + (values.get("suspended_seconds") or 0.0))
    if end > _LAST:
        raise BadRequest(f"it ends in {end:%Y}")
    return end


def _whole(value: float | None, name: str) -> int | None:
    if value is None:
        return None
    if value > _MOST.get(name, _MOST_WHOLE):
        raise BadRequest(f"{name} is {value:g}")
    if value < 0 or value != int(value):
        if name in ("job_id", "gpu_count", "cores"):
            raise BadRequest(f"{name} is {value:g}")
        return max(0, round(value))
    return int(value)


def _devices(nodes: tuple[str, ...], gpus: int | None, gpu_type: str | None) -> tuple[NodeDevices, ...]:
    if gpus is None:
        return ()
    return tuple(NodeDevices(node, count, None, gpu_type) for node, count in _spread(gpus, nodes))


def _summary(values: Mapping[str, Any], nodes: tuple[str, ...], gpus: int | None) -> str | None:
    """The job's mean as the use of each of its GPUs; None without a mean."""
    use = values.get("gpu_utilization")
    if use is None or not gpus:
        return None
    memory, total = (values.get(name) for name in ("gpu_memory_used_bytes", "gpu_memory_total_bytes"))
    used, given = (None if size is None else round(size) for size in (memory, total))
    parts = tuple(
        NodeSummary(node, gpus=tuple(GpuSummary(minor, use, used, given) for minor in range(count)))
        for node, count in _spread(gpus, nodes)
    )
    return encode(Summary(parts, gpu_count=gpus))


def _spread(gpus: int, nodes: tuple[str, ...]) -> list[tuple[str, int]]:
    """As evenly as it goes: a CSV says how many GPUs a job had, not where."""
    each, more = divmod(gpus, len(nodes))
    return [(node, each + (place < more)) for place, node in enumerate(nodes)]
