"""What JSON records mean: GPUs, arrays, het jobs, suspension, ends, and half or wrong answers."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from data.errors import CannotKnow, NotFound, SourceDenied, SourceError, SourceGarbled, SourceTimeout, SourceUnreachable
from data.model import ExitCode, Job, JobUsage, Node, NodeDevices
from data.slurm import records_json

START = 1_760_000_000
ZERO_BYTES = "Zero Bytes were transmitted or received"


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(START + seconds, UTC)


def struct(number: float | None) -> dict[str, Any]:
    return {"set": number is not None, "infinite": False, "number": number or 0}


def live(**fields: Any) -> Job:
    record = {
        "job_id": 7,
        "job_state": ["RUNNING"],
        "nodes": "gpu01",
        "tres_alloc_str": "cpu=8,mem=64G,node=1,gres/gpu=2,gres/gpu:a100=2",
        "start_time": struct(START),
        "end_time": struct(START + 3600),
    }
    (job,) = records_json.jobs({"jobs": [record | fields], "errors": []}, "c").rows
    return job


def finished(**fields: Any) -> Job:
    record = {
        "job_id": 7,
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "nodes": "gpu01",
        "time": {"start": START, "end": START + 100, "elapsed": 100, "submission": START - 10},
    }
    (job,) = records_json.accounting_jobs({"jobs": [record | fields], "errors": []}, "c").rows
    return job


def node(**fields: Any) -> Node:
    record = {"name": "n1", "state": ["MIXED"], "cpus": 64, "alloc_cpus": 8, "gres": "gpu:a100:4"}
    (found,) = records_json.nodes({"nodes": [record | fields]}, "c").rows
    return found


def test_gpu_indices_come_from_the_detail_of_each_node() -> None:
    job = live(nodes="gpu[1-2]", gres_detail=["gpu:a100:4(IDX:0-3)", "gpu:a100:2(IDX:1,3)"])
    assert [(d.node, d.gpu_count, d.gpu_indices) for d in job.devices] == [
        ("gpu1", 4, (0, 1, 2, 3)),
        ("gpu2", 2, (1, 3)),
    ]


def test_two_gpu_types_on_one_node_are_two_entries_and_memory_counts_once() -> None:
    allocation = [{"name": "gpu01", "cpus": {"count": 8}, "memory": {"allocated": 1024}}]
    job = live(
        gres_detail=["gpu:a100:1(IDX:0),gpu:h100:2(IDX:2-3)"],
        job_resources={"nodes": {"list": "gpu01", "allocation": allocation}},
    )
    assert job.devices == (
        NodeDevices("gpu01", 1, (0,), "a100", 8, 1024 * 2**20),
        NodeDevices("gpu01", 2, (2, 3), "h100"),
    )


def test_forgotten_indices_are_not_known_rather_than_none() -> None:
    assert live(gres_detail=[]).devices == (NodeDevices("gpu01", 2, None, "a100"),)
    assert [d.gpu_count for d in live(nodes="gpu[1-2]", gres_detail=[]).devices] == [None, None]
    assert [d.gpu_indices for d in live(nodes="gpu[1-2]", gres_detail=["", ""]).devices] == [None, None]


def test_a_cpu_job_holds_no_gpu_and_says_so() -> None:
    job = live(tres_alloc_str="cpu=4,mem=1G,node=1")
    assert job.allocated.gpus == 0
    assert job.devices == (NodeDevices("gpu01", 0, ()),)


def test_gpus_that_slurm_does_not_track_are_not_known() -> None:
    job = live(tres_alloc_str="cpu=4,mem=1G,node=1", tres_per_job="gres/gpu:2", gres_detail=["gpu:2(IDX:0-1)"])
    assert job.allocated.gpus is None
    assert job.devices[0].gpu_indices == (0, 1)
    line = finished(submit_line="sbatch --gpus 2 x.sh", tres={"allocated": [{"type": "cpu", "name": "", "count": 2}]})
    assert line.allocated.gpus is None


def test_a_shard_is_no_gpu() -> None:
    job = live(tres_alloc_str="cpu=1,gres/shard=2", gres_detail=["shard:a100:2(2/4,0/4)"])
    assert (job.allocated.gpus, job.allocated.shards) == (0, 2)
    assert job.devices == (NodeDevices("gpu01", 0, (), None, shards=2),)


@pytest.mark.parametrize(
    ("fields", "display", "count"),
    [
        ({"array_job_id": struct(5), "array_task_id": struct(0)}, "5_0", 1),
        ({"array_job_id": struct(7), "array_task_id": struct(None), "array_task_string": "1-10%2"}, "7_[1-10%2]", 10),
        ({"array_job_id": 7, "array_task_id": None, "array_task_string": "1,5"}, "7_[1,5]", 2),
        ({"array_job_id": 7, "array_task_id": None, "array_task_string": "0-6:2"}, "7_[0-6:2]", 4),
        ({"array_job_id": 0, "array_task_id": None}, "7", 1),
        ({"het_job_id": struct(6), "het_job_offset": struct(1)}, "6+1", 1),
        ({"het_job_id": struct(7), "het_job_offset": struct(0)}, "7+0", 1),
        ({"het_job_id": 0, "het_job_offset": 0}, "7", 1),
    ],
)
def test_arrays_and_het_jobs_are_named_as_people_write_them(fields: dict[str, Any], display: str, count: int) -> None:
    job = live(job_state=["PENDING"], **fields)
    assert (job.display_id, job.array_task_count, job.job_id) == (display, count, 7)


def test_the_start_of_a_pending_job_is_only_expected() -> None:
    job = live(job_state=["PENDING"])
    assert (job.start_time, job.end_time, job.expected_start_time) == (None, None, at(0))
    assert job.nodes == () and job.devices == ()


def test_a_running_job_has_no_end_and_no_exit_code_yet() -> None:
    job = live(exit_code={"status": ["SUCCESS"], "return_code": struct(0)})
    assert (job.end_time, job.exit_code) == (None, None)
    assert job.elapsed_at(at(600)) == 600


def test_time_spent_suspended_is_not_run_time() -> None:
    suspended = live(job_state=["SUSPENDED"], suspend_time=struct(START + 500), pre_sus_time=struct(300))
    assert suspended.suspended_seconds == 200
    assert suspended.elapsed_at(at(900)) == 300
    resumed = live(suspend_time=struct(START + 500), pre_sus_time=struct(300))
    assert (resumed.suspend_time, resumed.elapsed_at(at(900))) == (None, 700)


def test_a_job_that_ended_without_nodes_never_started() -> None:
    job = live(job_state=["CANCELLED"], nodes="", start_time=struct(START), end_time=struct(START))
    assert (job.start_time, job.end_time, job.elapsed_seconds) == (None, at(0), None)


def test_a_completing_job_keeps_its_flag() -> None:
    job = live(job_state=["COMPLETED", "COMPLETING"], restart_cnt=2)
    assert (job.state, job.state_flags, job.restart_count) == ("COMPLETED", ("COMPLETING",), 2)
    assert job.elapsed_seconds == 3600


def test_unlimited_time_is_infinite() -> None:
    assert live(time_limit={"set": False, "infinite": True, "number": 0}).time_limit_seconds == float("inf")
    assert live(time_limit=struct(None)).time_limit_seconds is None


def test_exit_code_zero_of_a_failed_job_is_not_believed() -> None:
    """Slurm 22.05's JSON says SUCCESS and 0 for a job that failed with 1."""
    code = {"status": "SUCCESS", "return_code": 0}
    assert finished(state={"current": "FAILED"}, exit_code=code).exit_code is None
    assert finished(exit_code=code).exit_code == ExitCode("SUCCESS", 0)


