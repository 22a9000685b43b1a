"""Ended jobs from a CSV: a map says what its columns mean, and the sums are those of the table."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow.compute as pc
import pytest

from data.errors import BadRequest
from data.history.csv_import import Imported, import_csv, read_csv
from data.history.csv_map import FIELDS, read_map
from data.history.store import HistoryStore, writing
from settings import HistorySettings, Settings
from tests.history.small_csv import HEAD, MAP

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TRACE = """
source = "ClusterCockpit"
[where]
cluster = "alex"
[columns]
job_id = "job_id"
cluster = "cluster"
user = "user"
account = "project"
partition = "partition"
start_time = "start_time"
elapsed_seconds = "duration_s"
time_limit_seconds = "walltime_s"
nodes = {column = "hosts", separator = ";"}
gpu_count = "num_acc"
gpu_type = {column = "subcluster", words = {a100m80 = "a100-80gb"}}
gpu_utilization = {column = "acc_utilization_avg", scale = 0.01}
gpu_memory_used_bytes = {column = "acc_mem_used_avg", scale = 1048576}
state = "state"
"""


def run(tmp_path: Path, csv_path: Path, map_text: str) -> Imported:
    (tmp_path / "map.toml").write_text(map_text)
    settings = Settings(history=HistorySettings(directory=tmp_path / "history"))
    return import_csv(settings, csv_path, tmp_path / "map.toml", NOW)


def small(tmp_path: Path, *rows: str) -> Imported:
    (tmp_path / "jobs.csv").write_text(HEAD + "\n".join(rows) + "\n")
    return run(tmp_path, tmp_path / "jobs.csv", MAP)


def opened(tmp_path: Path) -> HistoryStore:
    with writing(tmp_path / "history") as store:
        return store


def test_303_real_jobs_give_the_hours_of_their_table(tmp_path: Path, reference: Path) -> None:
    trace = reference / "data/job_trace/jobs.csv"
    found = run(tmp_path, trace, TRACE)
    assert (found.jobs, found.users, found.left_out, found.broken) == (303, 41, 241, 0)
    assert found.gpu_hours_allocated == pytest.approx(3980.04, abs=0.005)
    assert found.gpu_hours_used == pytest.approx(2859.88, abs=0.005)
    assert found.gpu_hours_used / found.gpu_hours_measured == pytest.approx(0.719, abs=0.0005)

    store = opened(tmp_path)
    hours = [store.read("usage", day, ("gpu_hours_used", "is_apportioned")) for day in store.days("usage")]
    assert sum(pc.sum(part.column("gpu_hours_used")).as_py() for part in hours) == pytest.approx(2859.88, abs=0.005)
    assert all(pc.all(part.column("is_apportioned")).as_py() for part in hours)
    models = {row for day in store.days("jobs") for row in store.read("jobs", day).column("gpu_model").to_pylist()}
    assert models == {"A40", "A100", "A100 80GB"}


def test_the_same_file_once_more_changes_nothing(tmp_path: Path) -> None:
    rows = ("1,2026-02-01T10:00,2026-02-01T12:00,2,0.5,alice", "2,2026-02-01T10:00,2026-02-03T12:00,1,,bob")
    first = small(tmp_path, *rows)
    before = {path: path.read_bytes() for path in (tmp_path / "history").rglob("*.parquet")}
    assert small(tmp_path, *rows) == first
    assert {path: path.read_bytes() for path in (tmp_path / "history").rglob("*.parquet")} == before


def test_no_utilization_is_not_measured_and_zero_is_idle(tmp_path: Path) -> None:
    small(tmp_path, "1,1770000000,1770003600,1,,alice", "2,1770000000,1770003600,1,0,alice")
    unknown, idle = opened(tmp_path).read("jobs", date(2026, 2, 2)).sort_by("job_id").to_pylist()
    assert (unknown["gpu_source"], unknown["gpu_hours_measured"], unknown["utilization"]) == ("none", 0.0, None)
    assert (idle["gpu_source"], idle["gpu_hours_idle"], idle["utilization"]) == ("CSV", 1.0, 0.0)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("x,1770000000,1770003600,1,0,a", "job_id is 'x'"),
        ("1,soon,1770003600,1,0,a", "start_time is 'soon'"),
        ("1,1770000000,,1,0,a", "there is no end_time"),
        ("1,1770000000,1770003600,-1,0,a", "gpu_count is -1"),
        ("1,1770000000,1770003600,1.5,0,a", "gpu_count is 1.5"),
        ("1,1770000000,1770003600,1e20,,a", "gpu_count is 1e+20"),
        ("1e30,1770000000,1770003600,1,0,a", "job_id is 1e+30"),
        ("1,1770000000,1770003600,1,half,a", "gpu_utilization is 'half'"),
        ("1,0,1770003600,1,0.5,a", "start_time is empty"),
        ("1,1770000000,999999999999,1,0.5,a", "not a time"),
        ("1,1770000000", "there is no end_time"),
    ],
)
def test_a_row_that_cannot_be_counted_is_named_and_the_others_are_kept(tmp_path: Path, row: str, why: str) -> None:
    found = small(tmp_path, row, "7,1770000000,1770003600,1,0.5,bob")
    assert (found.jobs, found.broken) == (1, 1)
    assert found.broken_examples[0].startswith("line 2: ") and why in found.broken_examples[0]


@pytest.mark.parametrize("word", ["nan", "N/A", "None", "null", "-"])
def test_a_utilization_that_nobody_measured_keeps_its_job(tmp_path: Path, word: str) -> None:
    small(tmp_path, f"1,1770000000,1770003600,1,{word},alice")
    (row,) = opened(tmp_path).read("jobs", date(2026, 2, 2)).to_pylist()
    assert (row["utilization"], row["gpu_hours_allocated"], row["gpu_hours_measured"]) == (None, 1.0, 0.0)


def test_a_table_of_sacct_is_read_as_slurm_writes_it(tmp_path: Path) -> None:
    text = """JobIDRaw|Start|Elapsed|Timelimit|State|NodeList|GPUs|MaxRSS
