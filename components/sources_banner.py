"""One banner for the worst source. Users read what is old; staff also read where and why."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import age, banner, moment, source_name, until
from data.model import ClusterSnapshot, SourceCondition, SourceState

_ORDER = (SourceCondition.DOWN, SourceCondition.STALE)


def worst_source(sources: Iterable[SourceState]) -> SourceState | None:
    """The source that is worst off: down before stale, the longest failing first; None = all fine."""
    failing = [state for state in sources if state.condition in _ORDER]
    return min(failing, key=lambda state: (_ORDER.index(state.condition), _since(state)), default=None)


def _since(state: SourceState) -> float:
    return state.failing_since.timestamp() if state.failing_since else 0.0


def sources_banner(snapshot: ClusterSnapshot, *, is_staff: bool) -> Component | None:
    """The banner, or None when every source answers."""
    state = worst_source(snapshot.sources)
    if state is None:
        return None
    others = [source_name(other) for other in snapshot.sources if other.condition is SourceCondition.OK]
    said = [_failing_since(state), *_next_try(state, snapshot.made_at), _what_works(others)]
    lines: list[Any] = [*said, *(_for_staff(state) if is_staff else [])]
    if state.condition is SourceCondition.DOWN or state.last_success is None:
        return banner("bad", "bad", f"{source_name(state)}: not available.", lines, _retry())
    title = [f"{source_name(state)}: ", age(state.last_success), " old."]
    return banner("waste", "clock", title, lines, _retry())


def _failing_since(state: SourceState) -> Any:
    if state.failing_since is None:
        return "No answer."
    return html.Span(["No answer since ", moment(state.failing_since), "."])


def _next_try(state: SourceState, now: datetime) -> list[Any]:
    return [html.Span(["Next try in ", until(state.next_try, now), "."])] if state.next_try else []


def _what_works(names: list[str]) -> str:
    return f"{', '.join(names)} answer{'s' if len(names) == 1 else ''}." if names else "No source answers."


def _for_staff(state: SourceState) -> list[Any]:
    parts = [text for text in (state.address, state.error, state.hint) if text]
    return [html.Br(), html.Code(" · ".join(parts))] if parts else []


def _retry() -> Component:
    return html.Button("Try now", type="button", className="fw-button", **{"data-try-now": "1"})


def past_banner(snapshot: ClusterSnapshot, now_href: str) -> Component | None:
    """Says what nobody recorded for a past moment. That it is the past, and the way back, stand in the frame's bar on
    every page; the way back is here too for a page whose scripts do not run."""
    if not snapshot.is_past or not snapshot.unknown:
        return None
    back = html.A("Back to now", href=now_href, className="fw-button fw-without-script")
    return banner("info", "info", "Not known for that moment:", snapshot.unknown, back)


def ignored_banner(ignored: Iterable[str]) -> Component | None:
    """Names what the address asked for and the page could not use."""
    parts = list(ignored)
    if not parts:
        return None
    return banner("info", "info", "Part of the address was ignored.", [" ".join(parts)])
