"""A small cluster whose clock and jobs a test moves, with its collector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from data.cache import MemoryCache
from data.history.collector import Collector
from data.history.columns import KEY
from data.history.datasets import DATASETS
from data.history.state import PassNumbers
from data.history.store import writing
from data.js1 import GpuSummary, NodeSummary, Summary, encode
from data.live import LiveCluster
from data.model import Association, Job, Rows
from data.sources import NoMetrics, Sources
from settings import HistorySettings, Settings
from tests.live.builders import FakeScheduler, make_job, make_node

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
ATTEMPT = [column.name for column in KEY]


def summary(use: float, gpus: int = 1, node: str = "gpu01") -> str:
    """A JS1 summary in which every GPU has the same mean."""
    return encode(Summary((NodeSummary(node, gpus=tuple(GpuSummary(n, use) for n in range(gpus))),), gpu_count=gpus))


def ended(number: int, start: datetime, end: datetime, gpus: int | None = 1, **more: Any) -> Job:
    submitted = start - timedelta(minutes=5)
    facts = {"state": "COMPLETED", "submit_time": submitted, "eligible_time": submitted} | more
    seconds = (end - start).total_seconds() - float(facts.get("suspended_seconds", 0.0))
    return make_job(number, "gpu01", gpus, None, start_time=start, end_time=end, elapsed_seconds=seconds, **facts)


def running(number: int, start: datetime, index: int = 0, **more: Any) -> Job:
    facts = {"submit_time": start - timedelta(minutes=5)} | more
    return make_job(number, "gpu01", 1, (index,), start_time=start, **facts)


@dataclass
class SmallCluster:
    """`jobs` are what slurmctld shows, `done` what slurmdbd holds."""

    directory: Path
    now: datetime = NOON
    jobs: list[Job] = field(default_factory=list)
    done: list[Job] = field(default_factory=list)
    metrics: Any = field(default_factory=NoMetrics)
    settings: dict[str, Any] = field(default_factory=dict)
    reached: Callable[[str], None] = lambda step: None
    scheduler: FakeScheduler = field(default_factory=FakeScheduler)

    def __post_init__(self) -> None:
        self.scheduler.associations = lambda: Rows(  # type: ignore[method-assign]
            (Association("demo", "science", "root", None), Association("demo", "physics", "science", None))
        )

    def sources(self) -> Sources:
        self.scheduler.node_rows, self.scheduler.job_rows, self.scheduler.finished = [make_node()], self.jobs, self.done
        settings = Settings(history=HistorySettings(directory=self.directory, **self.settings))
        live = LiveCluster(self.scheduler, self.metrics, MemoryCache(), lambda: self.now, limits=(5.0, 5.0))
        return Sources(settings, self.scheduler, self.metrics, live, lambda: self.now)

    def collect(self, since: datetime | None = None) -> PassNumbers:
        with writing(self.directory, reached=self.reached) as store:
            return Collector(self.sources(), store).run(since)

    def rows(self, name: str, **wanted: Any) -> list[dict[str, Any]]:
        """All rows of a dataset as they are in its files, in the order of their keys."""
        with writing(self.directory) as store:
            found = [{**row, "_day": day} for day in store.days(name) for row in store.read(name, day).to_pylist()]
        key = DATASETS[name].key
        kept = [row for row in found if all(row[column] == value for column, value in wanted.items())]
        return sorted(kept, key=lambda row: [str(row[column]) for column in key])

    def hours(self, number: int, column: str = "gpu_hours_allocated") -> float:
        return sum(row[column] or 0.0 for row in self.rows("usage", job_id=number))


def doubled(name: str, rows: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Keys that are there more than once."""
    keys = [tuple(row[column] for column in DATASETS[name].key) for row in rows]
    return [key for key in keys if keys.count(key) > 1]
