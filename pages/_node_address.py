"""One node's address: its name, the metric and span of its series, the moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from components.node_page import NodeAnswer
from components.series_panel import RANGES
from data.device_lines import step_of
from data.errors import BadRequest
from data.model import Viewer, Window
from data.moment import parse_moment
from data.queries.node_detail import LONGEST, SERIES_METRICS, node_series, node_view
from data.sources import Sources
from pages._address import moment_of

SECONDS = {"1h": 3600, "6h": 21_600, "24h": 86_400, "7d": 604_800}
DEFAULT_RANGE = "6h"
MAX_NAME = 255
_RAW_STEP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class NodeAsked:
    """What the address asks for. `range_name` is "" where `since` (and perhaps `until`) says the span."""

    name: str
    metric: str = SERIES_METRICS[0]
    range_name: str = DEFAULT_RANGE
    since: datetime | None = None
    until: datetime | None = None
    at: datetime | None = None
    ignored: tuple[str, ...] = ()

    def window(self, now: datetime) -> Window:
        """The span of the series. A span that ends now ends at a whole step, so that many viewers ask once."""
        end = min(self.until or self.at or now, now)
        start = self.since
        if start is None:
            length = timedelta(seconds=SECONDS[self.range_name or DEFAULT_RANGE])
            step = step_of(Window(end - length, end)) or _RAW_STEP_SECONDS
            end = datetime.fromtimestamp(end.timestamp() // step * step, UTC)
            start = end - length
        return Window(start, end)


def parse_node_address(name: str, query: Mapping[str, str], now: datetime, zone: str) -> NodeAsked:
    """Read path and query string; never fails."""
    ignored: list[str] = []
    metric = _choice(query, "metric", SERIES_METRICS, SERIES_METRICS[0], ignored)
    span = _span(query, now, zone, ignored)
    chosen = _choice(query, "range", tuple(key for key, _ in RANGES), DEFAULT_RANGE, ignored)
    return NodeAsked(
        name=name[:MAX_NAME],
        metric=metric,
        range_name=chosen if span is None else "",
        since=span.start if span else None,
        until=span.end if span else None,
        at=moment_of(query, now, zone, ignored),
        ignored=tuple(ignored),
    )


def node_answer(asked: NodeAsked, viewer: Viewer, sources: Sources, *, nodes_href: str, jobs_base: str) -> NodeAnswer:
    """The node and its series. Raises NotFound for an unknown node, SourceError when there is no picture at all."""
    view = node_view(viewer, sources, asked.name, asked.at)
    window = asked.window(sources.clock())
    series = node_series(viewer, sources, asked.name, asked.metric, window, asked.at)
    version = "|".join((view.snapshot.version, asked.metric, window.start.isoformat(), window.end.isoformat()))
    has_span = asked.since is not None
    return NodeAnswer(
        view=view,
        series=series,
        range_name=asked.range_name,
        ignored=asked.ignored,
        is_staff=viewer.is_staff,
        version=version,
        jobs_base=jobs_base,
        nodes_href=nodes_href,
        span=(window.start.isoformat(), window.end.isoformat()) if has_span else ("", ""),
        at=asked.at.isoformat() if asked.at else "",
        now_href=f"{nodes_href}/{view.detail.node.name}",
    )


def _span(query: Mapping[str, str], now: datetime, zone: str, ignored: list[str]) -> Window | None:
    """The span that `from` and `to` name; None where they are absent or cannot be used, which is said."""
    first, last = (str(query.get(key) or "").strip()[:60] for key in ("from", "to"))
    if not first and not last:
        return None
    try:
        start = parse_moment(first, now, ZoneInfo(zone))
        end = parse_moment(last, now, ZoneInfo(zone)) or now
    except BadRequest as err:
        ignored.append(f"from, to: {err}. {err.hint}")
        return None
    if start is None or not timedelta(0) < end - start <= LONGEST:
        ignored.append(f"from, to: the span is empty or longer than {LONGEST.days} days.")
        return None
    return Window(start, end)


def _choice(query: Mapping[str, str], key: str, known: tuple[str, ...], default: str, ignored: list[str]) -> str:
    value = str(query.get(key) or "").strip()[:100]
    if not value or value in known:
        return value or default
    ignored.append(f"{key} = “{value[:40]}” is none of {', '.join(known)}.")
    return default