def test_a_requeued_attempt_is_not_pending() -> None:
    job = finished(state={"current": ["PENDING", "REQUEUED"]})
    assert (job.state, job.start_time, job.end_time) == ("REQUEUED", at(0), at(100))


def step(**fields: Any) -> dict[str, Any]:
    used = fields.pop("used", {})
    base = {
        "time": {"elapsed": 100, "total": {"seconds": 3, "microseconds": 500_000}},
        "tasks": {"count": 1},
        "step": {"id": "7.batch"},
        "tres": {"requested": used, "allocated": [{"type": "gres", "name": "gpu", "count": 4}]},
    }
    return base | fields


def usage(name: str, count: int, kind: str = "gres") -> dict[str, Any]:
    return {"type": kind, "name": name, "count": count}


def test_steps_fold_into_the_usage_of_the_job() -> None:
    memory = {"total": [usage("", 800, "mem")], "max": [usage("", 100, "mem")]}
    gpus = {"total": [usage("gpuutil", 396), usage("gpumem", 1 << 30)]}
    job = finished(steps=[step(used=memory), step(used=gpus, step={"id": "7.0"})])
    assert job.usage == JobUsage(7.0, 800, 0.99, 1 << 30)
    assert job.is_batch is True


def test_cpu_time_is_that_of_the_tasks_where_the_total_is_zero() -> None:
    used = {"total": [usage("", 504_000, "cpu")]}
    job = finished(steps=[step(used=used, time={"elapsed": 100, "total": {"seconds": 0, "microseconds": 0}})])
    assert job.usage.cpu_seconds == 504


