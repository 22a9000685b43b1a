"""The cluster in totals: what is free, what is held, what waits. Nobody is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table
from components.elements import panel, short_model
from components.kpis import Kpi, kpi_panel
from components.queue_panel import queue_panel
from data.totals import Group
from data.uses import Counts
from data.words import number, percent
from ondemand.answers import Now
from ondemand.views.parts import notes

_COLUMNS = (
    Column("Model", place="main"),
    Column("All", "", "", True),
    Column("Free", "", "", True, "Held by no job, on nodes that take work.", "value"),
    Column("Busy", "", "", True, "Held by a job and doing work."),
    Column("Held, idle", "", "", True, "Held by a job, measured, and doing nothing."),
    Column("Not measured", "", "", True, "Held by a job; what it does is not measured."),
    Column("Drained or down", "", "", True),
)


def cluster(now: Now, *, is_direct: bool) -> list[Component | None]:
    totals = now.cluster.totals
    rows = [
        [html.Bdi(name), *(number(value) for value in values)]
        for group in totals.by_model
        for name, values in _kinds(group)
    ]
    return [
        html.H1("Cluster", className="fw-sr"),
        *notes(now.fault, is_direct=is_direct, missing=now.cluster.unknown),
        kpi_panel(_cells(now)),
        panel("GPUs by model", [data_table(_COLUMNS, rows, caption="GPUs by model")], note=now.cluster.cluster),
        queue_panel(totals.by_partition) if totals.by_partition else None,
    ]


def free_panel(now: Now) -> Component:
    """What a job could have now, by model."""
    rows = [
        html.Div([html.Dt(name), html.Dd([html.B(number(counts.free)), f" of {number(counts.total)}"])])
        for group in now.cluster.totals.by_model
        for name, counts in _counted(group)
    ]
    inside = html.Dl(rows, className="fw-pairs") if rows else html.P("No GPU is known.", className="fw-quiet")
    return panel("Free now", [inside], note=now.cluster.cluster)


def _counted(group: Group) -> Iterable[tuple[str, Counts]]:
    """Whole GPUs and slices of a model are two things."""
    name = short_model(group.name)
    if group.use.gpus.total:
        yield name, group.use.gpus
    if group.use.slices.total:
        yield f"{name} slices" if group.use.gpus.total else f"{name} (slices)", group.use.slices


def _kinds(group: Group) -> Iterable[tuple[str, list[Any]]]:
    for name, one in _counted(group):
        held = one.unmeasured + one.unknown
        yield name, [one.total, one.free, one.busy, one.idle, held, one.drained + one.down]


def _cells(now: Now) -> list[Kpi]:
    totals = now.cluster.totals
    gpus = totals.use.gpus
    idle = ("waste", "waste") if gpus.idle else None
    mean = totals.use.utilization
    return [
        Kpi("GPUs", number(gpus.total), "", f"on {number(totals.nodes)} nodes"),
        Kpi("Free", number(gpus.free)),
        Kpi("Busy", number(gpus.busy), "", "mean UTIL not measured" if mean is None else f"mean UTIL {percent(mean)}"),
        Kpi("Held, idle", number(gpus.idle), mark=idle),
        Kpi("Waiting", number(totals.queue.pending), "jobs", f"ask for {number(totals.queue.gpus_requested)} GPUs"),
    ]
