"""Sums over many devices and long spans, made by the server: one query per exporter and metric, or for the devices of
a scope one for all metrics.

Reading raw samples is exact and fine up to a few million; beyond that the server adds up raw ranges itself
(`*_over_time`). The number of idle samples is exact where the extremes decide it (all idle, none idle); between them
it comes from a subquery at the scrape interval, which the server fills over gaps of up to 5 minutes. That costs more
than all else, so it is asked only of the metrics whose idleness anybody reads, and of GR only where it stands in for
UTIL; of the others it stays unknown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from data.metrics.devices import sight
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels
from data.metrics.prometheus_arms import FUNCTIONS, MARK, joined, marked, over_time
from data.metrics.prometheus_latest import all_labels
from data.metrics.prometheus_selectors import only_where_needed, scoped_by_host
from data.metrics.prometheus_site import Site
from data.metrics.promql import milliseconds
from data.metrics.registry import METRICS, Metric
from data.metrics.values import bounds, is_blank
from data.model import Device, Scope


@dataclass(frozen=True, slots=True)
class Sums:
    """What the server added up for one device under one job label, in the metric's unit. `idle_count` None = not
    known."""

    metric: str
    node: str
    device: Device
    job: str | None
    sum: float
    count: int
    minimum: float
    maximum: float
    idle_count: int | None


def can_be_summed(bound: BoundDialect, metric: Metric) -> bool:
    """Whether the server can add the metric up: one gauge per device, without labels to choose by."""
    formula = bound.formulas.get(metric.name, ())
    is_plain = len(formula) == 1 and not formula[0].match
    is_gauge = not (metric.is_counter or metric.is_host or bound.dialect.zero_unreported_on_slices)
    return is_plain and is_gauge and bound.dialect.scope == "device"


def sums_query(
    bound: BoundDialect,
    site: Site,
    metrics: Sequence[Metric],
    seconds: float,
    interval: float,
    scope: Scope | None = None,
) -> str:
    """One query for all statistics of the metrics, joined by `or` with the statistic's name in a label; "" where the
    scope holds nothing."""
    return joined([arm for metric in metrics for arm in _arms(bound, site, metric, seconds, interval, scope)])


def _arms(
    bound: BoundDialect, site: Site, metric: Metric, seconds: float, interval: float, scope: Scope | None
) -> Iterator[str]:
    term = bound.formulas[metric.name][0]
    for host, selectors in scoped_by_host(bound, site, [term.name], scope):
        labels = all_labels(bound, site, host)
        for stat in FUNCTIONS:
            each = " or ".join(over_time(stat, series, seconds) for series in selectors)
            yield marked(f"max by ({labels}) ({each})", f"{metric.name}:{stat}")
    only = only_where_needed(bound, metric.stands_in_for)
    if not metric.tells_idle or metric.idle_epsilon is None or only is None:
        return
    steps = f"[{milliseconds(seconds)}:{milliseconds(interval)}]"
    for host, selectors in scoped_by_host(bound, site, [term.name], scope, only):
        idle = (f"({series} <= bool {metric.idle_epsilon / term.scale!r})" for series in selectors)
        each = " or ".join(f"avg_over_time({one}{steps})" for one in idle)
        yield marked(f"max by ({all_labels(bound, site, host)}) ({each})", f"{metric.name}:idle")


def read_sums(rows: Iterable[tuple[Labels, float, float]], bound: BoundDialect, site: Site) -> Iterator[Sums]:
    """Put the rows of `sums_query` together; rows of a device without all four statistics are left out."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, float]] = defaultdict(dict)
    for labels, _, value in rows:
        name, _, stat = labels.pop(MARK, "").partition(":")
        found[name, tuple(labels.items())][stat] = value
    for (name, texts), stats in found.items():
        who = sight(bound.dialect, site, dict(texts))
        if who is None or who.device is None or name not in METRICS or not all(stat in stats for stat in FUNCTIONS):
            continue
        if who.device.slice_id is not None and name in bound.dialect.not_on_slices:
            continue
        yield _sums(METRICS[name], bound.formulas[name][0], who.node, who.device, who.job, stats)


def together(parts: Iterable[Sums]) -> list[Sums]:
    """The sums of several spans as those of one."""
    found: dict[tuple[str, str, Device, str | None], Sums] = {}
    for part in parts:
        key = (part.metric, part.node, part.device, part.job)
        known = found.get(key)
        found[key] = part if known is None else _added(known, part)
    return list(found.values())


def _added(first: Sums, second: Sums) -> Sums:
    idle = None if first.idle_count is None or second.idle_count is None else first.idle_count + second.idle_count
    return replace(
        first,
        sum=first.sum + second.sum,
        count=first.count + second.count,
        minimum=min(first.minimum, second.minimum),
        maximum=max(first.maximum, second.maximum),
        idle_count=idle,
    )


def is_doubtful(sums: Sums, term: Term, metric: Metric) -> bool:
    """Whether a blank or implausible sample is among those that were added up."""
    low, high = bounds(metric)
    extremes = (sums.minimum, sums.maximum)
    return not all(math.isfinite(v) and low <= v <= high and not is_blank(v / term.scale) for v in extremes)


def _sums(metric: Metric, term: Term, node: str, device: Device, job: str | None, stats: dict[str, float]) -> Sums:
    count = int(stats["count"])
    low, high = stats["minimum"] * term.scale, stats["maximum"] * term.scale
    idle = _idle(metric, count, low, high, stats.get("idle"))
    return Sums(metric.name, node, device, job, stats["sum"] * term.scale, count, low, high, idle)


def _idle(metric: Metric, count: int, low: float, high: float, share: float | None) -> int | None:
    """Idle samples; None where neither the extremes nor the server tell."""
    if metric.idle_epsilon is None or low > metric.idle_epsilon:
        return 0
    if high <= metric.idle_epsilon:
        return count
    return None if share is None else round(count * share)
