"""A Dash component tree as HTML text: what a page looks like before its scripts run. It looks, and does nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from dash.development.base_component import Component

_ATTRIBUTES = {
    "className": "class",
    "htmlFor": "for",
    "dateTime": "datetime",
    "href": "href",
    "title": "title",
    "role": "role",
    "scope": "scope",
    "tabIndex": "tabindex",
    "target": "target",
    "rel": "rel",
}
_TAGS = {"Link": "a"}
_NOTHING = frozenset({"Store", "Interval", "Location", "Download", "Clipboard"})
_UPPER = re.compile("[A-Z]")
_VOID = frozenset({"br", "hr", "img", "wbr", "col"})


def as_html(component: Any, inside: Mapping[str, str] | None = None) -> str:
    """HTML of the tree. `inside` holds ready HTML by the id of the component that it fills; ids are left out."""
    if component is None:
        return ""
    if isinstance(component, list | tuple):
        return "".join(as_html(part, inside) for part in component)
    if not isinstance(component, Component):
        return escape(str(component))
    kind = type(component).__name__
    if kind in _NOTHING:
        return ""
    controls = {"Select": _select, "RadioItems": _radio_items, "Input": _input}
    return controls[kind](component) if kind in controls else _element(component, kind, inside or {})


def _element(component: Component, kind: str, inside: Mapping[str, str]) -> str:
    tag = _TAGS.get(kind, kind.lower())
    opened = f"<{tag}{_attributes(component)}>"
    if tag in _VOID:
        return opened
    ready = inside.get(getattr(component, "id", None) or "")
    body = as_html(getattr(component, "children", None), inside) if ready is None else ready
    return f"{opened}{body}</{tag}>"


def _attributes(component: Component) -> str:
    given = component.to_plotly_json()["props"]
    named = {_ATTRIBUTES[key]: value for key, value in given.items() if key in _ATTRIBUTES}
    named |= {key: value for key, value in given.items() if key.startswith(("data-", "aria-"))}
    text = "".join(f' {key}="{escape(str(value))}"' for key, value in named.items() if value is not None)
    return text + _style(given.get("style")) + (" hidden" if given.get("hidden") else "")


def _style(style: Mapping[str, Any] | None) -> str:
    if not style:
        return ""
    rules = ";".join(f"{_UPPER.sub(_dashed, key)}:{value}" for key, value in style.items())
    return f' style="{escape(rules)}"'


def _dashed(letter: re.Match[str]) -> str:
    return f"-{letter[0].lower()}"


def _select(component: Any) -> str:
    chosen = next((one["label"] for one in component.options if one["value"] == component.value), "")
    return f'<select class="form-select"><option>{escape(str(chosen))}</option></select>'


def _input(component: Any) -> str:
    hint = escape(str(getattr(component, "placeholder", "")))
    kind = escape(str(getattr(component, "type", "text")))
    return f'<input class="form-control" type="{kind}" placeholder="{hint}">'


def _radio_items(component: Any) -> str:
    items = "".join(
        f'<div class="form-check form-check-inline"><input type="radio" class="form-check-input"'
        f"{' checked' if one['value'] == component.value else ''}>"
        f'<label class="form-check-label">{as_html(one["label"])}</label></div>'
        for one in component.options
    )
    return f'<div class="{escape(str(component.className))}">{items}</div>'
