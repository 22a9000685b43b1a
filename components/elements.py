"""Small parts that every page is made of: icons, times, filters, switches, banners, panel states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import dash_bootstrap_components as dbc
from dash import html
from dash.development.base_component import Component

from data.efficiency.mig import slice_profile
from data.gpu_models import gpu_model
from data.model import SourceState
from data.words import duration, number

Tone = Literal["waste", "bad", "info"]
Choice = tuple[str, str]

_UNIT = re.compile(r"(?<=\d) (?=%|(?:d|h|min|s|GPU-h)\b)|(?<=\d (?:d|h)) (?=\d+ (?:h|min)\b)")
ANY = "*"  # a select shows no option whose value is empty
SOURCE_NAMES = {"slurm": "Slurm", "metrics": "GPU metrics"}


def source_name(state: SourceState) -> str:
    """The name of a source for people."""
    return SOURCE_NAMES.get(state.name, state.name)


@lru_cache(maxsize=1024)
def short_model(name: str) -> str:
    """A GPU model as people say it ("A100 80GB"), with the profile of a slice; unknown ones without their vendor."""
    known, profile = gpu_model(name), slice_profile(name)
    if known:
        return f"{known.name} {profile}" if profile else known.name
    return name.removeprefix("NVIDIA ").removeprefix("AMD ").removeprefix("Instinct ")


def unbroken(text: str) -> str:
    """The text with each number and its unit on one line, as ages and clock times of the browser have it."""
    return _UNIT.sub("\u00a0", text)


def icon(name: str, tone: str = "", *, label: str = "") -> Component:
    """An icon; hidden from readers unless it stands alone and has a `label`."""
    classes = f"fw-icon fw-icon-{name}" + (f" fw-{tone}" if tone else "")
    if label:
        return html.Span(className=classes, role="img", title=label, **{"aria-label": label})
    return html.Span(className=classes, **{"aria-hidden": "true"})


def moment(time: datetime, *, seconds: bool = False) -> Component:
    """A clock time: UTC as sent, in the viewer's zone once the page runs."""
    attributes = {"data-seconds": "1"} if seconds else {}
    text = time.strftime("%Y-%m-%d %H:%M UTC")
    return html.Time(text, dateTime=time.isoformat(), className="fw-time", **attributes)


def age(since: datetime, *, old_after_seconds: float | None = None) -> Component:
    """How long ago; counts on in the browser, and marks what it stands in as stale after `old_after_seconds`."""
    limit = {} if old_after_seconds is None else {"data-old-after": str(old_after_seconds)}
    return html.Span(**{"data-since": str(int(since.timestamp())), **limit})


def until(time: datetime, now: datetime) -> Component:
    """How long until then; counts down in the browser."""
    seconds = max(0.0, (time - now).total_seconds())
    return html.Span(duration(seconds), **{"data-until": str(int(time.timestamp()))})


def select_filter(id: str, label: str, choices: Sequence[Choice], value: str, any_word: str) -> Component:
    """A filter of one choice: label, value, chevron. `ANY` = not set."""
    options = [{"label": any_word, "value": ANY}, *({"label": text, "value": key} for key, text in choices)]
    chosen = value if any(value == key for key, _ in choices) else ANY
    classes = "fw-filter" + ("" if chosen == ANY else " fw-is-set")
    return html.Div(
        [html.Label(label, htmlFor=id), dbc.Select(id=id, options=options, value=chosen, persistence=False)],
        className=classes,
    )


def choice(id: str, label: str, choices: Sequence[Choice], value: str) -> Component:
    """A control of one choice that is always set, in the look of a filter."""
    options = [{"label": text, "value": key} for key, text in choices]
    return html.Div(
        [html.Label(label, htmlFor=id), dbc.Select(id=id, options=options, value=value)], className="fw-filter fw-small"
    )


def text_filter(id: str, value: str, *, label: str = "Text", hint: str = "") -> Component:
    """A filter of typed text, at most 100 characters; its value changes 0.4 s after the last key."""
    field = dbc.Input(
        id=id, type="search", value=value, debounce=0.4, maxlength=100, autocomplete="off", placeholder=hint
    )
    classes = "fw-filter fw-text-filter" + (" fw-is-set" if value else "")
    return html.Div([html.Label(label, htmlFor=id), field], className=classes)


def clear_all(target: str) -> Component:
    """Takes all filters back; seen while two or more are set. `target` names whose script listens."""
    return html.Button("Clear all", type="button", className="fw-button fw-clear-all", **{f"data-clear-{target}": "1"})


def try_again() -> Component:
    """Asks for the page's data now, not only with the next tick."""
    return html.Button("Try again", type="button", className="fw-button", **{"data-try-now": "1"})


def switch(
    id: str, label: str, choices: Sequence[Choice], value: str, titles: dict[str, str] | None = None
) -> Component:
    """A segmented switch of choices that exclude each other; `titles` explain them."""
    helps = titles or {}
    options = [{"label": html.Span(text, title=helps.get(key)), "value": key} for key, text in choices]
    items = dbc.RadioItems(id=id, options=options, value=value, className="fw-switch", inline=True)
    return html.Div(items, role="radiogroup", **{"aria-label": label})


def banner(tone: Tone, icon_name: str, title: Any, lines: Iterable[Any], action: Component | None = None) -> Component:
    """The worst thing that is so, with what to do. One per page."""
    body = [html.P([html.B(title), *_spaced(lines)])]
    parts = [icon(icon_name), html.Div(body), *([action] if action else [])]
    return html.Div(parts, className=f"fw-banner fw-banner-{tone}", role="status")


def _spaced(lines: Iterable[Any]) -> list[Any]:
    return [part for line in lines for part in (" ", line)]


def panel_state(
    icon_name: str, tone: str, title: Any, lines: Iterable[Any], actions: Sequence[Component] = ()
) -> Component:
    """The inside of a panel that has nothing to show: what, why, what to do. Same size as when it has."""
    return html.Div(
        [
            icon(icon_name, tone),
            html.H2(title),
            *(html.P(line) for line in lines),
            *([html.Div(list(actions), className="fw-state-actions")] if actions else []),
        ],
        className="fw-state",
    )


def facts_list(facts: Iterable[tuple[str, Any]]) -> Component:
    """What is known of one thing: names and values."""
    rows = [part for name, value in facts for part in (html.Dt(name), html.Dd(value))]
    return html.Dl(rows, className="fw-facts")


def reasons(counts: Mapping[str, int]) -> str:
    """ "3 blank, 1 too large"; "0" where nothing was counted."""
    return ", ".join(f"{number(amount)} {reason}" for reason, amount in sorted(counts.items())) or "0"


def panel(title: str, children: Sequence[Any], *, note: Any = "", right: Sequence[Any] = (), id: str = "") -> Component:
    """A panel: head with title, note and controls, then its content."""
    head = [html.H2(title), html.Span(note, className="fw-note")]
    if right:
        head.append(html.Div(list(right), className="fw-panel-right"))
    extra = {"id": id} if id else {}
    return html.Section([html.Div(head, className="fw-panel-head"), *children], className="fw-panel", **extra)
