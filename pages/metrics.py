"""Detailed metrics: how the GPUs were used, with a diagnosis for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.metrics_answer import FILTERS, MetricsAnswer
from components.metrics_page import MetricsParts, metrics_page, metrics_parts
from data.errors import FullwarpError
from data.model import ClusterSnapshot
from data.queries.live import snapshot
from data.queries.metrics import detailed_metrics
from pages._frame import framed
from pages._metrics_address import AskedMetrics, parse_metrics_address
from pages._metrics_export import add_metrics_export
from pages._request import backing, viewer

dash.register_page(__name__, path="/metrics", name="Metrics", title="Metrics - Fullwarp", icon="gauge", order=3)
add_metrics_export(dash.get_app().server, dash.get_app().config.routes_pathname_prefix)

CONTROLS = (
    Input("metrics-group", "value"),
    Input("metrics-split", "value"),
    Input("metrics-period", "value"),
    *(Input(f"metrics-{key}", "value") for key in FILTERS),
    Input("metrics-q", "value"),
    Input("metrics-application", "data"),
)
NAMES = ("group", "split", "period", *FILTERS, "q", "application")
SCREEN = tuple(Input(f"metrics-{key}", "data") for key in ("sort", "finding", "row"))
RANGE = tuple(State(f"metrics-{key}", "data") for key in ("since", "until", "at"))


def layout(**query: str) -> Component:
    """The page without its data: those may take seconds, and come with the first call of `refresh_metrics`."""
    own = backing()
    asked = _asked(query)
    return metrics_page(_answer(asked, with_table=False), refresh_seconds=own.settings.refresh_seconds)


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("metrics-note", "children"),
    Output("metrics-banner", "children"),
    Output("metrics-instead", "children"),
    Output("metrics-findings", "children"),
    Output("metrics-missing", "children"),
    Output("metrics-remark", "children"),
    Output("metrics-data", "data"),
    *(Output(f"metrics-{key}", "options") for key in FILTERS),
    Output("metrics-csv", "href"),
    Output("metrics-parquet", "href"),
    Output("frame", "data", allow_duplicate=True),
    Output("metrics-version", "data"),
    Input("metrics-tick", "n_intervals"),
    *CONTROLS,
    State("metrics-version", "data"),
    *RANGE,
    running=[(Output("metrics-asking", "hidden"), False, True)],
    prevent_initial_call="initial_duplicate",
)
def refresh_metrics(_: int | None, *given: Any) -> tuple[Any, ...]:
    """What a new picture or another question changes; nothing when both are the same."""
    *values, seen, since, until, at = given
    named = dict(zip((*NAMES, "since", "until", "at"), (*values, since, until, at), strict=True))
    answer = _answer(_asked({key: str(value) for key, value in named.items() if value}), with_table=True)
    if answer.version == seen:
        raise dash.exceptions.PreventUpdate
    parts = metrics_parts(answer)
    return _spread(parts if parts.frame is None else framed(parts))


def _spread(parts: MetricsParts) -> tuple[Any, ...]:
    """The parts with the options of each filter as an output of their own."""
    found: list[Any] = []
    for name, part in parts._asdict().items():
        found += part if name == "options" else [part]
    return tuple(found)


def _asked(query: Mapping[str, str]) -> AskedMetrics:
    own = backing()
    return parse_metrics_address(query, own.sources.clock(), own.settings.site_timezone)


def _answer(asked: AskedMetrics, *, with_table: bool) -> MetricsAnswer:
    own, who = backing(), viewer()
    table, error = None, None
    if with_table:
        try:
            table = detailed_metrics(who, own.sources, asked.question)
        except FullwarpError as err:
            error = err.with_traceback(None)  # which holds this frame, and all that the page is made of
    return MetricsAnswer(
        chosen=asked.chosen,
        period=asked.period,
        snapshot=_snapshot(asked),
        is_staff=who.is_staff,
        base=dash.get_relative_path("/"),
        query=asked.query(),
        limits=own.settings.findings,
        table=table,
        error=error,
        ignored=asked.ignored,
    )


def _snapshot(asked: AskedMetrics) -> ClusterSnapshot | None:
    """The picture for the frame; the table may stand without one."""
    try:
        return snapshot(viewer(), backing().sources, at=asked.at)
    except FullwarpError:
        return None


clientside_callback(
    ClientsideFunction("fw", "drawMetrics"), Output("metrics-drawn", "data"), Input("metrics-data", "data"), *SCREEN
)
clientside_callback(ClientsideFunction("fw", "writeMetrics"), *CONTROLS, *SCREEN, prevent_initial_call=True)
