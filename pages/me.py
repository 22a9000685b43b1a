"""My jobs: the viewer's own page, and the callbacks that it shares with /users/<user>."""

from __future__ import annotations

from typing import Any

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.history_user import history_month
from components.user_month import month_panel
from components.user_page import UserParts, user_parts
from data.queries.users import user_past
from pages._frame import framed
from pages._request import backing, viewer
from pages._user_history import user_month
from pages._user_page import user_layout, user_view

dash.register_page(__name__, path="/me", name="My jobs", title="My jobs - Fullwarp", icon="user", order=5)


def layout(**query: str) -> Component:
    """The viewer's own page."""
    return user_layout(viewer().user, query, "/me")


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("user-note", "children"),
    Output("user-banner", "children"),
    Output("user-kpis", "children"),
    Output("user-running", "children"),
    Output("user-pending", "children"),
    Output("user-findings", "children"),
    Output("frame", "data", allow_duplicate=True),
    Output("user-version", "data"),
    Input("user-tick", "n_intervals"),
    State("user-name", "data"),
    State("user-at", "data"),
    State("user-version", "data"),
    prevent_initial_call=True,
)
def refresh(_: int | None, user: str, at: str, seen: str) -> UserParts:
    """What a new picture changes; nothing when it is the same."""
    view = user_view(user, {"at": at} if at else {}, "/me")
    if view.version == seen:
        raise dash.exceptions.PreventUpdate
    return framed(user_parts(view))


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("user-month", "children"),
    Output("user-unread", "data"),
    Input("user-step", "data"),
    State("user-name", "data"),
    prevent_initial_call=True,
)
def read_on(_: int | None, user: str) -> tuple[Any, int]:
    """The 30 days from history at once; without one, some more of what Slurm keeps, and the rest with the next call."""
    month = user_month(user)
    if month is not None:
        return history_month(month), 0
    past = user_past(viewer(), backing().sources, user, backing().sources.clock())
    return month_panel(past), past.days - past.read - len(past.failed)


clientside_callback(
    ClientsideFunction("fw", "readOnUser"), Output("user-read-on", "data"), Input("user-unread", "data")
)
