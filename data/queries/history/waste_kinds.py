"""The kinds of waste of finished jobs: what each adds up, of what it is a share, and what to do. To add one, add a row.

Each is two Ibis expressions of a row of `jobs`: `amount` (0 = the job has none of it) and `whole`, of which the amount
is a part; null in either = not measured or not about this job, and then the job is left out of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from data.metrics.registry import METRICS
from data.queries.history.measures import PLAUSIBLE
from data.queries.history.narrowing import GIB

Expression = Any
Rows = Any
_HOUR = 3600.0
UTIL, GR = "gpu_utilization", "graphics_engine_activity"


class Unit(StrEnum):
    GPU_HOURS = "GPU-h"
    CORE_HOURS = "core-h"
    GIB_HOURS = "GiB-h"


@dataclass(frozen=True, slots=True)
class WasteKind:
    """`title` as a heading, `what` says what the amount is, `advice` what to do."""

    id: str
    title: str
    what: str
    unit: Unit
    advice: str
    amount: Callable[[Rows], Expression]
    whole: Callable[[Rows], Expression]


def _gpu_hours(rows: Rows) -> Expression:
    return (rows.gpu_count > 0).ifelse(rows.gpu_hours_allocated, None)


def _has_gpus_measured(rows: Rows) -> Expression:
    return rows.gpu_hours_measured > 0


def _measured_gpu_hours(rows: Rows) -> Expression:
    return _has_gpus_measured(rows).ifelse(rows.gpu_hours_measured, None)


def _core_hours(rows: Rows) -> Expression:
    """Of jobs without GPUs: of others the cores are not the point."""
    return (rows.gpu_count == 0).ifelse(rows.cores * rows.elapsed_seconds / _HOUR, None)


def _all_core_hours(rows: Rows) -> Expression:
    return rows.cores * rows.elapsed_seconds / _HOUR


def _measured_core_hours(rows: Rows) -> Expression:
    held = rows.cores * rows.elapsed_seconds
    is_known = (rows.cpu_seconds >= 0) & (rows.cpu_seconds <= held * PLAUSIBLE)
    return is_known.ifelse(_core_hours(rows), None)


def _unused_core_hours(rows: Rows) -> Expression:
    return (_measured_core_hours(rows) - rows.cpu_seconds / _HOUR).clip(lower=0.0)


def _where(is_known: Callable[[Rows], Expression], hours: Callable[[Rows], Expression]) -> Callable[[Rows], Expression]:
    """The hours of the jobs of which that is known by which they are judged."""
    return lambda rows: is_known(rows).ifelse(hours(rows), None)


def _has_each_gpu_measured(rows: Rows) -> Expression:
    """Slurm's accounting has one mean for all GPUs of a job, which tells of none of them."""
    known = rows.devices.filter(lambda device: device[UTIL].notnull() | device[GR].notnull())
    return known.length() > 0


def _zero_hours(rows: Rows) -> Expression:
    """Hours of the devices that did nothing during the whole job, slices by weight."""

    def did_nothing(device: Expression) -> Expression:
        by_gr = device[UTIL].isnull() & (device[GR] <= METRICS[GR].idle_epsilon)
        return (device[UTIL] == 0) | by_gr

    weights = rows.devices.filter(did_nothing).map(lambda device: device["weight"].fill_null(1.0))
    return (weights.sums() * rows.elapsed_seconds / _HOUR).fill_null(0.0)


def _with(finding: str, hours: Callable[[Rows], Expression]) -> Callable[[Rows], Expression]:
    """The hours of the jobs that have a finding."""
    return lambda rows: rows.findings.contains(finding).fill_null(False).ifelse(hours(rows), 0.0)


def _asked(rows: Rows, width: Expression) -> Expression:
    """Hours up to the time limit, of runs that came to their end."""
    is_whole = (rows.state == "COMPLETED") & (rows.time_limit_seconds >= rows.elapsed_seconds)
    return is_whole.ifelse(width * rows.time_limit_seconds / _HOUR, None)


def _asked_gpu_hours(rows: Rows) -> Expression:
    return (rows.gpu_count > 0).ifelse(_asked(rows, rows.gpu_weight.coalesce(rows.gpu_count)), None)


def _asked_core_hours(rows: Rows) -> Expression:
    return (rows.gpu_count == 0).ifelse(_asked(rows, rows.cores), None)


def _unused_time(asked: Callable[[Rows], Expression]) -> Callable[[Rows], Expression]:
    return lambda rows: asked(rows) * (1 - rows.elapsed_seconds / rows.time_limit_seconds)


def _memory_hours(rows: Rows) -> Expression:
    used, held = rows.memory_used_bytes, rows.memory_allocated_bytes
    is_known = (rows.gpu_count == 0) & (used >= 0) & (held > 0) & (used <= held * PLAUSIBLE)
    return is_known.ifelse(held / GIB * rows.elapsed_seconds / _HOUR, None)


