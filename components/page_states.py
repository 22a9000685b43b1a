"""Whole pages that have nothing to show: a source is away, or the thing is not there to be seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import panel_state, try_again
from components.job_words import job_href, node_link, user_link
from data.queries.jobs import Found


def unavailable(page: str, title: str, lines: Sequence[str]) -> Component:
    """The page when not even the first picture could be made."""
    inside = panel_state("bad", "bad", title, [line for line in lines if line], [try_again()])
    return html.Section([html.H1(page, className="fw-sr"), inside], className="fw-panel")


def isolated(text: str, name: str) -> list[Any]:
    """A text in which what somebody typed turns no word after it, whichever way it is written."""
    before, found, after = text.partition(name)
    return [before, html.Bdi(found), after] if found else [text]


def not_there(
    page: str, title: Any, lines: Iterable[str], near: Iterable[Found], base: str, frame: Any, home: tuple[str, str]
) -> Component:
    """The same page for what does not exist and for what the viewer may not see; `near` are visible matches, `home`
    the text and address of the way on."""
    actions = [html.A(home[0], href=home[1], className="fw-button")]
    inside: list[Any] = [panel_state("lock", "none", title, lines, actions)]
    matches = list(near)
    if matches:
        rows = [html.Li([_link(hit, base), *_beside(hit)]) for hit in matches]
        inside.append(html.Div([html.H2("Did you mean"), html.Ul(rows)], className="fw-near"))
    return html.Section(
        [html.H1(page, className="fw-sr"), *inside, dcc.Store(id="frame", data=frame)], className="fw-panel"
    )


def _beside(hit: Found) -> list[Any]:
    return [] if hit.kind == "page" else [" ", html.Bdi(hit.text, className="fw-unit")]


def _link(hit: Found, base: str) -> Any:
    if hit.kind == "page":
        return dcc.Link(hit.name, href=hit.text)
    if hit.kind == "job":
        return dcc.Link(f"Job {hit.name}", href=job_href(base, hit.name))
    if hit.kind == "node":
        return node_link(base, hit.name)
    return user_link(base, hit.name) if hit.kind == "user" else html.Span(["Account ", html.Bdi(hit.name)])
