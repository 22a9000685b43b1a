"""The frame around every page: navigation, top bar, who I am, state of the sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dash_bootstrap_components as dbc
from dash import dcc, html
from dash.development.base_component import Component

from components.elements import age, icon, moment, source_name
from components.sources_banner import worst_source
from data.model import ClusterSnapshot, SourceCondition, SourceState, Viewer
from data.words import number
from policy.model import Status

if TYPE_CHECKING:
    from policy.queries import VerdictList

OLD_AFTER_SECONDS = 180
PLACES = 5
_FOUND = {"aria-label": "Suggestions"}
_KEYS = (
    (("/",), "Search job, node, user, account or page"),
    (("?",), "This list"),
    (("Esc",), "Close what is open"),
    (("A",), "Ask the assistant"),
    (("T",), "Look at the past"),
    (("[", "]"), "One step back or forward in time"),
    (("←", "↑", "→", "↓"), "From GPU to GPU on the map"),
    (("Home", "End"), "First and last GPU of the node"),
    (("Enter",), "Open the node of the GPU"),
    (("J",), "Open the job of the GPU"),
)


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A page; `beside` is what stands at the right end of its line."""

    name: str
    path: str
    icon: str
    is_here: bool = False
    beside: Component | None = None


def shell(pages: Sequence[NavEntry], viewer: Viewer, cluster: str, version: str, page: Any) -> Component:
    """The whole frame with `page` in it. A page fills it through a Store named "frame"."""
    return html.Div(
        [
            html.A("Skip to the page", href="#page", className="fw-skip"),
            _navigation(pages, version),
            _top_bar(viewer, cluster),
            html.Div(id="time-bar", className="fw-time-bar", hidden=True, role="group", **{"aria-label": "Past"}),
            shortcuts(),
            html.Main(page, id="page", className="fw-page", tabIndex="-1"),
            html.Aside(id="chat", className="fw-chat", **{"aria-label": "Ask"}),
        ],
        className="fw-shell",
    )


def _navigation(pages: Sequence[NavEntry], version: str) -> Component:
    foot = html.Div(
        [
            html.Div(
                [
                    html.Div(source_count(()), id="source-count"),
                    html.Div(f"Fullwarp {version}", className="fw-version"),
                ],
                className="fw-sources",
            ),
            _icon_button("fold", "fold", "Fold the navigation", **{"aria-expanded": "true"}),
        ],
        className="fw-nav-foot",
    )
    brand = html.Span([icon("brand"), html.Span("Fullwarp", className="fw-label")], className="fw-brand")
    return html.Nav([brand, html.Ul(_places(pages)), foot], className="fw-nav", **{"aria-label": "Pages"})


def _places(pages: Sequence[NavEntry]) -> list[Component]:
    """The pages; on a phone the first of them, the assistant, and one place for what is left."""
    first, rest = pages[: PLACES - 2], pages[PLACES - 2 :]
    ask = html.Button(
        [icon("chat"), html.Span("Ask", className="fw-label")],
        id="nav-ask",
        type="button",
        className="fw-nav-link",
        **{"aria-expanded": "false", "aria-controls": "chat"},
    )
    places = [*(html.Li(_nav_link(entry)) for entry in first), html.Li(ask, className="fw-nav-ask")]
    if rest:
        links = html.Ul([html.Li(_nav_link(entry)) for entry in rest])
        places.append(html.Li([_more(), links], className="fw-nav-rest"))
    return places


def _more() -> Component:
    """What opens the pages that a phone's bar has no place for; elsewhere they stand in the list."""
    return html.Button(
        [icon("more"), html.Span("More", className="fw-label")],
        id="nav-more",
        type="button",
        className="fw-nav-link",
        **{"aria-expanded": "false"},
    )


def _nav_link(entry: NavEntry) -> Component:
    beside = [] if entry.beside is None else [entry.beside]
    return dcc.Link(
        [icon(entry.icon), html.Span(entry.name, className="fw-label"), *beside],
        href=entry.path,
        className="fw-nav-link fw-is-here" if entry.is_here else "fw-nav-link",
        title=entry.name,
    )


def _top_bar(viewer: Viewer, cluster: str) -> Component:
    search = html.Div(
        [
            icon("search"),
            html.Label("Search job, node, user, account or page", htmlFor="search", className="fw-sr"),
            dbc.Input(
                id="search",
                placeholder="Job, user or node",
                type="search",
                maxlength=100,
                autocomplete="off",
            ),
            html.Kbd("/", **{"aria-hidden": "true"}),
            html.Ul(id="search-list", className="fw-found-list", hidden=True, role="listbox", **_FOUND),
        ],
        className="fw-search",
        role="search",
    )
    right = [
        html.Div(id="as-of", className="fw-asof-box"),
        _icon_button("search-open", "search", "Search"),
        _icon_button("time", "rewind", "Look at the past", **{"aria-expanded": "false", "aria-controls": "time-bar"}),
        _icon_button("keys", "keys", "Keyboard shortcuts"),
        _icon_button("ask", "chat", "Ask", **{"aria-expanded": "false", "aria-controls": "chat"}),
        _icon_button("theme", "sun fw-icon-theme", "Switch between light and dark"),
        who_i_am(viewer),
    ]
    return html.Header(
        [
            html.Span(cluster or "cluster", id="cluster", className="fw-cluster", title=cluster),
            search,
            html.Div(right, className="fw-top-right"),
        ],
        className="fw-top",
    )


