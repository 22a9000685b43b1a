"""The Overview's numbers in the KPI strip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from components.elements import icon, short_model
from components.kpis import Kpi
from components.sparkline import Trend
from data.efficiency.coverage import PARTLY_MEASURED
from data.last_day import DayOfUse
from data.metrics.registry import METRICS
from data.totals import Group, Totals
from data.uses import Use
from data.words import count, number, percent

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class KpiView:
    """What the strip shows besides the totals: where its links lead (`base`, `at`), and the last day of the whole
    cluster where that may stand beside them (`day`; None = it is being added up). `old` names the sources that do
    not answer (slurm, metrics). With a history, who wasted most is a link away."""

    base: str = "/"
    at: str = ""
    day: DayOfUse | None = None
    is_filtered: bool = False
    old: frozenset[str] = frozenset()
    has_history: bool = False

    def href(self, path: str) -> str:
        if not self.at:
            return self.base + path
        return f"{self.base}{path}{'&' if '?' in path else '?'}{urlencode({'at': self.at})}"

    def with_trend(self, cell: Kpi, name: str, words: str) -> Kpi:
        """The cell with the line of the last day; a filter or a wait for it leaves its room, the past does not."""
        values = self.day.trends.get(name) if self.day and not self.is_filtered else None
        if values:
            return replace(cell, trend=Trend(values, f"{words}, last 24 h"))
        if self.at or (self.day is not None and not self.is_filtered):
            return cell
        words = "only known for the whole cluster" if self.is_filtered else "being added up"
        return replace(cell, no_trend=f"The last 24 h: {words}.")

    def is_old(self, label: str) -> bool:
        """Whether the number stands for a moment that has passed: all are Slurm's, some also measured."""
        return bool(self.old) and ("slurm" in self.old or label in _MEASURED)


def overview_kpis(totals: Totals, *, is_known: bool = True, view: KpiView | None = None) -> Sequence[Kpi]:
    """Seven cells of whole GPUs; slices are in the context of the first. A dash = not known, never 0."""
    view = view or KpiView()
    cells = _cells(totals, view) if is_known else [Kpi(label, UNKNOWN, context="not known") for label in _LABELS]
    return [
        replace(cell, href=view.href(path), is_old=view.is_old(cell.label))
        for cell, path in zip(cells, _paths(totals, view.has_history), strict=True)
    ]


_MEASURED = frozenset({"Busy", "Held, idle", "Power"})
_LABELS = ("GPUs allocated", "Busy", "Held, idle", "Free", "Down or drained", "Wasted, 24 h", "Power")


def _paths(totals: Totals, has_history: bool) -> Sequence[str]:
    """The list behind each number."""
    running, gone = "jobs?show=running", "down" if totals.use.gpus.down else "drained"
    return (
        running,
        f"{running}&sort=-utilization",
        f"{running}&sort=-idle",
        "?state=free",
        f"?state={gone}",
        "efficiency?since=24h&sort=-gpu_hours_wasted" if has_history else "jobs?show=finished",
        "?metric=power_watts",
    )


def _cells(totals: Totals, view: KpiView) -> Sequence[Kpi]:
    use, gpus = totals.use, totals.use.gpus
    allocated = Kpi("GPUs allocated", number(gpus.allocated), f"of {number(gpus.total)}", _allocated(use))
    return [
        view.with_trend(allocated, "allocated", "GPUs with a job"),
        view.with_trend(_busy(use), "busy", "Busy GPUs"),
        view.with_trend(_idle(use), "idle", "Held and idle GPUs"),
        view.with_trend(Kpi("Free", number(gpus.free), "GPUs", _models(totals.by_model)), "free", "Free GPUs"),
        view.with_trend(_gone(use), "gone", "GPUs down or drained"),
        view.with_trend(_wasted(view), "wasted", "GPU-hours wasted per hour"),
        view.with_trend(_power(use), "power", "Power"),
    ]


def _wasted(view: KpiView) -> Kpi:
    help = "GPU-hours that jobs held and did not use: measured minus used, over the last 24 hours."
    day = view.day
    if day is None or day.wasted is None:
        return Kpi("Wasted, 24 h", UNKNOWN, context=day.why if day else "being added up", help=help)
    whole = ", whole cluster" if view.is_filtered else ""
    return Kpi("Wasted, 24 h", number(day.wasted), "GPU-h", f"of {number(day.measured)} measured{whole}", help=help)


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
    if not total or measured / total >= PARTLY_MEASURED:
        return context
    return [icon("partial", label="partial"), *context, f", {number(measured)} of {number(total)}"]


def _models(groups: Sequence[Group]) -> str:
    free = sorted(((group.use.gpus.free, group.name) for group in groups if group.use.gpus.free), reverse=True)
    named = [f"{number(amount)} {short_model(name).split()[0]}" for amount, name in free[:2]]
    return ", ".join([*named, f"{len(free) - 2} more models"] if len(free) > 2 else named)


def _gone(use: Use) -> Kpi:
    gpus = use.gpus
    context = f"{number(gpus.down)} down, {number(gpus.drained)} drained"
    mark = ("bad", "bad") if gpus.down else None
    return Kpi("Down or drained", number(gpus.down + gpus.drained), "GPUs", context, mark)


def _power(use: Use) -> Kpi:
    help = METRICS["power_watts"].help
    if use.power_watts is None:
        return Kpi("Power", UNKNOWN, context="not measured", help=help)
    context = f"{number(use.power_watts / use.power_cards)} W per card"
    kilowatts = number(use.power_watts / 1000, 1 if use.power_watts < 100_000 else 0)
    return Kpi("Power", kilowatts, "kW", _covered([context], use.power_cards, use.cards), help=help)
