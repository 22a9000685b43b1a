"""The reports of other tools' users about Slurm, each with the right value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from data.model import Job
from data.slurm import records_json, records_text
from data.slurm.answers import decoded
from data.slurm.gres import gpu_entries, gpu_pools, gpus_used
from data.slurm.hosts import hostlist
from data.slurm.job_ids import array_task_count, job_id
from data.slurm.job_states import job_state
from data.slurm.scalars import duration_seconds, timestamp
from data.slurm.states import node_state
from data.slurm.tres import tres_string
from data.slurm.usage import folded, step_of_text

REPORTS = Path(__file__).resolve().parents[3] / "shared" / "cases" / "field_reports.json"
AREAS = {"gpu-count", "node-state", "sacct-text", "json", "hostlist"}
# Efficiency reports that are about what Slurm itself measured.
SLURM_EFFICIENCY = {"HB045", "HB052", "HB055", "HB056", "HB057"}
# Answered above the readers: totals over nodes of several partitions, and offers of free GPUs.
ELSEWHERE = {"HB017"}


def sacct_row(**fields: str) -> Job:
    read = records_text.sacct_jobs("\x1f".join(fields.values()), list(fields), "\x1f", "c")
    assert read.broken == 0, read.broken_examples
    return read.rows[0]


def text_node(**fields: str) -> str:
    base = {"NodeName": "n1", "CPUAlloc": "8", "CPUTot": "192", "Gres": "gpu:h100:8", "State": "ALLOCATED"}
    return " ".join(f"{key}={value}" for key, value in (base | fields).items()) + "\n"


def gpu_use_of(usage: str, gpus: int) -> float | None:
    step = step_of_text(
        cpu_seconds=None, max_rss=None, tasks=None, total=None, average=usage, gpus=None, elapsed_seconds=60
    )
    return folded([step], gpus).gpu_utilization


def takes_allocated_tres() -> None:
    assert tres_string("cpu=4,mem=32G,node=1,gres/gpu=1").gpus == 1
    assert gpu_entries("N/A") == ()


def counts_typed_and_untyped_once() -> None:
    tres = tres_string("cpu=10,mem=100G,node=1,billing=10,gres/gpu=1,gres/gpu:a100=1")
    assert (tres.gpus, dict(tres.gpus_by_type)) == (1, {"a100": 1})


def null_type_is_untyped() -> None:
    (pool,) = gpu_pools("gpu:4(S:0-1)", "gpu:(null):4(IDX:0-3)")
    assert (pool.type, pool.total, pool.used, pool.free_indices) == ("", 4, 4, ())


def comma_in_parentheses() -> None:
    (pool,) = gpu_pools("gpu:tesla:4", "gpu:tesla:3(IDX:0,2-3)")
    assert (pool.total, pool.used, pool.used_indices, pool.free_indices) == (4, 3, (0, 2, 3), (1,))


def other_gres_is_no_gpu() -> None:
    assert gpu_pools("tmp:844G", None) == ()


def every_type_counts() -> None:
    assert {pool.type: pool.total for pool in gpu_pools("gpu:tesla:2,gpu:kepler:2", "")} == {"tesla": 2, "kepler": 2}


def untracked_is_unknown_not_free() -> None:
    tres = {"CfgTRES": "cpu=192,mem=800G,billing=192", "AllocTRES": "cpu=192,mem=800G,billing=192"}
    (node,) = records_text.nodes(text_node(**tres), "c").rows
    assert (node.gpus_total, node.gpus_allocated, node.gpu_pools[0].free_indices) == (8, None, None)


def one_of_one() -> None:
    pools = gpu_pools("gpu:1", "gpu:1(IDX:0)")
    assert (gpus_used(pools, "gpu:1(IDX:0)"), pools[0].total) == (1, 1)


def compound_states() -> None:
    first = node_state("MIXED+DRAIN")
    assert (first.base, first.flags, first.schedulable) == ("MIXED", ("DRAIN",), False)
    second = node_state("IDLE+DYNAMIC_NORM+MAINTENANCE+RESERVED+PLANNED*")
    assert second.base == "IDLE" and {"MAINTENANCE", "RESERVED", "PLANNED"} <= set(second.flags)


def draining_is_not_offered() -> None:
    state = node_state(["ALLOCATED", "DRAIN"])
    assert (state.bucket, state.schedulable) == ("draining", False)


def drain_reason_is_kept() -> None:
    reason = "gres/gpu count reported lower than configured (0 < 1) [slurm@2024-12-19T11:03:34]"
    fields = {"Gres": "gpu:nvidia-rtx-3090:1", "State": "IDLE+DRAIN", "CfgTRES": "cpu=8,gres/gpu=1", "AllocTRES": ""}
    (node,) = records_text.nodes(text_node(**fields, Reason=reason), "c").rows
    assert (node.gpus_total, node.gpus_allocated, node.state.bucket) == (1, 0, "drained")
    assert node.reason == "gres/gpu count reported lower than configured (0 < 1)"
    assert (node.reason_user, node.reason_time) == ("slurm", datetime(2024, 12, 19, 11, 3, 34, tzinfo=UTC))


def line_break_in_submit_line() -> None:
    line = "srun --interactive --pty bash -c echo hello &&\necho goodbye"
    fields = ["JobID", "State", "SubmitLine", "TotalCPU"]
    read = records_text.sacct_jobs(f"7|COMPLETED|{line}|00:00.042\n8|FAILED|x|00:01", fields, "|", "c")
    assert [job.job_id for job in read.rows] == [7, 8] and read.broken == 0


def pipe_in_name() -> None:
    assert sacct_row(JobID="7", JobName="a|b", State="FAILED").name == "a|b"


def invalid_utf8() -> None:
    payload = b'{"jobs": [{"job_id": 7, "job_state": "RUNNING", "name": "\xff\xfe"}]}'
    assert records_json.jobs(payload, "c").rows[0].name == "\ufffd\ufffd"


def array_task_has_both_ids() -> None:
    job = sacct_row(JobID="1043074_91", JobIDRaw="1043166", State="COMPLETED")
    assert (job.display_id, job.job_id, job.array_job_id, job.array_task_id) == ("1043074_91", 1043166, 1043074, 91)


def cancelled_by() -> None:
    state = job_state("CANCELLED by 123")
    assert (state.state, state.by) == ("CANCELLED", "123")


def unknown_state() -> None:
    job = sacct_row(JobID="7", State="FOO", Start="Unknown", Elapsed="00:00:00", AllocTRES="", NodeList="")
    assert (job.state, job.start_time, job.elapsed_seconds, job.allocated.gpus) == ("FOO", None, None, None)


def partition_limit() -> None:
    assert duration_seconds("Partition_Limit") is None
    assert sacct_row(JobID="7", State="FAILED", Timelimit="Partition_Limit").time_limit_seconds is None


def unlimited() -> None:
    assert (duration_seconds("UNLIMITED"), duration_seconds("365-00:00:00")) == (math.inf, 31_536_000)


def het_components_stay() -> None:
    jobs = [sacct_row(JobID=f"123+{n}", JobIDRaw=str(123 + n), State="COMPLETED") for n in (0, 1)]
    assert [(job.het_job_id, job.het_offset, job.job_id) for job in jobs] == [(123, 0, 123), (123, 1, 124)]


def array_ranges() -> None:
    assert [array_task_count(str(job_id(text).task)) for text in ("4103947_[1-3]", "4103947_[1,5] ")] == [3, 2]


def zero_elapsed() -> None:
    job = sacct_row(
        JobID="7", State="FAILED", Start="1", Elapsed="00:00:00", TotalCPU="00:00.001", AllocTRES="gres/gpu=1"
    )
    assert (job.elapsed_seconds, job.allocated.gpus, job.usage.gpu_utilization) == (0, 1, None)


def implausible_cpu_time_is_kept_for_marking() -> None:
    job = sacct_row(JobID="7", State="COMPLETED", Start="1", Elapsed="00:26:34", TotalCPU="1-16:59:47")
    assert (job.usage.cpu_seconds, job.elapsed_seconds) == (147587, 1594)


def gpu_use_is_divided_by_the_gpus() -> None:
    assert gpu_use_of("gres/gpuutil=396", 4) == 0.99


def zero_gpu_use_is_not_measured() -> None:
    assert gpu_use_of("gres/gpuutil=0,gres/gpumem=0", 4) is None
    assert gpu_use_of("gres/gpuutil=18446744073709551614", 4) is None


def running_job_lasts_until_now() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    job = sacct_row(JobID="7", State="RUNNING", Start=str(int(start.timestamp())), End="Unknown", Elapsed="00:00:00")
    assert job.elapsed_at(start + timedelta(hours=3)) == 3 * 3600


def state_word_and_list() -> None:
    states = ["RUNNING", ["RUNNING"], ["RUNNING", "CONFIGURING"]]
    records = [{"job_id": n, "job_state": state} for n, state in enumerate(states, start=1)]
    jobs = records_json.jobs({"jobs": records}, "c").rows
    assert [(job.state, job.state_flags) for job in jobs] == [("RUNNING", ())] * 2 + [("RUNNING", ("CONFIGURING",))]


def nodes_word_and_object() -> None:
    shapes: list[object] = ["n1", {"list": "n1", "allocation": [{"name": "n1", "memory": {"allocated": 1}}]}]
    records = [
        {"job_id": 1, "job_state": "RUNNING", "start_time": 9, "job_resources": {"nodes": nodes}} for nodes in shapes
    ]
    assert [job.nodes for job in records_json.jobs({"jobs": records}, "c").rows] == [("n1",), ("n1",)]


def text_before_json() -> None:
    assert decoded("slurm: a warning\n" + json.dumps({"jobs": []})) == {"jobs": []}


def padded_lists() -> None:
    lists = ("c427-032,c429-002", "c438-[062,104]", "c457-[011-012]")
    assert [hostlist(text) for text in lists] == [
        ("c427-032", "c429-002"),
        ("c438-062", "c438-104"),
        ("c457-011", "c457-012"),
    ]


def two_brackets() -> None:
    assert hostlist("rack[0-1]_blade[0-1]") == ("rack0_blade0", "rack0_blade1", "rack1_blade0", "rack1_blade1")


def unknown_end_is_empty() -> None:
    assert timestamp(0) is None and timestamp("Unknown") is None


def shards_are_not_gpus() -> None:
    (pool,) = gpu_pools("gpu:4,shard:16", "gpu:1(IDX:0),shard:1(-/4,1/4,0/4,0/4)")
    assert (pool.total, pool.used, pool.free_indices) == (4, 1, (2, 3))
    assert replace(tres_string("gres/shard=1"), shards=0).gpus is None and tres_string("gres/shard=1").shards == 1


CHECKS: dict[str, Callable[[], None]] = {
    "HB001": takes_allocated_tres,
    "HB003": counts_typed_and_untyped_once,
    "HB004": null_type_is_untyped,
    "HB006": comma_in_parentheses,
    "HB010": other_gres_is_no_gpu,
    "HB011": every_type_counts,
    "HB014": untracked_is_unknown_not_free,
    "HB019": one_of_one,
    "HB022": compound_states,
    "HB023": draining_is_not_offered,
    "HB024": drain_reason_is_kept,
    "HB026": line_break_in_submit_line,
    "HB027": pipe_in_name,
    "HB030": invalid_utf8,
    "HB032": array_task_has_both_ids,
    "HB033": cancelled_by,
    "HB035": unknown_state,
    "HB036": partition_limit,
    "HB038": unlimited,
    "HB040": het_components_stay,
    "HB041": array_ranges,
    "HB045": zero_elapsed,
    "HB052": implausible_cpu_time_is_kept_for_marking,
    "HB055": gpu_use_is_divided_by_the_gpus,
    "HB056": zero_gpu_use_is_not_measured,
    "HB057": running_job_lasts_until_now,
    "HB097": state_word_and_list,
    "HB098": nodes_word_and_object,
    "HB101": text_before_json,
    "HB102": padded_lists,
    "HB103": two_brackets,
    "HB114": unknown_end_is_empty,
    "HB115": shards_are_not_gpus,
}


@pytest.mark.parametrize("report", CHECKS)
def test_a_reported_fault_of_other_tools_is_right_here(report: str) -> None:
    CHECKS[report]()


def test_every_slurm_report_has_its_check(reference: Path) -> None:
    cases = json.loads((reference / "cases" / "field_reports.json").read_text())["cases"]
    wanted = {case["id"] for case in cases if case["area"] in AREAS} | SLURM_EFFICIENCY
    assert wanted - ELSEWHERE <= CHECKS.keys()
