"""The page of all nodes: filters, table and tiles; one answer in, components out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import (
    ANY,
    Choice,
    clear_all,
    icon,
    panel_state,
    select_filter,
    short_model,
    source_name,
    switch,
    text_filter,
    try_again,
)
from components.feature_filter import feature_filter
from components.node_rows import node_rows
from components.node_table import node_table
from components.node_words import bucket_word
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner, worst_source
from data.queries.node_detail import NodesView
from data.words import count, number

VIEWS: tuple[Choice, ...] = (("table", "Table"), ("tiles", "Tiles"))


@dataclass(frozen=True, slots=True)
class NodesAnswer:
    """What one viewer sees of the nodes through one filter. `chosen` holds filter values by their name in the address;
    `version` changes when anything on the page does; `base` is the address under which nodes stand."""

    view: NodesView
    chosen: Mapping[str, str]
    ignored: Sequence[str]
    is_staff: bool
    version: str
    base: str
    at: str = ""
    now_href: str = "/"


class NodesParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    head: Any
    banner: Any
    instead: Any
    rows: Any
    frame: Any
    version: Any


def nodes_parts(found: NodesAnswer) -> NodesParts:
    """Every part of the page that depends on the data."""
    return NodesParts(
        head=_head(found),
        banner=_banner(found),
        instead=_instead(found),
        rows=node_rows(found.view),
        frame=frame_data(found.view.snapshot),
        version=found.version,
    )


def nodes_page(found: NodesAnswer, view: str, *, refresh_seconds: float) -> Component:
    """The whole page with its first data."""
    parts = nodes_parts(found)
    head = [html.H1("Nodes"), html.Span(parts.head, id="nodes-head", className="fw-note"), _filters(found)]
    csv = html.Button([icon("download"), "CSV"], type="button", className="fw-button", **{"data-csv": "nodes-table"})
    controls = html.Div([switch("nodes-view", "Show as", VIEWS, view), csv], className="fw-panel-right")
    panel_head = html.Div(
        [html.H2("All nodes"), html.Span(_legend(), className="fw-note fw-wide-only"), controls],
        className="fw-panel-head",
    )
    body = [
        html.Div(parts.instead, id="nodes-instead"),
        html.Div(node_table(parts.rows), className="fw-nodes-table"),
        html.Ul(id="nodes-tiles", className="fw-tiles", **{"aria-label": "Nodes"}),
    ]
    panel = html.Section(
        [panel_head, *body],
        id="nodes-panel",
        className="fw-panel",
        **{"data-base": found.base, "data-ramp": "seq", "data-view": view},
    )
    return html.Div(
        [
            html.Div(head, className="fw-head"),
            html.Div(parts.banner, id="nodes-banner"),
            panel,
            dcc.Store(id="nodes-version", data=found.version),
            dcc.Store(id="nodes-at", data=found.at),
            dcc.Store(id="nodes-drawn"),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Interval(id="nodes-tick", interval=round(refresh_seconds * 1000), disabled=bool(found.at)),
        ],
        className="fw-ticking",
        **{"data-tick": "nodes-tick"},
    )


def _head(found: NodesAnswer) -> str:
    shown, total = len(found.view.list.rows), found.view.list.total
    if shown == total:
        return count(total, "node")
    return f"{number(shown)} of {count(total, 'node')}"


def _legend() -> list[Any]:
    words = (("fw-s7", "Busy"), ("fw-idle", "Held, idle"), ("fw-free", "Free"), ("fw-drained", "Drained"),
             ("fw-down", "Down"), ("fw-unmeasured", "Not measured"))  # fmt: skip
    return [
        html.Span([html.Span(className=f"fw-cell fw-swatch {name}"), word], className="fw-key") for name, word in words
    ]


def _banner(found: NodesAnswer) -> list[Component]:
    shown = found.view.snapshot
    main = past_banner(shown, found.now_href) or sources_banner(shown, is_staff=found.is_staff)
    return [part for part in (ignored_banner(found.ignored), main) if part is not None]


def _instead(found: NodesAnswer) -> list[Component]:
    """What stands in place of the rows where there are none."""
    if found.view.list.rows:
        return []
    if found.view.list.total:
        clear = html.Button("Clear all filters", type="button", className="fw-button", **{"data-clear-nodes": "1"})
        words = {"name" if key == "q" else key: value for key, value in found.chosen.items() if value}
        words |= {"state": bucket_word(words["state"])} if "state" in words else {}
        set_ = " and ".join(f"{key} “{value[:40]}”" for key, value in words.items())
        text = f"None of {count(found.view.list.total, 'node')} has {set_}."
        return [panel_state("empty", "", "No node matches", [text], [clear])]
    failing = worst_source(found.view.snapshot.sources)
    if failing is None or failing.name != "slurm":
        return [panel_state("empty", "", "No nodes", ["Slurm lists no nodes."])]
    text = "The list of nodes comes back by itself as soon as it answers."
    return [panel_state("bad", "bad", f"{source_name(failing)} is not available", [text], [try_again()])]


def _filters(found: NodesAnswer) -> Component:
    options, chosen = found.view.options, found.chosen
    states = tuple((name, bucket_word(name)) for name in sorted({*options.states, *_kept(chosen)}))
    rows: tuple[tuple[str, str, Sequence[Choice], str], ...] = (
        ("partition", "Partition", _same(options.partitions), "all"),
        ("state", "State", states, "all"),
        ("model", "Model", tuple((name, short_model(name)) for name in options.models), "all"),
    )
    selects = [
        select_filter(f"nodes-{key}", label, choices, chosen.get(key, "") or ANY, any_word)
        for key, label, choices, any_word in rows
    ]
    features = feature_filter("nodes-feature", options.features, chosen.get("feature", ""))
    filters = [text_filter("nodes-q", chosen.get("q", ""), label="Name"), *selects, features, clear_all("nodes")]
    return html.Div(filters, className="fw-filters", role="group", **{"aria-label": "Filters"})


def _kept(chosen: Mapping[str, str]) -> set[str]:
    """The state that is filtered by, also while no node is in it."""
    return {chosen["state"]} if chosen.get("state") else set()


def _same(values: Sequence[str]) -> Sequence[Choice]:
    return tuple((value, value) for value in values)
