"""The detailed table against the generator's own samples, cut and summed here: over the simulated metrics, and over the
same samples in a real Prometheus. Terminal and CSV print the same."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from components.metrics_payload import PayloadContext, metrics_payload
from data.metrics.simulated import SimulatedMetrics
from data.model import Job, Role, Viewer, Window
from data.queries.metrics import Group, MetricsTable, Question, detailed_metrics
from data.queries.metrics.flat import csv_text
from data.queries.metrics.live import DEVICE_METRICS
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from data.sources import Sources
from settings import FindingLimits
from terminal.form import to_json
from terminal.metrics import metric_lines
from tests.end_to_end.simulated_truth import Truth, source, sources_at, write
from tests.services.prometheus import PrometheusServer

MOMENT = datetime(2026, 11, 24, 10, 47, 13, tzinfo=UTC)
WINDOW = Window(MOMENT - timedelta(hours=1), MOMENT)
STAFF = Viewer("root", Role.STAFF)
SEVENTHS = {"1g": 1, "2g": 2, "3g": 3, "4g": 4, "7g": 7}
UTIL, GR = "gpu_utilization", "graphics_engine_activity"
Totals = dict[str, tuple[float, float]]


@pytest.fixture(scope="module")
def world() -> World:
    return World(7)


@pytest.fixture(scope="module")
def truth(world: World) -> Truth:
    return Truth(world, WINDOW)


@pytest.fixture(scope="module")
def own(world: World) -> Sources:
    return sources_at(world, SimulatedMetrics(world, lambda: MOMENT), MOMENT)


@pytest.fixture(scope="module")
def jobs(world: World) -> list[Job]:
    """Attempts with GPUs of their own in the hour; suspended ones and those under a label of two are left out."""
    scheduler = SimulatedScheduler(world, lambda: MOMENT)
    every = [*scheduler.jobs().rows, *scheduler.finished_jobs(WINDOW.start, MOMENT).rows]
    held = [one for one in every if one.allocated.gpus and one.start_time is not None and one.start_time < MOMENT]
    ids = [one.job_id for one in held]
    return [
        one for one in held if not one.suspended_seconds and one.state != "SUSPENDED" and ids.count(one.job_id) == 1
    ]


def hours_of(job: Job) -> float:
    assert job.start_time is not None
    first, last = max(job.start_time, WINDOW.start), min(job.end_time or MOMENT, MOMENT)
    return (last - first).total_seconds() / 3600


def weight_of(job: Job) -> float:
    """A whole GPU, or the sevenths that the slice's type names."""
    kind = next(iter(job.allocated.gpus_by_type), "")
    return next((share / 7 for name, share in SEVENTHS.items() if f"{name}." in kind), 1.0)


def expected(truth: Truth, job: Job, metric: str) -> tuple[float, float] | None:
    """(mean, hours) over the job's devices, each by its weight and the share of its samples."""
    seen = truth.of_job(metric, job)
    if not seen:
        return None
    possible = hours_of(job) * 120
    shares = {place: min(1.0, (len(values) + 1) / possible) for place, values in seen.items()}
    weights = {place: share * hours_of(job) * weight_of(job) for place, share in shares.items()}
    total = sum(weights.values())
    return sum(float(values.mean()) * weights[place] for place, values in seen.items()) / total, total


def metric_of(job: Job) -> str:
    return GR if weight_of(job) < 1 else UTIL


def check_jobs(truth: Truth, table: MetricsTable, jobs: list[Job]) -> int:
    rows = {row.key: row for row in table.rows}
    checked = 0
    for job in jobs:
        if hours_of(job) < 0.1 or job.het_job_id is not None:
            continue
        row = rows[job.display_id]
        assert row.hours.allocated == pytest.approx(
            (job.allocated.gpus or 0) * hours_of(job) * weight_of(job), rel=1e-6
        )
        for column, metric in (("utilization", metric_of(job)), ("sm_activity",) * 2, ("power_watts",) * 2):
            wanted = expected(truth, job, metric)
            if wanted is None:
                assert row.value(column) is None
                continue
            assert row.value(column) == pytest.approx(wanted[0], rel=2e-3, abs=2e-3), (job.display_id, column)
            assert row.cells[column].hours == pytest.approx(wanted[1], rel=0.03), (job.display_id, column)
        checked += 1
    return checked


def asked(sources: Sources, group: Group, **more: object) -> MetricsTable:
    return detailed_metrics(STAFF, sources, Question(WINDOW.start, MOMENT, group, **more))  # type: ignore[arg-type]


