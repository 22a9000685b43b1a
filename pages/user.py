"""One user, for staff and for those who coordinate an account; its callbacks are those of `me`."""

from __future__ import annotations

from urllib.parse import unquote

import dash
from dash.development.base_component import Component

from pages._user_page import user_layout

dash.register_page(__name__, path_template="/users/<user>", title="User - Fullwarp")


def layout(user: str = "", **query: str) -> Component:
    """The page of the user in the address."""
    return user_layout(unquote(user), query, f"/users/{user}")
