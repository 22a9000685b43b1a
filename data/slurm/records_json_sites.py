"""Read partitions and reservations from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.model import Partition, Reservation, Rows
from data.slurm.answers import listed
from data.slurm.broken_rows import read_rows
from data.slurm.hosts import hostlist
from data.slurm.job_states import partition_state
from data.slurm.records_json_fields import label, member, named
from data.slurm.scalars import count, minutes_to_seconds, string_list, text, timestamp


def partitions(payload: object, cluster: str) -> Rows[Partition]:
    """Partitions of a /slurm/vX/partitions answer, flat (to v0.0.38) or nested."""
    return read_rows(listed(payload, "partitions"), lambda record: _partition(record, cluster), label)


def reservations(payload: object, cluster: str) -> Rows[Reservation]:
    """Reservations of a /slurm/vX/reservations answer."""
    return read_rows(listed(payload, "reservations"), lambda record: _reservation(record, cluster), label)


def is_maintenance(flags: object) -> bool:
    """Whether a reservation's flags (list or text) name MAINT; NO_MAINT does not."""
    return "MAINT" in {flag.upper() for flag in string_list(flags)}


def _partition(record: Mapping[str, Any], cluster: str) -> Partition:
    nodes = record.get("nodes")
    priority = record.get("priority_tier", member(record, "priority", "tier"))
    return Partition(
        cluster=cluster,
        name=named(record),
        state=partition_state(record),
        nodes=hostlist(text(nodes if not isinstance(nodes, dict) else nodes.get("configured"))),
        max_time_seconds=minutes_to_seconds(record.get("max_time_limit", member(record, "maximums", "time"))),
        default_time_seconds=minutes_to_seconds(record.get("default_time_limit", member(record, "defaults", "time"))),
        priority_tier=count(priority),
        allowed_accounts=string_list(record.get("allowed_accounts", member(record, "accounts", "allowed"))),
        allowed_qos=string_list(record.get("allowed_qos", member(record, "qos", "allowed"))),
        is_default="DEFAULT" in {flag.upper() for flag in string_list(record.get("flags"))},
    )


def _reservation(record: Mapping[str, Any], cluster: str) -> Reservation:
    flags = string_list(record.get("flags"))
    return Reservation(
        cluster=cluster,
        name=named(record),
        nodes=hostlist(text(record.get("node_list"))),
        start_time=timestamp(record.get("start_time")),
        end_time=timestamp(record.get("end_time")),
        flags=tuple(flag.upper() for flag in flags),
        users=string_list(record.get("users")),
        accounts=string_list(record.get("accounts")),
        is_maintenance=is_maintenance(flags),
    )
