"""Sums over many devices and long spans, made by the server: one query per exporter and metric.

Reading raw samples is exact and fine up to a few million; beyond that the server adds up raw ranges itself
(`*_over_time`). The share of idle samples is exact where the extremes decide it (all idle, none idle); between
them it comes from a subquery at the scrape interval, which the server fills over gaps of up to 5 minutes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from data.metrics.devices import sight
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels
from data.metrics.prometheus_latest import all_labels
from data.metrics.prometheus_selectors import host_choices, series_of
from data.metrics.prometheus_site import Site
from data.metrics.promql import milliseconds
from data.metrics.registry import Metric
from data.metrics.values import bounds, is_blank
from data.model import Device

STAT = "fullwarp_stat"
_FUNCTIONS = {
    "sum": "sum_over_time",
    "count": "count_over_time",
    "minimum": "min_over_time",
    "maximum": "max_over_time",
}


@dataclass(frozen=True, slots=True)
class Sums:
    """What the server added up for one device under one job label, in the metric's unit."""

    metric: str
    node: str
    device: Device
    job: str | None
    sum: float
    count: int
    minimum: float
    maximum: float
    idle_count: int


def can_be_summed(bound: BoundDialect, metric: Metric) -> bool:
    """Whether the server can add the metric up: one gauge per device, without labels to choose by."""
    formula = bound.formulas.get(metric.name, ())
    is_plain = len(formula) == 1 and not formula[0].match
    is_gauge = not (metric.is_counter or metric.is_host or bound.dialect.zero_unreported_on_slices)
    return is_plain and is_gauge and bound.dialect.scope == "device"


def sums_query(bound: BoundDialect, site: Site, metric: Metric, seconds: float, interval: float) -> str:
    """One query for all statistics, joined by `or` with the statistic's name in a label."""
    term = bound.formulas[metric.name][0]
    parts = []
    for host, matchers in host_choices(bound, site):
        series = series_of(bound, site, [term.name], matchers)
        labels = all_labels(bound, site, host)
        for stat, function in _FUNCTIONS.items():
            parts.append(marked(f"max by ({labels}) ({function}({series}[{milliseconds(seconds)}]))", stat))
        if metric.idle_epsilon is not None:
            idle = f"({series} <= bool {metric.idle_epsilon / term.scale!r})"
            steps = f"[{milliseconds(seconds)}:{milliseconds(interval)}]"
            parts.append(marked(f"max by ({labels}) (avg_over_time({idle}{steps}))", "idle"))
    return " or ".join(parts)


def read_sums(
    rows: Iterable[tuple[Labels, float, float]], bound: BoundDialect, site: Site, metric: Metric
) -> Iterator[Sums]:
    """Put the rows of `sums_query` together; rows of a device without all four statistics are left out."""
    term = bound.formulas[metric.name][0]
    found: dict[tuple[tuple[str, str], ...], dict[str, float]] = defaultdict(dict)
    for labels, _, value in rows:
        stat = labels.pop(STAT, "")
        found[tuple(labels.items())][stat] = value
    for texts, stats in found.items():
        who = sight(bound.dialect, site, dict(texts))
        if who is None or who.device is None or not all(stat in stats for stat in _FUNCTIONS):
            continue
        if who.device.slice_id is not None and metric.name in bound.dialect.not_on_slices:
            continue
        yield _sums(metric, term, who.node, who.device, who.job, stats)


def is_doubtful(sums: Sums, term: Term, metric: Metric) -> bool:
    """Whether a blank or implausible sample is among those that were added up."""
    low, high = bounds(metric)
    extremes = (sums.minimum, sums.maximum)
    return not all(math.isfinite(v) and low <= v <= high and not is_blank(v / term.scale) for v in extremes)


def _sums(metric: Metric, term: Term, node: str, device: Device, job: str | None, stats: dict[str, float]) -> Sums:
    count = int(stats["count"])
    low, high = stats["minimum"] * term.scale, stats["maximum"] * term.scale
    epsilon = -math.inf if metric.idle_epsilon is None else metric.idle_epsilon
    idle = 0 if low > epsilon else count if high <= epsilon else round(count * stats.get("idle", 0.0))
    return Sums(metric.name, node, device, job, stats["sum"] * term.scale, count, low, high, idle)


def marked(expression: str, stat: str) -> str:
    """The expression with the statistic's name in a label, so that several fit into one answer."""
    return f'label_replace({expression}, "{STAT}", "{stat}", "", "")'
