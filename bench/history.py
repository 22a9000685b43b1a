"""What a report over history costs: a year of jobs by user, beside the same written by hand for DuckDB."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from data.cache import MemoryCache
from data.collection import collect_seldom
from data.history.datasets import DATASETS
from data.history.encoding import encoding
from data.live import LiveCluster
from data.model import Role, Viewer
from data.queries.history import ReportQuery, report
from data.sources import NoMetrics, Sources
from settings import HistorySettings, Settings

JOBS, DAYS, USERS, ACCOUNTS = 1_000_000, 365, 800, 60
BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
TIMES = 5
Row = dict[str, float | int]
Columns = dict[str, object]

BY_HAND = """
SELECT "user", count(*), sum(gpu_hours_allocated), sum(gpu_hours_measured), sum(gpu_hours_used), sum(gpu_hours_idle),
  sum(gpu_hours_idle_measured), sum(device_hours),
  sum(sm_activity * gpu_hours_measured), sum(gpu_hours_measured) FILTER (WHERE sm_activity IS NOT NULL),
  sum(tensor_activity * gpu_hours_measured), sum(gpu_hours_measured) FILTER (WHERE tensor_activity IS NOT NULL),
  sum(cpu_seconds), sum(cores * elapsed_seconds) FILTER (WHERE cpu_seconds IS NOT NULL), sum(cores * elapsed_seconds),
  sum(memory_used_bytes * elapsed_seconds), sum(memory_allocated_bytes * elapsed_seconds), count(memory_used_bytes),
  sum(energy_joules), sum(gpu_hours_measured) FILTER (WHERE energy_joules IS NOT NULL),
  count(*) FILTER (WHERE gpu_count IS NULL),
  sum(gpu_hours_allocated) FILTER (WHERE state IN ('FAILED', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL')),
  count(eligible_time), quantile_cont(epoch(start_time) - epoch(eligible_time), [0.5, 0.9])
FROM read_parquet(?, union_by_name=true)
WHERE start_time < TIMESTAMPTZ '2026-01-01' AND end_time > TIMESTAMPTZ '2025-01-01' GROUP BY 1
"""


def year_by_user(jobs: int = JOBS) -> Row:
    """Seconds of a warm report of a year by user, and of the query by hand for the same columns, as warm, on the same
    files in the same run; of CPU too, which says more on a busy machine. The collector of garbage is set as it is in
    the server."""
    with tempfile.TemporaryDirectory(prefix="fullwarp-bench-") as name:
        folder = Path(name)
        write_year(folder, jobs)
        paths = [str(path) for path in sorted((folder / "jobs").glob("*/*.parquet"))]
        sources = _sources(folder)
        query = ReportQuery(BEGIN, BEGIN + timedelta(days=DAYS))
        viewer = Viewer("bench", Role.STAFF)
        first, _ = _seconds(lambda: report(viewer, sources, query), 1)
        collect_seldom()
        ours, ours_cpu = _seconds(lambda: report(viewer, sources, query), TIMES)
        with _database() as connection:
            by_hand, by_hand_cpu = _seconds(lambda: connection.execute(BY_HAND, [paths]).fetchall(), TIMES)
        total = report(viewer, sources, query).total
        return {
            "jobs": int(total.values["jobs"] or 0),
            "first_seconds": round(first, 3),
            "report_seconds": round(ours, 3),
            "by_hand_seconds": round(by_hand, 3),
            "report_cpu_seconds": round(ours_cpu, 3),
            "by_hand_cpu_seconds": round(by_hand_cpu, 3),
            "times_by_hand": round(ours / by_hand, 2),
        }


def write_year(folder: Path, jobs: int) -> None:
    """A year of finished jobs, evenly over its days, and the hours of the first and last of them."""
    chance = np.random.default_rng(7)
    ends = np.sort(chance.integers(0, DAYS * 86400, jobs))
    for day in range(DAYS):
        chosen = np.flatnonzero(ends // 86400 == day)
        rows = _day(chance, chosen, ends[chosen])
        _write(folder, "jobs", day, rows)
        if day >= DAYS - 15:
            _write(folder, "usage", day, _hours(rows, day))


def _day(chance: np.random.Generator, numbers: np.ndarray, ends: np.ndarray) -> Columns:
    count = len(numbers)
    run = np.minimum(chance.exponential(4 * 3600, count).astype(np.int64) + 60, np.maximum(ends, 60))
    start = (int(BEGIN.timestamp()) + ends - run) * 1_000_000
    gpus = chance.choice([0, 1, 2, 4, 8, 16], count, p=[0.2, 0.5, 0.1, 0.1, 0.08, 0.02])
    allocated = gpus * run / 3600
    measured = allocated * 0.95
    used = measured * chance.random(count)
    account = chance.integers(0, ACCOUNTS, count)
    waits = chance.integers(0, 7200, count) * 1_000_000
    names = {"user": "u{:03}", "account": "a{:02}", "name": "run_{}", "display_id": "{}"}
    made = {"user": account + ACCOUNTS * chance.integers(0, USERS // ACCOUNTS, count), "account": account}
    made |= {"name": numbers % 5000, "display_id": numbers}
    return {
        "schema_version": np.ones(count, np.int16),
        "cluster": ["bench"] * count,
        "job_id": numbers + 1000,
        "submit_time": start - waits,
        "eligible_time": start - waits,
        "start_time": start,
        "end_time": start + run * 1_000_000,
        "collected_at": start + run * 1_000_000,
        **{name: [form.format(value) for value in made[name]] for name, form in names.items()},
        "account_path": [[f"d{value % 6}", f"a{value:02}"] for value in account],
        "partition": chance.choice(["gpu", "long", "mig"], count),
        "qos": chance.choice(["normal", "high"], count),
        "gpu_model": chance.choice(["H100", "A100 80GB"], count),
        "state": chance.choice(["COMPLETED", "FAILED", "TIMEOUT"], count, p=[0.8, 0.15, 0.05]),
        "nodes": [["gpu01"]] * count,
        "gpu_count": gpus,
        "cores": gpus * 8 + 4,
        "elapsed_seconds": run.astype(float),
        "cpu_seconds": run * (gpus * 8 + 4) * chance.random(count),
        "memory_used_bytes": chance.random(count) * 1e10,
        "memory_allocated_bytes": np.full(count, 2e10),
        "gpu_hours_allocated": allocated,
        "device_hours": allocated,
        "gpu_hours_measured": measured,
        "gpu_hours_idle_measured": measured,
        "gpu_hours_used": used,
        "gpu_hours_idle": (measured - used) / 2,
        **{name: chance.random(count) for name in ("utilization", "sm_activity", "tensor_activity", "gpu_utilization")},
        "energy_joules": allocated * 1.2e6,
    }


def _hours(rows: Columns, day: int) -> Columns:
    """One hour for each job of a day: enough to find which may still run."""
    kept = {name: values for name, values in rows.items() if name in DATASETS["usage"].schema.names}
    hour = int((BEGIN + timedelta(days=day)).timestamp()) * 1_000_000
    return {**kept, "hour": np.full(len(rows["cluster"]), hour)}  # type: ignore[arg-type]


def _write(folder: Path, name: str, day: int, columns: Columns) -> None:
    schema = DATASETS[name].schema
    count = len(columns["cluster"])  # type: ignore[arg-type]
    arrays = [
        pa.array(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in schema
    ]
    place = folder / name / f"day={(BEGIN + timedelta(days=day)).date()}"
    place.mkdir(parents=True)
    table = pa.Table.from_arrays(arrays, schema=schema)
    pq.write_table(table, place / "rows.parquet", **encoding(DATASETS[name]))


def _database() -> Any:
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    for setting in ("parquet_metadata_cache = true", "enable_progress_bar = false"):
        connection.execute(f"SET {setting}").complete()
    return connection


def _sources(folder: Path) -> Sources:
    from data.simulation import World
    from data.slurm.simulated import SimulatedScheduler

    def now() -> datetime:
        return BEGIN + timedelta(days=DAYS)

    scheduler, metrics = SimulatedScheduler(World(7), now), NoMetrics()
    live = LiveCluster(scheduler, metrics, MemoryCache(), now, limits=(20.0, 20.0))
    return Sources(Settings(history=HistorySettings(directory=folder)), scheduler, metrics, live, now)


def _seconds(ask: Callable[[], object], times: int) -> tuple[float, float]:
    """The least of wall and of CPU time."""
    found, cpu = [], []
    for _ in range(times):
        begun, spent = time.perf_counter(), time.process_time()
        ask()
        found.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - spent)
    return min(found), min(cpu)