@pytest.mark.parametrize("percent", [0, 18446744073709551614, 900])
def test_gpu_use_of_zero_or_beyond_reason_is_not_measured(percent: int) -> None:
    assert finished(steps=[step(used={"total": [usage("gpuutil", percent)]})]).usage.gpu_utilization is None


def test_usage_of_a_running_job_is_not_measured_yet() -> None:
    assert finished(state={"current": ["RUNNING"]}, steps=[step()]).usage == JobUsage()


def test_several_tasks_use_the_memory_of_all_of_them() -> None:
    job = finished(steps=[step(used={"max": [usage("", 1000, "mem")]}, tasks={"count": 8})])
    assert job.usage.memory_used_bytes == 8000


def test_use_of_untracked_gpus_is_known_only_from_used_gres() -> None:
    untracked = "cpu=64,mem=500G"
    assert node(tres=untracked, gres_used="").gpus_allocated is None
    assert node(tres=untracked, gres_used=None).gpu_pools[0].used is None
    assert node(tres=untracked, gres_used="gpu:a100:2(IDX:0-1)").gpus_allocated == 2
    assert node(tres=untracked, gres_used="", alloc_cpus=0).gpus_allocated == 0
    assert node(tres=f"{untracked},gres/gpu=4", gres_used="", tres_used="cpu=8,gres/gpu=3").gpus_allocated == 3


def test_more_gpus_used_than_configured_is_marked_and_not_believed() -> None:
    record = {"name": "n1", "state": ["MIXED"], "gres": "gpu:a100:4", "gres_used": "gpu:a100:8(IDX:0-7)"}
    read = records_json.nodes({"nodes": [record]}, "c")
    assert read.rows[0].gpus_allocated is None and read.rows[0].gpu_pools[0].used is None
    assert read.warnings == ("node n1: 8 GPUs used of 4 configured; use is shown as not known",)


def test_a_gpu_with_a_shard_given_away_is_not_free() -> None:
    found = node(gres="gpu:a100:4,shard:16", gres_used="gpu:a100:1(IDX:0),shard:a100:1(-/4,1/4,0/4,0/4)")
    assert found.gpu_pools[0].free_indices == (2, 3)
    assert found.gpus_total == 4


def test_old_state_flags_join_the_state() -> None:
    assert node(state="idle", state_flags=["DRAIN"]).state.bucket == "drained"


