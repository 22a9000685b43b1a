"""Hours of use that an edge of a range cuts: the part inside, by the attempt's profile where it has one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from data.history.columns import HOURS, RATIO_METRICS
from data.history.usage_columns import USAGE_SCHEMA

HOUR = timedelta(hours=1)
_TIME = ("seconds", "gpu_hours_allocated", "device_hours", "core_seconds", "cpu_seconds")
_USED = ("gpu_hours_used", *(f"{name}_hours" for name in RATIO_METRICS))
_IDLE = ("gpu_hours_idle",)
_MEASURED = (
    "gpu_hours_measured",
    "gpu_hours_idle_measured",
    *(f"{name}_measured_hours" for name in RATIO_METRICS),
    "gpu_memory_used_byte_hours",
    "gpu_memory_used_measured_hours",
    "energy_joules",
)
_HOUR_NAMES = tuple(column.name for column in HOURS)


@dataclass(frozen=True, slots=True)
class Parts:
    """Which part (ratio) of an hour's numbers lies inside: of its run time, and of what was measured in it."""

    time: float
    measured: float
    used: float
    idle: float

    def of(self, column: str) -> float:
        if column in _TIME:
            return self.time
        return self.used if column in _USED else self.idle if column in _IDLE else self.measured


def hours_cut(since: datetime, until: datetime) -> list[datetime]:
    """The hours that hold an edge inside them."""
    hours = {edge.replace(minute=0, second=0, microsecond=0) for edge in (since, until)}
    return sorted(hour for hour in hours if hour not in (since, until))


def first_whole_hour(since: datetime) -> datetime:
    hour = since.replace(minute=0, second=0, microsecond=0)
    return hour if hour == since else hour + HOUR


def last_whole_hour(until: datetime) -> datetime:
    """The end of the last whole hour before `until`."""
    return until.replace(minute=0, second=0, microsecond=0)


def cut(rows: pa.Table, since: datetime, until: datetime) -> tuple[pa.Table, pa.Table]:
    """The part of each hour that lies in [since, until), in the form of `usage`: of all attempts, and of those that
    did not begin and end inside. `rows` are hours with `end_time` and `profile` of the attempt (null = not known)."""
    found = rows.select(["start_time", "hour", "collected_at", "end_time", "profile", *_SHARES]).to_pylist()
    parts = [_parts(row, since, until) for row in found]
    kept = [place for place, part in enumerate(parts) if part is not None]
    crossing = [place for place, number in enumerate(kept) if not _is_inside(found[number], since, until)]
    scaled = _scaled(rows.take(pa.array(kept, pa.int64())), [part for part in parts if part is not None])
    return scaled, scaled.take(pa.array(crossing, pa.int64()))


_SHARES = ("gpu_hours_idle", "gpu_hours_measured")


def _is_inside(row: Mapping[str, Any], since: datetime, until: datetime) -> bool:
    return since <= row["start_time"] < until and row["end_time"] is not None and row["end_time"] <= until


def _parts(row: Mapping[str, Any], since: datetime, until: datetime) -> Parts | None:
    """None when the attempt did not run in the part inside."""
    begin = max(row["start_time"], row["hour"])
    end = min(row["end_time"] or row["collected_at"], row["hour"] + HOUR)
    low, high = max(begin, since), min(end, until)
    if end <= begin or high <= low:
        return None
    time = (high - low) / (end - begin)
    profile = row["profile"]
    if not profile or not profile["step_seconds"] or not profile["mean"]:
        return Parts(time, time, time, time)
    start = row["start_time"]
    whole = _overlaps(profile, (begin - start).total_seconds(), (end - start).total_seconds())
    inside = _overlaps(profile, (low - start).total_seconds(), (high - start).total_seconds())
    return _by_profile(profile, whole, inside, time, _idle_share(row))


def _idle_share(row: Mapping[str, Any]) -> float | None:
    idle, measured = row["gpu_hours_idle"], row["gpu_hours_measured"]
    return None if idle is None or not measured else float(idle / measured)


def _overlaps(profile: Mapping[str, Any], low: float, high: float) -> np.ndarray:
    """Seconds of each step that lie in [low, high)."""
    begins = np.arange(len(profile["mean"])) * float(profile["step_seconds"])
    overlaps: np.ndarray = np.minimum(begins + profile["step_seconds"], high) - np.maximum(begins, low)
    return overlaps.clip(0.0)


def _by_profile(
    profile: Mapping[str, Any], whole: np.ndarray, inside: np.ndarray, time: float, idle_share: float | None
) -> Parts:
    seen = _steps(profile["measured"], len(whole)) / 100
    mean, most = _steps(profile["mean"], len(whole)) / 100, _steps(profile["maximum"], len(whole))
    measured = _ratio(inside * seen, whole * seen, time)
    used = _ratio(inside * seen * mean, whole * seen * mean, measured)
    if idle_share is None or idle_share <= 0:
        return Parts(time, measured, used, measured)
    return Parts(time, measured, used, _idle(whole * seen, inside * seen, mean, most == 0, idle_share, measured))


def _idle(
    whole: np.ndarray, inside: np.ndarray, mean: np.ndarray, is_idle: np.ndarray, share: float, otherwise: float
) -> float:
    """The part of the idle hours inside. Steps in which no device did anything are idle throughout; what is idle
    beyond them lies in the unused part of the others."""
    total = whole.sum()
    if total <= 0:
        return otherwise
    surely, surely_inside = whole[is_idle].sum() / total, inside[is_idle].sum() / total
    if share <= surely:
        return float(surely_inside / surely)
    unused = np.where(is_idle, 0.0, 1 - mean)
    rest = _ratio(inside * unused, whole * unused, otherwise)
    return float((surely_inside + (share - surely) * rest) / share)


def _steps(values: Sequence[int | None] | None, count: int) -> np.ndarray:
    """One number per step; an absent one is not measured, which weighs nothing."""
    found = np.zeros(count)
    given = [0.0 if value is None else float(value) for value in (values or ())[:count]]
    found[: len(given)] = given
    return found


def _ratio(part: np.ndarray, whole: np.ndarray, otherwise: float) -> float:
    total = whole.sum()
    return float(part.sum() / total) if total > 0 else otherwise


def _scaled(rows: pa.Table, parts: Sequence[Parts]) -> pa.Table:
    columns = []
    for field in USAGE_SCHEMA:
        column = rows.column(field.name)
        if field.name in (*_TIME, *_USED, *_IDLE, *_MEASURED):
            factors = np.array([part.of(field.name) for part in parts])
            values = column.to_numpy(zero_copy_only=False).astype(float) * factors
            column = pa.chunked_array([pa.array(values, pa.float64(), mask=np.isnan(values))])
        elif field.name == "by_node":
            column = pa.chunked_array([pa.array(_nodes(column.to_pylist(), parts), field.type)])
        columns.append(column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=USAGE_SCHEMA)


def _nodes(lists: Sequence[Sequence[Mapping[str, Any]] | None], parts: Sequence[Parts]) -> list[Any]:
    return [
        None if nodes is None else [_node(node, part) for node in nodes]
        for nodes, part in zip(lists, parts, strict=True)
    ]


def _node(node: Mapping[str, Any], part: Parts) -> dict[str, Any]:
    own = {name: None if node[name] is None else node[name] * part.of(name) for name in _HOUR_NAMES}
    return {**node, **own}
