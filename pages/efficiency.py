"""Efficiency: where the GPU-hours of a range went, by whom and how well they were used."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.history_page import history_body, history_page
from components.shell import frame_data
from data.errors import FullwarpError
from data.queries.live import snapshot
from pages._efficiency_address import AskedHistory, parse_efficiency_address
from pages._efficiency_answer import NEXT_SECONDS, efficiency_view
from pages._efficiency_export import add_efficiency_export
from pages._frame import with_low
from pages._request import backing, viewer

dash.register_page(__name__, path="/efficiency", name="Efficiency", title="Efficiency - Fullwarp", icon="bars", order=2)
add_efficiency_export(dash.get_app().server, dash.get_app().config.routes_pathname_prefix)


def layout(**query: Any) -> Component:
    """The page with as many of its answers as there is time for."""
    own = backing()
    view = efficiency_view(asked_of(query, own.sources.clock()))
    return history_page(view, refresh_seconds=own.settings.refresh_seconds)


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("eff-answer", "data"),
    Input("eff-step", "data"),
    State("eff-words", "data"),
    prevent_initial_call=True,
)
def add_up_on(missing: Mapping[str, int] | None, words: Mapping[str, str]) -> dict[str, Any]:
    """The next answers of a long range as soon as there is one more, until none is missing."""
    if not missing or not missing["left"]:
        raise dash.exceptions.PreventUpdate
    return _answer(words, more_than=missing["ready"])


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("frame", "data", allow_duplicate=True),
    Output("eff-answer", "data", allow_duplicate=True),
    Input("eff-tick", "n_intervals"),
    State("eff-growing", "data"),
    State("eff-words", "data"),
    prevent_initial_call=True,
)
def refresh_efficiency(_: int | None, is_growing: bool | None, words: Mapping[str, str]) -> tuple[Any, Any]:
    """The state of the sources goes on; the numbers of a range stay as they are, unless history still grows into it."""
    try:
        frame = with_low(frame_data(snapshot(viewer(), backing().sources)))
    except FullwarpError:
        frame = dash.no_update
    if not is_growing:
        return frame, dash.no_update
    return frame, _answer(words)


def _answer(words: Mapping[str, str], more_than: int = -1) -> dict[str, Any]:
    """A further answer with the question that it is of: whoever went on or Back meanwhile has another one on screen."""
    return {
        "of": words,
        "body": history_body(efficiency_view(_again(words), seconds=NEXT_SECONDS, more_than=more_than)),
    }


def _again(words: Mapping[str, str]) -> AskedHistory:
    """The question that the page was made for, at the same moment."""
    try:
        moment = datetime.fromisoformat(words["now"]).astimezone(UTC)
    except ValueError as err:
        raise dash.exceptions.PreventUpdate from err
    query = parse_qs(words["query"])
    return asked_of({name: one[0] if len(one) == 1 else one for name, one in query.items()}, moment)


def asked_of(query: Mapping[str, Any], now: datetime) -> AskedHistory:
    """The question in an address of this page."""
    path = dash.get_relative_path("/efficiency")
    return parse_efficiency_address(query, now, backing().settings.site_timezone, path)


clientside_callback(
    ClientsideFunction("fw", "drawHistory"), Output("history-drawn", "data"), Input("history-figures", "data")
)
clientside_callback(
    ClientsideFunction("fw", "answered"),
    Output("eff-body", "children"),
    Input("eff-answer", "data"),
    State("eff-words", "data"),
    prevent_initial_call=True,
)
# a callback is not called again for what stands in its own answer: this one passes it on
clientside_callback(ClientsideFunction("fw", "addUpOn"), Output("eff-passed", "data"), Input("eff-missing", "data"))
