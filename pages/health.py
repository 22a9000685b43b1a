"""Health: how each source is, what is missing, what does not add up."""

from __future__ import annotations

import dash
from dash import Input, Output, State
from dash.development.base_component import Component

from components.health_page import HealthAnswer, HealthParts, health_page, health_parts
from components.page_states import unavailable
from data.errors import FullwarpError
from data.queries.health import health
from pages._address import moment_of
from pages._frame import framed
from pages._request import backing, now, viewer

dash.register_page(__name__, path="/health", name="Health", title="Health - Fullwarp", icon="health", order=90)


def layout(**query: str) -> Component:
    """The page with its first data in it."""
    try:
        found = _answer(str(query.get("at") or ""))
    except FullwarpError as err:
        return unavailable("Health", "Nothing is known of the sources", [str(err), err.hint])
    return health_page(found, refresh_seconds=backing().settings.refresh_seconds)


def _answer(at_text: str) -> HealthAnswer:
    ignored: list[str] = []
    at = moment_of({"at": at_text}, now(), backing().settings.site_timezone, ignored)
    base = dash.get_relative_path("/")
    return HealthAnswer(
        health=health(viewer(), backing().sources, at),
        is_staff=viewer().is_staff,
        ignored=tuple(ignored),
        nodes_base=f"{base}nodes/",
        at=at.isoformat() if at else "",
        now_href=f"{base}health",
    )


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("health-head", "children"),
    Output("health-body", "children"),
    Output("frame", "data", allow_duplicate=True),
    Output("health-version", "data"),
    Input("health-tick", "n_intervals"),
    State("health-version", "data"),
    State("health-at", "data"),
    prevent_initial_call=True,
)
def refresh_health(_: int | None, seen: str | None, at: str | None) -> HealthParts:
    """The page of a new picture; nothing while the picture is the same."""
    found = _answer(at or "")
    if found.health.snapshot.version == seen:
        raise dash.exceptions.PreventUpdate
    return framed(health_parts(found))
