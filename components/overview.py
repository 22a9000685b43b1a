"""The Overview put together from its parts: one answer in, components out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.attention import AttentionRow, attention_panel
from components.compare import compare_panel
from components.day_panel import day_panel
from components.elements import Choice, clear_all, select_filter, short_model
from components.feature_filter import feature_filter
from components.gpu_map import STATE_WORDS, legend, map_panel, nothing_to_draw
from components.kpis import kpi_panel
from components.maintenance import maintenance_banner
from components.map_columns import DeviceKey
from components.map_payload import failing_sources, map_payload
from components.overview_attention import attention_rows
from components.overview_kpis import KpiView, overview_kpis
from components.queue_panel import queue_panel
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.last_day import DayOfUse
from data.model import ClusterSnapshot
from data.queries.live import Overview
from data.totals import Totals
from data.words import count, number
from policy.model import JobVerdict, Status
from settings import RackSettings

_CLEAR_NAME = {"data-clear-name": "1", "title": "Show all nodes again"}


@dataclass(frozen=True, slots=True)
class OverviewAnswer:
    """What one viewer sees of one moment through one filter.

    `snapshot` is the whole cluster, which the map always shows; `overview` the part that the filter lets through, but
    for the state; `shown` the devices of both, None = no filter is set. `chosen` holds the filter values by their name
    in the address. `version` changes when anything on the page does. `racks` says which nodes stand together. `judged`
    are the verdicts that are known, with newer ones to come soon `is_judging`. `has_history` = Efficiency has rows.
    """

    snapshot: ClusterSnapshot
    overview: Overview
    shown: frozenset[DeviceKey] | None
    chosen: Mapping[str, str]
    ignored: Sequence[str]
    is_staff: bool
    version: str
    at: str = ""
    now_href: str = "/"
    now: Totals | None = None
    day: DayOfUse | None = None
    racks: RackSettings | None = None
    judged: tuple[JobVerdict, ...] = ()
    is_judging: bool = False
    has_history: bool = False


class Parts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    head: Any
    banner: Any
    then: Any
    kpis: Any
    note: Any
    legend: Any
    instead: Any
    map: Any
    attention: Any
    day: Any
    frame: Any
    version: Any


def overview_parts(found: OverviewAnswer) -> Parts:
    """Every part of the page that depends on the data."""
    snapshot, overview = found.snapshot, found.overview
    return Parts(
        head=_head(snapshot),
        banner=_banner(found),
        then=compare_panel(overview.totals, found.now, snapshot.time) if found.now else "",
        kpis=kpi_panel(overview_kpis(overview.totals, is_known=bool(snapshot.nodes), view=_kpi_view(found))),
        note=_matches(found),
        legend=legend(overview.totals.use, found.chosen.get("state", "")) if snapshot.gpus else "",
        instead=nothing_to_draw(snapshot),
        map=map_payload(snapshot, found.shown, found.racks, _statuses(found), is_judging=found.is_judging),
        attention=[
            attention_panel(_attention(found)),
            html.Div(queue_panel(overview.totals.by_partition), className="fw-wall-only"),
        ],
        day=_day(found),
        frame=frame_data(snapshot),
        version=found.version,
    )


def overview_page(
    found: OverviewAnswer, metric: str, group: str, *, refresh_seconds: float, parts: Parts | None = None
) -> Component:
    """The whole page with its first data; `parts` are those of `found` where they are made already."""
    parts = parts or overview_parts(found)
    head = [html.H1("Overview"), html.Span(parts.head, id="overview-head", className="fw-note"), _filters(found)]
    panel = map_panel(parts.map, parts.instead, parts.legend, parts.note, metric=metric, group=group)
    side = html.Div(parts.attention, id="overview-attention", className="fw-side")
    return html.Div(
        [
            html.Div(head, className="fw-head"),
            html.Div(parts.banner, id="overview-banner"),
            html.Div(parts.then, id="overview-then"),
            html.Div(parts.kpis, id="overview-kpis"),
            html.Div([html.Div([panel, html.Div(parts.day, id="overview-day")]), side], className="fw-columns"),
            dcc.Store(id="overview-version", data=found.version),
            dcc.Store(id="overview-at", data=found.at),
            dcc.Store(id="overview-compare", data="1" if found.now else ""),
            dcc.Store(id="filter-text", data=found.chosen.get("q", "")),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Interval(id="overview-tick", interval=round(refresh_seconds * 1000), disabled=bool(found.at)),
        ],
        className="fw-ticking",
        **{"data-tick": "overview-tick"},
    )


def _statuses(found: OverviewAnswer) -> dict[int, str]:
    return {one.job.job_id: one.status.value for one in found.judged}


def _attention(found: OverviewAnswer) -> Sequence[AttentionRow]:
    """With a model chosen the picture lacks other GPUs of the same jobs, so that it cannot say how many they hold."""
    shown = found.overview
    picture = None if found.chosen.get("model") else shown.snapshot
    return attention_rows(shown.attention, found.now_href, found.at, low=_low(found), picture=picture)


def _low(found: OverviewAnswer) -> list[JobVerdict]:
    """Low jobs on the nodes that the filter lets through."""
    nodes = {node.name for node in found.overview.snapshot.nodes}
    return [one for one in found.judged if one.status is Status.LOW and nodes.intersection(one.job.nodes)]


def _day(found: OverviewAnswer) -> Any:
    """What joins the page on a wall screen."""
    made = day_panel(found.day, int(found.overview.totals.use.gpus.total)) if found.shown is None else None
    return html.Div(made, className="fw-wall-only") if made else ""


def _kpi_view(found: OverviewAnswer) -> KpiView:
    is_filtered = any(value for key, value in found.chosen.items() if key != "state")
    old = failing_sources(found.snapshot)
    return KpiView(found.now_href, found.at, found.day, is_filtered, old, found.has_history)


def _head(snapshot: ClusterSnapshot) -> str:
    if not snapshot.nodes:
        return "no node is known"
    whole = sum(not gpu.device.is_slice for gpu in snapshot.gpus)
    slices = len(snapshot.gpus) - whole
    parts = [count(len(snapshot.nodes), "node"), count(whole, "GPU")]
    return ", ".join([*parts, count(slices, "MIG slice")] if slices else parts)


def _matches(found: OverviewAnswer) -> str:
    if found.shown is None:
        return ""
    return f"{number(len(found.shown))} of {count(len(found.snapshot.gpus), 'GPU or slice', 'GPUs and slices')} match"


def _banner(found: OverviewAnswer) -> list[Component]:
    """The worst of the sources; beside it what was ignored of the address, and maintenance."""
    main = past_banner(found.snapshot, found.now_href) or sources_banner(found.snapshot, is_staff=found.is_staff)
    parts = (ignored_banner(found.ignored), main, maintenance_banner(found.snapshot))
    return [part for part in parts if part is not None]


def _filters(found: OverviewAnswer) -> Component:
    options, chosen = found.overview.options, found.chosen
    states = tuple((state.value, text) for state, text in STATE_WORDS.items())
    rows: tuple[tuple[str, str, Sequence[Choice], str], ...] = (
        ("partition", "Partition", _same(options.partitions), "all"),
        ("state", "State", states, "all"),
        ("model", "Model", tuple((name, short_model(name)) for name in options.models), "all"),
    )
    filters = [
        select_filter(f"filter-{key}", label, choices, chosen.get(key, ""), any_word)
        for key, label, choices, any_word in rows
    ]
    name = html.Button(id="filter-name", type="button", className="fw-button fw-filter-name", **_CLEAR_NAME)
    features = feature_filter("filter-feature", options.features, chosen.get("feature", ""))
    parts = [name, *filters, features, clear_all("filters")]
    return html.Div(parts, className="fw-filters", role="group", **{"aria-label": "Filters"})


def _same(values: Sequence[str]) -> Sequence[Choice]:
    return tuple((value, value) for value in values)
