"""The Overview: what every GPU of the cluster does now, or did at `?at=`."""

from __future__ import annotations

from typing import Any

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback

from components.overview import Parts
from components.page_states import unavailable
from data.errors import FullwarpError
from pages._overview_address import parse_address
from pages._overview_view import finished_page, finished_parts, version_of
from pages._request import backing, now, viewer

dash.register_page(__name__, path="/", name="Overview", title="Overview - Fullwarp", icon="grid", order=0)

FILTERS = (
    Input("filter-partition", "value"),
    Input("filter-state", "value"),
    Input("filter-model", "value"),
    Input("filter-feature", "data"),
    Input("filter-text", "data"),
)
MOMENT = (Input("overview-at", "data"), Input("overview-compare", "data"))
VIEW = (Input("map-metric", "value"), Input("map-group", "value"))


def layout(**query: str) -> Any:
    """The page with its first data in it."""
    asked = parse_address(query, now(), backing().settings.site_timezone)
    try:
        return finished_page(asked, viewer())
    except FullwarpError as err:
        return unavailable("Overview", "The picture cannot be made now", [str(err), err.hint])


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("overview-head", "children"),
    Output("overview-banner", "children"),
    Output("overview-then", "children"),
    Output("overview-kpis", "children"),
    Output("map-note", "children"),
    Output("map-legend", "children"),
    Output("map-instead", "children"),
    Output("map-data", "data"),
    Output("overview-attention", "children"),
    Output("overview-day", "children"),
    Output("frame", "data"),
    Output("overview-version", "data"),
    Input("overview-tick", "n_intervals"),
    *FILTERS,
    *MOMENT,
    State("overview-version", "data"),
    prevent_initial_call=True,
)
def refresh(
    _: int | None,
    partition: str | None,
    state: str | None,
    model: str | None,
    feature: str | None,
    text: str | None,
    at: str | None,
    compare: str | None,
    seen: str | None,
) -> Parts:
    """Everything that a new picture or another filter changes; nothing when both are the same."""
    given: dict[str, Any] = {
        "partition": partition, "state": state, "model": model, "feature": feature, "q": text, "at": at,
        "compare": compare,
    }  # fmt: skip
    query = {key: str(value) for key, value in given.items() if value}
    asked = parse_address(query, now(), backing().settings.site_timezone)
    if version_of(asked, viewer()) == seen:
        raise dash.exceptions.PreventUpdate
    return finished_parts(asked, viewer())


clientside_callback(ClientsideFunction("fw", "drawMap"), Output("map-drawn", "data"), Input("map-data", "data"), *VIEW)
clientside_callback(
    ClientsideFunction("fw", "oneColor"),
    Output("map-metric", "value"),
    Output("map-metric-narrow", "value"),
    Input("map-metric", "value"),
    Input("map-metric-narrow", "value"),
    prevent_initial_call=True,
)
clientside_callback(ClientsideFunction("fw", "writeUrl"), *FILTERS, *VIEW, prevent_initial_call=True)
clientside_callback(
    ClientsideFunction("fw", "showText"), Output("filter-name", "children"), Input("filter-text", "data")
)
clientside_callback(
    ClientsideFunction("fw", "showFeatures"),
    Output("filter-feature-words", "children"),
    Input("filter-feature", "data"),
)
