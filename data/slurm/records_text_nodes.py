"""Read nodes, partitions and reservations that `scontrol show` prints, in one line each or several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from data.errors import SourceGarbled
from data.model import Node, Partition, Reservation, Rows
from data.slurm.broken_rows import read_rows
from data.slurm.hosts import hostlist
from data.slurm.job_states import partition_state
from data.slurm.node_gpus import implausible, node_gpus
from data.slurm.records_json_fields import mebibytes
from data.slurm.records_json_sites import is_maintenance
from data.slurm.records_text_blocks import NODE_KEYS, PARTITION_KEYS, RESERVATION_KEYS, fields, records
from data.slurm.scalars import count, duration_seconds, is_blank, number, string_list, text, timestamp
from data.slurm.states import node_state
from data.slurm.tres import tres_string

_REASON: Final = re.compile(r"(.*?)\s*\[([^\[\]@]*)@([^\[\]]*)\]", re.DOTALL)


def nodes(output: str, cluster: str) -> Rows[Node]:
    """Nodes of `scontrol show node -d` (without -d, use of GPUs that TRES do not track is not known)."""
    rows = read_rows(records(output, "NodeName"), lambda record: _node(record, cluster), first_word)
    return implausible(rows)


def partitions(output: str, cluster: str) -> Rows[Partition]:
    """Partitions of `scontrol show partition`; ALL and no restriction are the empty tuple."""
    return read_rows(records(output, "PartitionName"), lambda record: _partition(record, cluster), first_word)


def reservations(output: str, cluster: str) -> Rows[Reservation]:
    """Reservations of `scontrol show reservation`."""
    return read_rows(records(output, "ReservationName"), lambda record: _reservation(record, cluster), first_word)


def first_word(record: str) -> str:
    """What to call a record that cannot be read: its first field."""
    return record.split(maxsplit=1)[0] if record.strip() else "an empty record"


def required(found: Mapping[str, str], key: str) -> str:
    """The text under `key`; SourceGarbled without one."""
    value = text(found.get(key))
    if value is None:
        raise SourceGarbled(f"it has no {key}")
    return value


def _node(record: str, cluster: str) -> Node:
    found = fields(record, NODE_KEYS)
    allocated_cpus = count(found.get("CPUAlloc"))
    total, allocated = tres_string(found.get("CfgTRES")), tres_string(found.get("AllocTRES"))
    gpus = node_gpus(text(found.get("Gres")), found.get("GresUsed"), total, allocated, allocated_cpus)
    reason, reason_user, reason_time = _reason(found.get("Reason"))
    watts = number(found.get("CurrentWatts"))
    return Node(
        cluster=cluster,
        name=required(found, "NodeName"),
        state=node_state(required(found, "State")),
        partitions=string_list(found.get("Partitions")),
        features=string_list(found.get("ActiveFeatures")) or string_list(found.get("AvailableFeatures")),
        cpus=count(found.get("CPUTot")),
        allocated_cpus=allocated_cpus,
        cpu_load=_load(found.get("CPULoad")),
        memory_bytes=mebibytes(found.get("RealMemory")),
        allocated_memory_bytes=mebibytes(found.get("AllocMem")),
        free_memory_bytes=mebibytes(found.get("FreeMem")),
        gres=gpus.configured,
        gres_used=gpus.used,
        gpu_pools=gpus.pools,
        gpus_allocated=gpus.allocated,
        power_watts=float(watts) if watts and 0 < watts < float("inf") else None,
        reason=reason,
        reason_user=reason_user,
        reason_time=timestamp(reason_time),
        boot_time=timestamp(found.get("BootTime")),
        last_busy_time=timestamp(found.get("LastBusyTime")),
        slurm_version=text(found.get("Version")),
        address=text(found.get("NodeAddr")),
    )


def _load(value: str | None) -> float | None:
    load = number(value)
    return float(load) if load is not None and 0 <= load < float("inf") else None


def _reason(value: str | None) -> tuple[str | None, str | None, str | None]:
    """Reason, who set it and when: GPU 3 fell off the bus [root@2026-11-29T13:01:15]."""
    reason = text(value)
    match = _REASON.fullmatch(reason) if reason else None
    return (reason, None, None) if match is None else (text(match[1]), text(match[2]), match[3])


def _partition(record: str, cluster: str) -> Partition:
    found = fields(record, PARTITION_KEYS)
    return Partition(
        cluster=cluster,
        name=required(found, "PartitionName"),
        state=partition_state(found.get("State")),
        nodes=hostlist(found.get("Nodes")),
        max_time_seconds=duration_seconds(found.get("MaxTime")),
        default_time_seconds=duration_seconds(found.get("DefaultTime")),
        priority_tier=count(found.get("PriorityTier")),
        allowed_accounts=_unless_all(found.get("AllowAccounts")),
        allowed_qos=_unless_all(found.get("AllowQos")),
        is_default=found.get("Default", "").upper() == "YES",
    )


def _unless_all(value: str | None) -> tuple[str, ...]:
    return () if is_blank(value) or (value or "").upper() == "ALL" else string_list(value)


def _reservation(record: str, cluster: str) -> Reservation:
    found = fields(record, RESERVATION_KEYS)
    flags = string_list(found.get("Flags"))
    return Reservation(
        cluster=cluster,
        name=required(found, "ReservationName"),
        nodes=hostlist(found.get("Nodes")),
        start_time=timestamp(found.get("StartTime")),
        end_time=timestamp(found.get("EndTime")),
        flags=flags,
        users=string_list(found.get("Users")),
        accounts=string_list(found.get("Accounts")),
        is_maintenance=is_maintenance(flags),
    )