def test_a_broken_row_is_named_and_the_others_are_kept() -> None:
    good = {"job_id": 1, "job_state": ["RUNNING"]}
    rows = [good, {"job_id": 2, "job_state": ["RUNNING"], "start_time": "no time"}, {"job_state": []}, "text", None]
    read = records_json.jobs({"jobs": rows}, "c")
    assert [job.job_id for job in read.rows] == [1]
    assert read.broken == 4
    assert read.broken_examples[0].startswith("2: 'no time' is no time")


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"errors": [{"error_number": 2017, "error": "Invalid job id specified"}]}, NotFound),
        ({"errors": [{"error_number": 9003, "error": "Nothing found with query"}]}, NotFound),
        ({"errors": [{"error_number": 2002, "error": "Access/permission denied"}]}, SourceDenied),
        ({"errors": [{"error": "Unable to connect to database"}]}, SourceUnreachable),
        ({"errors": [{"error": "Unable to contact slurm controller (connect failure)"}]}, SourceUnreachable),
        ({"errors": [{"error_number": 5005, "error": ZERO_BYTES}]}, SourceUnreachable),
        (
            {"errors": [{"error": ZERO_BYTES, "description": f"unable to kill JobId=8 with signal 9: {ZERO_BYTES}"}]},
            SourceError,
        ),
        ({"errors": [{"error": "Slurm backup controller in standby mode"}]}, SourceUnreachable),
        ({"errors": [{"error": "Socket timed out on send/recv operation"}]}, SourceTimeout),
        ({"errors": [{"error_number": -1, "error": "Unspecified error"}]}, SourceError),
        ({"errors": ["a word"]}, SourceError),
        ({"errors": 7}, SourceGarbled),
        ("Authentication does not apply to request", SourceDenied),
        ("Unable to find requested URL endpoint.", CannotKnow),
        ("<html>502 Bad Gateway</html>", SourceGarbled),
        ("<html>404 Not Found</html>", SourceGarbled),
        ("404 page not found", SourceGarbled),
        ('{"jobs": [{"job_id": 1', SourceGarbled),
        ("", SourceGarbled),
        ([], SourceGarbled),
    ],
)
def test_what_an_answer_says_is_wrong_becomes_the_error_of_that_kind(payload: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        records_json.check_errors(payload)


def test_an_answer_without_the_list_is_no_answer() -> None:
    with pytest.raises(SourceGarbled, match="no list of nodes"):
        records_json.nodes({"jobs": [], "errors": []}, "c")


def test_nothing_found_in_accounting_is_an_empty_list() -> None:
    payload = {"errors": [{"error_number": 9003, "error": "Nothing found with query"}], "jobs": []}
    assert records_json.accounting_jobs(payload, "c").rows == ()


def test_text_before_the_document_and_broken_utf8_do_not_matter() -> None:
    document = json.dumps({"nodes": [{"name": "n1", "state": ["IDLE"]}]}).encode()
    assert records_json.nodes(b"slurm: warning\n" + document, "c").rows[0].name == "n1"
    broken = b'{"jobs": [{"job_id": 1, "job_state": "RUNNING", "name": "caf\xe9"}]}'
    assert records_json.jobs(broken, "c").rows[0].name == "caf\ufffd"


@pytest.mark.parametrize("key", ["Slurm", "slurm"])
def test_the_version_is_found_in_old_and_new_answers(key: str) -> None:
    assert records_json.slurm_version({"meta": {key: {"release": "24.11.5"}}}) == "24.11.5"
    assert records_json.slurm_version({"meta": {}}) is None


def test_users_give_admin_level_and_coordinators_to_the_tree() -> None:
    tree = records_json.associations(
        {"associations": [{"account": "ml", "cluster": "c", "parent_account": "root", "user": ""},
                          {"account": "ml", "cluster": "c", "parent_account": "", "user": "ann"},
                          {"account": "ml", "cluster": "other", "user": "bob"}]}, "c")  # fmt: skip
    user = {"name": "ann", "administrator_level": ["Operator"], "default": {"account": "ml"}}
    users = records_json.users({"users": [user | {"coordinators": [{"name": "ml"}, {"name": "bio"}]}]}, "c")
    account, ann, extra = records_json.with_users(tree.rows, users.rows)
    assert (account.parent, account.user, account.admin_level) == ("root", None, None)
    assert (ann.is_coordinator, ann.admin_level) == (True, "Operator")
    assert (extra.account, extra.user, extra.is_coordinator) == ("bio", "ann", True)


def test_a_cluster_that_slurmdbd_calls_otherwise_keeps_its_accounts_with_a_warning() -> None:
    read = records_json.associations({"associations": [{"account": "ml", "cluster": "hpc"}]}, "mine")
    assert len(read.rows) == 1 and "only of hpc" in read.warnings[0]


def test_flat_and_nested_partitions_are_the_same() -> None:
    flat = {"name": "gpu", "state": "UP", "nodes": "n[1-2]", "max_time_limit": 60, "priority_tier": 3}
    nested = {
        "name": "gpu",
        "partition": {"state": ["UP"]},
        "nodes": {"configured": "n[1-2]"},
        "maximums": {"time": struct(60)},
        "priority": {"tier": 3},
    }
    one, other = records_json.partitions({"partitions": [flat, nested]}, "c").rows
    assert one == replace(other) and one.max_time_seconds == timedelta(hours=1).total_seconds()
