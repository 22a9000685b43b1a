"""Read `sacct -P` rows: jobs, and the steps under them folded into what each job used.

Rows of `sacct -X` have no steps and TotalCPU 0: not measured. Exit 137 is printed as 9:0, like exit 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from data.errors import SourceGarbled
from data.model import Job, JobUsage, Rows
from data.slurm.broken_rows import joined, read_rows
from data.slurm.devices import node_devices
from data.slurm.hosts import hostlist
from data.slurm.job_gpus import with_gpu_count
from data.slurm.job_ids import IdFields, id_fields, job_id
from data.slurm.job_states import JobState, exit_code, job_state
from data.slurm.memory_request import memory_per_of_text
from data.slurm.sacct_rows import Row, table_rows
from data.slurm.scalars import count, duration_seconds, minutes_to_seconds, text, timestamp
from data.slurm.tres import tres_string
from data.slurm.usage import StepUsage, folded, step_of_text

SACCT_DELIMITER: Final = "\x1f"
# SubmitLine is left out: it holds line breaks. Intersect with `sacct --helpformat`: one unknown field fails the call.
SACCT_FIELDS: Final = (
    "JobID",
    "JobIDRaw",
    "JobName",
    "User",
    "UID",
    "Account",
    "Partition",
    "QOS",
    "State",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "Suspended",
    "TimelimitRaw",
    "ReqMem",
    "ReqTRES",
    "AllocTRES",
    "NodeList",
    "ExitCode",
    "DerivedExitCode",
    "Reason",
    "Comment",
    "AdminComment",
    "Constraints",
    "Priority",
    "Reservation",
    "Restarts",
    "WorkDir",
    "NTasks",
    "TotalCPU",
    "MaxRSS",
    "TRESUsageInTot",
    "TRESUsageInAve",
    "SLUID",
)


@dataclass(slots=True)
class _Attempt:
    row: Row
    steps: list[Row] = field(default_factory=list)


def sacct_jobs(output: str, fields: Sequence[str], delimiter: str, cluster: str) -> Rows[Job]:
    """Attempts (with -D also the requeued ones), each with the usage of the step rows that follow it.

    `fields` are the columns asked for, in order; a header row is skipped. JobID must be among them.
    `cancelled_by` is a name where some row tells it, else the user id that sacct prints.
    Raises SourceGarbled when no row fits the columns.
    """
    rows = table_rows(output, fields, delimiter)
    attempts, orphans = _attempts(rows.rows)
    names = {"0": "root"} | {row["UID"]: row["User"] for row in rows.rows if row.get("UID") and row.get("User")}
    jobs = read_rows(
        attempts,
        lambda attempt: _job(attempt, cluster, names),
        lambda attempt: f"job {attempt.row['JobID']}",
    )
    return joined([Rows((), rows.broken, rows.broken_examples), jobs, orphans])


def _attempts(rows: Iterable[Row]) -> tuple[list[_Attempt], Rows[Job]]:
    """Steps go to the latest row of their job; steps without a job are broken rows."""
    attempts: list[_Attempt] = []
    latest: dict[str, _Attempt] = {}
    lost: list[Row] = []
    for row in rows:
        name, is_step, _ = row["JobID"].partition(".")
        if not is_step:
            attempts.append(_Attempt(row))
            latest[name] = attempts[-1]
        elif name in latest:
            latest[name].steps.append(row)
        else:
            lost.append(row)
    return attempts, read_rows(lost, _refuse, lambda row: f"step {row['JobID']}")


def _refuse(row: Row) -> Job:
    raise SourceGarbled("its job's own row is missing")


def _job(attempt: _Attempt, cluster: str, names: Mapping[str, str]) -> Job:
    row = attempt.row
    state = job_state(text(row.get("State")))
    allocated = with_gpu_count(tres_string(text(row.get("AllocTRES"))), asked_for_gpus=False)
    requested = with_gpu_count(tres_string(text(row.get("ReqTRES"))), asked_for_gpus=False)
    nodes = hostlist(row.get("NodeList"))
    start = timestamp(row.get("Start")) if nodes or "NodeList" not in row else None
    return Job(
        cluster=cluster,
        **_ids(row),
        state=state.state,
        state_flags=state.flags,
        name=row.get("JobName", ""),
        user=text(row.get("User")),
        user_id=count(text(row.get("UID"))),
        account=text(row.get("Account")),
        partition=row.get("Partition", ""),
        qos=text(row.get("QOS")),
        submit_time=timestamp(row.get("Submit")),
        eligible_time=timestamp(row.get("Eligible")),
        start_time=start,
        end_time=timestamp(row.get("End")) if state.is_terminal else None,
        suspended_seconds=duration_seconds(row.get("Suspended")) or 0.0,
        elapsed_seconds=_elapsed(row) if start else None,
        time_limit_seconds=_time_limit(row),
        restart_count=count(text(row.get("Restarts"))) or 0,
        nodes=nodes,
        requested=requested,
        allocated=allocated,
        devices=node_devices(nodes, (), allocated, {}),
        requested_memory_per=memory_per_of_text(row.get("ReqMem")),
        requested_features=text(row.get("Constraints")),
        reason=None if row.get("Reason") == "None" else text(row.get("Reason")),
        priority=count(text(row.get("Priority"))),
        reservation=text(row.get("Reservation")),
        exit_code=exit_code(row.get("ExitCode")) if state.is_terminal else None,
        derived_exit_code=exit_code(row.get("DerivedExitCode")) if state.is_terminal else None,
        cancelled_by=names.get(state.by, state.by) if state.by else None,
        is_batch=_is_batch(attempt.steps),
        working_directory=text(row.get("WorkDir")),
        comment=text(row.get("Comment")),
        admin_comment=text(row.get("AdminComment")),
        sluid=text(row.get("SLUID")),
        usage=_usage(attempt, allocated.gpus, state),
    )


def _ids(row: Row) -> IdFields:
    parts = job_id(row["JobID"])
    raw_id = count(text(row.get("JobIDRaw"))) or parts.job
    array_id = None if parts.task is None else parts.job
    return id_fields(raw_id, array_id, parts.task, None if parts.het is None else parts.job, parts.het)


def _elapsed(row: Row) -> float | None:
    raw = count(text(row.get("ElapsedRaw")))
    return float(raw) if raw is not None else duration_seconds(row.get("Elapsed"))


def _time_limit(row: Row) -> float | None:
    """TimelimitRaw counts minutes and may say UNLIMITED or Partition_Limit; Timelimit is a duration."""
    if text(row.get("TimelimitRaw")) is not None:
        return minutes_to_seconds(row["TimelimitRaw"])
    return duration_seconds(row.get("Timelimit"))


def _is_batch(steps: Sequence[Row]) -> bool | None:
    return any(row["JobID"].endswith(".batch") for row in steps) if steps else None


def _usage(attempt: _Attempt, gpus: int | None, state: JobState) -> JobUsage:
    """Nothing for a job that still runs: its open steps are not counted yet, so that sums would be too small."""
    if not state.is_terminal:
        return JobUsage()
    # Without step columns, the rows of some sites carry the job's own sums.
    return folded((_step(row) for row in attempt.steps or [attempt.row]), gpus)


def _step(row: Row) -> StepUsage:
    return step_of_text(
        cpu_seconds=duration_seconds(row.get("TotalCPU")),
        max_rss=text(row.get("MaxRSS")),
        tasks=text(row.get("NTasks")),
        total=text(row.get("TRESUsageInTot")),
        average=text(row.get("TRESUsageInAve")),
        gpus=tres_string(text(row.get("AllocTRES"))).gpus,
        elapsed_seconds=_elapsed(row),
    )
