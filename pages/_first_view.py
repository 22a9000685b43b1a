"""The first view: the page as plain HTML, shown until the app has drawn its own. It never waits for a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dash
from dash import html
from dash.development.base_component import Component
from flask import g, request

from components.as_html import as_html
from data.errors import FullwarpError
from data.model import Viewer
from pages._http.index import skeleton
from pages._overview_address import parse_address
from pages._overview_view import page_html
from pages._request import backing, now, viewer


def first_view(frame: Callable[[Any, str], Component]) -> str:
    """The frame with the Overview in it where a picture is at hand, else with a skeleton; "" where nobody asks."""
    if not isinstance(g.get("fullwarp_viewer"), Viewer):
        return ""
    is_overview = request.path == dash.get_relative_path("/")
    inside = _overview() if is_overview else None
    page, beside = inside or (skeleton(is_overview=is_overview), {})
    return as_html(frame(html.Div(id="first-page"), request.path), {**beside, "first-page": page})


def _overview() -> tuple[str, dict[str, str]] | None:
    asked = parse_address(request.args, now(), backing().settings.site_timezone)
    try:
        is_at_hand = asked.at is None and backing().sources.live.is_ready
        return page_html(asked, viewer()) if is_at_hand else None
    except FullwarpError:
        return None
