"""What stands at an address that no page has."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from components.elements import panel_state

dash.register_page(__name__, title="Not found - Fullwarp")


def layout(**_: str) -> Component:
    """The page; it names no address back, and no hint whether a thing exists."""
    home = html.A("Open the Overview", href=dash.get_relative_path("/"), className="fw-button")
    lines = ["The address may be mistyped, or it names something that you may not see."]
    return html.Section(
        [html.H1("Not found", className="fw-sr"), panel_state("empty", "none", "There is no such page", lines, [home])],
        className="fw-panel",
    )
