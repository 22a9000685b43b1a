"""Every number of an answer is compared with the results: value, unit and subject decide, and nothing else does."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.checker import check
from chat.model import OnScreen, ToolResult

JOB: dict[str, Any] = {
    "job": "47820057",
    "job_name": "wasted 4711 GPU-hours",
    "user": "zali",
    "nodes": ["h037", "h038"],
    "elapsed_seconds": 28223.3,
    "wait_seconds": 19016.0,
    "gpus": 16,
    "gpu_utilization_ratio": 0.870287,
    "cpu_ratio": 0.170025,
    "allocated_gpu_hours": 125.437,
    "wasted_gpu_hours": 15.9086,
    "coverage_ratio": None,
    "metrics": {"power_watts": 375.898, "sm_activity_ratio": 0.353327, "temperature_celsius": 57.0198},
    "findings": {"rows": [{"finding": "small_kernels", "evidence": "h037 GPU 0-7: UTIL 87 %, SM 35 %."}]},
    "devices": {
        "rows": [
            {"device": "h037/0", "node": "h037", "utilization_ratio": 0.55},
            {"device": "h037/1", "node": "h037", "utilization_ratio": 0.91},
        ]
    },
}
WEEK: dict[str, Any] = {
    "from_at": "2026-11-23T04:50:00Z",
    "until_at": "2026-11-30T04:50:00Z",
    "total": {"jobs": 5824, "wasted_gpu_hours": 11654.8, "utilization_ratio": 0.780362},
    "groups": {
        "rows": [
            {"user": "hnguyen", "jobs": 577, "wasted_gpu_hours": 1034.22, "idle_gpu_hours": 582.652},
            {"user": "lrossi", "jobs": 160, "wasted_gpu_hours": 685.196, "idle_gpu_hours": 552.448},
        ]
    },
}
CLUSTER: dict[str, Any] = {
    "nodes": 72,
    "gpus": {"total": 368, "allocated": 303, "held_and_idle": 30, "free": 49},
    "utilization_ratio": 0.805017,
    "power_watts": 121993.0,
    "jobs_running": 120,
    "jobs_pending": 56,
    "partitions": {"rows": [{"name": "a100", "gpus": {"total": 32}}, {"name": "gpu", "gpus": {"total": 336}}]},
}
RESULTS = [
    ToolResult("c1", "job_report", {"job_id": "47820057"}, 0.1, JOB),
    ToolResult("c2", "waste_ranking", {}, 0.1, WEEK),
    ToolResult("c3", "cluster_status", {}, 0.1, CLUSTER),
]
TABLE = "| user | wasted (GPU-h) | jobs |\n|---|---|---|\n| hnguyen | {} | {} |\n| lrossi | 685.2 | 160 |"
WAITS: dict[str, Any] = {
    "from_at": "2026-11-23T04:50:00Z",
    "until_at": "2026-11-30T04:50:00Z",
    "waits": {
        "rows": [
            {"gpus_of_job": "all", "jobs": 6047, "wait_p50_seconds": 1432.0, "wait_p90_seconds": 26556.4},
            {"gpus_of_job": "1", "jobs": 2606, "wait_p50_seconds": 1441.5, "wait_p90_seconds": 29136.5},
            {"gpus_of_job": "2-4", "jobs": 594, "wait_p50_seconds": 3769.5, "wait_p90_seconds": 28492.6},
        ]
    },
}
TREND: dict[str, Any] = {
    "user": "hnguyen",
    "trend": {
        "rows": [
            {"begins_at": "2026-11-23T00:00:00Z", "utilization_ratio": 0.6801},
            {"begins_at": "2026-11-25T00:00:00Z", "utilization_ratio": 0.7998},
        ]
    },
}
TWO: dict[str, Any] = {
    "first": {"job": "47820057", "gpu_utilization_ratio": 0.884, "gpus": 32, "wasted_gpu_hours": 114.1},
    "second": {"job": "47820058", "gpu_utilization_ratio": 0.718, "gpus": 12, "wasted_gpu_hours": 0.956},
}
OTHERS = [
    ToolResult("c4", "wait_by_gpu_count", {}, 0.1, WAITS),
    ToolResult("c5", "user_efficiency", {"user": "hnguyen"}, 0.1, TREND),
]
COMPARED = [ToolResult("c6", "compare_jobs", {"job_id": "47820057", "other_job_id": "47820058"}, 0.1, TWO)]
SIDE_BY_SIDE = (
    "| | 47820057 | 47820058 |\n|---|---|---|\n| GPU utilization | {} | {} |\n| Wasted GPU-hours | 114.1 | 0.96 |"
)
BY_SIZE = (
    "| GPUs | Jobs | Median wait | p90 |\n|---|---|---|---|\n| 1 | 2,606 | {} | 8.1 h |\n| 2-4 | 594 | 63 min | 7.9 h |"
)
# Wordings that models like, and the same with one thing wrong.
NATURAL = [
    ("It waited 5 h 16 min.", "It waited 5 h 18 min."),  # 5 h 16 min 56 s, cut as the pages do
    ("It waited 316 min.", "It waited 318 min."),
    ("It has wasted 16 GPU-hours in ~7.8 h.", "It has wasted 16 GPU-hours in ~9.8 h."),
    ("It ran for over 7 hours.", "It ran for over 9 hours."),
    ("It ran for almost 8 hours.", "It ran for almost 7 hours."),
    ("It used about 17 % of its CPUs.", "It used about 19 % of its CPUs."),
    ("Its 16 GPUs are busy 87 % of the time.", "Its 16 GPUs are busy 77 % of the time."),
    ("87 % GPU · 35 % SM · 376 W", "87 % GPU · 45 % SM · 376 W"),
    ("Er läuft seit 7 Std. 50 Min. und nutzt 17 % der CPU-Zeit.", "Er läuft seit 9 Std. 50 Min."),
    ("It holds 125.4 GPU-hours and wasted 15.9. A lot.", "It holds 125.4 GPU-hours and wasted 15.10. A lot."),
]
NATURAL_OF_ALL = [
    ("There are 368 GPUs: 336 in partition `gpu` and 32 in `a100`.", "There are 358 GPUs: 336 in partition `gpu`."),
    ("共有 368 个 GPU\uff0c其中 303 个已分配\uff0c49 个空闲。", "共有 368 个 GPU\uff0c59 个空闲。"),
    ("Insgesamt 11.654,8 GPU-Stunden bei einer Auslastung von 78 %.", "Insgesamt 11.954,8 GPU-Stunden."),
    (
        "Over the past week (7 days) hnguyen wasted 1,034 GPU-hours.",
        "Over the past week (7 days) hnguyen wasted 1,134 GPU-hours.",
    ),
    ("- **hnguyen**: 1,034 GPU-h (577 jobs, 43.1 GPU-days), 583 idle", "- **hnguyen**: 1,034 GPU-h, 683 idle"),
    ("hnguyen wasted 1,034 GPU-hours in 7 days.", "hnguyen wasted 1,034 GPU-hours in 9 days."),
    (
        "Half of the jobs started within 24 minutes; those with 2-4 GPUs needed 63 minutes.",
        "Half of the jobs started within 34 minutes; those with 2-4 GPUs needed 63 minutes.",
    ),
    (
        "| User | GPU-hours wasted | Idle |\n|---|---|---|\n| hnguyen | 1,034.2 | 582.7 |",
        "| User | GPU-hours wasted | Idle |\n|---|---|---|\n| hnguyen | 1,034.2 | 682.7 |",
    ),
    (BY_SIZE.format("24 min"), BY_SIZE.format("34 min")),
    ("90 % of the jobs start within 7.4 hours.", "90 % of the jobs start within 5.4 hours."),
    (
        "Im 90. Perzentil warteten Jobs mit 2-4 GPUs 7,9 Stunden.",
        "Im 90. Perzentil warteten Jobs mit 2-4 GPUs 9,9 Stunden.",
    ),
    (
        "hnguyen rose from 68 % on Nov 23 to 80 % on Nov 25.",
        "hnguyen rose from 80 % on Nov 23 to 68 % on Nov 25.",
    ),
]
TRACED = [
    "Job 47820057 has a GPU utilization of 87 % on its 16 GPUs.",
    "Job 47820057 has wasted 15.9 of its 125.4 GPU-hours.",
    "Job 47820057 has run for 7.8 hours after waiting 5.3 h.",
    "Job 47820057 has run for 7 h 50 min (28,223 s).",
    "In the last 7 days, hnguyen wasted 1,034 GPU-hours and lrossi 685.",
    "Last week hnguyen wasted 43.1 GPU-days.",
    "The cluster has 368 GPUs, of which 303 are allocated and 49 are free.",
    "30 of the 303 allocated GPUs are idle.",
    "- **hnguyen**: 1034.2 GPU-hours wasted in 577 jobs",
    "Hi. **Job 47820057** stands out. Its GPU utilization is 87%.",
    "GPU 0 on h037 is at 55 %.",
    "Partition gpu has 336 GPUs.",
    "120 jobs are running and 56 are waiting.",
    "Job 47820057 runs at 57 °C and draws 376 W per GPU.",
    "The cluster draws 122 kW.",
    "In total, 11,654.8 GPU-hours were wasted in the last week.",
    "About 11,700 GPU-hours were wasted in total.",
    "In den letzten 7 Tagen hat hnguyen 1.034,2 GPU-Stunden verschwendet.",
    "Job 47820057: GPU-Auslastung 87,0 %.",
    "Le job 47820057 a gaspillé 15,9 heures GPU.",
    "hnguyen a gaspillé 1\u202f034,2 heures GPU.",
    "El trabajo 47820057 desperdició 15,9 horas de GPU.",
    "作业 47820057 的 GPU 利用率为87%。",
    TABLE.format("1034.2", "577"),
    "Job 47820057 has wasted 15.9 of its 125.4 allocated GPU-hours.",
    "hnguyen leads with 1,034 GPU-hours, followed by lrossi with 685 GPU-hours.",
    "Job 47820057 is where it goes: 15.9 GPU-hours are wasted after 7.8 h.",
]
MARKED = [
    "Job 47820057 has a GPU utilization of 88 %.",
    "Job 47820058 has a GPU utilization of 87 %.",
    "Job 47820057 has wasted 15.9 hours.",
    "Job 47820057 has wasted 15.9 GPU-days.",
    "Job 47820057 has a utilization of 870 W.",
    "In the last 30 days, hnguyen wasted 1,034 GPU-hours.",
    "lrossi wasted 1,034 GPU-hours last week.",
    "hnguyen wasted 685 GPU-hours last week and lrossi 1,034.",
    "hnguyen wasted 11,654.8 GPU-hours.",
    "hnguyen and lrossi together wasted 1719.4 GPU-hours.",
    "303 GPUs of the cluster are free.",
    "The cluster has 303 nodes.",
    "GPU 1 on h037 is at 55 %.",
    "Partition a100 has 336 GPUs.",
    "Job 47820057 of hnguyen ran at 87 %.",
    "The SM activity of job 47820057 is 87 %.",
    "The cluster draws 122 MW.",
    "Job 47820057 wasted 4711 GPU-hours.",
    "The coverage of job 47820057 is 0 %.",
    TABLE.format("685.2", "577"),
    TABLE.format("1034.2", "160"),
]
NO_FIGURES = [
    "See h037, gpu01, A100-80GB, H100, llm-13b and fp16 with CUDA 12.4 and version 25.05.3.",
    "Job 47820057 began on 2026-11-30 at 04:50:12, on 30 November 2026, and ends Nov 30.",
    "There are 3 reasons, and 10 more; try 2 workers.",
    "1. First\n2. Second",
    "Add `--gres=gpu:4` and `--time=12:00:00`, see /jobs/47820057?at=-24h.",
    "```\n#SBATCH --mem=640G\n```",
    "It waits with exit code 137 and XID 63; p90 is another word.",
]


@pytest.mark.parametrize("text", TRACED)
def test_a_figure_that_a_result_has_is_traced(text: str) -> None:
    checked = check(text, RESULTS)
    assert checked.untraced == ()
    assert checked.figures
    assert all(figure.is_traced for figure in checked.figures)


@pytest.mark.parametrize("text", MARKED)
def test_a_sentence_with_a_figure_that_no_result_has_is_marked(text: str) -> None:
    assert len(check(text, RESULTS).untraced) == 1


@pytest.mark.parametrize(("right", "wrong"), NATURAL)
def test_a_job_in_the_wordings_of_models(right: str, wrong: str) -> None:
    job = RESULTS[:1]
    assert check(right, job, "How is job 47820057?").untraced == ()
    assert check(wrong, job, "How is job 47820057?").untraced


@pytest.mark.parametrize(("right", "wrong"), NATURAL_OF_ALL)
def test_the_cluster_in_the_wordings_of_models(right: str, wrong: str) -> None:
    assert check(right, [*RESULTS, *OTHERS]).untraced == ()
    assert check(wrong, [*RESULTS, *OTHERS]).untraced


def test_a_column_can_be_of_a_job_and_its_rows_of_measures() -> None:
    assert check(SIDE_BY_SIDE.format("88.4 %", "71.8 %"), COMPARED).untraced == ()
    assert len(check(SIDE_BY_SIDE.format("71.8 %", "88.4 %"), COMPARED).untraced) == 1


@pytest.mark.parametrize("text", NO_FIGURES)
def test_names_dates_versions_code_and_small_numbers_are_no_figures(text: str) -> None:
    assert check(text, []).figures == ()


def test_the_whole_sentence_is_marked_and_no_other() -> None:
    text = "Job 47820057 runs at 87 %. It will waste 99.5 GPU-hours, I think. The cluster has 368 GPUs."
    [(start, end)] = check(text, RESULTS).untraced
    assert text[start:end] == "It will waste 99.5 GPU-hours, I think."


def test_a_figure_leads_to_its_field() -> None:
    [figure] = check("Job 47820057 wasted 15.9 GPU-hours.", RESULTS).figures
    assert (figure.call_id, figure.path) == ("c1", "wasted_gpu_hours")
    [figure] = check("lrossi wasted 685.2 GPU-hours.", RESULTS).figures
    assert (figure.call_id, figure.path) == ("c2", "groups.rows[1].wasted_gpu_hours")


def test_without_a_name_the_question_or_the_screen_says_what_is_spoken_of() -> None:
    text = "It has a GPU utilization of 87 %."
    assert check(text, RESULTS, "How is job 47820057?").untraced == ()
    assert check(text, RESULTS, "", OnScreen(job="47820057")).untraced == ()
    assert len(check(text, RESULTS, "How is job 47820058?").untraced) == 1


def test_names_that_exist_but_are_in_no_result_are_names_too() -> None:
    text = "The user eve wasted 1,034 GPU-hours. After hnguyen, kate wasted 685.2 GPU-hours."
    more = {"user": frozenset({"eve", "kate"})}
    assert len(check(text, RESULTS, more=more).untraced) == 2


def test_numbers_in_what_people_wrote_are_no_facts() -> None:
    assert len(check("Job 47820057 wasted 4711 GPU-hours.", RESULTS[:1]).untraced) == 1


def test_a_failed_result_and_a_null_are_no_facts() -> None:
    failed = ToolResult("c9", "job_report", {"job_id": "47820057"}, 0.1, error="87 % of sources are down")
    assert len(check("Job 47820057 has a utilization of 87 %.", [failed]).untraced) == 1


@given(st.floats(0.01, 90_000, allow_nan=False), st.integers(0, 3))
def test_any_value_is_traced_as_it_is_rounded(value: float, digits: int) -> None:
    result = ToolResult("c", "job_report", {}, 0.1, {"job": "123456", "wasted_gpu_hours": value})
    written = f"{value:,.{digits}f}"
    assert check(f"Job 123456 wasted {written} GPU-hours.", [result]).untraced == ()


@given(st.floats(11, 90_000, allow_nan=False), st.floats(1.02, 50), st.booleans())
def test_no_other_value_is_traced(value: float, factor: float, is_less: bool) -> None:
    result = ToolResult("c", "job_report", {}, 0.1, {"job": "123456", "wasted_gpu_hours": value})
    wrong = value / factor if is_less else value * factor
    text = f"Job 123456 wasted {wrong:.2f} GPU-hours."
    assert len(check(text, [result]).untraced) == 1


@given(st.text(max_size=300))
def test_any_text_is_checked_without_harm(text: str) -> None:
    checked = check(text, RESULTS, text, OnScreen(text, text, text, text))
    assert all(0 <= figure.start < figure.end <= len(text) for figure in checked.figures)
    assert all(0 <= start < end <= len(text) for start, end in checked.untraced)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
NESTED = st.recursive(LEAVES, lambda one: st.lists(one) | st.dictionaries(st.text(max_size=12), one), max_leaves=12)


@given(NESTED)
def test_any_result_is_read_without_harm(value: Any) -> None:
    result = ToolResult("c", "job_report", {"job_id": value}, 0.1, {"job": "1", "value": value})
    check("Job 1 wasted 15.9 GPU-hours.", [result])


def test_the_longest_answer_does_not_hold_a_worker_up() -> None:
    rows = [{"job": str(10_000_000 + n), "user": f"user{n}", "wasted_gpu_hours": n / 7} for n in range(400)]
    result = ToolResult("c", "waste_ranking", {}, 0.1, {"groups": {"rows": rows}})
    text = "\n".join(f"- Job {row['job']}: {row['wasted_gpu_hours']:.2f} GPU-hours" for row in rows)
    began = time.thread_time()
    checked = check(text, [result])
    assert time.thread_time() - began < 30
    assert checked.untraced == ()
    assert len(checked.figures) == sum(row["wasted_gpu_hours"] >= 0 for row in rows)


@pytest.mark.parametrize(
    "piece", ["1,", "9", "111,", "|", "`", "job ", "gpu-", "1 of ", "1 of 12 ", "last 7 days ", "h037 ", "12 % ", " "]
)
def test_an_answer_that_never_ends_is_checked_too(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    began = time.thread_time()
    checked = check(text, RESULTS)
    assert time.thread_time() - began < 60
    assert bool(checked.untraced) == any(not figure.is_traced for figure in checked.figures)
