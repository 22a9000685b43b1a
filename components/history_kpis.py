"""The key figures of a range, each with its change against the time of equal length before."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from components.data_table import DASH
from components.history_words import amount_change, hours_words, money, ratio_change
from components.kpis import Kpi, kpi_panel
from data.queries.history import COLUMNS, ReportRow
from data.words import count, number, percent

IDLE_TO_ACT_ON = 0.10  # from this share of the allocated GPU-hours on, the idle ones carry a mark


def key_figures(total: ReportRow, currency: str, *, no_change: str = "") -> Component:
    """The strip. `no_change` says in words why nothing is compared ("" = the changes are shown)."""
    return html.Div(kpi_panel(_cells(total, currency, no_change)), className="fw-history-kpis")


def _cells(total: ReportRow, currency: str, no_change: str) -> Sequence[Kpi]:
    idle, allocated = total.value("gpu_hours_idle"), total.value("gpu_hours_allocated") or 0.0
    mark = ("waste", "waste") if idle and allocated and idle / allocated >= IDLE_TO_ACT_ON else None
    return (
        _hours("GPU-hours allocated", "gpu_hours_allocated", total, no_change),
        _hours("GPU-hours used", "gpu_hours_used", total, no_change),
        _hours("GPU-hours wasted", "gpu_hours_wasted", total, no_change),
        _hours("GPU-hours idle", "gpu_hours_idle", total, no_change, mark),
        _ratio("Mean UTIL", "utilization", total, no_change),
        _ratio("Coverage", "coverage", total, no_change),
        _last(total, currency, no_change),
    )


def _hours(label: str, name: str, total: ReportRow, no_change: str, mark: tuple[str, str] | None = None) -> Kpi:
    value, allocated = total.value(name), total.value("gpu_hours_allocated")
    help = COLUMNS[name].help
    if value is None:
        return Kpi(label, DASH, "", "not measured", None, help)
    share = f"{percent(value / allocated)} of allocated" if allocated and name != "gpu_hours_allocated" else ""
    jobs = count(int(total.value("jobs") or 0), "job")
    return Kpi(
        label, hours_words(value), "", _lines(share or jobs, no_change or amount_change(total, name)), mark, help
    )


def _ratio(label: str, name: str, total: ReportRow, no_change: str) -> Kpi:
    value = total.value(name)
    if value is None:
        return Kpi(label, DASH, "", "not measured", None, COLUMNS[name].help)
    change = no_change or ratio_change(total, name)
    basis = "of measured" if name == "utilization" else "of allocated"
    return Kpi(label, number(value * 100, 1), "%", _lines(basis, change), None, COLUMNS[name].help)


def _last(total: ReportRow, currency: str, no_change: str) -> Kpi:
    """Cost where rates are known, with the energy below it; else the energy alone."""
    cost, energy = total.value("cost"), total.value("energy_kwh")
    if cost is None:
        value, unit = (DASH, "") if energy is None else (number(energy), "kWh")
        lines = _lines(
            "not measured" if energy is None else "of the cards", no_change or amount_change(total, "energy_kwh")
        )
        return Kpi("Energy", value, unit, lines, None, COLUMNS["energy_kwh"].help)
    lines = _lines(
        "energy not measured" if energy is None else f"{number(energy)} kWh", no_change or amount_change(total, "cost")
    )
    return Kpi("Cost and energy", money(cost, "").strip(), currency, lines, None, COLUMNS["cost"].help)


def _lines(first: str, second: str) -> list[Component]:
    """Two lines; the number of a change stays in one piece."""
    head, word, tail = second.partition(" from ")
    change = [html.Span(head), *([" ", html.Span(f"from {tail}")] if word else [])]
    return [html.Span(first, className="fw-kpi-line"), html.Span(change, className="fw-kpi-line")]
