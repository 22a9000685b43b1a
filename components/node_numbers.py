"""The numbers of one node in the KPI strip. A dash = not known or not measured, never 0."""

from __future__ import annotations

from collections.abc import Sequence

from components.kpis import Kpi
from data.attention import HOT_CELSIUS
from data.metrics.registry import METRICS
from data.node_rows import NodeDetail
from data.words import GIB, count, number, percent

UNKNOWN = "–"


def node_kpis(detail: NodeDetail) -> Sequence[Kpi]:
    """Seven cells; slices count as devices where there are any."""
    return [
        _gpus(detail),
        _jobs(detail),
        _utilization(detail),
        _cpus(detail),
        _memory(detail),
        _power(detail),
        _heat(detail),
    ]


def _gpus(detail: NodeDetail) -> Kpi:
    use = detail.use
    total = use.gpus.total + use.slices.total
    if not total:
        return Kpi("GPUs held", UNKNOWN, context="no GPU")
    unknown = use.gpus.unknown + use.slices.unknown
    if unknown:
        return Kpi("GPUs held", UNKNOWN, f"of {number(total)}", "not tracked by Slurm")
    noun = "slices" if use.slices.total else "GPUs"
    held = use.gpus.allocated + use.slices.allocated
    free = use.gpus.free + use.slices.free
    return Kpi(
        f"{noun.capitalize() if noun != 'GPUs' else noun} held",
        number(held),
        f"of {number(total)}",
        f"{number(free)} free",
    )


def _jobs(detail: NodeDetail) -> Kpi:
    running = sum(job.is_running for job in detail.jobs)
    others = len(detail.jobs) - running
    return Kpi("Jobs", number(running), "running", f"{number(others)} not running" if others else "")


def _utilization(detail: NodeDetail) -> Kpi:
    use, help = detail.use, METRICS["gpu_utilization"].help
    if use.utilization is None:
        context = "not measured" if use.held_devices else "nothing is held"
        return Kpi("UTIL", UNKNOWN, context=context, help=help)
    idle = use.gpus.idle + use.slices.idle
    mark = ("waste", "waste") if idle else None
    rest = f"{number(idle)} held, idle" if idle else f"of {count(use.held_devices, 'held device')}"
    value, _, unit = percent(use.utilization).rpartition(" ")
    return Kpi("UTIL", value, unit, rest, mark, help)


def _cpus(detail: NodeDetail) -> Kpi:
    node = detail.node
    load = f"load {number(node.cpu_load, 1)}" if node.cpu_load is not None else "load not known"
    if node.cpus is None:
        return Kpi("CPUs held", UNKNOWN, context=load)
    held = UNKNOWN if node.allocated_cpus is None else number(node.allocated_cpus)
    return Kpi("CPUs held", held, f"of {number(node.cpus)}", load, help="Cores given to jobs; the load is slurmd's.")


def _memory(detail: NodeDetail) -> Kpi:
    node = detail.node
    if node.memory_bytes is None:
        return Kpi("MEM held", UNKNOWN, context="not known")
    held = UNKNOWN if node.allocated_memory_bytes is None else number(node.allocated_memory_bytes / GIB)
    free = "" if node.free_memory_bytes is None else f", {number(node.free_memory_bytes / GIB)} unused"
    context = f"of {number(node.memory_bytes / GIB)}{free}"
    return Kpi("MEM held", held, "GiB", context, help="Host memory given to jobs.")


def _power(detail: NodeDetail) -> Kpi:
    use, help = detail.use, METRICS["power_watts"].help
    if use.power_watts is None:
        return Kpi("GPU power", UNKNOWN, context="not measured", help=help)
    return Kpi(
        "GPU power",
        number(use.power_watts),
        "W",
        f"{number(use.power_cards)} of {count(use.cards, 'card')}",
        help=help,
    )


def _heat(detail: NodeDetail) -> Kpi:
    heats = [value for gpu in detail.gpus if (value := gpu.values.get("temperature_celsius")) is not None]
    if not heats:
        return Kpi("Hottest", UNKNOWN, context="not measured", help=METRICS["temperature_celsius"].help)
    hot = max(heats) >= HOT_CELSIUS
    context = f"limit {HOT_CELSIUS:.0f} °C" if hot else f"coolest {number(min(heats))} °C"
    return Kpi(
        "Hottest",
        number(max(heats)),
        "°C",
        context,
        ("waste", "waste") if hot else None,
        METRICS["temperature_celsius"].help,
    )
