"""Fold a job's steps into what the whole job used.

The names of slurmdb's JSON are a trap: a step's tres.requested holds what its tasks *used* (TRESUsageIn), and
tres.consumed what they wrote (TRESUsageOut). Step memory is bytes there, job memory MiB, CPU time milliseconds.
Some sites' 25.05 has a TotalCPU of 0 in every step: then the CPU time of TRESUsageInTot counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from data.model import JobUsage
from data.slurm.scalars import count, duration_seconds, is_blank, memory_bytes, number
from data.slurm.tres import objects, tres_items, tres_list

_MOST_PLAUSIBLE = 1.0


@dataclass(frozen=True, slots=True)
class StepUsage:
    """What one step used. Memory is the sum of its tasks' peaks where Slurm gives it, `max_rss_bytes` one task's.

    `gpu_percent` is summed over the step's GPUs (4 busy ones: 400) and None when 0, as for GPUs that Slurm cannot
    measure. `gpus` is what the step held.
    """

    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    max_rss_bytes: int | None = None
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    gpus: int | None = None
    elapsed_seconds: float | None = None


def folded(steps: Iterable[StepUsage], gpus: int | None) -> JobUsage:
    """One job's usage from its steps; `gpus` is the job's count, for steps that do not say theirs.

    Zeros are "not measured": a step whose use was gathered has some CPU time and some memory.
    """
    steps = tuple(steps)
    cpu = sum(step.cpu_seconds for step in steps if step.cpu_seconds)
    memory = [peak for step in steps if (peak := step.memory_bytes or step.max_rss_bytes)]
    gpu_memory = [step.gpu_memory_bytes for step in steps if step.gpu_memory_bytes]
    return JobUsage(
        cpu_seconds=cpu or None,
        memory_used_bytes=max(memory, default=None),
        gpu_utilization=_gpu_utilization(steps, gpus),
        gpu_memory_used_bytes=max(gpu_memory, default=None),
    )


def step_of_json(step: Mapping[str, Any]) -> StepUsage:
    """Usage of a slurmdb step object, old and new shapes."""
    tres = step.get("tres") or {}
    used = tres.get("requested") or {}
    largest, average, total = (_counts(used.get(key)) for key in ("max", "average", "total"))
    tasks = count((step.get("tasks") or {}).get("count")) or 1
    time = step.get("time") or {}
    return StepUsage(
        cpu_seconds=_json_seconds(time.get("total")) or total.get("cpu", 0) / 1000 or None,
        memory_bytes=total.get("mem") or largest.get("mem", 0) * tasks or None,
        max_rss_bytes=largest.get("mem") or None,
        gpu_percent=_of_all_tasks(total, average, "gres/gpuutil", tasks),
        gpu_memory_bytes=_whole(_of_all_tasks(total, average, "gres/gpumem", tasks)),
        gpus=tres_list(tres.get("allocated")).gpus,
        elapsed_seconds=number(time.get("elapsed")),
    )


def step_of_text(
    *,
    cpu_seconds: float | None,
    max_rss: str | None,
    tasks: str | None,
    total: str | None,
    average: str | None,
    gpus: int | None,
    elapsed_seconds: float | None,
) -> StepUsage:
    """Usage of an sacct step row: MaxRSS, NTasks, TRESUsageInTot and TRESUsageInAve as sacct prints them."""
    task_count = count(tasks) or 1
    totals, averages = _text_counts(total), _text_counts(average)
    largest = memory_bytes(max_rss, bare_unit=1)
    return StepUsage(
        cpu_seconds=cpu_seconds or _text_cpu_seconds(total),
        memory_bytes=_whole(totals.get("mem")) or (largest or 0) * task_count or None,
        max_rss_bytes=largest or None,
        gpu_percent=_of_all_tasks(totals, averages, "gres/gpuutil", task_count),
        gpu_memory_bytes=_whole(_of_all_tasks(totals, averages, "gres/gpumem", task_count)),
        gpus=gpus,
        elapsed_seconds=elapsed_seconds,
    )


def _gpu_utilization(steps: tuple[StepUsage, ...], gpus: int | None) -> float | None:
    """Mean over the measured steps, weighted by their device time; above 100 % is not believed."""
    weighted, weight = 0.0, 0.0
    for step in steps:
        held, seconds = step.gpus or gpus, step.elapsed_seconds
        if step.gpu_percent and held and seconds and math.isfinite(seconds):
            weighted += step.gpu_percent / 100 * seconds
            weight += held * seconds
    if not weight:
        return None
    share = weighted / weight
    return share if share <= _MOST_PLAUSIBLE else None


def _of_all_tasks(total: Mapping[str, float], average: Mapping[str, float], key: str, tasks: int) -> float | None:
    found = total.get(key) or average.get(key, 0) * tasks
    return float(found) if found and math.isfinite(found) else None


def _counts(value: object) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in objects(value):
        name = f"{item.get('type')}/{item['name']}" if item.get("name") else str(item.get("type"))
        amount = count(item.get("count"))
        if amount is not None:
            found[name] = max(amount, found.get(name, 0))
    return found


def _text_counts(value: str | None) -> dict[str, float]:
    if is_blank(value) or value is None:
        return {}
    pairs = ((name, amount) for name, amount in tres_items(value) if name in ("mem", "gres/gpuutil", "gres/gpumem"))
    return {name: found for name, amount in pairs if (found := memory_bytes(amount, bare_unit=1)) is not None}


def _text_cpu_seconds(total: str | None) -> float | None:
    amounts = dict(tres_items(total)) if total and not is_blank(total) else {}
    return duration_seconds(amounts["cpu"]) if ":" in amounts.get("cpu", "") else None


def _json_seconds(value: object) -> float | None:
    if not isinstance(value, dict):
        return None
    seconds, microseconds = number(value.get("seconds")), number(value.get("microseconds"))
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return None
    return seconds + (microseconds or 0) / 1e6


def _whole(value: float | None) -> int | None:
    return int(value) if value else None
