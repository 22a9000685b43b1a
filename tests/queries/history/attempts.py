"""Small histories with numbers that can be added up by hand, written as the collector writes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.cache import MemoryCache
from data.history.columns import RATIO_METRICS
from data.history.datasets import DATASETS
from data.history.tables import by_part, table_of
from data.live import LiveCluster
from data.queries.history import ReportQuery
from data.sources import Sources
from settings import HistorySettings, Settings
from tests.live.builders import FakeMetrics, FakeScheduler

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
COLLECTED = MONDAY + 30 * DAY


def at(hours: float) -> datetime:
    """Hours after Monday, 00:00 UTC."""
    return MONDAY + hours * HOUR


@dataclass
class Attempt:
    """One attempt as its rows. It uses `used` (ratio) of `gpus` evenly, `idle` of its measured hours are idle.

    `steps` (means in percent of 300 s each) make the use uneven. `ends` None = it still runs at `until`.
    """

    job_id: int
    begins: float
    ends: float | None
    gpus: int | None = 1
    used: float | None = 0.5
    idle: float | None = 0.0
    measured: float = 1.0
    user: str = "alice"
    account: str = "physics"
    path: tuple[str, ...] = ("science", "physics")
    partition: str = "gpu"
    qos: str = "normal"
    model: str | None = "H100"
    state: str = "COMPLETED"
    name: str = "train"
    nodes: tuple[str, ...] = ("gpu01",)
    wait: float | None = 600.0
    steps: tuple[int, ...] | None = None
    findings: tuple[str, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    memory_gib: float | None = None
    until: float = 0.0
    suspended: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)
    collected_at: datetime = COLLECTED

    @property
    def start(self) -> datetime:
        return at(self.begins)

    @property
    def end(self) -> datetime:
        return at(self.until if self.ends is None else self.ends)

    @property
    def common(self) -> dict[str, Any]:
        submit = self.start - timedelta(seconds=(self.wait or 0.0) + 60)
        return {
            "cluster": "demo",
            "job_id": self.job_id,
            "submit_time": submit,
            "start_time": self.start,
            "collected_at": self.collected_at,
            "display_id": str(self.job_id),
            "name": self.name,
            "user": self.user,
            "account": self.account,
            "account_path": list(self.path),
            "partition": self.partition,
            "qos": self.qos,
            "gpu_model": self.model,
            "gpu_count": self.gpus,
            "gpu_source": "series",
        }

    def hours(self, length: float) -> dict[str, float | None]:
        """The GPU-hours of `length` hours of it."""
        if self.gpus is None:
            return {}
        allocated = self.gpus * length
        measured = allocated * self.measured if self.used is not None else 0.0
        is_idle_known = self.idle is not None and self.used is not None
        return {
            "gpu_hours_allocated": allocated,
            "gpu_hours_measured": measured,
            "gpu_hours_used": None if self.used is None else measured * self.used,
            "gpu_hours_idle": measured * (self.idle or 0.0) if is_idle_known else None,
            "gpu_hours_idle_measured": measured if is_idle_known else 0.0,
            "device_hours": allocated,
        }

    def job_row(self) -> dict[str, Any]:
        length = (self.end - self.start).total_seconds()
        memory = None if self.memory_gib is None else self.memory_gib * (1 << 30)
        row = {
            **self.common,
            "end_time": self.end,
            "eligible_time": None if self.wait is None else self.start - timedelta(seconds=self.wait),
            "state": self.state,
            "nodes": list(self.nodes),
            "cores": 8 * (self.gpus or 1),
            "elapsed_seconds": length,
            "findings": list(self.findings),
            "utilization": self.used,
            "gpu_memory_used_bytes": memory,
            **self.metrics,
            **self.hours(length / 3600),
        }
        if self.steps is not None:
            ones = [100] * len(self.steps)
            row["profile"] = {"step_seconds": 300, "mean": self.steps, "maximum": self.steps, "measured": ones}
        return {**row, **self.more}

    def usage_rows(self) -> list[dict[str, Any]]:
        rows = []
        hour = self.start.replace(minute=0, second=0, microsecond=0)
        while hour < self.end:
            length = (min(self.end, hour + HOUR) - max(self.start, hour)) / HOUR
            rows.append(self._usage_row(hour, length))
            hour += HOUR
        return rows

    def _usage_row(self, hour: datetime, length: float) -> dict[str, Any]:
        numbers = self.hours(length)
        if self.steps is not None and numbers["gpu_hours_used"] is not None:
            mine = self._steps_in(hour)
            numbers["gpu_hours_used"] = numbers["gpu_hours_measured"] * sum(mine) / len(mine) / 100
            numbers["gpu_hours_idle"] = numbers["gpu_hours_measured"] * sum(step == 0 for step in mine) / len(mine)
        measured = numbers.get("gpu_hours_measured")
        details = {}
        for name in RATIO_METRICS:
            if (value := self.metrics.get(name)) is not None:
                details |= {f"{name}_hours": value * measured, f"{name}_measured_hours": measured}
        if self.memory_gib is not None:
            details["gpu_memory_used_byte_hours"] = self.memory_gib * (1 << 30) * measured
            details["gpu_memory_used_measured_hours"] = measured
        share = 1 / len(self.nodes)
        split = {name: None if value is None else value * share for name, value in numbers.items()}
        split.pop("device_hours", None)
        collected = self.collected_at if self.ends is not None else min(self.end, hour + HOUR)
        return {
            **self.common,
            "hour": hour,
            "collected_at": collected,
            "state": "RUNNING" if self.ends is None else self.state,
            "seconds": length * 3600,
            "core_seconds": 8 * (self.gpus or 1) * length * 3600,
            "is_apportioned": False,
            "by_node": [{"node": node, **split} for node in self.nodes] if numbers else [],
            **numbers,
            **details,
        }

    def _steps_in(self, hour: datetime) -> list[int]:
        """Steps of a job that began on a step's edge."""
        first = (hour - self.start) / timedelta(seconds=300)
        return [step for place, step in enumerate(self.steps or ()) if first <= place < first + 12]


def write(directory: Path, attempts: Iterable[Attempt], part: str = "rows") -> Path:
    """Write the rows of finished attempts to jobs/, and the hours of all to usage/."""
    found = list(attempts)
    put(directory, "jobs", [one.job_row() for one in found if one.ends is not None], part)
    put(directory, "usage", [row for one in found for row in one.usage_rows()], part)
    return directory


def put(directory: Path, name: str, rows: list[dict[str, Any]], part: str = "rows") -> None:
    dataset = DATASETS[name]
    by_day: dict[Any, list[pa.Table]] = {}
    for (day, _), table in by_part(dataset, table_of(dataset, rows)).items():
        by_day.setdefault(day, []).append(table)
    for day, tables in by_day.items():
        folder = directory / name / f"day={day}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.concat_tables(tables), folder / f"{part}.parquet", compression="zstd")


def sources_of(directory: Path | None, now: datetime = COLLECTED, **settings: Any) -> Sources:
    history = HistorySettings(directory=directory, **settings.pop("history", {}))
    scheduler, metrics = FakeScheduler([], []), FakeMetrics([])
    live = LiveCluster(scheduler, metrics, MemoryCache(), lambda: now, limits=(5.0, 5.0))
    return Sources(Settings(history=history, **settings), scheduler, metrics, live, lambda: now)


def asked(since: float, until: float, **more: Any) -> ReportQuery:
    return ReportQuery(at(since), at(until), **more)
