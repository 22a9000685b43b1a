"""What stands at an address that no page has, with the nearest pages and names that the viewer may see."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any
from urllib.parse import unquote

import dash
from dash.development.base_component import Component

from components.page_states import not_there
from components.shell import frame_data
from data.errors import FullwarpError
from data.queries.job_context import nearest
from data.queries.jobs import Found
from data.queries.live import snapshot
from pages._request import backing, viewer

dash.register_page(__name__, title="Not found - Fullwarp")

_LONGEST = 100


def layout(**_: str) -> Component:
    """The page; it names no address back, and gives no hint whether a thing exists."""
    base, wanted = dash.get_relative_path("/"), last_part(_asked())
    names: tuple[Found, ...] = ()
    frame: dict[str, Any] | None = None
    with suppress(FullwarpError):
        frame = frame_data(snapshot(viewer(), backing().sources))
        names = nearest(viewer(), backing().sources, wanted) if wanted else ()
    lines = ["The address may be mistyped, or it names something that you may not see."]
    near = (*nearest_pages(wanted), *names)
    return not_there("Not found", "There is no such page", lines, near, base, frame, ("Open the Overview", base))


def last_part(address: str) -> str:
    """What the end of an address may have meant: /nodes/h01/x -> x; shortened."""
    parts = [part for part in unquote(address).split("/") if part.strip()]
    return parts[-1].strip()[:_LONGEST] if parts else ""


def nearest_pages(wanted: str) -> Sequence[Found]:
    """Pages of the navigation whose address or name is close; `text` is their address."""
    pages = {str(page["name"]): str(page["relative_path"]) for page in dash.page_registry.values() if page.get("icon")}
    words = {name.lower(): name for name in pages} | {path.rsplit("/", 1)[-1]: name for name, path in pages.items()}
    found = [words[word] for word in get_close_matches(wanted.lower(), [word for word in words if word], 3, 0.6)]
    return [Found("page", name, pages[name]) for name in dict.fromkeys(found)]


def _asked() -> str:
    """The address that the browser shows; "" outside of a callback."""
    with suppress(dash.exceptions.MissingCallbackContextException, AttributeError):
        return str(dash.ctx.inputs.get("_pages_location.pathname") or "")
    return ""