def shortcuts() -> Component:
    """The keys that work everywhere; opened by ? and closed by Esc."""
    rows = [part for keys, what in _KEYS for part in (html.Dt([html.Kbd(key) for key in keys]), html.Dd(what))]
    close = html.Button("Close", type="button", className="fw-button", autoFocus="true", **{"data-close": "1"})
    return html.Dialog(
        [html.H2("Keyboard shortcuts"), html.Dl(rows), html.Div(close, className="fw-state-actions")],
        id="shortcuts",
        className="fw-dialog",
        **{"aria-label": "Keyboard shortcuts"},
    )


def _icon_button(id: str, icon_name: str, label: str, **attributes: str) -> Component:
    return html.Button(
        icon(icon_name),
        id=id,
        type="button",
        title=label,
        className=f"fw-icon-button fw-{id}",
        **{"aria-label": label},
        **attributes,
    )


def who_i_am(viewer: Viewer) -> Component:
    """Initials, name and role of the viewer."""
    name = viewer.user or "not known"
    return html.Span(
        [
            html.Span(name[:2].upper(), className="fw-initials", **{"aria-hidden": "true"}),
            html.Span([html.B(name), " ", html.Span(viewer.role.value, className="fw-unit fw-role")]),
        ],
        className="fw-me",
        title=f"Signed in as {name}, {viewer.role.value}",
    )


def source_count(sources: Iterable[SourceState]) -> list[Any]:
    """ "3 of 3 sources" with the worst condition as a mark."""
    states = tuple(sources)
    good = sum(state.condition is SourceCondition.OK for state in states)
    mark = "none" if not states else "ok" if good == len(states) else "bad"
    text = f"{good} of {len(states)} sources" if states else "not asked yet"
    return [
        html.Span([icon(mark, mark), html.Span(text, className="fw-label")], className="fw-source-count", title=text)
    ]


def as_of(snapshot: ClusterSnapshot) -> Component:
    """The time of the data and its age; what is old or missing is named first."""
    if snapshot.is_past:
        return _as_of("clock", ["Past: ", moment(snapshot.time)], "fw-is-stale")
    failing = worst_source(snapshot.sources)
    time = moment(snapshot.time, seconds=True)
    if failing is None:
        label = html.Span([", ", age(snapshot.time, old_after_seconds=OLD_AFTER_SECONDS), " ago"], className="fw-label")
        return _as_of("live", [html.Span("As of ", className="fw-label"), time, label])
    rest = html.Span([html.Span(" as of ", className="fw-label"), time], className="fw-asof-rest")
    if failing.condition is SourceCondition.DOWN or failing.last_success is None:
        return _as_of("bad", [f"{source_name(failing)} down ", rest], "fw-is-bad")
    return _as_of("clock", [f"{source_name(failing)} ", age(failing.last_success), " old ", rest], "fw-is-stale")


def _as_of(icon_name: str, text: Sequence[Any], tone: str = "") -> Component:
    return html.Span([icon(icon_name), html.Span(list(text))], className=f"fw-asof {tone}".strip())


def low_count(judged: VerdictList | None) -> list[Component] | None:
    """How many jobs are low by a rule; None where that is not known, for what is not measured is not zero."""
    if judged is None or judged.fault:
        return None
    low = sum(one.status is Status.LOW for one in judged.verdicts)
    said = " low-use job" if low == 1 else " low-use jobs"
    return [html.Span([number(low), html.Span(said, className="fw-sr")], title=f"{number(low)}{said}")]


def low_mark(judged: VerdictList | None) -> Component:
    """The place of that number beside Policy; empty where it is not known."""
    return html.Span(low_count(judged) or [], id="policy-count", className="fw-label fw-nav-count")


def frame_data(snapshot: ClusterSnapshot, judged: VerdictList | None = None) -> dict[str, Any]:
    """What a page hands to the frame: time of the data, state of the sources, name of the cluster, and the number of
    low jobs where the page knows of verdicts."""
    return {
        "low": None if snapshot.is_past else low_count(judged),
        "as_of": as_of(snapshot),
        "sources": source_count(snapshot.sources),
        "cluster": snapshot.cluster or "cluster",
        "at": snapshot.time.isoformat() if snapshot.is_past else "",
    }
