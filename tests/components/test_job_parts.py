"""Parts of the job pages: what is said, in which words, and that nothing unmeasured reads as zero."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from components.data_table import pager, ratio_cell
from components.findings import code_block, findings_panel
from components.job_charts import room_of
from components.job_gpus import hours_panel, hours_parts
from components.job_meters import meters
from components.job_rows import COLUMNS, table_rows
from components.job_side import neighbors_panel, waiting_panel
from components.job_words import gpu_words, job_href, state_word
from components.user_month import month_panel
from components.user_page import UserView, user_parts
from data.day_use import DayUse
from data.efficiency import GpuHours
from data.findings import Finding
from data.model import Device, JoinMethod, SourceCondition, Tres
from data.queries.finished import FinishedRow
from data.queries.job_context import Ahead, NodeNeighbors
from data.queries.job_list import Show
from data.queries.jobs import JobRow
from data.queries.pending import Waiting
from data.queries.users import UserNow, UserPast
from data.report import GpuUse, MetricUse, UseSource, build_report
from data.words import MINUS, percent
from settings import JudgementSettings
from tests.components.snapshots import snapshot, source
from tests.components.test_overview_parts import of_class, words
from tests.live.builders import NOW, make_job

LIMITS = JudgementSettings()


def report(**changes: object):
    return build_report(make_job(7, "gpu01", 2, (0, 1), **changes), now=NOW, limits=LIMITS)


def test_a_job_that_nothing_measured_reads_not_measured_everywhere() -> None:
    strip = meters(report(), LIMITS)
    text = words(strip)
    assert text.count("not measured") >= 4 and "0 %" not in text.replace("8.3 %", "")
    assert len(of_class(strip, "fw-is-unknown")) == 4
    table = words(hours_panel(report(), "/"))
    assert "Not measured 4.0" in table and "Used" not in table


def test_of_many_gpus_those_that_do_the_same_stand_in_one_row() -> None:
    def named(each: int) -> list[str]:
        places = [(node, index) for node in "ab" for index in range(each)]
        found = tuple(
            GpuUse(
                node,
                Device(node, index=index),
                metrics={"gpu_utilization": MetricUse(0.5 if node == "b" and index == 1 else 0.901 + index / 10000)},
            )
            for node, index in places
        )
        panel = hours_panel(replace(report(), gpus=found), "/")
        return [words(name) for name in of_class(panel, "fw-id")]

    assert len(named(8)) == 16
    assert named(9) == ["0–8, each", "0, 2–8, each", "1"]


def test_little_that_several_gpus_do_is_not_rounded_to_nothing() -> None:
    def said(*used: float) -> str:
        found = tuple(
            GpuUse(
                "a",
                Device("a", index=index),
                metrics={"gpu_utilization": MetricUse(0.0), "dram_activity": MetricUse(one)},
            )
            for index, one in enumerate(used)
        )
        return words(hours_panel(replace(report(), gpus=found), "/"))

    assert "0.1–0.4" in said(0.001, 0.004) and "1–12" in said(0.011, 0.117)


def test_a_job_without_gpus_has_no_gpu_meters() -> None:
    strip = meters(report(allocated=Tres(cpus=8, gpus=0), devices=()), LIMITS)
    assert "GPU" not in words(strip) and len(of_class(strip, "fw-meter")) == 3


def test_a_waiting_job_has_no_meters() -> None:
    assert meters(build_report(make_job(9, None, 2, None, "PENDING"), now=NOW, limits=LIMITS), LIMITS) is None


def test_the_parts_of_the_hours_add_up() -> None:
    hours = GpuHours(10.0, 8.0, 3.0, 2.0, 8.0)
    assert sum(amount for _, _, amount in hours_parts(hours)) == pytest.approx(10.0)


def test_copy_takes_the_lines_to_put_in_without_their_sign() -> None:
    block = code_block("job script", ("- #SBATCH --mem=9G", "+ #SBATCH --mem=1G", "+ #SBATCH --gres=gpu:1"))
    button = of_class(block, "fw-copy")[0].to_plotly_json()["props"]
    assert button["data-copy"] == "#SBATCH --mem=1G\n#SBATCH --gres=gpu:1"
    assert f"{MINUS} #SBATCH --mem=9G" in words(block)


def test_more_than_five_findings_are_behind_one_tap() -> None:
    many = [Finding(f"f{number}", f"finding {number}", "why", "what") for number in range(7)]
    panel = findings_panel(many, "")
    assert "7 findings" in words(panel) and "Show all 7" in words(panel)
    assert "Nothing fits" in words(findings_panel((), "Nothing fits"))


def row(**changes: object) -> JobRow:
    plain = JobRow(make_job(7, "gpu01", 8), 7200.0, 60.0, 8)
    return replace(plain, **changes)  # type: ignore[arg-type]


def running_cells(one: JobRow) -> dict[str, str]:
    cells = table_rows([one], Show.RUNNING, "/")[0]
    return {column.label: words(cell) for column, cell in zip(COLUMNS[Show.RUNNING], cells, strict=True)}


def test_what_is_not_measured_is_a_dash_in_the_list() -> None:
    found = running_cells(row())
    assert (found["UTIL"], found["Idle"]) == ("–", "–")


def test_a_partly_measured_job_says_of_how_many() -> None:
    found = running_cells(row(utilization=0.5, gpus_measured=6, gpus_idle=2, join=JoinMethod.NODE_ESTIMATE))
    assert found["UTIL"] == "506 of 8 GPUs measured, node estimate" and found["Idle"] == "2 / 8"


def test_slices_that_a_user_holds_are_told_beside_the_gpus() -> None:
    piece = row(job=make_job(8, "mig01", 2, (0, 1), allocated=Tres(gpus=2, gpus_by_type={"1g.10gb": 2})), gpus=2)
    parts = user_parts(UserView(UserNow("alice", snapshot(), (row(), piece), ()), None, True, False, "/"))
    assert "GPUs held8and 2 slices, of 2 jobs" in words(parts.kpis)
    parts = user_parts(UserView(UserNow("alice", snapshot(), (piece,), ()), None, True, False, "/"))
    assert "GPUs held0" in words(parts.kpis) and "0 of 2 slices measured" in words(parts.kpis)
    asked = Tres(gpus=2, gpus_by_type={"1g.10gb": 2})
    waits = row(job=make_job(9, None, 2, None, "PENDING", requested=asked, array_task_count=3), gpus=2)
    whole = row(job=make_job(10, None, 4, None, "PENDING", requested=Tres(gpus=4)), gpus=4)
    parts = user_parts(UserView(UserNow("alice", snapshot(), (), (waits, whole)), None, True, False, "/"))
    assert "ask for 4 GPUs and 6 slices" in words(parts.kpis)


def test_the_list_does_not_call_unmeasured_what_accounting_alone_does_not_keep() -> None:
    ended = FinishedRow(make_job(5, "gpu01", 2, state="COMPLETED"), None, 2)
    assert "nor the history has it" in repr(table_rows([ended], Show.FINISHED, "/")[0])
    half = replace(ended, utilization=0.2, source=UseSource.SERIES, coverage=0.5)
    assert f"metrics, {percent(0.5)} measured" in repr(table_rows([half], Show.FINISHED, "/")[0])


def test_the_charts_have_their_room_before_they_are_drawn() -> None:
    rows = {charts: tuple(room_of(charts).values()) for charts in (0, 1, 5, 16)}
    assert rows == {0: (), 1: (1, 1), 5: (2, 3), 16: (4, 8)}


def test_every_list_has_a_cell_for_each_of_its_columns() -> None:
    waits = row(job=make_job(9, None, 2, None, "PENDING", reason="Priority", array_task_count=3))
    assert len(table_rows([waits], Show.PENDING, "/")[0]) == len(COLUMNS[Show.PENDING])
    assert "each of 3 tasks" in words(table_rows([waits], Show.PENDING, "/"))


def test_a_ratio_of_nothing_has_no_bar_and_zero_has_one() -> None:
    assert of_class(ratio_cell(None), "fw-inbar") == []
    assert len(of_class(ratio_cell(0.0), "fw-inbar")) == 1


@pytest.mark.parametrize(
    ("total", "offset", "text"),
    [(0, 0, ""), (3, 0, "1–3 of 3 jobs"), (120, 50, "51–100 of 120 jobsPreviousNext")],
)
def test_the_pager_says_where_one_is(total: int, offset: int, text: str) -> None:
    assert words(pager(total, offset, 50, "store", "jobs")) == text


@pytest.mark.parametrize(
    ("asked", "gpus", "text"),
    [
        (Tres(gpus=8, gpus_by_type={"h100": 8}), 8, "8 H100"),
        (Tres(gpus=2, gpus_by_type={"h100": 1, "a100": 1}), 2, "2 GPUs"),
        (Tres(gpus=0, shards=3), 0, "3 shards"),
        (Tres(gpus=0), 0, "none"),
        (Tres(), None, "–"),
    ],
)
def test_gpus_in_words(asked: Tres, gpus: int | None, text: str) -> None:
    assert gpu_words(make_job(allocated=asked), gpus) == text


def test_states_and_addresses_are_plain() -> None:
    assert state_word("OUT_OF_MEMORY") == "Out of memory"
    assert job_href("/warp/", "12_[1-3]") == "/warp/jobs/12_%5B1-3%5D"
    assert job_href("/warp/", "12+1") == "/warp/jobs/12+1"


def waiting_row(**changes: object) -> Waiting:
    job = make_job(9, None, 2, None, "PENDING", reason="Priority", requested=Tres(gpus=2))
    return replace(Waiting(job, "Others are first.", False, 3600.0), **changes)  # type: ignore[arg-type]


def test_a_wait_that_never_ends_promises_no_start() -> None:
    text = words(waiting_panel(waiting_row(never=True, expected_start_time=NOW), Ahead(), "/"))
    assert "never, unless it is changed" in text and "not known: Slurm gives no priority" in text


def test_what_is_ahead_is_counted() -> None:
    assert "3 jobs of a higher priority in its partition, which ask for 12 GPUs" in words(
        waiting_panel(waiting_row(), Ahead(3, 12), "/")
    )
    assert "1 job of a higher priority in its partition, which asks for 1 GPU" in words(
        waiting_panel(waiting_row(), Ahead(1, 1), "/")
    )
    assert "which ask for 2 GPUs and 1 MIG slice" in words(waiting_panel(waiting_row(), Ahead(3, 2, 1), "/"))
    assert "None now" in words(waiting_panel(waiting_row(), Ahead(0, 0), "/"))


def test_neighbors_of_others_are_a_number() -> None:
    text = words(neighbors_panel([NodeNeighbors("gpu01", (), 2, 8, 1)], "/"))
    assert "2 jobs of others" in text and "1 of 8 GPUs free" in text


def test_the_month_says_when_nothing_of_it_was_measured() -> None:
    use = DayUse(3, 2, 1, GpuHours(12.0), {"COMPLETED": 2, "NODE_FAIL": 1})
    past = UserPast(NOW - timedelta(days=30), 31, 12, use, ((NOW, use),))
    text = words(month_panel(past))
    for said in ("12 of 31 days read so far", "is not measured", "Not measured 12.0", "Other ends1", "1 job without"):
        assert said in text
    assert "Used" not in text


def test_without_slurm_nobody_is_said_to_run_nothing() -> None:
    down = snapshot(nodes=(), gpus=(), jobs=(), sources=(source("slurm", SourceCondition.DOWN),))
    parts = user_parts(UserView(UserNow("alice", down, (), ()), None, True, False, "/"))
    text = words([parts.note, parts.kpis, parts.running, parts.findings])
    assert "0" not in text and "No job" not in text and text.count("not known") >= 7
