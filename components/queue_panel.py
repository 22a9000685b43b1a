"""Waiting jobs by partition: joins the Overview on a wall screen."""

from __future__ import annotations

from collections.abc import Iterable

from dash import html
from dash.development.base_component import Component

from components.elements import panel
from data.totals import Group
from data.words import number

MOST = 8


def queue_panel(groups: Iterable[Group]) -> Component:
    """The partitions with the most GPUs asked for; every number is of now."""
    most = sorted(groups, key=lambda group: (-group.queue.gpus_requested, -group.queue.pending, group.name))[:MOST]
    head = html.Thead(
        html.Tr([html.Th(text, scope="col") for text in ("Partition", "Jobs", "GPUs asked", "GPUs free")])
    )
    body = html.Tbody([_row(group) for group in most])
    return panel("Queue", [html.Table([head, body], className="fw-compare")], note="waiting jobs")


def _row(group: Group) -> Component:
    cells = (group.queue.pending, group.queue.gpus_requested, group.use.gpus.free)
    return html.Tr([html.Th(html.Bdi(group.name), scope="row"), *(html.Td(number(value)) for value in cells)])
