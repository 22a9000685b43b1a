"""Maintenance that is on or comes within a week, with a countdown."""

from __future__ import annotations

from datetime import datetime, timedelta

from dash import html
from dash.development.base_component import Component

from components.elements import banner, moment, until
from data.model import ClusterSnapshot, Reservation
from data.words import count

AHEAD = timedelta(days=7)


def maintenance_banner(snapshot: ClusterSnapshot) -> Component | None:
    """The next maintenance reservation, how many nodes it takes, and how many more there are; None = none near."""
    near = sorted(filter(lambda one: _is_near(one, snapshot.time), snapshot.reservations), key=_start)
    if not near:
        return None
    first, start, end = near[0], near[0].start_time, near[0].end_time
    nodes = count(len(first.nodes), "node")
    lines = [html.Span([f"{nodes}, ", *_span(start, end)])]
    if len(near) > 1:
        lines.append(f"{count(len(near) - 1, 'more reservation')} within 7 d.")
    if start is not None and start > snapshot.time:
        title = html.Span(["Maintenance ", html.Bdi(first.name), " begins in ", until(start, snapshot.time), ":"])
    elif end is not None:
        title = html.Span(["Maintenance ", html.Bdi(first.name), " is on, for ", until(end, snapshot.time), " more:"])
    else:
        title = html.Span(["Maintenance ", html.Bdi(first.name), " is on:"])
    return banner("info", "clock", title, lines)


def _is_near(one: Reservation, now: datetime) -> bool:
    has_begun = one.start_time is None or one.start_time <= now + AHEAD
    return one.is_maintenance and has_begun and (one.end_time is None or one.end_time > now)


def _start(one: Reservation) -> float:
    return one.start_time.timestamp() if one.start_time else 0.0


def _span(start: datetime | None, end: datetime | None) -> list[object]:
    begun: list[object] = ["from ", moment(start)] if start else ["since some time ago"]
    return [*begun, " to ", moment(end), "."] if end else [*begun, ", without an end."]
