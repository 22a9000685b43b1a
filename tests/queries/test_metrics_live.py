"""The detailed table straight from the metrics: whose samples are whose, who sees what, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from data.errors import BadRequest, CannotKnow, SourceTimeout
from data.model import Job, NodeDevices, Tres
from data.queries.metrics import Group, MetricsRow, MetricsTable, Question, detailed_metrics
from data.queries.metrics.attempts import cut, span_in
from settings import ApplicationSettings, Settings
from tests.live.builders import NOW, make_job
from tests.queries.cluster import ALICE, HEAD, STAFF, STRANGER
from tests.queries.metric_builders import HOUR, device, host, question, series, sources, stat

HERS = {"user": "mallory", "account": "chemistry", "name": "secret"}


def ask(own: Any, group: Group = Group.JOB, viewer: Any = STAFF, **more: Any) -> MetricsTable:
    return detailed_metrics(viewer, own, question(group, **more))


def rows(table: MetricsTable) -> dict[str, MetricsRow]:
    return {row.key: row for row in table.rows}


def ended(job: Job, minutes_ago: float, **more: Any) -> Job:
    return replace(job, state="COMPLETED", end_time=NOW - timedelta(minutes=minutes_ago), **more)


def labeled(job: int, values: dict[str, float], index: int = 0, count: int = 120) -> list[Any]:
    return [stat(value, str(job), metric, count, device(index=index)) for metric, value in values.items()]


def test_a_jobs_labeled_samples_become_its_row() -> None:
    seen = [
        *labeled(7, {"gpu_utilization": 0.9, "sm_activity": 0.2, "power_watts": 300.0}),
        *labeled(7, {"gpu_utilization": 0.7}, 1),
    ]
    row = rows(ask(sources([make_job(7, gpus=2)], *seen)))["7"]
    assert row.hours.allocated == pytest.approx(2) and row.hours.used == pytest.approx(1.6)
    assert row.value("utilization") == pytest.approx(0.8)
    assert row.cells["sm_activity"] == row.cells["sm_activity"].__class__(0.2, pytest.approx(1.0))
    assert row.value("utilization_gap") == pytest.approx(0.7) and row.cells["utilization_gap"].hours == pytest.approx(1)
    assert row.findings[0].id == "small_kernels" and row.findings[0].gpu_hours == pytest.approx(1)
    assert (row.models, row.running, row.user) == ((("H100", pytest.approx(2)),), 1, "alice")


def test_only_the_part_of_a_run_inside_the_range_counts() -> None:
    long, short = make_job(7), ended(make_job(8, start_time=NOW - timedelta(minutes=40)), 10)
    seen = [*labeled(7, {"gpu_utilization": 0.5}), *labeled(8, {"gpu_utilization": 1.0}, 1, 60)]
    found = rows(ask(sources([long], *seen, finished=[short])))
    assert found["7"].hours.allocated == pytest.approx(1) and found["8"].hours.allocated == pytest.approx(0.5)
    assert found["8"].hours.coverage == pytest.approx(1) and found["8"].running == 0


def test_jobs_before_after_and_without_gpus_are_left_out() -> None:
    over = ended(make_job(8, start_time=NOW - timedelta(hours=5)), 61)
    bare = make_job(9, gpus=0, allocated=Tres(cpus=8, gpus=0), devices=())
    waiting = make_job(10, None, 4, None, "PENDING")
    assert ask(sources([bare, waiting], finished=[over])).rows == ()


def test_one_gpu_after_the_other_on_one_device_is_not_shared() -> None:
    first = ended(make_job(7, start_time=HOUR.start), 30)
    second = make_job(8, start_time=NOW - timedelta(minutes=30))
    seen = [*labeled(7, {"gpu_utilization": 1.0}, 0, 60), *labeled(8, {"gpu_utilization": 0.0}, 0, 60)]
    found = rows(ask(sources([second], *seen, finished=[first])))
    assert (found["7"].value("utilization"), found["8"].value("utilization")) == (1.0, 0.0)
    assert found["7"].shared_hours == found["8"].shared_hours == 0
    assert [use.id for use in found["8"].findings] == ["idle"]


def test_jobs_on_one_device_at_one_time_are_marked_and_not_judged() -> None:
    seen = [*labeled(7, {"gpu_utilization": 0.0}), *labeled(8, {"gpu_utilization": 0.0})]
    found = rows(ask(sources([make_job(7), make_job(8)], *seen)))
    assert found["7"].shared_hours == pytest.approx(1) and found["7"].findings == found["8"].findings == ()


def test_devices_without_a_label_that_changed_hands_are_cut_by_time() -> None:
    first = ended(make_job(7, indices=(0,), start_time=NOW - timedelta(hours=2)), 30)
    second = make_job(8, indices=(0,), start_time=NOW - timedelta(minutes=30))
    line = series([1.0] * 60 + [0.25] * 60, None, HOUR.start.timestamp())
    own = sources([second], stat(0.625), finished=[first], lines=(line,))
    found = rows(ask(own))
    assert found["7"].value("utilization") == 1.0 and found["8"].value("utilization") == 0.25
    assert found["7"].hours.coverage == pytest.approx(1) and own.metrics.asked_series[0].nodes == {"gpu01"}


def test_a_requeued_jobs_attempts_share_a_label_and_not_their_samples() -> None:
    first = ended(make_job(7, start_time=NOW - timedelta(hours=2), submit_time=NOW - timedelta(hours=3)), 30)
    again = make_job(7, start_time=NOW - timedelta(minutes=20), submit_time=NOW - timedelta(minutes=30))
    line = series([0.8] * 60 + [0.2] * 60, "7", HOUR.start.timestamp())
    own = sources(
        [again], *labeled(7, {"gpu_utilization": 0.5}), finished=[replace(first, state="REQUEUED")], lines=(line,)
    )
    table = ask(own)
    row = rows(table)["7"]
    assert row.jobs == 1 and row.hours.allocated == pytest.approx(0.5 + 1 / 3)
    assert row.value("utilization") == pytest.approx((0.8 * 0.5 + 0.2 / 3) / (0.5 + 1 / 3))
    assert own.metrics.asked_series[0].job_labels == {"7"}


def test_attempts_of_one_job_on_other_nodes_need_no_samples() -> None:
    first = ended(make_job(7, "gpu02", start_time=NOW - timedelta(hours=2)), 30)
    again = make_job(7, "gpu01", start_time=NOW - timedelta(minutes=30))
    seen = [*labeled(7, {"gpu_utilization": 1.0}, 0, 60), stat(0.0, "7", count=60, of=device("gpu02"))]
    own = sources([again], *seen, finished=[first])
    row = rows(ask(own))["7"]
    assert row.value("utilization") == pytest.approx(0.5) and row.fault_hours == 0 and own.metrics.asked_series == []


def test_too_many_samples_to_read_are_said_and_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.queries.metrics.live.MOST_SAMPLES", 100)
    young = make_job(8, indices=(0,), start_time=NOW - timedelta(minutes=30))
    table = ask(sources([young], stat(0.6)))
    assert table.rows[0].cells == {} and table.rows[0].hours.allocated == pytest.approx(0.5)
    assert "changed hands" in table.unknown[0]


def test_a_node_level_estimate_is_marked_and_not_judged() -> None:
    job = make_job(7, gpus=1, devices=(NodeDevices("gpu01", 1, None),))
    table = ask(sources([job], stat(0.0), stat(0.0, of=device(index=1))))
    row = table.rows[0]
    assert row.estimated_hours == pytest.approx(1) and row.findings == () and row.value("utilization") == 0


def test_a_slice_shows_gr_by_its_weight_and_has_no_gap() -> None:
    job = make_job(8, "mig01", 1, (0,), devices=(NodeDevices("mig01", 1, (0,), "1g.10gb"),))
    piece = device("mig01", slice_id="3")
    seen = [stat(0.5, "8", "graphics_engine_activity", of=piece), stat(0.4, "8", "sm_activity", of=piece)]
    row = rows(ask(sources([job], *seen)))["8"]
    assert row.utilization_metric == "graphics_engine_activity" and row.value("utilization") == 0.5
    assert row.hours.allocated == pytest.approx(1 / 7) and row.value("utilization_gap") is None
    assert row.models[0][0] == "H100 1g.10gb"


def test_links_are_the_sum_of_both_ways() -> None:
    ways = {"nvlink_tx_bytes_per_second": 3e9, "nvlink_rx_bytes_per_second": 5e9, "pcie_tx_bytes_per_second": 1e9}
    row = ask(sources([make_job(7)], *labeled(7, {"gpu_utilization": 0.5, **ways}))).rows[0]
    assert row.value("nvlink_bytes_per_second") == 8e9 and row.value("pcie_bytes_per_second") == 1e9


def test_idle_gpus_beside_working_ones_are_unbalanced() -> None:
    seen = [*labeled(7, {"gpu_utilization": 0.9}, 0), *labeled(7, {"gpu_utilization": 0.0}, 1)]
    row = ask(sources([make_job(7, gpus=2)], *seen)).rows[0]
    assert [(use.id, use.gpu_hours) for use in row.findings] == [("unbalanced", pytest.approx(1))]


def test_a_low_gpu_with_busy_cores_is_input_bound() -> None:
    cores = host(0.95 * 8 * 3600, "7", "cpu_seconds")
    row = ask(sources([make_job(7)], *labeled(7, {"gpu_utilization": 0.3}), cores)).rows[0]
    assert [use.id for use in row.findings] == ["input_bound"]


def test_thin_data_show_their_coverage_and_no_diagnosis() -> None:
    row = ask(sources([make_job(7)], *labeled(7, {"gpu_utilization": 0.0}, count=50))).rows[0]
    assert row.hours.coverage == pytest.approx(50 / 120) and row.findings == ()


@pytest.mark.parametrize(
    ("group", "names"),
    [
        (Group.USER, {"alice", "mallory"}),
        (Group.ACCOUNT, {"physics", "chemistry"}),
        (Group.PARTITION, {"gpu"}),
        (Group.MODEL, {"H100"}),
        (Group.APPLICATION, {"train", "secret"}),
        (Group.JOB, {"7", "8", "9"}),
    ],
)
def test_rows_are_grouped_by(group: Group, names: set[str]) -> None:
    jobs = [make_job(7, name="train_1"), make_job(8, name="train_2"), make_job(9, **HERS)]
    seen = [one for job in (7, 8, 9) for one in labeled(job, {"gpu_utilization": 0.5}, job)]
    table = ask(sources(jobs, *seen), group)
    assert {row.name for row in table.rows} == names
    assert sum(row.hours.allocated for row in table.rows) == pytest.approx(table.total.hours.allocated) == 3


def test_the_sites_pattern_names_applications() -> None:
    settings = Settings(applications=ApplicationSettings(name_pattern="^[a-z]+"))
    table = ask(sources([make_job(7, name="gmx-prod-x")], settings=settings), Group.APPLICATION)
    assert table.rows[0].name == "gmx"


@pytest.mark.parametrize("group", list(Group))
def test_nobody_sees_other_peoples_rows_names_or_hours(group: Group) -> None:
    seen = [one for job in (7, 90210) for one in labeled(job, {"gpu_utilization": 0.5}, job)]
    own = sources([make_job(7, account="physics"), make_job(90210, **HERS)], *seen)
    for viewer, jobs in ((ALICE, 1), (HEAD, 1), (STRANGER, 0), (STAFF, 2)):
        table = ask(own, group, viewer)
        assert table.total.jobs == jobs and sum(row.jobs for row in table.rows) == jobs
        assert ("mallory" in repr(table) or "90210" in repr(table)) is (viewer is STAFF)


def test_a_column_that_nobody_exports_is_told_apart_from_one_not_measured() -> None:
    absent = (
        "fp16_activity",
        "sm_activity",
        "nvlink_tx_bytes_per_second",
        "nvlink_rx_bytes_per_second",
        "dram_activity",
    )
    own = sources(
        [make_job(7)],
        *labeled(7, {"gpu_utilization": 0.5}),
        missing=absent,
        missing_here=(*absent[:2], "nvlink_tx_bytes_per_second"),
    )
    found = {one.column: one.lines for one in ask(own).not_exported}
    assert set(found) == {"fp16_activity", "sm_activity", "utilization_gap"}
    assert any("DCGM_FI_PROF_PIPE_FP16_ACTIVE" in line for line in found["fp16_activity"])
    assert all(one.lines == () for one in ask(own, viewer=ALICE).not_exported)


def many(count: int) -> tuple[list[Job], Iterable[Any]]:
    jobs = [
        make_job(number, f"gpu{number // 8:03}", indices=(number % 8,), user=f"u{number % 9}")
        for number in range(1, count)
    ]
    return jobs, [stat(0.5, str(job.job_id), of=device(job.nodes[0], job.job_id % 8)) for job in jobs]


def test_requests_depend_neither_on_jobs_nor_on_viewers() -> None:
    costs = set()
    for count in (3, 400):
        jobs, seen = many(count)
        own = sources(jobs, *seen)
        own.live.snapshot()
        before = (own.metrics.requests, own.scheduler.requests)
        for viewer in (STAFF, ALICE, STRANGER, STAFF):
            for group in Group:
                ask(own, group, viewer)
        costs.add((own.metrics.requests - before[0], own.scheduler.requests - before[1]))
    assert len(costs) == 1 and costs.pop()[0] == 1


def test_history_is_needed_beyond_a_day_or_a_week_ago() -> None:
    own = sources([make_job(7)])
    for since, until in ((timedelta(days=2), timedelta()), (timedelta(days=20), timedelta(days=19.5))):
        with pytest.raises(CannotKnow) as refused:
            detailed_metrics(STAFF, own, Question(NOW - since, NOW - until))
        assert "history.directory" in refused.value.hint


@pytest.mark.parametrize(("since", "until"), [(0.0, 0.0), (10.0, 20.0), (-60.0, -90.0), (0.5, 0.0)])
def test_a_range_without_length_is_refused(since: float, until: float) -> None:
    asked = Question(NOW - timedelta(minutes=since), NOW - timedelta(minutes=until))
    with pytest.raises(BadRequest, match="no length"):
        detailed_metrics(STAFF, sources([]), asked)


def test_a_failing_metrics_server_is_an_error_and_not_an_empty_table() -> None:
    own = sources([make_job(7)])
    own.live.snapshot()
    own.metrics.fault = SourceTimeout("no answer")
    with pytest.raises(SourceTimeout):
        ask(own)
    own.metrics.fault = None
    assert len(ask(own).rows) == 1


def test_accounting_that_fails_is_said_and_the_running_jobs_are_shown() -> None:
    own = sources([make_job(7)], *labeled(7, {"gpu_utilization": 0.5}))
    own.live.snapshot()

    def refuse(since: Any, until: Any) -> Any:
        raise SourceTimeout("no slurmdbd")

    own.scheduler.finished_jobs = refuse  # type: ignore[method-assign]
    table = ask(own)
    assert len(table.rows) == 1 and "could not be read" in table.unknown[0]


def test_a_run_is_cut_to_the_range_and_keeps_no_number_of_the_whole() -> None:
    job = replace(make_job(7, suspended_seconds=720.0), admin_comment="JS1:x", end_time=NOW - timedelta(minutes=30))
    inside = cut(replace(job, elapsed_seconds=4680.0, state="COMPLETED"), HOUR)
    assert span_in(job, HOUR).seconds == 1800 and inside.start_time == HOUR.start and inside.admin_comment is None
    assert inside.suspended_seconds == pytest.approx(240) and inside.elapsed_at(NOW) == pytest.approx(1560)
