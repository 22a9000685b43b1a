"""Policy: which running jobs are low by the site's rules, what follows, what was done, and who is exempt."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.page_states import unavailable
from components.policy_page import PolicyParts, PolicyView, policy_page, policy_parts, policy_past
from data.errors import FullwarpError
from pages._policy_address import AskedPolicy, parse_policy_address
from pages._policy_answer import policy_acts, policy_view
from pages._policy_export import add_policy_export
from pages._policy_whatif import policy_whatif
from pages._request import backing, viewer
from policy.taken import are_acts_near

dash.register_page(__name__, path="/policy", name="Policy", title="Policy - Fullwarp", icon="shield", order=6)
add_policy_export(dash.get_app().server, dash.get_app().config.routes_pathname_prefix)

ACTS_EVERY = 10  # ticks: acts are few, and their sums are of a month


def layout(**query: str) -> Component:
    """The page with its verdicts, and with what was done where no history has to be asked for it."""
    own, asked = backing(), _asked(query)
    try:
        view = _view(asked)
    except FullwarpError as err:
        return unavailable("Policy", "Nothing can be judged now", [str(err), err.hint] if viewer().is_staff else [])
    past = _past(asked) if are_acts_near(viewer(), own.sources, asked.at or own.sources.clock()) else []
    return policy_page(view, refresh_seconds=own.settings.refresh_seconds, past=past)


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("policy-note", "children"),
    Output("policy-banner", "children"),
    Output("policy-filters", "children"),
    Output("policy-open", "children"),
    Output("policy-verdicts", "children"),
    Output("policy-exempt", "children"),
    Output("frame", "data", allow_duplicate=True),
    Output("policy-version", "data"),
    Input("policy-tick", "n_intervals"),
    State("policy-words", "data"),
    State("policy-version", "data"),
    prevent_initial_call=True,
)
def refresh_policy(_: int | None, words: str | None, seen: str | None) -> PolicyParts:
    """What a new picture changes; nothing while it is the same."""
    view = _view(_again(words))
    if view.version == seen:
        raise dash.exceptions.PreventUpdate
    return policy_parts(view)


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("policy-past", "children"),
    Input("policy-words", "data"),
    Input("policy-tick", "n_intervals"),
)
def show_acts(words: str | None, ticks: int | None) -> list[Any]:
    """What was done: read once the page is shown, and again now and then."""
    if ticks and ticks % ACTS_EVERY:
        raise dash.exceptions.PreventUpdate
    return _past(_again(words))


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("policy-whatif", "children"), Input("policy-words", "data")
)
def show_whatif(words: str | None) -> list[Component]:
    """What a rule would have done: read from the history where the address asks for it."""
    return policy_whatif(viewer(), backing().sources, _again(words).address, dash.get_relative_path("/"))


def _view(asked: AskedPolicy) -> PolicyView:
    """One answer; its verdicts are kept for what other pages say of them, which asks for nothing more."""
    own = backing()
    view = policy_view(viewer(), own.sources, asked, dash.get_relative_path("/"))
    if not view.is_past:
        own.verdicts.newest(viewer(), own.sources)
    return view


def _past(asked: AskedPolicy) -> list[Component]:
    own, base = backing(), dash.get_relative_path("/")
    found = policy_acts(viewer(), own.sources, asked)
    share = own.settings.policy.saved_share
    return policy_past(found, asked.address, base, share=share, is_staff=viewer().is_staff)


def _again(words: str | None) -> AskedPolicy:
    """The question that the page was made for."""
    return _asked(dict(parse_qsl(words or "")))


def _asked(query: dict[str, str]) -> AskedPolicy:
    own = backing()
    path = dash.get_relative_path("/policy")
    return parse_policy_address(query, own.sources.clock(), own.settings.site_timezone, path)


clientside_callback(
    ClientsideFunction("fw", "policyArrived"), Output("policy-arrived", "data"), Input("policy-words", "data")
)