def _unused_memory_hours(rows: Rows) -> Expression:
    return (_memory_hours(rows) * (1 - rows.memory_used_bytes / rows.memory_allocated_bytes)).clip(lower=0.0)


GPU, CORE, MEMORY = Unit.GPU_HOURS, Unit.CORE_HOURS, Unit.GIB_HOURS
_ROWS = (
    WasteKind(
        "zero_gpu_hours",
        "GPUs that did nothing",
        "hours of GPUs whose utilization was 0 during the whole job",
        GPU,
        "Check that the program selects the GPU, that its libraries are not built for CPUs only, and that it starts "
        "one process for each GPU; or ask for fewer GPUs.",
        _zero_hours,
        _where(_has_each_gpu_measured, _measured_gpu_hours),
    ),
    WasteKind(
        "low_gpu_utilization",
        "Low GPU utilization",
        "measured GPU-hours that were not used",
        GPU,
        "See what the GPUs wait for on the job's page: input, launches of small kernels, or the other GPUs.",
        lambda rows: (_measured_gpu_hours(rows) - rows.gpu_hours_used).clip(lower=0.0),
        _measured_gpu_hours,
    ),
    WasteKind(
        "low_cpu_utilization",
        "Low CPU utilization",
        "core-hours that were not used, of jobs without GPUs",
        CORE,
        "Ask for as many cores as the program keeps busy; scaling tests show how many that is.",
        _unused_core_hours,
        _measured_core_hours,
    ),
    WasteKind(
        "too_powerful",
        "GPU model too powerful",
        "hours of jobs that a MIG slice or a smaller GPU would have held",
        GPU,
        "Ask for a MIG slice or a smaller GPU; the job's page has the #SBATCH lines.",
        _with("too_powerful", _gpu_hours),
        _where(_has_gpus_measured, _gpu_hours),
    ),
    WasteKind(
        "cores_per_gpu",
        "Too many cores per GPU",
        "hours of jobs with more cores than come with their GPUs: other GPUs of the node stay empty",
        GPU,
        "Ask for fewer cores per GPU; the job's page has the #SBATCH lines.",
        _with("cores_per_gpu", _gpu_hours),
        _gpu_hours,
    ),
    WasteKind(
        "memory_per_gpu",
        "Too much CPU memory per GPU",
        "hours of jobs with more host memory than comes with their GPUs, which they did not use",
        GPU,
        "Ask for less memory per GPU; the job's page has the #SBATCH lines.",
        _with("memory_per_gpu", _gpu_hours),
        _where(lambda rows: rows.memory_used_bytes.notnull(), _gpu_hours),
    ),
    WasteKind(
        "fragmented",
        "GPUs on more nodes than needed",
        "hours of jobs whose GPUs would fit on fewer nodes",
        GPU,
        "Ask for as few nodes as the GPUs fit on: GPUs of one node talk faster.",
        _with("fragmented", _gpu_hours),
        _gpu_hours,
    ),
    WasteKind(
        "cpu_fragmented",
        "Cores on more nodes than needed",
        "core-hours of jobs without GPUs that would fit on fewer nodes",
        CORE,
        "Ask for fewer nodes and more tasks on each.",
        _with("cpu_fragmented", _core_hours),
        _core_hours,
    ),
    WasteKind(
        "gpu_time_limit",
        "Time limits of GPU jobs too long",
        "GPU-hours that were asked for and not needed, of completed jobs",
        GPU,
        "Ask for the time that the job needs and a margin: shorter jobs start sooner.",
        _unused_time(_asked_gpu_hours),
        _asked_gpu_hours,
    ),
    WasteKind(
        "cpu_time_limit",
        "Time limits of CPU jobs too long",
        "core-hours that were asked for and not needed, of completed jobs",
        CORE,
        "Ask for the time that the job needs and a margin: shorter jobs start sooner.",
        _unused_time(_asked_core_hours),
        _asked_core_hours,
    ),
    WasteKind(
        "excess_memory",
        "CPU memory that was not used",
        "memory x time that was held and not used, of jobs without GPUs",
        MEMORY,
        "Ask for the peak that the job's page shows, and a fifth more.",
        _unused_memory_hours,
        _memory_hours,
    ),
    WasteKind(
        "serial",
        "Serial jobs with many cores",
        "core-hours of jobs that kept one core busy and held several",
        CORE,
        "Ask for one core, or start the program's parallel mode.",
        _with("serial", _core_hours),
        _measured_core_hours,
    ),
    WasteKind(
        "unused_nodes",
        "Nodes that did nothing",
        "core-hours of jobs with nodes on which no core worked",
        CORE,
        "Start the program with srun or mpirun on all nodes, or ask for fewer.",
        _with("unused_nodes", _all_core_hours),
        _where(lambda rows: rows.cpu_seconds.notnull(), _all_core_hours),
    ),
)
WASTE_KINDS = {row.id: row for row in _ROWS}
