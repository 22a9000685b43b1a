"""Read slurmdbd's jobs with their steps, from slurmrestd or `sacct --json`.

Slurm 22.05 says SUCCESS and 0 in JSON for a job that failed with 1 (sacct's text is right). That cannot be repaired
from the answer, so that the exit code of a FAILED or DEADLINE job with SUCCESS is "not known", never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.model import ExitCode, Job, JobUsage, Rows
from data.slurm.answers import listed
from data.slurm.broken_rows import read_rows
from data.slurm.devices import node_devices
from data.slurm.hosts import hostlist
from data.slurm.job_gpus import asks_for_gpus, with_gpu_count
from data.slurm.job_ids import IdFields, id_fields
from data.slurm.job_states import JobState, exit_code, job_state
from data.slurm.memory_request import recorded_memory_per
from data.slurm.records_json_fields import label, mebibytes, member, user_name
from data.slurm.records_json_jobs import raw_id
from data.slurm.scalars import count, minutes_to_seconds, text, timestamp
from data.slurm.tres import objects, tres_list
from data.slurm.usage import folded, step_of_json


def accounting_jobs(payload: object, cluster: str) -> Rows[Job]:
    """Attempts of a /slurmdb/vX/jobs answer. An empty one is (), also where the server calls it an error.

    Usage is None where no step was measured. GPU indices are never known here.
    """
    return read_rows(listed(payload, "jobs"), lambda record: _job(record, cluster), label)


def _job(record: Mapping[str, Any], cluster: str) -> Job:
    ids, state, time = _ids(record), _state(record), record.get("time") or {}
    steps = tuple(objects(record.get("steps")))
    # The submit line of a het job speaks of all its components, so that it says nothing of one.
    submit_line = text(record.get("submit_line")) if ids["het_job_id"] is None else None
    asked = asks_for_gpus([record.get("used_gres")], submit_line)
    allocated = with_gpu_count(tres_list(member(record, "tres", "allocated")), asked)
    nodes = hostlist(text(record.get("nodes")))
    # slurmdbd gives a pending job the time of the question as its start, and one that never ran its end.
    start = timestamp(time.get("start")) if nodes and state.state != "PENDING" else None
    return Job(
        cluster=cluster,
        **ids,
        state=state.state,
        state_flags=state.flags,
        name=str(record.get("name") or ""),
        user=user_name(record) or text(member(record, "association", "user")),
        account=text(record.get("account")),
        partition=str(record.get("partition") or ""),
        qos=text(record.get("qos")),
        submit_time=timestamp(time.get("submission")),
        eligible_time=timestamp(time.get("eligible")),
        start_time=start,
        end_time=timestamp(time.get("end")) if state.is_terminal else None,
        suspended_seconds=float(count(time.get("suspended")) or 0),
        elapsed_seconds=_elapsed(time, start is not None),
        time_limit_seconds=minutes_to_seconds(time.get("limit")),
        restart_count=count(record.get("restart_cnt")) or 0,
        nodes=nodes,
        requested=with_gpu_count(tres_list(member(record, "tres", "requested")), asked),
        allocated=allocated,
        devices=node_devices(nodes, (), allocated, {}),
        requested_memory_per=_memory_per(record),
        requested_features=text(record.get("constraints")),
        reason=_reason(record),
        priority=count(record.get("priority")),
        reservation=_reservation(record),
        exit_code=_exit_code(record, state),
        derived_exit_code=_derived_exit_code(record, state),
        cancelled_by=text(record.get("kill_request_user")) if state.state == "CANCELLED" else state.by,
        is_batch=_is_batch(steps),
        working_directory=text(record.get("working_directory")),
        comment=text(member(record, "comment", "job")),
        admin_comment=text(member(record, "comment", "administrator")),
        sluid=text(record.get("sluid")),
        usage=_usage(steps, allocated.gpus, state),
    )


def _ids(record: Mapping[str, Any]) -> IdFields:
    array, het = record.get("array") or {}, record.get("het") or {}
    array_id, het_id = count(array.get("job_id")) or None, count(het.get("job_id")) or None
    task: int | str | None = count(array.get("task_id")) if array_id else None
    task = text(array.get("task")) if task is None else task
    return id_fields(raw_id(record), array_id, task, het_id, count(het.get("job_offset")) if het_id else None)


def _state(record: Mapping[str, Any]) -> JobState:
    """Newer versions call an attempt that was requeued PENDING with a flag, sacct's text REQUEUED."""
    state = job_state(record.get("state"))
    return JobState("REQUEUED") if state.state == "PENDING" and "REQUEUED" in state.flags else state


def _elapsed(time: Mapping[str, Any], has_started: bool) -> float | None:
    elapsed = count(time.get("elapsed"))
    return None if elapsed is None or not has_started else float(elapsed)


def _exit_code(record: Mapping[str, Any], state: JobState) -> ExitCode | None:
    if not state.is_terminal:
        return None
    found = exit_code(record.get("exit_code"))
    is_contradiction = state.state in ("FAILED", "DEADLINE") and found is not None and found.status == "SUCCESS"
    return None if is_contradiction else found


def _derived_exit_code(record: Mapping[str, Any], state: JobState) -> ExitCode | None:
    """The worst code of the steps. 22.05 says SUCCESS and 0 for a code without a signal, whatever it is."""
    if not state.is_terminal:
        return None
    found = exit_code(record.get("derived_exit_code"))
    is_old = not isinstance(member(record, "derived_exit_code", "return_code"), dict)
    return None if is_old and found is not None and found.status == "SUCCESS" else found


def _memory_per(record: Mapping[str, Any]) -> str | None:
    node, cpu = (mebibytes(member(record, "required", f"memory_per_{unit}")) for unit in ("node", "cpu"))
    return recorded_memory_per(node, cpu)


def _usage(steps: tuple[Mapping[str, Any], ...], gpus: int | None, state: JobState) -> JobUsage:
    """Nothing for a job that still runs: its open steps are not counted yet, so that sums would be too small."""
    return folded((step_of_json(step) for step in steps), gpus) if state.is_terminal else JobUsage()


def _is_batch(steps: tuple[Mapping[str, Any], ...]) -> bool | None:
    """A batch job has a batch step; without any step nothing is known."""
    if not steps:
        return None
    return any("batch" in str(member(step, "step", "id")) for step in steps)


def _reason(record: Mapping[str, Any]) -> str | None:
    reason = text(member(record, "state", "reason"))
    return None if reason == "None" else reason


def _reservation(record: Mapping[str, Any]) -> str | None:
    """The reservation's name; 22.05 writes its number (0 for none) there."""
    name = member(record, "reservation", "name")
    return text(name) if isinstance(name, str) else None
