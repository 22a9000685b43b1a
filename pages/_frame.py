"""The frame's own callbacks: pages hand it their data."""

from __future__ import annotations

from dash import ClientsideFunction, Dash, Input, Output


def connect_frame(app: Dash) -> None:
    """Register the callbacks that every page shares; all run in the browser."""
    app.clientside_callback(
        ClientsideFunction("fw", "fillFrame"),
        Output("as-of", "children"),
        Output("source-count", "children"),
        Output("cluster", "children"),
        Input("frame", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("fw", "markPage"), Input("_pages_location", "pathname"), Input("page", "id")
    )
