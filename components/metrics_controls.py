"""The controls of detailed metrics: what a row is, the range, the filters."""

from __future__ import annotations

from collections.abc import Sequence

import dash_bootstrap_components as dbc
from dash import html
from dash.development.base_component import Component

from components.elements import ANY, Choice, select_filter, switch, text_filter
from components.metrics_answer import FILTERS, GROUPS, PERIODS, MetricsAnswer

_TITLES = {"user": "User", "account": "Account", "partition": "Partition", "model": "Model"}


def options_of(answer: MetricsAnswer) -> list[list[dict[str, str]]]:
    """The choices of each filter; a chosen value that nothing has now stays to choose."""
    known = answer.table.options if answer.table else {}
    found = []
    for key in FILTERS:
        chosen = answer.chosen.get(key, "")
        names = sorted({*known.get(key, ()), *([chosen] if chosen else [])})
        found.append([{"label": "all", "value": ANY}, *({"label": name, "value": name} for name in names)])
    return found


def filters(answer: MetricsAnswer) -> Component:
    chosen = answer.chosen
    options = options_of(answer)
    selects = [
        select_filter(
            f"metrics-{key}",
            _TITLES[key],
            [(one["value"], one["label"]) for one in options[place][1:]],
            chosen.get(key, "") or ANY,
            "all",
        )
        for place, key in enumerate(FILTERS)
    ]
    periods = PERIODS if chosen["period"] in dict(PERIODS) else (*PERIODS, (chosen["period"], "as in the address"))
    parts = [
        _period(periods, chosen["period"]),
        *selects,
        text_filter("metrics-q", chosen.get("q", ""), hint="job, name, user"),
        _name(),
    ]
    return html.Div(parts, className="fw-filters fw-metrics-controls", role="group", **{"aria-label": "Filters"})


def row_switch(answer: MetricsAnswer) -> Component:
    """What one row is."""
    chosen = answer.chosen
    split = dbc.Switch(id="metrics-split", label="by model too", value=chosen.get("split") == "1")
    return html.Div(
        [
            switch("metrics-group", "One row is one", GROUPS, chosen["group"]),
            html.Div(split, className="fw-metrics-split", title="Split rows by GPU model, to see models side by side."),
        ],
        className="fw-metrics-rows",
    )


def _period(periods: Sequence[Choice], value: str) -> Component:
    options = [{"label": text, "value": key} for key, text in periods]
    field = dbc.Select(id="metrics-period", options=options, value=value)
    return html.Div([html.Label("Period", htmlFor="metrics-period"), field], className="fw-filter")


def _name() -> Component:
    """The application that the table is narrowed to; a click takes it back."""
    return html.Button(
        id="metrics-application-word",
        type="button",
        className="fw-button fw-is-set",
        hidden=True,
        **{"data-metrics-application": ""},
    )