7|2026-02-02T02:40:00|1-00:00:00|1-12:00:00|CANCELLED by 1001|gpu[01-02]|4|64G
"""
    (tmp_path / "sacct.txt").write_text(text)
    (tmp_path / "map.toml").write_text("""
[columns]
cluster = {value = "c"}
job_id = "JobIDRaw"
start_time = "Start"
elapsed_seconds = "Elapsed"
time_limit_seconds = "Timelimit"
state = "State"
nodes = "NodeList"
gpu_count = "GPUs"
memory_used_bytes = "MaxRSS"
""")
    _, found, _ = read_csv(tmp_path / "sacct.txt", tmp_path / "map.toml")
    (job,) = found.rows
    assert (job.state, job.nodes, job.elapsed_seconds, job.time_limit_seconds) == (
        "CANCELLED",
        ("gpu01", "gpu02"),
        86_400,
        129_600,
    )
    assert (job.usage.memory_used_bytes, [held.gpu_count for held in job.devices]) == (64 << 30, [2, 2])


@pytest.mark.parametrize(
    ("column", "field", "text", "expected"),
    [
        ("memory", "memory_allocated_bytes", "1024B", 1024),
        ("memory", "memory_allocated_bytes", "4000Mc", "which is of each CPU or node"),
        ("memory", "memory_allocated_bytes", "4Gn", "which is of each CPU or node"),
        ("nodes", "nodes", "gpu01,login2", ("gpu01", "login2")),
        ("state", "state", "RUNNING", "it is RUNNING, and there is no end_time"),
    ],
)
def test_what_slurm_means_by_a_value_is_what_counts(
    tmp_path: Path, column: str, field: str, text: str, expected: object
) -> None:
    (tmp_path / "jobs.txt").write_text(f"id|Start|End|Elapsed|{column}\n7|1770000000|Unknown|01:00:00|{text}\n")
    columns = {"job_id": "id", "start_time": "Start", "end_time": "End", "elapsed_seconds": "Elapsed", field: column}
    lines = [f'{name} = "{mapped}"' for name, mapped in columns.items()]
    (tmp_path / "map.toml").write_text("\n".join(["[columns]", 'cluster = {value = "c"}', *lines]))
    _, found, _ = read_csv(tmp_path / "jobs.txt", tmp_path / "map.toml")
    if isinstance(expected, str):
        assert not found.rows and expected in found.broken_examples[0]
    else:
        (job,) = found.rows
        assert expected in (job.nodes, job.allocated.memory_bytes)


def test_a_csv_may_come_through_a_pipe_and_its_names_may_hold_marks(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    reading, writing_end = os.pipe()
    with os.fdopen(writing_end, "w") as pipe:
        pipe.write(HEAD.replace("who", 'who,"a; b; c; d; e; f; g; h"') + "1,1770000000,1770003600,1,0.5,alice,\n")
    try:
        _, found, _ = read_csv(Path(f"/dev/fd/{reading}"), tmp_path / "map.toml")
    finally:
        os.close(reading)
    assert [job.user for job in found.rows] == ["alice"]


def test_utilization_above_one_is_flagged_and_out_of_the_mean(tmp_path: Path) -> None:
    small(tmp_path, "1,1770000000,1770003600,1,37.0,alice")
    (row,) = opened(tmp_path).read("jobs", date(2026, 2, 2)).to_pylist()
    assert row["utilization"] is None
    assert "implausible summary values" in row["flags"]


def test_a_job_that_slurm_told_of_with_its_submit_time_is_not_doubled(tmp_path: Path) -> None:
    small(tmp_path, "1,2026-02-01T10:00,2026-02-01T12:00,2,0.5,alice")
    with_submit = MAP + 'submit_time = "who"\n'
    (tmp_path / "jobs.csv").write_text(
        "id,begin,end,gpus,util,who\n1,2026-02-01T10:00,2026-02-01T12:00,2,,2026-01-31\n"
    )
    found = run(tmp_path, tmp_path / "jobs.csv", with_submit)
    assert (found.jobs, found.known) == (0, 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[columns", "not TOML"),
        ("[columns]\njob_id = 'id'\n", "lacks start_time, cluster, end_time or elapsed_seconds"),
        (MAP + "colour = 'x'\n", "no field of a job: colour"),
        (MAP + "qos = 'nothing'\n", "no column 'nothing'"),
        (MAP + "qos = {columm = 'x'}\n", "columns.qos.columm"),
        ("timezone = 'Mars'\n" + MAP, "timezone"),
        ("where = 3\n" + MAP, "where"),
    ],
)
def test_a_map_that_cannot_be_used_says_what_is_wrong(text: str, why: str) -> None:
    header = dict.fromkeys(("id", "begin", "end", "gpus", "util", "who"))
    with pytest.raises(BadRequest) as raised:
        read_map(text, header)
    assert why in str(raised.value)


def test_times_without_a_zone_are_those_of_the_map(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("id,begin,end,gpus,util,who\n1,2026-07-01T10:00,2026-07-01T12:00,1,1,a\n")
    run(tmp_path, tmp_path / "jobs.csv", 'timezone = "Europe/Berlin"\n' + MAP)
    (row,) = opened(tmp_path).read("jobs", date(2026, 7, 1)).to_pylist()
    assert row["start_time"] == datetime(2026, 7, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b'id,begin\n"1,2\n'])
def test_a_file_that_is_no_csv_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "jobs.csv").write_bytes(content)
    with pytest.raises(BadRequest):
        run(tmp_path, tmp_path / "jobs.csv", MAP)
    with pytest.raises(BadRequest, match="cannot be read"):
        run(tmp_path, tmp_path / "none.csv", MAP)


def test_every_field_has_a_help_for_the_reference() -> None:
    assert all(field.help.endswith(".") for field in FIELDS.values())
