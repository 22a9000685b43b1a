"""The table of nodes: AG Grid in the look of the page, blanks last, units in the head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_ag_grid
from dash.development.base_component import Component

from data.metrics.registry import METRICS

THEME = """themeQuartz.withParams({
  backgroundColor: 'var(--fw-surface)', foregroundColor: 'var(--fw-ink)', headerBackgroundColor: 'var(--fw-surface)',
  headerTextColor: 'var(--fw-ink-2)', borderColor: 'var(--fw-line)', rowHoverColor: 'var(--fw-surface-2)',
  selectedRowBackgroundColor: 'var(--fw-surface-3)', accentColor: 'var(--fw-focus)', fontFamily: 'var(--fw-font)',
  fontSize: 'var(--fw-text-sm)', headerFontSize: 'var(--fw-text-xs)', headerFontWeight: 400, wrapperBorder: false,
  wrapperBorderRadius: 0, cellHorizontalPadding: 8, headerColumnResizeHandleColor: 'transparent'
})"""


def node_table(rows: Sequence[Mapping[str, Any]]) -> Component:
    """The grid over rows of `node_rows`."""
    return dash_ag_grid.AgGrid(
        id="nodes-table",
        rowData=list(rows),
        columnDefs=COLUMNS,
        getRowId="params.data.id",
        columnSize="responsiveSizeToFit",
        defaultColDef={
            "sortable": True,
            "resizable": True,
            "suppressMovable": True,
            "suppressHeaderMenuButton": True,
            "comparator": {"function": "fwBlanksLast"},
            "sortingOrder": ["desc", "asc", None],
        },
        dashGridOptions={
            "theme": {"function": THEME},
            "rowHeight": 44,
            "headerHeight": 48,
            "animateRows": False,
            "enableBrowserTooltips": True,
            "ensureDomOrder": True,
            "suppressDragLeaveHidesColumns": True,
            "suppressColumnVirtualisation": True,
        },
        className="fw-grid",
        style={"height": "100%"},
        dangerously_allow_code=False,
    )


def _number(field: str, head: str, unit: str, help: str, width: int, **more: Any) -> dict[str, Any]:
    """A column of numbers; `renderer` draws the bar of a share."""
    return {
        "field": field,
        "headerName": f"{head}\n{unit}",
        "headerTooltip": help,
        "type": "rightAligned",
        "minWidth": width,
        "width": width,
        "cellRenderer": "FwNumber",
        **more,
    }


def _share(field: str, head: str, help: str, unit: str = "% held", renderer: str = "FwShare") -> dict[str, Any]:
    return _number(field, head, unit, help, 78, cellRenderer=renderer)


def _hidden(field: str, head: str) -> dict[str, Any]:
    """A column of the CSV file and the quick filters that the screen shows inside another."""
    return {"field": field, "headerName": head, "hide": True}


COLUMNS: list[dict[str, Any]] = [
    {
        "field": "name",
        "headerName": "Node\nmodel, partition",
        "cellRenderer": "FwNode",
        "pinned": "left",
        "minWidth": 176,
        "width": 176,
        "comparator": {"function": "fwByPlace"},
        "sortingOrder": ["asc", "desc", None],
    },
    {
        "field": "state",
        "headerName": "State\nreason",
        "cellRenderer": "FwState",
        "minWidth": 128,
        "width": 200,
        "tooltipField": "reason",
        "sortingOrder": ["asc", "desc", None],
    },
    {
        "field": "gpus",
        "headerName": "GPUs\none cell each",
        "headerTooltip": "One cell per GPU or MIG slice: its state, and the step of its UTIL while it is busy.",
        "cellRenderer": "FwCells",
        "minWidth": 116,
        "width": 124,
    },
    _number("idle", "Idle", "of held", "Held by a job that does not use them now.", 68, cellRenderer="FwIdle"),
    _number("free", "Free", "GPUs", "Held by nobody, on a node that takes jobs.", 60),
    _share(
        "utilization",
        "UTIL",
        METRICS["gpu_utilization"].help + " The mean of the held devices.",
        unit="%",
        renderer="FwUtil",
    ),
    _share("cpu", "CPUs", "Cores given to jobs, of all of the node."),
    _number(
        "load",
        "Load",
        "CPU",
        "Load average of the node as slurmd reports it.",
        74,
        cellRendererParams={"decimals": 1},
    ),
    _share("memory", "MEM", "Host memory given to jobs, of all of the node."),
    _number("watts", "Power", "W", "Power of the node's GPUs: " + METRICS["power_watts"].help, 68),
    _number("jobs", "Jobs", "running", "Running jobs of everybody on this node.", 68),
    _hidden("models", "Models"),
    _hidden("partitions", "Partitions"),
    _hidden("features", "Features"),
    _hidden("reason", "Reason"),
    _hidden("busy", "Busy, GPUs"),
    _hidden("cpus", "CPUs"),
    _hidden("cpus_allocated", "CPUs held, number"),
    _hidden("memory_gib", "MEM, GiB"),
    _hidden("memory_allocated_gib", "MEM held, GiB"),
]
