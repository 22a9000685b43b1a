"""Read jobs that `scontrol show job -d` prints (with the indices of their GPUs)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from data.errors import SourceGarbled
from data.model import Job, NodeDevices, Rows, Tres
from data.slurm.broken_rows import read_rows
from data.slurm.devices import NodeShare, node_devices
from data.slurm.hosts import hostlist, index_list
from data.slurm.job_gpus import asks_for_gpus, with_gpu_count
from data.slurm.job_ids import IdFields, id_fields
from data.slurm.job_states import JobState, exit_code, job_state
from data.slurm.job_times import TimeFields, controller_times
from data.slurm.memory_request import memory_per
from data.slurm.records_json_fields import mebibytes
from data.slurm.records_text_blocks import job_fields, records
from data.slurm.records_text_nodes import first_word, required
from data.slurm.scalars import count, duration_seconds, memory_bytes, number, text, timestamp
from data.slurm.tres import tres_string

_USER: Final = re.compile(r"(.*)\((\d+)\)")
_NO_NODES: Final = "Nodes required for job"
_REQUESTS: Final = ("TresPerJob", "TresPerNode", "TresPerSocket", "TresPerTask", "JOB_GRES")


def jobs(output: str, cluster: str) -> Rows[Job]:
    """Jobs of `scontrol show job -d`, in several lines each or one (-o)."""
    return read_rows(records(output, "JobId"), lambda record: _job(*job_fields(record), cluster), first_word)


def _job(found: Mapping[str, str], details: Sequence[Mapping[str, str]], cluster: str) -> Job:
    state = job_state(required(found, "JobState"))
    user, user_id = _user(found.get("UserId"))
    asked = asks_for_gpus(text(found.get(key)) for key in _REQUESTS)
    nodes = () if state.state == "PENDING" else hostlist(found.get("NodeList"))
    requested, allocated = (with_gpu_count(tres, asked) for tres in _resources(found, bool(nodes)))
    return Job(
        cluster=cluster,
        **_ids(found),
        state=state.state,
        state_flags=state.flags,
        name=found.get("JobName", ""),
        user=user,
        user_id=user_id,
        account=text(found.get("Account")),
        partition=found.get("Partition", ""),
        qos=text(found.get("QOS")),
        submit_time=timestamp(found.get("SubmitTime")),
        eligible_time=timestamp(found.get("EligibleTime")),
        **_times(found, state, nodes),
        time_limit_seconds=duration_seconds(found.get("TimeLimit")),
        restart_count=count(found.get("Restarts")) or 0,
        nodes=nodes,
        requested=requested,
        allocated=allocated,
        devices=_devices(nodes, details, allocated),
        requested_memory_per=_memory_per(found, requested, allocated),
        requested_features=text(found.get("Features")),
        requested_nodes=text(found.get("ReqNodeList")),
        reason=_reason(found.get("Reason")),
        priority=count(found.get("Priority")),
        dependency=text(found.get("Dependency")),
        reservation=text(found.get("Reservation")),
        exit_code=exit_code(found.get("ExitCode")) if state.is_terminal else None,
        derived_exit_code=exit_code(found.get("DerivedExitCode")) if state.is_terminal else None,
        is_batch={"1": True, "0": False}.get(found.get("BatchFlag", "")),
        command=text(found.get("Command")),
        working_directory=text(found.get("WorkDir")),
        comment=text(found.get("Comment")),
        admin_comment=text(found.get("AdminComment")),
        sluid=text(found.get("SLUID")),
    )


def _ids(found: Mapping[str, str]) -> IdFields:
    job_id = count(found.get("JobId"))
    if not job_id:
        raise SourceGarbled("it has no job id")
    array_id, het_id = _identifier(found.get("ArrayJobId")), _identifier(found.get("HetJobId"))
    task = _task(found.get("ArrayTaskId")) if array_id else None
    return id_fields(job_id, array_id, task, het_id, count(found.get("HetJobOffset")) if het_id else None)


def _times(found: Mapping[str, str], state: JobState, nodes: tuple[str, ...]) -> TimeFields:
    start, end, suspend = (timestamp(found.get(key)) for key in ("StartTime", "EndTime", "SuspendTime"))
    return controller_times(state, start, end, suspend, number(found.get("SecsPreSuspend")), has_nodes=bool(nodes))


def _resources(found: Mapping[str, str], is_allocated: bool) -> tuple[Tres, Tres]:
    """What was asked for and what was given. 22.05 prints one TRES: given once there are nodes, asked before."""
    requested, allocated = found.get("ReqTRES"), found.get("AllocTRES")
    if requested is None and allocated is None:
        requested, allocated = (None, found.get("TRES")) if is_allocated else (found.get("TRES"), None)
    return tres_string(text(requested)), tres_string(text(allocated) if is_allocated else None)


def _memory_per(found: Mapping[str, str], requested: Tres, allocated: Tres) -> str | None:
    node, cpu = memory_bytes(found.get("MinMemoryNode")), memory_bytes(found.get("MinMemoryCPU"))
    return memory_per(node, cpu, text(found.get("MemPerTres")), requested, allocated)


def _reason(value: str | None) -> str | None:
    """Slurm's reason code. scontrol prints a sentence instead when there is one, beginning with the code."""
    reason = text(value)
    if reason is None or reason == "None":
        return None
    return "Resources" if reason.replace("_", " ").startswith(_NO_NODES) else re.split("[,:]", reason)[0]


def _identifier(value: str | None) -> int | None:
    """An array's or het job's number; N/A and 0 are none."""
    return count(text(value)) or None


def _task(value: str | None) -> int | str | None:
    """One task's number, or the list of a pending array."""
    word = text(value)
    return int(word) if word is not None and word.isdecimal() and len(word) < 10 else word


def _user(value: str | None) -> tuple[str | None, int | None]:
    """Name and number of alice(6001)."""
    match = _USER.fullmatch(value or "")
    return (text(value), None) if match is None else (text(match[1]), count(match[2]))


def _devices(nodes: tuple[str, ...], details: Sequence[Mapping[str, str]], allocated: Tres) -> tuple[NodeDevices, ...]:
    """Slurm prints one line for several nodes that hold the same."""
    gres: dict[str, str] = {}
    shares: dict[str, NodeShare] = {}
    for line in details:
        for node in hostlist(line.get("Nodes")):
            if node in gres:
                raise SourceGarbled(f"node {node} stands in it twice; a name or a comment may hold a line break")
            gres[node] = line.get("GRES", "")
            shares[node] = NodeShare(_cpus(line.get("CPU_IDs")), mebibytes(line.get("Mem")))
    is_told = all(node in gres for node in nodes)
    return node_devices(nodes, [gres[node] for node in nodes] if is_told else (), allocated, shares)


def _cpus(value: str | None) -> int | None:
    return None if text(value) is None else len(index_list(value or ""))
