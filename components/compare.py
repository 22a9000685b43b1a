"""The past beside the present: the same totals of both moments, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import moment, panel
from data.totals import Totals
from data.words import MINUS, number, percent, points

UNKNOWN = "–"
Read = Callable[[Totals], float | None]


def compare_panel(then: Totals, now: Totals, time: datetime) -> Component:
    """A table of one line a number: then, now, change. A dash = not known or not measured at one of the moments."""
    head = html.Thead(html.Tr([html.Th("", scope="col"), *(html.Th(text, scope="col") for text in _head(time))]))
    rows = [_row(label, unit, read, then, now) for label, unit, read in _LINES]
    table = html.Table([head, html.Tbody(rows)], className="fw-compare")
    return panel("Then and now", [table], note="the same numbers at both moments")


def _head(time: datetime) -> Sequence[Any]:
    return (moment(time), "Now", "Change")


def _row(label: str, unit: str, read: Read, then: Totals, now: Totals) -> Component:
    before, after = read(then), read(now)
    cells = [_shown(before, unit), _shown(after, unit), _change(before, after, unit)]
    return html.Tr([html.Th(label, scope="row"), *(html.Td(text) for text in cells)])


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return UNKNOWN
    if unit == "ratio":
        return percent(value)
    return f"{number(value / 1000, 1)} kW" if unit == "watts" else number(value)


def _change(before: float | None, after: float | None, unit: str) -> str:
    if before is None or after is None:
        return UNKNOWN
    if unit == "ratio":
        return f"{points(after - before)} points"
    change = (after - before) / (1000 if unit == "watts" else 1)
    sign = "+" if change > 0 else MINUS if change < 0 else "±"
    return f"{sign}{number(abs(change), 1 if unit == 'watts' else 0)}{' kW' if unit == 'watts' else ''}"


def _measured(read: Read) -> Read:
    """Busy and idle mean something only where something was measured."""
    return lambda totals: read(totals) if totals.use.utilization_devices or not totals.use.held_devices else None


def _known(read: Read) -> Read:
    """Counts of nodes' states mean something only where Slurm said what they were."""
    return lambda totals: None if set(totals.nodes_by_state) == {"unknown"} else read(totals)


_LINES: tuple[tuple[str, str, Read], ...] = (
    ("GPUs allocated", "", lambda totals: totals.use.gpus.allocated),
    ("Busy", "", _measured(lambda totals: totals.use.gpus.busy)),
    ("Held, idle", "", _measured(lambda totals: totals.use.gpus.idle)),
    ("Free", "", _known(lambda totals: totals.use.gpus.free)),
    ("Down or drained", "", _known(lambda totals: totals.use.gpus.down + totals.use.gpus.drained)),
    ("Mean UTIL", "ratio", lambda totals: totals.use.utilization),
    ("Power", "watts", lambda totals: totals.use.power_watts),
    ("Running jobs", "", lambda totals: totals.queue.running),
)
