"""One node with every metric of its devices, and their series over a span of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from data.device_lines import FALLBACK_INTERVAL_SECONDS, Line, Place, lines_of, place_of, step_of
from data.errors import BadRequest, FullwarpError
from data.metrics.registry import METRICS, SNAPSHOT_METRICS
from data.model import (
    ClusterSnapshot,
    Gpu,
    NodeFilter,
    Scope,
    SourceCondition,
    SourceState,
    Viewer,
    Window,
    WindowStat,
)
from data.narrowing import FilterOptions, filter_options
from data.node_rows import NodeDetail, NodeList, node_of, nodes_of
from data.queries.live import snapshot
from data.sources import Sources

MORE_METRICS = tuple(
    row.name
    for row in METRICS.values()
    if row.name not in SNAPSHOT_METRICS and not (row.is_host or row.is_derived or row.is_counter)
)
SERIES_METRICS = tuple(name for name in (*SNAPSHOT_METRICS, *MORE_METRICS) if name != "gpu_memory_total_bytes")
LONGEST = timedelta(days=31)


@dataclass(frozen=True, slots=True)
class NodesView:
    """The nodes that a filter lets through, the picture that they come from, and what can be filtered by."""

    snapshot: ClusterSnapshot
    list: NodeList
    options: FilterOptions


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node whose GPUs carry every metric that the registry has. `unknown` says in words what could not be asked."""

    snapshot: ClusterSnapshot
    detail: NodeDetail
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class NodeSeries:
    """Lines of all devices of a node, in their order. `unknown` says in words why there is none."""

    metric: str
    window: Window
    lines: tuple[Line, ...]
    step_seconds: float | None = None
    unknown: str = ""


def nodes_view(
    viewer: Viewer, sources: Sources, filter: NodeFilter | None = None, at: datetime | None = None
) -> NodesView:
    """Answer with the list of nodes, its picture and the values of its filters."""
    whole = snapshot(viewer, sources, at=at)
    options = sources.recent.get(("node options", whole.version, at), lambda: filter_options(whole))
    seen_as = "" if viewer.is_staff else viewer.user
    rows = sources.views.get(("node list", whole.version, at, filter, seen_as), lambda: nodes_of(whole, filter))
    return NodesView(whole, rows, options)


def node_view(viewer: Viewer, sources: Sources, name: str, at: datetime | None = None) -> NodeView:
    """Answer with one node and all metrics of its devices; NotFound with the nearest names for an unknown one.

    The metrics that the snapshot does not hold are means over two scrape intervals: one window of this node alone.
    """
    whole = snapshot(viewer, sources, at=at)
    detail = node_of(whole, name)
    if not detail.gpus:
        return NodeView(whole, detail)
    if not _answers(detail.sources):
        return NodeView(whole, detail, "The other metrics are not asked while their source does not answer.")
    moment = min(detail.time, sources.clock())
    interval = sources.settings.metrics.scrape_interval_seconds or FALLBACK_INTERVAL_SECONDS
    window = Window(moment - timedelta(seconds=2 * interval), moment)
    scope = Scope(nodes=frozenset({detail.node.name}))
    try:
        key = ("node values", detail.node.name, window)
        reading = sources.recent.get(key, lambda: sources.metrics.window(MORE_METRICS, window, scope))
    except FullwarpError:
        return NodeView(whole, detail, "The other metrics could not be asked.")
    more = _values(reading.stats)
    gpus = tuple(replace(gpu, values=_with_gap({**_more_of(gpu, more), **gpu.values})) for gpu in detail.gpus)
    return NodeView(whole, replace(detail, gpus=gpus))


def node_series(
    viewer: Viewer, sources: Sources, name: str, metric: str, window: Window, at: datetime | None = None
) -> NodeSeries:
    """Answer with the series of one metric for every device of the node: one request, kept a while.

    Nobody's job is named. Raises NotFound for an unknown node, BadRequest for a metric without series or a span that
    is empty or longer than `LONGEST`.
    """
    if metric not in SERIES_METRICS:
        raise BadRequest(f"{metric[:40]!r} has no series", hint=f"Choose one of {', '.join(SERIES_METRICS)}.")
    if not timedelta(0) < window.end - window.start <= LONGEST:
        raise BadRequest("the span of time is empty or too long", hint=f"Choose at most {LONGEST.days} days.")
    detail = node_of(snapshot(viewer, sources, at=at), name)
    if not _answers(detail.sources):
        return NodeSeries(metric, window, (), unknown="The source of the GPU metrics does not answer.")
    step = step_of(window)
    asked = _asked(metric, detail.gpus)
    scope = Scope(nodes=frozenset({detail.node.name}))
    try:
        key = ("node series", detail.node.name, asked, window, step)
        rows = sources.recent.get(key, lambda: tuple(sources.metrics.series(asked, window, scope, step)))
    except FullwarpError:
        return NodeSeries(metric, window, (), step, "The series could not be asked. Try a shorter span.")
    return NodeSeries(metric, window, lines_of(metric, detail.gpus, rows, step), step)


def _asked(metric: str, gpus: Sequence[Gpu]) -> tuple[str, ...]:
    """UTIL is not measured on slices: GR stands in."""
    if metric == "gpu_utilization" and any(gpu.device.is_slice for gpu in gpus):
        return (metric, "graphics_engine_activity")
    return (metric,)


def _answers(states: Iterable[SourceState]) -> bool:
    failing = (SourceCondition.DOWN, SourceCondition.STALE)
    return not any(state.name == "metrics" and state.condition in failing for state in states)


def _values(stats: Iterable[WindowStat]) -> dict[Place, dict[str, float]]:
    """Means by device; a device that jobs share has the same samples in each of its rows."""
    sums: dict[tuple[Place, str], tuple[float, int]] = {}
    for stat in stats:
        if stat.device is not None and stat.count:
            key = ((stat.device.index, stat.device.slice_id or ""), stat.metric)
            total, count = sums.get(key, (0.0, 0))
            sums[key] = (total + stat.sum, count + stat.count)
    found: dict[Place, dict[str, float]] = {}
    for (place, metric), (total, count) in sums.items():
        found.setdefault(place, {})[metric] = total / count
    return found


def _more_of(gpu: Gpu, more: Mapping[Place, Mapping[str, float]]) -> dict[str, float]:
    """What was read of a device; a slice also has what was read of its whole card."""
    place = place_of(gpu)
    card = more.get((place[0], ""), {}) if place[1] else {}
    of_card = {name: value for name, value in card.items() if METRICS[name].is_whole_card}
    return {**of_card, **more.get(place, {})}


def _with_gap(values: dict[str, float]) -> dict[str, float]:
    """The derived UTIL-SM, where both are measured."""
    if "gpu_utilization" in values and "sm_activity" in values:
        values["utilization_gap"] = values["gpu_utilization"] - values["sm_activity"]
    return values
