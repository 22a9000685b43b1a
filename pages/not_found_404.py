"""What stands at an address that no page has."""

from __future__ import annotations

from typing import Any

import dash
from dash import dcc, html
from dash.development.base_component import Component

from components.elements import panel_state
from components.shell import frame_data
from data.errors import FullwarpError
from data.queries.live import snapshot
from pages._request import backing, viewer

dash.register_page(__name__, title="Not found - Fullwarp")


def layout(**_: str) -> Component:
    """The page; it names no address back, and gives no hint whether a thing exists."""
    home = html.A("Open the Overview", href=dash.get_relative_path("/"), className="fw-button")
    lines = ["The address may be mistyped, or it names something that you may not see."]
    inside = panel_state("empty", "none", "There is no such page", lines, [home])
    return html.Section(
        [html.H1("Not found", className="fw-sr"), inside, dcc.Store(id="frame", data=_frame())], className="fw-panel"
    )


def _frame() -> dict[str, Any] | None:
    try:
        return frame_data(snapshot(viewer(), backing().sources))
    except FullwarpError:
        return None
