"""The filter of node features: several at once, all of them or any of them; assets/js/31-features.js moves it."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc, html
from dash.development.base_component import Component

from data.features import feature_sets, feature_words

ALL, ANY_OF = "all", "any"
NONE_CHOSEN = "any"
_MODES = ((ALL, "All of them"), (ANY_OF, "Any of them"))


def feature_filter(id: str, known: Sequence[str], value: str) -> Component:
    """A control that opens on the features of the cluster; `value` and the Store `id` hold the text of the address."""
    summary = html.Summary(
        [html.Span("Feature", className="fw-label"), html.B(feature_words(value) or NONE_CHOSEN, id=f"{id}-words")],
        className="fw-filter fw-is-set" if value else "fw-filter",
    )
    menu = html.Div(_menu(known, value), className="fw-menu")
    box = html.Details([summary, menu], className="fw-menu-box", **{"data-features": id})
    return html.Div([box, dcc.Store(id=id, data=value)], className="fw-filter-menu")


def _menu(known: Sequence[str], value: str) -> Sequence[Component]:
    if not known:
        return [html.P("No node has a feature.", className="fw-menu-note")]
    chosen = {name for names in feature_sets(value) for name in names} | ({value} & set(known))
    mode = _mode(value)
    modes = [_button(text, key == mode, **{"data-feature-mode": key}) for key, text in _MODES]
    names = [_button(html.Bdi(name), name in chosen, **{"data-feature": name}) for name in known]
    clear = html.Button("Clear", type="button", className="fw-button fw-small-button", **{"data-feature-clear": "1"})
    return [
        html.Div(modes, className="fw-segments", role="group", **{"aria-label": "A node has"}),
        html.Div(names, className="fw-menu-list", role="group", **{"aria-label": "Features"}),
        clear,
    ]


def _mode(value: str) -> str:
    """How the features are joined; "" for a text of both kinds, which only the address can hold."""
    sets = feature_sets(value)
    if len(sets) < 2:
        return ALL
    return ANY_OF if all(len(names) == 1 for names in sets) else ""


def _button(text: object, is_chosen: bool, **data: str) -> Component:
    return html.Button(text, type="button", **{"aria-pressed": "true" if is_chosen else "false"}, **data)
