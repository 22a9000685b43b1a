"""All nodes: what each is doing, with filters in the address."""

from __future__ import annotations

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.nodes import NodesParts, nodes_page, nodes_parts
from components.page_states import unavailable
from data.errors import FullwarpError
from pages._frame import framed
from pages._nodes_address import answer, parse_nodes_address
from pages._request import backing, now, viewer

dash.register_page(__name__, path="/nodes", name="Nodes", title="Nodes - Fullwarp", icon="nodes", order=4)

FILTERS = (
    Input("nodes-partition", "value"),
    Input("nodes-state", "value"),
    Input("nodes-model", "value"),
    Input("nodes-feature", "data"),
    Input("nodes-q", "value"),
)


def layout(**query: str) -> Component:
    """The page with its first data in it."""
    settings = backing().settings
    asked = parse_nodes_address(query, now(), settings.site_timezone)
    try:
        found = answer(asked, viewer(), backing().sources, dash.get_relative_path("/nodes"))
    except FullwarpError as err:
        return unavailable("Nodes", "The nodes cannot be shown now", [str(err), err.hint])
    return nodes_page(found, asked.view, refresh_seconds=settings.refresh_seconds)


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("nodes-head", "children"),
    Output("nodes-banner", "children"),
    Output("nodes-instead", "children"),
    Output("nodes-table", "rowData"),
    Output("frame", "data", allow_duplicate=True),
    Output("nodes-version", "data"),
    Input("nodes-tick", "n_intervals"),
    *FILTERS,
    State("nodes-version", "data"),
    State("nodes-at", "data"),
    prevent_initial_call=True,
)
def refresh_nodes(
    _: int | None,
    partition: str | None,
    state: str | None,
    model: str | None,
    feature: str | None,
    text: str | None,
    seen: str | None,
    at: str | None,
) -> NodesParts:
    """What a new picture or another filter changes; nothing when both are the same."""
    given = {"partition": partition, "state": state, "model": model, "feature": feature, "q": text, "at": at}
    query = {key: str(value) for key, value in given.items() if value}
    asked = parse_nodes_address(query, now(), backing().settings.site_timezone)
    found = answer(asked, viewer(), backing().sources, dash.get_relative_path("/nodes"))
    if found.version == seen:
        raise dash.exceptions.PreventUpdate
    return framed(nodes_parts(found))


clientside_callback(
    ClientsideFunction("fw", "drawNodes"),
    Output("nodes-drawn", "data"),
    Input("nodes-table", "rowData"),
    Input("nodes-view", "value"),
)
clientside_callback(
    ClientsideFunction("fw", "writeNodes"), *FILTERS, Input("nodes-view", "value"), prevent_initial_call=True
)
clientside_callback(
    ClientsideFunction("fw", "showFeatures"),
    Output("nodes-feature-words", "children"),
    Input("nodes-feature", "data"),
)
