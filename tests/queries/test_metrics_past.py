"""The detailed table over history: the same rows and words as live, from what the collector has kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from components.metrics_answer import MetricsAnswer
from components.metrics_page import metrics_parts
from data.model import Role, Viewer
from data.queries.history import Group as HistoryGroup
from data.queries.history import ReportQuery
from data.queries.history.details import detailed
from data.queries.metrics import Group, Question, detailed_metrics
from data.queries.metrics.flat import csv_text, flat_rows
from data.queries.metrics.model import Origin
from data.sources import Sources
from settings import FindingLimits
from tests.queries.cluster import STAFF
from tests.queries.history.attempts import Attempt, at, sources_of, write

ALICE = Viewer("alice", Role.USER)
BUSY = {"gpu_utilization": 0.9, "sm_activity": 0.2, "tensor_activity": 0.3, "fp64_activity": 0.0}
LINKS = {"nvlink_tx_bytes_per_second": 2e9, "nvlink_rx_bytes_per_second": 3e9}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """Ten days: small kernels on 8 H100, an idle A100, a thin one, one that still runs, one of somebody else."""
    attempts = [
        Attempt(1, 2.0, 12.0, gpus=8, used=0.9, metrics={**BUSY, **LINKS}, name="train_1"),
        Attempt(
            2,
            30.0,
            34.0,
            gpus=1,
            used=0.0,
            idle=1.0,
            metrics={"gpu_utilization": 0.0},
            model="A100 80GB",
            name="train_2",
        ),
        Attempt(3, 40.0, 44.0, gpus=1, used=0.0, idle=1.0, measured=0.3, metrics={"gpu_utilization": 0.0}),
        Attempt(4, 100.0, None, gpus=2, used=0.5, metrics={"gpu_utilization": 0.5, "sm_activity": 0.4}, until=110.0),
        Attempt(5, 60.0, 70.0, gpus=4, used=0.7, user="mallory", account="chemistry", name="secret"),
    ]
    return sources_of(write(tmp_path_factory.mktemp("history"), attempts))


def asked(group: Group = Group.JOB, **more: object) -> Question:
    return Question(at(0), at(120), group, **more)  # type: ignore[arg-type]


def test_rows_come_from_history_beyond_a_day(kept: Sources) -> None:
    table = detailed_metrics(STAFF, kept, asked())
    rows = {row.key: row for row in table.rows}
    assert table.origin is Origin.HISTORY and set(rows) == {"1", "2", "3", "4", "5"}
    first = rows["1"]
    assert (first.hours.allocated, first.value("utilization")) == (pytest.approx(80), pytest.approx(0.9))
    assert first.value("sm_activity") == pytest.approx(0.2) and first.value("utilization_gap") == pytest.approx(0.7)
    assert first.value("nvlink_bytes_per_second") == pytest.approx(5e9)
    assert [use.id for use in first.findings] == ["small_kernels"] and first.findings[0].gpu_hours == pytest.approx(80)
    assert [use.id for use in rows["2"].findings] == ["idle"] and rows["3"].findings == ()
    assert (rows["4"].running, rows["1"].running, rows["5"].value("sm_activity")) == (1, 0, None)


@pytest.mark.parametrize("group", [Group.USER, Group.MODEL])
def test_a_grouping_has_the_hours_and_means_of_history_itself(kept: Sources, group: Group) -> None:
    table = detailed_metrics(STAFF, kept, asked(group))
    other = detailed(STAFF, kept, ReportQuery(at(0), at(120), by=HistoryGroup(group.value)))
    theirs = {row.key: row for row in other.rows}
    assert sum(row.hours.allocated for row in table.rows) == pytest.approx(other.total.hours.allocated)
    for row in table.rows:
        found = theirs[row.key]
        assert row.hours.used == pytest.approx(found.hours.used) and row.value("utilization") == pytest.approx(
            found.utilization
        )
        assert row.value("sm_activity") == pytest.approx(found.value("sm_activity"), nan_ok=True)


def test_filters_applications_and_models_work_as_live(kept: Sources) -> None:
    applications = detailed_metrics(STAFF, kept, asked(Group.APPLICATION, by_model=True))
    assert {(row.name, row.models[0][0]) for row in applications.rows} >= {("train", "H100"), ("train", "A100 80GB")}
    idle = detailed_metrics(STAFF, kept, asked(finding="idle"))
    assert [row.key for row in idle.rows] == ["2"]
    one = detailed_metrics(STAFF, kept, asked(models=frozenset({"A100 80GB"}), users=frozenset({"alice"})))
    assert [row.key for row in one.rows] == ["2"]


def test_nobody_sees_other_peoples_past(kept: Sources) -> None:
    for group in Group:
        table = detailed_metrics(ALICE, kept, asked(group))
        assert table.total.jobs == 4 and "mallory" not in repr(table) and "secret" not in csv_text(table)
    assert detailed_metrics(STAFF, kept, asked()).total.jobs == 5


def test_columns_without_any_measurement_in_the_range_are_named(kept: Sources) -> None:
    absent = {one.column for one in detailed_metrics(STAFF, kept, asked()).not_exported}
    assert "dram_activity" in absent and "power_watts" in absent
    assert not absent & {"sm_activity", "utilization", "utilization_gap", "nvlink_bytes_per_second"}


def test_a_range_that_cuts_a_run_counts_the_part_inside(kept: Sources) -> None:
    table = detailed_metrics(STAFF, kept, replace(asked(), since=at(-30), until=at(7)))
    assert [(row.key, row.hours.allocated) for row in table.rows] == [("1", pytest.approx(40))]
    assert all(row["gpu_hours_allocated"] == pytest.approx(40) for row in flat_rows(table))


def test_an_empty_history_says_how_to_collect(tmp_path: Path) -> None:
    own = sources_of(tmp_path)
    table = detailed_metrics(STAFF, own, asked())
    assert table.rows == () and "fullwarp collect" in table.unknown[0]
    shown = MetricsAnswer({"group": "job", "period": "30d"}, "30 d", None, True, "/", "", FindingLimits(), table)
    assert "fullwarp collect" in repr(metrics_parts(shown).instead)
