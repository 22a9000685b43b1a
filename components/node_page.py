"""The page of one node: state and reason, numbers, devices, series, jobs, health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.device_table import device_table
from components.elements import banner, short_model
from components.kpis import Kpi, kpi_panel
from components.map_payload import is_stale
from components.node_numbers import node_kpis
from components.node_rows import is_old
from components.node_side import facts_panel, health_panel, jobs_panel
from components.node_words import state_chip, state_meaning, who_and_when
from components.series_panel import series_instead, series_note, series_panel, series_payload, series_table
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.model import Node
from data.queries.node_detail import NodeSeries, NodeView
from data.uses import use_of
from data.words import count


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What one viewer sees of one node. `jobs_base` and `nodes_href` are addresses; `version` changes when anything on
    the page does; `range_name` is "" for a span of the address's own."""

    view: NodeView
    series: NodeSeries
    range_name: str
    ignored: Sequence[str]
    is_staff: bool
    version: str
    jobs_base: str
    nodes_href: str
    span: tuple[str, str] = ("", "")
    at: str = ""
    now_href: str = ""


class NodeParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    head: Any
    banner: Any
    kpis: Any
    devices: Any
    side: Any
    series_note: Any
    series_instead: Any
    series_data: Any
    series_table: Any
    frame: Any
    version: Any


def node_parts(found: NodeAnswer) -> NodeParts:
    """Every part of the page that depends on the data."""
    found = _without_old_values(found)
    series = found.series
    return NodeParts(
        head=_head(found),
        banner=_banner(found),
        kpis=_numbers(found),
        devices=_devices(found),
        side=[jobs_panel(found.view.detail, found.jobs_base), health_panel(found.view.detail), _facts(found)],
        series_note=series_note(series),
        series_instead=series_instead(series),
        series_data=series_payload(series),
        series_table=series_table(series),
        frame=frame_data(found.view.snapshot),
        version=found.version,
    )


def _without_old_values(found: NodeAnswer) -> NodeAnswer:
    """Values of a source that has been silent for too long go; states and jobs stay."""
    if not is_old(found.view.snapshot):
        return found
    gpus = tuple(replace(gpu, values={}) for gpu in found.view.detail.gpus)
    detail = replace(found.view.detail, gpus=gpus, use=use_of(gpus))
    return replace(found, view=replace(found.view, detail=detail))


def node_page(found: NodeAnswer, *, refresh_seconds: float) -> Component:
    """The whole page with its first data."""
    parts = node_parts(found)
    main = html.Div([series_panel(found.series, found.range_name)], className="fw-stack")
    return html.Div(
        [
            html.Div(parts.head, id="node-head"),
            html.Div(parts.banner, id="node-banner"),
            html.Div(parts.kpis, id="node-kpis"),
            html.Div(parts.devices, id="node-devices", className="fw-after"),
            html.Div([main, html.Div(parts.side, id="node-side", className="fw-stack")], className="fw-columns"),
            dcc.Store(id="node-version", data=found.version),
            dcc.Store(id="node-name", data=found.view.detail.node.name),
            dcc.Store(id="node-at", data=found.at),
            dcc.Store(id="series-span", data={"from": found.span[0], "to": found.span[1]}),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Interval(id="node-tick", interval=round(refresh_seconds * 1000), disabled=bool(found.at)),
        ],
        className="fw-ticking",
        **{"data-tick": "node-tick"},
    )


def _head(found: NodeAnswer) -> list[Component]:
    node, detail = found.view.detail.node, found.view.detail
    models = sorted({short_model(gpu.model) for gpu in detail.gpus if gpu.model})
    size = count(detail.use.cards, "GPU") + (f", {', '.join(models)}" if models else "")
    crumb = html.Div(
        [html.A("Nodes", href=found.nodes_href, className="fw-go"), " / ", node.name], className="fw-crumb"
    )
    line = [
        html.H1(node.name),
        state_chip(node.state),
        html.Span(f"{size if detail.gpus else 'no GPU'}. {', '.join(node.partitions)}", className="fw-note"),
    ]
    return [crumb, html.Div(line, className="fw-head")]


def _banner(found: NodeAnswer) -> list[Component]:
    """The worst first: the past, a source that fails, else what is wrong with the node."""
    shown = found.view.snapshot
    main = (
        past_banner(shown, found.now_href)
        or sources_banner(shown, is_staff=found.is_staff)
        or _node_banner(found.view.detail.node)
    )
    return [part for part in (ignored_banner(found.ignored), main) if part is not None]


def _node_banner(node: Node) -> Component | None:
    is_down = node.state.bucket == "down"
    if not is_down and not node.reason:
        return None
    meaning = state_meaning(node.state)
    who = who_and_when(node)
    lines = [node.reason or "No reason is given.", *([html.Br(), who] if who else [])]
    title = f"{node.state.display}, {meaning}:" if meaning else f"{node.state.display}:"
    return banner("bad" if is_down else "info", "bad" if is_down else "drained", title, lines)


def _numbers(found: NodeAnswer) -> Component:
    cells: Sequence[Kpi] = node_kpis(found.view.detail)
    faded = "fw-use-faded" if is_stale(found.view.snapshot) else ""
    return html.Div(kpi_panel(cells), className=faded)


def _devices(found: NodeAnswer) -> Component:
    detail = found.view.detail
    if not detail.gpus:
        text = "This node has no GPU in Slurm's configuration."
        return html.Section(html.P(text, className="fw-quiet fw-flat"), className="fw-panel")
    dim = is_stale(found.view.snapshot)
    every = html.Button(
        "All columns",
        type="button",
        className="fw-button fw-small-button fw-phone-only",
        **{"data-all-columns": "1", "aria-pressed": "false"},
    )
    head = [
        html.H2("Devices"),
        html.Span("every metric, now; point at a name for its meaning", className="fw-note fw-wide-only"),
        html.Div(every, className="fw-panel-right"),
    ]
    table = device_table(detail.gpus, detail.jobs, found.jobs_base, is_staff=found.is_staff, is_dim=dim)
    note = [html.P(found.view.unknown, className="fw-quiet")] if found.view.unknown else []
    return html.Section([html.Div(head, className="fw-panel-head"), table, *note], className="fw-panel")


def _facts(found: NodeAnswer) -> Component:
    return facts_panel(found.view.detail.node, is_staff=found.is_staff)
