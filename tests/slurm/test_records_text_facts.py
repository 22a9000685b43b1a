"""What the text of Slurm's commands means, with hostile names, odd rows and half answers."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from data.errors import SourceDenied, SourceGarbled
from data.model import ExitCode, Job, JobUsage, NodeDevices
from data.slurm import records_text

HEAD = "JobId={id} {ids}JobName={name}\n   UserId=ann(6001) GroupId=ann(6001) MCS_label=N/A\n"
BODY = """   Priority=5 Nice=0 Account=ml QOS=normal
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:04 TimeLimit={limit} TimeMin=N/A
   SubmitTime=2026-11-29T13:00:00 EligibleTime=2026-11-29T13:00:00
   StartTime=2026-11-29T13:00:00 EndTime=2026-11-29T14:00:00 Deadline=N/A
   SuspendTime={suspend} SecsPreSuspend={ran} LastSchedEval=2026-11-29T13:00:54 Scheduler=Main
   Partition=gpu AllocNode:Sid=localhost:3602
   NodeList={nodes}
   ReqTRES=cpu=4,mem=8G,node=1,gres/gpu=2
   AllocTRES=cpu=4,mem=8G,node=1,gres/gpu=2,gres/gpu:a100=2
   JOB_GRES=gpu:a100:2
{details}   Features=(null) DelayBoot=00:00:00
   Command=/home/ann/run me.sh --state JobState=FAILED
   WorkDir=/home/ann/my dir
   Comment={comment}
   StdErr=/home/ann/%j.err
   TresPerJob=gres/gpu:2

