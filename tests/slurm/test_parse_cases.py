"""Every parser against the reference facts about how Slurm reports things."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from data.errors import FullwarpError
from data.model import Gres, Tres
from data.slurm.answers import check_errors
from data.slurm.gres import gpu_pools, gpus_used, gres
from data.slurm.hosts import cfg_range, hostlist
from data.slurm.job_ids import display_id, job_id
from data.slurm.job_states import exit_code, job_state, partition_state
from data.slurm.records_json_fields import user_name
from data.slurm.records_json_sites import is_maintenance
from data.slurm.scalars import (
    MEBIBYTE,
    cpu_load,
    duration_seconds,
    measured_watts,
    memory_bytes,
    minutes_to_seconds,
    number,
    string_list,
    timestamp,
)
from data.slurm.states import node_state
from data.slurm.tres import tres_list, tres_string
from data.slurm.usage import step_of_json

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases" / "slurm_parse.json"
OTHER_LAYERS = {"prom_value", "hpc_job_label", "gpu_identity"}


def cases() -> list[Any]:
    if not CASES.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no reference cases at {CASES}"))]
    found = json.loads(CASES.read_text())["cases"]
    return [pytest.param(case, id=case["id"]) for case in found if case["parser"] not in OTHER_LAYERS]


def as_number(value: float | None) -> dict[str, Any]:
    return {"value": None if value is None or math.isinf(value) else value, "infinite": value == math.inf}


def as_epoch(value: datetime | None) -> float | None:
    return None if value is None else value.timestamp()


def as_duration(value: float | None) -> float | str | None:
    return "infinite" if value == math.inf else value


def as_mebibytes(value: int | None) -> float | None:
    return None if value is None else value / MEBIBYTE


def as_tres(tres: Tres) -> dict[str, Any]:
    return {
        "cpu": tres.cpus,
        "mem_mb": as_mebibytes(tres.memory_bytes),
        "node": tres.nodes,
        "billing": tres.billing,
        "gpu": tres.gpus or 0,
        "gpu_by_type": dict(tres.gpus_by_type),
    }


def as_gres(entry: Gres) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": entry.name, "type": entry.type, "count": entry.count}
    for key in ("sockets", "indices"):
        if getattr(entry, key) is not None:
            shown[key] = list(getattr(entry, key))
    if entry.shared is not None:
        shown["shared"] = [list(share) for share in entry.shared]
    return shown


def as_indices(indices: tuple[int, ...] | None) -> list[int] | None:
    return None if indices is None else list(indices)


def as_gpu_node(value: dict[str, str]) -> dict[str, Any]:
    allocated = tres_string(value.get("tres_used"))
    pools = gpu_pools(value["gres"], value["gres_used"], allocated)
    return {
        "gpu_total": sum(pool.total for pool in pools),
        "gpu_used": gpus_used(pools, value["gres_used"], allocated),
        "by_type": {
            pool.type: {
                "total": pool.total,
                "used": pool.used,
                "used_indices": as_indices(pool.used_indices),
                "free_indices": as_indices(pool.free_indices),
            }
            for pool in pools
        },
    }


def as_node_state(value: object) -> dict[str, Any]:
    state = node_state(value)
    return {
        "base": state.base,
        "flags": list(state.flags),
        "display": state.display,
        "bucket": state.bucket,
        "schedulable": state.schedulable,
    }


def as_job_state(value: object) -> dict[str, Any]:
    state = job_state(value)
    shown = {"state": state.state, "flags": list(state.flags), "terminal": state.is_terminal}
    return shown | ({"by": state.by} if state.by else {})


def as_exit_code(value: object) -> dict[str, Any]:
    code = exit_code(value)
    assert code is not None
    return {"status": code.status, "code": code.code, "signal": code.signal}


def as_job_id(value: str) -> dict[str, Any]:
    found = job_id(value)
    return {"job": found.job, "task": found.task, "het": found.het, "step": found.step}


def as_display_id(value: dict[str, Any]) -> str:
    array, task = number(value["array_job_id"]), number(value["array_task_id"])
    return display_id(value["job_id"], None if array is None else int(array), None if task is None else int(task))


def as_envelope(value: dict[str, Any]) -> dict[str, Any]:
    try:
        check_errors(value["body"])
    except FullwarpError as err:
        error = value["body"]["errors"][0]
        assert error["error"] in str(err)
        return {"ok": False, "code": error["error_number"], "message": error["error"]}
    return {"ok": True}


def as_step_usage(value: dict[str, Any]) -> dict[str, Any]:
    step = step_of_json(value)
    return {
        "max_rss_bytes": step.max_rss_bytes,
        "gpuutil_avg": step.gpu_percent,
        "gpumem_avg_bytes": step.gpu_memory_bytes,
    }


READERS: dict[str, Callable[[Any], object]] = {
    "number": lambda value: as_number(number(value)),
    "timestamp": lambda value: as_epoch(timestamp(value)),
    "cpu_load": cpu_load,
    "node_state": as_node_state,
    "gres": lambda value: [as_gres(entry) for entry in gres(value)],
    "gres_node": as_gpu_node,
    "tres_string": lambda value: as_tres(tres_string(value)),
    "tres_list": lambda value: as_tres(tres_list(value)),
    "step_usage": as_step_usage,
    "hostlist": lambda value: list(hostlist(value)),
    "cfg_range": lambda value: list(cfg_range(value)),
    "job_state": as_job_state,
    "exit_code": as_exit_code,
    "memory_mb": lambda value: as_mebibytes(memory_bytes(value)),
    "duration_s": lambda value: as_duration(duration_seconds(value)),
    "minutes_to_s": lambda value: as_duration(minutes_to_seconds(value)),
    "job_id": as_job_id,
    "job_display_id": as_display_id,
    "partition_state": partition_state,
    "envelope": as_envelope,
    "string_list": lambda value: list(string_list(value)),
    "reservation_is_maint": is_maintenance,
    "node_watts": measured_watts,
    "user_name": user_name,
}


def with_absent_keys(expected: Any) -> Any:
    """The cases leave out keys of a type that are not known; ours are always there."""
    if isinstance(expected, dict) and "by_type" in expected:
        blank = {"used_indices": None, "free_indices": None}
        return expected | {"by_type": {name: blank | pool for name, pool in expected["by_type"].items()}}
    return expected


@pytest.mark.parametrize("case", cases())
def test_parser_reads_what_slurm_means(case: dict[str, Any]) -> None:
    read = READERS[case["parser"]]
    if isinstance(case["expected"], dict) and "error" in case["expected"]:
        with pytest.raises(FullwarpError):
            read(case["input"])
        return
    assert read(case["input"]) == with_absent_keys(case["expected"])
