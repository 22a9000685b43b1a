"""One node: its state and reason, its devices with every metric, their series, its jobs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.node_page import NodeAnswer, NodeParts, node_page, node_parts
from components.page_states import isolated, not_there, unavailable
from components.shell import frame_data
from data.errors import FullwarpError, NotFound
from data.queries.job_context import nearest
from data.queries.jobs import Found
from data.queries.live import snapshot
from pages._frame import framed
from pages._node_address import NodeAsked, node_answer, parse_node_address
from pages._request import backing, now, viewer

dash.register_page(__name__, path_template="/nodes/<name>", title="Node - Fullwarp")

SERIES = (Input("series-metric", "value"), Input("series-range", "value"), Input("series-span", "data"))


def layout(name: str = "", **query: str) -> Component:
    """The page with its first data in it."""
    settings = backing().settings
    asked = parse_node_address(unquote(name), query, now(), settings.site_timezone)
    try:
        return node_page(_answer(asked), refresh_seconds=settings.refresh_seconds)
    except NotFound as err:
        return _not_found(asked.name, str(err))
    except FullwarpError as err:
        return unavailable("Node", "The node cannot be shown now", [str(err), err.hint])


def _answer(asked: NodeAsked) -> NodeAnswer:
    base = dash.get_relative_path("/")
    return node_answer(asked, viewer(), backing().sources, nodes_href=f"{base}nodes", jobs_base=f"{base}jobs/")


def _not_found(name: str, title: str) -> Component:
    """The nearest names, and the list that holds all others."""
    frame: dict[str, Any] | None = None
    near: list[Found] = []
    with suppress(FullwarpError):
        frame = frame_data(snapshot(viewer(), backing().sources))
        near = [hit for hit in nearest(viewer(), backing().sources, name) if hit.kind == "node"] if name.strip() else []
    lines = ["Nodes are named as Slurm names them."]
    base = dash.get_relative_path("/")
    return not_there(
        "Node not found", isolated(title, name[:60]), lines, near, base, frame, ("All nodes", f"{base}nodes")
    )


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("node-head", "children"),
    Output("node-banner", "children"),
    Output("node-kpis", "children"),
    Output("node-devices", "children"),
    Output("node-side", "children"),
    Output("series-note", "children"),
    Output("series-instead", "children"),
    Output("series-data", "data"),
    Output("series-table", "children"),
    Output("frame", "data", allow_duplicate=True),
    Output("node-version", "data"),
    Input("node-tick", "n_intervals"),
    *SERIES,
    State("node-name", "data"),
    State("node-version", "data"),
    State("node-at", "data"),
    prevent_initial_call=True,
)
def refresh_node(
    _: int | None,
    metric: str | None,
    range_name: str | None,
    span: dict[str, str] | None,
    name: str | None,
    seen: str | None,
    at: str | None,
) -> NodeParts:
    """What a new picture, another metric or another span changes; nothing when all are the same."""
    given = {"metric": metric, "range": range_name, "at": at}
    if not range_name:
        given |= {"from": (span or {}).get("from"), "to": (span or {}).get("to")}
    query = {key: str(value) for key, value in given.items() if value}
    asked = parse_node_address(name or "", query, now(), backing().settings.site_timezone)
    try:
        found = _answer(asked)
    except NotFound as err:
        raise dash.exceptions.PreventUpdate from err
    if found.version == seen:
        raise dash.exceptions.PreventUpdate
    return framed(node_parts(found))


clientside_callback(
    ClientsideFunction("fw", "drawSeries"), Output("series-drawn", "data"), Input("series-data", "data")
)
clientside_callback(ClientsideFunction("fw", "writeSeries"), *SERIES, prevent_initial_call=True)