"""
DETAIL = "     Nodes=gpu01 CPU_IDs=0-1 Mem=4096 GRES=gpu:a100:2(IDX:1,3)\n"


def record(**fields: str) -> str:
    base = {
        "id": "7",
        "ids": "",
        "name": "train",
        "state": "RUNNING",
        "reason": "None",
        "limit": "1-00:00:00",
        "suspend": "None",
        "ran": "0",
        "nodes": "gpu01",
        "details": DETAIL,
        "comment": "",
    }
    return (HEAD + BODY).format(**base | fields)


def job(**fields: str) -> Job:
    read = records_text.jobs(record(**fields), "c")
    assert read.broken == 0, read.broken_examples
    (found,) = read.rows
    return found


def one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 29, hour, minute, tzinfo=UTC)


def test_indices_and_shares_come_from_the_detail_lines() -> None:
    assert job().devices == (NodeDevices("gpu01", 2, (1, 3), "a100", 2, 4096 * 2**20),)


def test_one_detail_line_may_speak_for_several_nodes() -> None:
    line = "     Nodes=gpu[1-2] CPU_IDs=0-1 Mem=4096 GRES=gpu:a100:1(IDX:0)\n"
    found = job(nodes="gpu[1-2]", details=line)
    assert [(d.node, d.gpu_indices) for d in found.devices] == [("gpu1", (0,)), ("gpu2", (0,))]


def test_an_ended_job_has_lost_its_indices() -> None:
    found = job(state="COMPLETED", details="     Nodes=gpu01 CPU_IDs=0-1 Mem=4096 GRES=\n")
    assert found.devices == (NodeDevices("gpu01", 2, None, "a100", 2, 4096 * 2**20),)
    assert (found.end_time, found.exit_code, found.elapsed_seconds) == (at(14), ExitCode("SUCCESS", 0), 3600)


@pytest.mark.parametrize(
    "name",
    [
        "a|b",
        'a|b "q" ü,=; 名',
        "x UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=1 JobState=FAILED",
        "JobState=FAILED Reason=None",
        "  spaces  ",
        "NodeList=gpu09",
        "(null)",
    ],
)
def test_a_name_that_looks_like_fields_is_only_a_name(name: str) -> None:
    found = job(name=name, comment="JobState=FAILED UserId=root(0) NodeList=gpu09")
    assert (found.name, found.user, found.state, found.nodes) == (name.strip(), "ann", "RUNNING", ("gpu01",))
    assert found.command == "/home/ann/run me.sh --state JobState=FAILED"
    assert found.working_directory == "/home/ann/my dir"


@pytest.mark.parametrize(
    "name",
    [
        "x\n   UserId=root(0) GroupId=root(0) MCS_label=N/A",
        "x\n   JobState=FAILED",
        "x\n     Nodes=gpu01 CPU_IDs=0 Mem=1 GRES=gpu:a100:2(IDX:0-1)",
    ],
)
def test_a_name_with_a_line_break_never_changes_whose_job_it_is(name: str) -> None:
    read = records_text.jobs(record(name=name) + record(id="8"), "c")
    assert [(found.job_id, found.user) for found in read.rows] == [(8, "ann")]
    assert read.broken == 1 and "twice" in read.broken_examples[0]


@pytest.mark.parametrize(
    "line",
    ["BatchFeatures=a100 BatchHost=gpu01", "StepMgrEnabled=Yes", "FedOrigin=east FedViableSiblings=a", "NewIn30=1"],
)
def test_a_line_of_some_versions_does_not_grow_into_the_nodes_before_it(line: str) -> None:
    # Optional lines of `scontrol show job` below NodeList, and one that nobody knows yet.
    found = job(details=DETAIL, nodes=f"gpu01\n   {line}")
    assert (found.nodes, found.allocated.gpus) == (("gpu01",), 2)


def test_the_one_line_form_says_the_same() -> None:
    text = one_line(record(id="7").replace(" --state JobState=FAILED", "")) + one_line(record(id="8", name="a b=c"))
    read = records_text.jobs(text, "c")
    assert [(found.job_id, found.name, found.devices) for found in read.rows] == [(7, "train", job().devices)]
    assert read.broken == 1  # the command of job 8 holds a second state, and in one line nothing tells them apart


@pytest.mark.parametrize(
    ("ids", "display", "count"),
    [
        ("ArrayJobId=5 ArrayTaskId=3 ", "5_3", 1),
        ("ArrayJobId=7 ArrayTaskId=3-99%3 ArrayTaskThrottle=3 ", "7_[3-99%3]", 97),
        ("HetJobId=6 HetJobOffset=1 ", "6+1", 1),
        ("HetJobId=7 HetJobOffset=0 ", "7+0", 1),
        ("", "7", 1),
    ],
)
def test_ids_of_arrays_and_het_jobs(ids: str, display: str, count: int) -> None:
    found = job(ids=ids)
    assert (found.display_id, found.array_task_count, found.job_id) == (display, count, 7)


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("UNLIMITED", math.inf), ("Partition_Limit", None), ("365-00:00:00", 31_536_000.0), ("INVALID", None)],
)
def test_time_limits(limit: str, seconds: float | None) -> None:
    assert job(limit=limit).time_limit_seconds == seconds


def test_suspension_is_read_as_slurm_reads_it() -> None:
    found = job(state="SUSPENDED", suspend="2026-11-29T13:10:00", ran="300")
    assert (found.suspended_seconds, found.elapsed_at(at(13, 30))) == (300, 300)
    assert job(suspend="2026-11-29T13:10:00", ran="300").elapsed_at(at(13, 30)) == 300 + 20 * 60


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        ("ReqNodeNotAvail,_UnavailableNodes:gpu02", "ReqNodeNotAvail"),
        ("ReqNodeNotAvail, Reserved for maintenance", "ReqNodeNotAvail"),
        ("Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions", "Resources"),
        ("QOSMaxGRESPerUser", "QOSMaxGRESPerUser"),
        ("None", None),
    ],
)
def test_a_sentence_instead_of_the_reason_becomes_its_code(printed: str, code: str | None) -> None:
    assert job(state="PENDING", reason=printed).reason == code


def test_a_single_tres_of_old_slurm_is_what_was_given_once_there_are_nodes() -> None:
    old = record().replace("   ReqTRES=cpu=4,mem=8G,node=1,gres/gpu=2\n", "").replace("AllocTRES", "TRES")
    (running,) = records_text.jobs(old, "c").rows
    assert (running.allocated.gpus, running.requested.gpus) == (2, None)
    pending = old.replace("=RUNNING", "=PENDING").replace("NodeList=gpu01", "NodeList=(null)")
    (waiting,) = records_text.jobs(pending, "c").rows
    assert (waiting.allocated.gpus, waiting.requested.gpus) == (None, 2)


NODE = """NodeName=gpu01 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=24 CPUEfctv=64 CPUTot=64 CPULoad=1.26
   ActiveFeatures=a100,80gb
   Gres=gpu:a100:4
   GresUsed=gpu:a100:3(IDX:0-2)
   NodeAddr=127.0.0.1 NodeHostName=vm Port=16810 Version=22.05.8
   OS=Linux 6.18.44 #1 SMP State=odd 2026
   RealMemory=512000 AllocMem=180000 FreeMem=N/A Sockets=2 Boards=1
   State=MIXED+DRAIN* ThreadsPerCore=1 TmpDisk=0 Weight=10 Owner=N/A MCS_label=N/A
   Partitions=gpu,debug
   BootTime=1795953384 LastBusyTime=Unknown
   CfgTRES=cpu=64,mem=500G,billing=64,gres/gpu=4,gres/gpu:a100=4
   AllocTRES=cpu=24,mem=180000M,gres/gpu=3
   CurrentWatts=0 AveWatts=0
   Reason=gres/gpu count lower than configured (0 < 1) State=DOWN [slurm@2024-12-19T11:03:34]
