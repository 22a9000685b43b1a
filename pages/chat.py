"""Ask: the assistant in full, with one's earlier conversations at its side."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import dash
from dash.development.base_component import Component

from components.chat_panel import UsageView, chat_page
from components.shell import frame_data
from data.errors import FullwarpError
from data.queries.live import snapshot
from pages._chat_routes import desk
from pages._chat_view import usage_view
from pages._request import backing, viewer

dash.register_page(__name__, path="/chat", name="Ask", title="Ask - Fullwarp", order=8)


def layout(**_: str) -> Component:
    """The list of conversations; the conversation itself is the frame's panel, which stands beside it."""
    return chat_page(_usage(), _frame())


def _frame() -> dict[str, Any] | None:
    """What the frame shows of the cluster; nothing while no picture can be had."""
    with suppress(FullwarpError):
        return frame_data(snapshot(viewer(), backing().sources))
    return None


def _usage() -> UsageView | None:
    """Counts, for staff; none while the store does not answer."""
    settings = backing().sources.settings
    with suppress(FullwarpError):
        return desk().keeping.state.read(
            settings.state, lambda store: usage_view(settings, viewer(), store, backing().sources.clock())
        )
    return None
