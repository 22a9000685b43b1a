"""The Overview's numbers in the KPI strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.elements import icon, short_model
from components.kpis import Kpi
from data.metrics.registry import METRICS
from data.totals import Group, Totals, Use
from data.words import count, number, percent

UNKNOWN = "–"
LEAST_COVERAGE = 0.8


def overview_kpis(totals: Totals, *, is_known: bool = True) -> Sequence[Kpi]:
    """Seven cells of whole GPUs; slices are in the context of the first. A dash = not known, never 0."""
    use, gpus = totals.use, totals.use.gpus
    if not is_known:
        labels = ("GPUs allocated", "Busy", "Held, idle", "Free", "Down or drained", "Not measured", "Power")
        return [Kpi(label, UNKNOWN, context="not known") for label in labels]
    gone, dark = gpus.down + gpus.drained, gpus.unmeasured + gpus.unknown
    return [
        Kpi("GPUs allocated", number(gpus.allocated), f"of {number(gpus.total)}", _allocated(use)),
        _busy(use),
        _idle(use),
        Kpi("Free", number(gpus.free), "GPUs", _models(totals.by_model)),
        Kpi("Down or drained", number(gone), "GPUs", _gone(use), ("bad", "bad") if gpus.down else None),
        Kpi(
            "Not measured",
            number(dark),
            "GPUs",
            _dark(use),
            help="Held by a job, and nothing trustworthy was measured.",
        ),
        _power(use),
    ]


def _allocated(use: Use) -> str:
    if use.slices.total:
        return f"and {number(use.slices.allocated)} of {count(int(use.slices.total), 'slice')}"
    return percent(use.gpus.allocated / use.gpus.total) if use.gpus.total else ""


def _busy(use: Use) -> Kpi:
    """Where nothing was measured, nobody knows how many are busy."""
    if use.held_devices and not use.utilization_devices:
        return Kpi("Busy", UNKNOWN, context="not measured", help=METRICS["gpu_utilization"].help)
    context: list[Any] = (
        [f"mean UTIL {percent(use.utilization)}"] if use.utilization is not None else ["no GPU is held"]
    )
    return Kpi("Busy", number(use.gpus.busy), "GPUs", _covered(context, use.utilization_devices, use.held_devices))


def _idle(use: Use) -> Kpi:
    if use.held_devices and not use.utilization_devices:
        return Kpi("Held, idle", UNKNOWN, context="not measured")
    share = f"{percent(use.gpus.idle / use.gpus.allocated)} of allocated" if use.gpus.allocated else ""
    mark = ("waste", "waste") if use.gpus.idle else None
    return Kpi("Held, idle", number(use.gpus.idle), "GPUs", share, mark, "Held by a job that does not use them now.")


def _covered(context: list[Any], measured: int, total: int) -> list[Any]:
    """The pie and how many were measured, where that is less than the least coverage."""
    if not total or measured / total >= LEAST_COVERAGE:
        return context
    return [icon("partial", label="partial"), *context, f", {number(measured)} of {number(total)}"]


def _models(groups: Sequence[Group]) -> str:
    free = sorted(((group.use.gpus.free, group.name) for group in groups if group.use.gpus.free), reverse=True)
    named = [f"{number(amount)} {short_model(name).split()[0]}" for amount, name in free[:2]]
    return ", ".join([*named, f"{len(free) - 2} more models"] if len(free) > 2 else named)


def _gone(use: Use) -> str:
    return f"{number(use.gpus.down)} down, {number(use.gpus.drained)} drained"


def _dark(use: Use) -> str:
    if use.gpus.unknown:
        return f"{number(use.gpus.unknown)} not tracked by Slurm"
    return "of those held"


def _power(use: Use) -> Kpi:
    help = METRICS["power_watts"].help
    if use.power_watts is None:
        return Kpi("Power", UNKNOWN, context="not measured", help=help)
    context = f"{number(use.power_watts / use.power_cards)} W per card"
    kilowatts = number(use.power_watts / 1000, 1 if use.power_watts < 100_000 else 0)
    return Kpi("Power", kilowatts, "kW", _covered([context], use.power_cards, use.cards), help=help)