"""


def test_a_node_keeps_its_reason_with_time_and_user() -> None:
    (node,) = records_text.nodes(NODE, "c").rows
    assert node.reason == "gres/gpu count lower than configured (0 < 1) State=DOWN"
    assert (node.reason_user, node.reason_time) == ("slurm", datetime(2024, 12, 19, 11, 3, 34, tzinfo=UTC))
    assert (node.state.display, node.state.bucket, node.state.schedulable) == ("DRAINING*", "draining", False)
    assert (node.gpus_allocated, node.gpu_pools[0].free_indices) == (3, (3,))
    assert (node.free_memory_bytes, node.power_watts, node.last_busy_time) == (None, None, None)
    assert node.boot_time == datetime.fromtimestamp(1795953384, UTC)


def test_nodes_in_one_line_are_the_same() -> None:
    text = NODE.replace("State=odd ", "").replace("State=DOWN ", "")
    assert records_text.nodes(one_line(text), "c") == records_text.nodes(text, "c")


def test_without_used_gres_only_tracked_gpus_are_known() -> None:
    bare = NODE.replace("   GresUsed=gpu:a100:3(IDX:0-2)\n", "")
    assert records_text.nodes(bare, "c").rows[0].gpus_allocated == 3
    untracked = bare.replace(",gres/gpu=4,gres/gpu:a100=4", "").replace(",gres/gpu=3", "")
    assert records_text.nodes(untracked, "c").rows[0].gpus_allocated is None


@pytest.mark.parametrize("text", ["", "\n", "No reservations in the system\n"])
def test_nothing_to_show_is_an_empty_answer(text: str) -> None:
    assert records_text.reservations(text, "c").rows == ()


def test_what_is_no_output_of_scontrol_is_an_error() -> None:
    with pytest.raises(SourceGarbled):
        records_text.nodes("<html>", "c")
    with pytest.raises(SourceDenied):
        records_text.nodes("slurm_load_node: Access/permission denied", "c")


COLUMNS = """JobID JobIDRaw JobName User UID State Start End ElapsedRaw Suspended TimelimitRaw AllocTRES NodeList
    ExitCode NTasks TotalCPU MaxRSS TRESUsageInTot TRESUsageInAve"""
FIELDS = COLUMNS.split()


def row(job_id: str, **fields: str) -> str:
    values = {
        "JobID": job_id,
        "JobIDRaw": job_id,
        "State": "COMPLETED",
        "Start": "1795957254",
        "End": "1795957354",
        "ElapsedRaw": "100",
        "NodeList": "gpu01",
        "User": "ann",
        "UID": "6001",
        "AllocTRES": "cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=32G,node=1",
    } | fields
    return "\x1f".join(values.get(name, "") for name in FIELDS)


def sacct(*rows: str) -> tuple[Job, ...]:
    read = records_text.sacct_jobs("\n".join(rows) + "\n", FIELDS, "\x1f", "c")
    assert read.broken == 0, read.broken_examples
    return read.rows


def test_step_rows_fold_into_their_job() -> None:
    (found,) = sacct(
        row("7", TotalCPU="00:10.500"),
        row("7.batch", TotalCPU="00:00.500", MaxRSS="10836K", NTasks="1"),
        row("7.0", TotalCPU="00:10.000", MaxRSS="100M", NTasks="8", TRESUsageInTot="mem=640M,gres/gpuutil=396"),
    )
    assert found.usage == JobUsage(10.5, 640 * 2**20, 0.99, None)
    assert found.is_batch is True


def test_cpu_time_is_that_of_the_tasks_where_total_cpu_is_zero() -> None:
    (found,) = sacct(row("7"), row("7.0", TotalCPU="00:00:00", TRESUsageInTot="cpu=1-00:08:24,mem=1G"))
    assert found.usage.cpu_seconds == 86400 + 504


def test_rows_without_steps_measured_nothing() -> None:
    (found,) = sacct(row("7", TotalCPU="00:00:00"))
    assert found.usage == JobUsage()
    assert found.is_batch is None


def test_gpu_use_of_an_average_counts_every_task() -> None:
    """395 % over four GPUs and four tasks of one GPU each are the same."""
    (one,) = sacct(row("7"), row("7.0", NTasks="1", TRESUsageInAve="gres/gpuutil=396"))
    (four,) = sacct(row("7"), row("7.0", NTasks="4", TRESUsageInAve="gres/gpuutil=99"))
    assert one.usage.gpu_utilization == four.usage.gpu_utilization == 0.99


@pytest.mark.parametrize("used", ["gres/gpuutil=0,gres/gpumem=0", "gres/gpuutil=18446744073709551614", ""])
def test_gpu_use_that_slurm_could_not_measure_is_not_zero(used: str) -> None:
    (found,) = sacct(row("7"), row("7.0", TRESUsageInAve=used))
    assert found.usage.gpu_utilization is None and found.usage.gpu_memory_used_bytes is None


def test_odd_ids_states_and_times() -> None:
    rows = sacct(
        row("14_3", JobIDRaw="28"),
        row("54_[3-99%3]", JobIDRaw="54", State="PENDING", Start="Unknown", End="Unknown", NodeList="None assigned"),
        row("4103947_[1,5]", JobIDRaw="4103947", State="PENDING", Start="Unknown", NodeList="None assigned"),
        row("15+1", JobIDRaw="16", State="CANCELLED by 6001", TimelimitRaw="UNLIMITED"),
        row("17", State="FOO", Start="Unknown", AllocTRES="", NodeList="", TimelimitRaw="Partition_Limit"),
        row("18", State="CANCELLED by 99", ExitCode="9:0", Suspended="00:01:30"),
    )
    assert [job.display_id for job in rows] == ["14_3", "54_[3-99%3]", "4103947_[1,5]", "15+1", "17", "18"]
    assert [job.job_id for job in rows] == [28, 54, 4103947, 16, 17, 18]
    assert [job.array_task_count for job in rows] == [1, 97, 2, 1, 1, 1]
    assert [job.cancelled_by for job in rows] == [None, None, None, "ann", None, "99"]
    assert (rows[1].start_time, rows[1].nodes, rows[1].elapsed_seconds) == (None, (), None)
    assert (rows[3].het_job_id, rows[3].het_offset, rows[3].time_limit_seconds) == (15, 1, math.inf)
    assert (rows[4].state, rows[4].start_time, rows[4].allocated.gpus, rows[4].time_limit_seconds) == (
        "FOO",
        *[None] * 3,
    )
    assert (rows[5].exit_code, rows[5].suspended_seconds) == (ExitCode("ERROR", 9), 90)


def test_attempts_of_a_requeued_job_keep_their_own_steps() -> None:
    first, second = sacct(
        row("7", State="REQUEUED"), row("7.batch", TotalCPU="00:01.000"), row("7"), row("7.batch", TotalCPU="00:02.000")
    )
    assert (first.usage.cpu_seconds, second.usage.cpu_seconds) == (1, 2)


def test_a_line_break_and_a_pipe_stay_inside_the_text() -> None:
    (found, other) = sacct(row("7", JobName="echo hello &&\necho a|b"), row("8"))
    assert (found.name, other.job_id) == ("echo hello &&\necho a|b", 8)


def test_a_row_cut_short_does_not_swallow_the_next_one() -> None:
    read = records_text.sacct_jobs(f"{row('7')[:40]}\n{row('8')}\n{row('9')[:30]}", FIELDS, "\x1f", "c")
    assert [job.job_id for job in read.rows] == [8]
    assert read.broken == 2


def test_a_header_and_trailing_delimiters_are_no_rows() -> None:
    assert [job.job_id for job in sacct("\x1f".join(FIELDS), row("7") + "\x1f")] == [7]


def test_output_that_is_not_sacct_is_an_error() -> None:
    with pytest.raises(SourceGarbled):
        records_text.sacct_jobs("sacct: error: Problem talking to the database", FIELDS, "\x1f", "c")


def test_the_account_tree_is_read_from_names_and_from_indentation() -> None:
    named = "Cluster|Account|Par Name|User\nc|root||\nc|ml|root|\nc|ml||ann\n"
    tree = "Cluster|Account|User|Share\nc|root||1\nc| physics||1\nc|  ml||1\nc|   ml|ann|1\nc| bio||1\n"
    assert [row.parent for row in records_text.associations(named, "c").rows] == [None, "root", None]
    found = {(row.account, row.user): row.parent for row in records_text.associations(tree, "c").rows}
    assert found == {("root", None): None, ("physics", None): "root", ("ml", None): "physics", ("ml", "ann"): None,
                     ("bio", None): "root"}  # fmt: skip


def test_users_and_coordinators_join_the_tree() -> None:
    users = records_text.users("User|Def Acct|Admin|Coord Accounts\nann|ml|Operator|ml,bio\nbob|ml|None|\n", "c")
    tree = records_text.associations("Cluster|Account|Par Name|User\nc|ml||ann\nc|ml||bob\n", "c")
    ann, bob, extra = records_text.with_users(tree.rows, users.rows)
    assert (ann.is_coordinator, ann.admin_level, bob.admin_level) == (True, "Operator", None)
    assert (extra.user, extra.account, extra.is_coordinator) == ("ann", "bio", True)


def test_priority_parts_have_names_and_nice_lowers() -> None:
    read = records_text.priorities("35|alice|5050|0|4286|92|10|500|cpu=30,gres/gpu=133|7\nCLUSTER: x\n")
    (detail,) = read.rows
    assert (detail.job_id, detail.priority, read.broken) == (35, 5050, 1)
    assert dict(detail.priority_parts)["tres:gres/gpu"] == 133
    assert dict(detail.priority_parts)["nice"] == -7
