"""The document around a view: tabs, time of the data, theme. Plain HTML, so that the first view is the page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from components.as_html import as_html
from components.elements import icon
from ondemand.files import Files

ASK = "ask"
TABS = (("", "My jobs"), ("efficiency", "My efficiency"), ("cluster", "Cluster"))
TALK = (
    '<h1 class="fw-sr">Ask</h1>\n<section id="chat" class="fw-chat" aria-label="Ask"></section>\n'
    '<section class="fw-panel" aria-labelledby="earlier"><div class="fw-panel-head"><h2 id="earlier">Your conversations'
    '</h2></div><div id="chat-list"></div></section>'
)
ICON = (
    "data:image/svg+xml,%3Csvg xmlns=%27http://www.w3.org/2000/svg%27 viewBox=%270 0 16 16%27%3E%3Cpath "
    "fill=%27%237E8691%27 d=%27M0 1h3v14H0zm4.4 0h3v14h-3zm4.3 0h3v14h-3zM13 1h3v14h-3z%27/%3E%3C/svg%3E"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A view: `parts` is what a refresh replaces, `as_of` the time of its data. `path` names its tab. `is_talk` = it is
    the assistant, which fills itself and is not refreshed."""

    title: str
    path: str
    parts: str
    as_of: str = ""
    status: int = 200
    is_talk: bool = False


@dataclass(frozen=True, slots=True)
class Around:
    """What a document needs besides its view. `base` ends with a slash; `theme` is "" where the viewer's own choice
    counts."""

    base: str
    files: Files
    refresh_seconds: int
    has_chat: bool = False
    is_embedded: bool = False
    theme: str = ""


def document(shown: Shown, around: Around) -> str:
    theme = f' data-theme="{escape(around.theme)}"' if around.theme else ""
    kind = (' class="fw-embed"' if around.is_embedded else "") + (' data-chat="page"' if shown.is_talk else "")
    return (
        f'<!DOCTYPE html>\n<html lang="en"{theme}{kind}>\n<head>\n{_head(shown, around)}</head>\n'
        f'<body data-refresh="{around.refresh_seconds}" data-base="{escape(around.base)}">\n'
        f"{'' if around.is_embedded else _top(shown, around)}"
        f'<main id="page" class="fw-ood-page" tabindex="-1">{_inside(shown)}</main>\n</body>\n</html>\n'
    )


def _inside(shown: Shown) -> str:
    """The id of the second kind is where the assistant's scripts look for what is theirs."""
    if shown.is_talk:
        return f'<div id="react-entry-point" class="fw-ood-talk">{shown.parts}</div>'
    resting = '<p id="resting" class="fw-remark" role="status" hidden></p>'
    return f'<div id="parts">{shown.parts}</div>\n{resting}'


def _head(shown: Shown, around: Around) -> str:
    base, files = escape(around.base), around.files
    talks = f'<script defer src="{base}{files.ask}"></script>\n'
    outside = '<base target="_top">\n' if around.is_embedded else ""
    return (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(shown.title)} - Fullwarp</title>\n{outside}"
        f'<script src="{base}{files.theme}"></script>\n'
        f'<link rel="stylesheet" href="{base}{files.style}">\n'
        f'<link rel="icon" href="{ICON}">\n'
        f'<script defer src="{base}{files.script}"></script>\n'
        f"{talks if shown.is_talk else ''}"
    )


def _top(shown: Shown, around: Around) -> str:
    base = escape(around.base)
    named = (*TABS, (ASK, "Ask")) if around.has_chat else TABS
    tabs = "".join(
        f'<li><a href="{base}{path}"{_here(path == shown.path)}>{escape(name)}</a></li>' for path, name in named
    )
    button = (
        '<button id="theme" type="button" class="fw-icon-button fw-theme" title="Switch between light and dark" '
        f'aria-label="Switch between light and dark">{as_html(icon("sun fw-icon-theme"))}</button>'
    )
    return (
        '<a class="fw-skip" href="#page">Skip to the page</a>\n<header class="fw-ood-top">'
        f'<span class="fw-brand">{as_html(icon("brand"))}<span>Fullwarp</span></span>'
        f'<nav aria-label="Fullwarp"><ul class="fw-ood-tabs">{tabs}</ul></nav>'
        f'<div class="fw-top-right"><span id="as-of">{shown.as_of}</span>{button}</div></header>\n'
    )


def _here(is_here: bool) -> str:
    return ' aria-current="page"' if is_here else ""


def rendered(parts: Any, ready: dict[str, str] | None = None) -> str:
    """Components as HTML; `ready` holds HTML by the id of the component that it fills."""
    return as_html([part for part in parts if part is not None], ready)
