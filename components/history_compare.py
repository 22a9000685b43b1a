"""A viewer's own hours beside those of the whole cluster, of which nobody is named."""

from __future__ import annotations

from dash.development.base_component import Component

from components.data_table import Column, data_table, ratio_cell
from components.elements import panel
from components.history_table import stack_bar
from components.history_words import hours_words
from data.queries.history import COLUMNS, ReportRow

_COLUMNS = (
    Column("Whose", place="main"),
    Column("Allocated", "GPU-h", "", True, COLUMNS["gpu_hours_allocated"].help, "value"),
    Column("Where they went", "share of allocated"),
    Column("UTIL", "%", "", True, COLUMNS["utilization"].help),
    Column("Idle", "% of allocated", "", True, COLUMNS["gpu_hours_idle"].help),
)


def compare_panel(own: ReportRow, cluster: ReportRow) -> Component:
    """Two rows: what the viewer may see, and everybody together."""
    rows = [[name, *_cells(row)] for name, row in (("What you may see", own), ("The whole cluster", cluster))]
    table = data_table(_COLUMNS, rows, caption="Your GPU-hours beside those of the cluster")
    return panel("You and the cluster", [table], note="everybody together, without names")


def _cells(row: ReportRow) -> list[object]:
    allocated, idle = row.value("gpu_hours_allocated"), row.value("gpu_hours_idle")
    share = idle / allocated if idle is not None and allocated else None
    return [hours_words(allocated), stack_bar(row), ratio_cell(row.value("utilization")), ratio_cell(share)]