def test_every_jobs_row_is_what_the_generator_made(truth: Truth, own: Sources, jobs: list[Job]) -> None:
    assert check_jobs(truth, asked(own, Group.JOB), jobs) > 40


def test_a_users_row_weighs_the_jobs_by_measured_hours(truth: Truth, own: Sources, jobs: list[Job]) -> None:
    sums: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for job in jobs:
        found = expected(truth, job, metric_of(job))
        if found is not None:
            sums[job.user or ""].append(found)
    table = asked(own, Group.USER)
    whole = {row.name: row for row in table.rows if row.jobs == len(sums.get(row.name, ()))}
    assert len(whole) > 15
    for name, row in whole.items():
        hours = sum(weight for _, weight in sums[name])
        assert row.value("utilization") == pytest.approx(sum(v * h for v, h in sums[name]) / hours, rel=5e-3, abs=5e-3)


def test_the_hours_add_up_in_every_grouping(own: Sources) -> None:
    whole = asked(own, Group.JOB).total
    for group in Group:
        for by_model in (False, True):
            table = asked(own, group, by_model=by_model)
            assert sum(row.hours.allocated for row in table.rows) == pytest.approx(whole.hours.allocated)
            assert sum(row.hours.used or 0 for row in table.rows) == pytest.approx(whole.hours.used)
    assert whole.hours.allocated > 200 and 0.9 < (whole.hours.coverage or 0) <= 1


@pytest.fixture(scope="module")
def real(world: World, prometheus_server: PrometheusServer, jobs: list[Job]) -> Iterator[tuple[Sources, list[Job]]]:
    """The same hour of some nodes in Prometheus, and the jobs that ran on them alone."""
    slices = {job.nodes[0] for job in jobs if weight_of(job) < 1}
    nodes = frozenset([*sorted(slices)[:2], *sorted({node for job in jobs for node in job.nodes})[:10]])
    kept = [job for job in jobs if nodes.issuperset(job.nodes)]
    before = Window(WINDOW.start - timedelta(minutes=5), MOMENT + timedelta(seconds=1))
    assert write(prometheus_server, world, before, (*DEVICE_METRICS, "cpu_seconds"), nodes, "detailed") > 50_000
    reading = source(prometheus_server, "detailed")
    yield sources_at(world, reading, MOMENT), kept
    reading.close()


def test_a_real_prometheus_gives_the_same_rows(truth: Truth, real: tuple[Sources, list[Job]]) -> None:
    sources, kept = real
    table = asked(sources, Group.JOB)
    assert check_jobs(truth, table, kept) > 10
    assert {row.utilization_metric for row in table.rows} >= {UTIL, GR}


def test_the_cost_on_the_wire_does_not_depend_on_viewers(real: tuple[Sources, list[Job]]) -> None:
    sources, _ = real
    asked(sources, Group.JOB)
    before = sources.metrics.requests
    for name in ("root", "alice", "bob"):
        role = Role.STAFF if name == "root" else Role.USER
        for group in Group:
            detailed_metrics(Viewer(name, role), sources, Question(WINDOW.start, MOMENT, group))
    assert sources.metrics.requests == before


def test_json_csv_terminal_and_page_show_the_functions_numbers(own: Sources) -> None:
    table = asked(own, Group.MODEL)
    said = {row["key"]: row for row in json.loads(to_json(table))["rows"]}
    written = {row["row"]: row for row in csv.DictReader(io.StringIO(csv_text(table)))}
    page = metrics_payload(table, PayloadContext("/", {}, FindingLimits()))
    drawn = {row["key"]: row for row in page["rows"]}
    lines = [line for line in metric_lines(table, UTC, 250, 99) if hasattr(line, "columns")]
    column = {one.header: list(one.cells) for one in lines[0].columns}  # type: ignore[union-attr]
    place = [one["name"] for one in page["columns"]].index("utilization")
    for number, row in enumerate(table.rows):
        value = row.value("utilization")
        assert value is not None and said[row.key]["cells"]["utilization"]["value"] == value
        assert float(written[row.key]["utilization"]) == value
        assert drawn[row.key]["values"][place] == pytest.approx(value * 100, abs=1e-3)
        assert float(str(column["UTIL"][number]).rstrip("g~")) == pytest.approx(value * 100, abs=0.51)
        assert (
            said[row.key]["hours"]["allocated"] == float(written[row.key]["gpu_hours_allocated"]) == row.hours.allocated
        )
        assert drawn[row.key]["hours"] == pytest.approx(row.hours.allocated, abs=1e-4)
    assert len(table.rows) >= 4
