"""Read slurmctld's jobs: running, pending, suspended and just ended, from slurmrestd or `squeue --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.errors import SourceGarbled
from data.model import Job, NodeDevices, Rows, Tres
from data.slurm.answers import listed
from data.slurm.broken_rows import read_rows
from data.slurm.devices import NodeShare, node_devices
from data.slurm.hosts import hostlist
from data.slurm.job_gpus import asks_for_gpus, with_gpu_count
from data.slurm.job_ids import IdFields, id_fields
from data.slurm.job_states import JobState, exit_code, job_state
from data.slurm.job_times import TimeFields, controller_times
from data.slurm.memory_request import memory_per
from data.slurm.records_json_fields import label, mebibytes, member, user_name
from data.slurm.scalars import count, minutes_to_seconds, number, string_list, text, timestamp
from data.slurm.tres import objects, tres_string

_REQUESTS = ("tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")


def jobs(payload: object, cluster: str) -> Rows[Job]:
    """Jobs of a /slurm/vX/jobs answer, one row per job, array task or pending array.

    `exit_code` is None until a job ends: older versions say 0 all the time.
    """
    return read_rows(listed(payload, "jobs"), lambda record: _job(record, cluster), label)


def raw_id(record: Mapping[str, Any]) -> int:
    """The job's own number, which is never 0."""
    found = count(record.get("job_id"))
    if not found:
        raise SourceGarbled("it has no job id")
    return found


def _job(record: Mapping[str, Any], cluster: str) -> Job:
    state = job_state(record.get("job_state"))
    asked = asks_for_gpus([record.get(key) for key in _REQUESTS] + list(string_list(record.get("gres_detail"))))
    allocated = with_gpu_count(tres_string(record.get("tres_alloc_str")), asked)
    requested = with_gpu_count(tres_string(record.get("tres_req_str")), asked)
    nodes = () if state.state == "PENDING" else _nodes(record)
    return Job(
        cluster=cluster,
        **_ids(record),
        state=state.state,
        state_flags=state.flags,
        name=str(record.get("name") or ""),
        user=user_name(record),
        user_id=count(record.get("user_id")),
        account=text(record.get("account")),
        partition=str(record.get("partition") or ""),
        qos=text(record.get("qos")),
        submit_time=timestamp(record.get("submit_time")),
        eligible_time=timestamp(record.get("eligible_time")),
        **_times(record, state, nodes),
        time_limit_seconds=minutes_to_seconds(record.get("time_limit")),
        restart_count=count(record.get("restart_cnt")) or 0,
        nodes=nodes,
        requested=requested,
        allocated=allocated,
        devices=_devices(record, nodes, allocated),
        requested_memory_per=_memory_per(record, requested, allocated),
        requested_features=text(record.get("features")),
        requested_nodes=text(record.get("required_nodes")),
        reason=_reason(record),
        priority=count(record.get("priority")),
        dependency=text(record.get("dependency")),
        reservation=text(record.get("resv_name")),
        exit_code=exit_code(record.get("exit_code")) if state.is_terminal else None,
        derived_exit_code=exit_code(record.get("derived_exit_code")) if state.is_terminal else None,
        is_batch=record.get("batch_flag") if isinstance(record.get("batch_flag"), bool) else None,
        command=text(record.get("command")),
        working_directory=text(record.get("current_working_directory")),
        comment=text(record.get("comment")),
        admin_comment=text(record.get("admin_comment")),
        sluid=text(record.get("sluid")),
    )


def _ids(record: Mapping[str, Any]) -> IdFields:
    array_id, het_id = count(record.get("array_job_id")) or None, count(record.get("het_job_id")) or None
    task: int | str | None = count(record.get("array_task_id")) if array_id else None
    task = text(record.get("array_task_string")) if task is None else task
    return id_fields(raw_id(record), array_id, task, het_id, count(record.get("het_job_offset")) if het_id else None)


def _times(record: Mapping[str, Any], state: JobState, nodes: tuple[str, ...]) -> TimeFields:
    start, end, suspend = (timestamp(record.get(key)) for key in ("start_time", "end_time", "suspend_time"))
    return controller_times(state, start, end, suspend, number(record.get("pre_sus_time")), has_nodes=bool(nodes))


def _nodes(record: Mapping[str, Any]) -> tuple[str, ...]:
    inner = member(record, "job_resources", "nodes")
    inner = inner.get("list") if isinstance(inner, dict) else inner
    return hostlist(text(record.get("nodes")) or (text(inner) if isinstance(inner, str) else None))


def _memory_per(record: Mapping[str, Any], requested: Tres, allocated: Tres) -> str | None:
    node, cpu = mebibytes(record.get("memory_per_node")), mebibytes(record.get("memory_per_cpu"))
    return memory_per(node, cpu, text(record.get("memory_per_tres")), requested, allocated)


def _reason(record: Mapping[str, Any]) -> str | None:
    reason = text(record.get("state_reason"))
    return None if reason == "None" else reason


def _devices(record: Mapping[str, Any], nodes: tuple[str, ...], allocated: Tres) -> tuple[NodeDevices, ...]:
    if not nodes:
        return ()
    return node_devices(nodes, _details(record.get("gres_detail")), allocated, _shares(record))


def _details(value: object) -> tuple[str, ...]:
    """One GRES string per node; commas inside them are their own, so that the list is not split further."""
    return tuple(str(detail or "") for detail in value) if isinstance(value, list) else ()


def _shares(record: Mapping[str, Any]) -> dict[str, NodeShare]:
    inner = member(record, "job_resources", "nodes", "allocation")
    allocation = inner if inner is not None else member(record, "job_resources", "allocated_nodes")
    return {
        str(node.get("name") or node.get("nodename")): NodeShare(
            count(member(node, "cpus", "count")),
            mebibytes(node.get("memory_allocated", member(node, "memory", "allocated"))),
        )
        for node in objects(allocation)
    }
