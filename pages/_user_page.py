"""What the two addresses of a user's page share: /me and /users/<user>."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import dash
from dash.development.base_component import Component

from components.page_states import isolated, not_there, unavailable
from components.shell import frame_data
from components.user_page import UserView, user_page
from data.errors import FullwarpError, NotFound
from data.queries.job_context import nearest
from data.queries.jobs import Found
from data.queries.live import snapshot
from data.queries.users import user_now
from pages._address import moment_of
from pages._request import backing, viewer


def user_layout(user: str, query: Mapping[str, str], path: str) -> Component:
    """The page of a user, or the same friendly page for nobody and for somebody whom the viewer may not see."""
    own, base = backing(), dash.get_relative_path("/")
    try:
        view = user_view(user, query, path)
    except NotFound as err:
        return _not_there(user, err, base)
    except FullwarpError as err:
        said = [str(err), err.hint] if viewer().is_staff else ["Slurm does not answer now."]
        return unavailable("User", "The page cannot be made now", said)
    return user_page(view, refresh_seconds=own.settings.refresh_seconds)


def user_view(user: str, query: Mapping[str, str], path: str) -> UserView:
    """One answer without the 30 days. Raises as `user_now`."""
    own, who = backing(), viewer()
    ignored: list[str] = []
    at = moment_of(query, own.sources.clock(), own.settings.site_timezone, ignored)
    return UserView(
        now=user_now(who, own.sources, user, at),
        past=None,
        is_self=user == who.user,
        is_staff=who.is_staff,
        base=dash.get_relative_path("/"),
        at=at.isoformat() if at else "",
        now_href=dash.get_relative_path(path),
        ignored=tuple(ignored),
    )


def _not_there(user: str, err: NotFound, base: str) -> Component:
    frame: dict[str, Any] | None = None
    near: tuple[Found, ...] = ()
    with suppress(FullwarpError):
        near = nearest(viewer(), backing().sources, user)
        frame = frame_data(snapshot(viewer(), backing().sources))
    lines = [
        f"You are signed in as {viewer().user}.",
        "You see your own jobs and those of accounts that you coordinate.",
    ]
    if viewer().is_staff:
        lines = [err.hint]
    title = isolated(f"There is no user {user[:60]} to see", user[:60])
    return not_there("User", title, lines, near, base, frame, ("My jobs", f"{base}me"))
