"""The text of a question for sums: one arm per exporter, metric, window and statistic, joined by `or`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data.metrics.dialects import BoundDialect
from data.metrics.prometheus_arms import joined, marked, over_time
from data.metrics.prometheus_selectors import host_choices, nodes_matcher, only_where_needed, series_of
from data.metrics.prometheus_site import INSTANCE, Site
from data.metrics.prometheus_stats import can_be_summed
from data.metrics.promql import milliseconds, selector
from data.metrics.registry import METRICS
from data.model import SumAsk

RESTART = "restart"


@dataclass(frozen=True, slots=True)
class Arm:
    """One part of the question; `metric` is RESTART for what tells of the exporter itself."""

    owner: BoundDialect
    metric: str
    window_seconds: float
    stat: str
    text: str


def arms_of(
    dialects: Sequence[BoundDialect],
    site: Site,
    asks: Sequence[SumAsk],
    nodes: frozenset[str] | None = None,
    restarts: Sequence[float] = (),
) -> list[Arm]:
    """The arms for what these exporters have; [] when none has any of it."""
    arms: list[Arm] = []
    for bound in dialects:
        for host, matchers in host_choices(bound, site):
            for ask in asks:
                narrow = nodes if ask.nodes is None else ask.nodes
                arms += _arms(bound, site, host, _among(host, matchers, narrow), ask)
            arms += _restart_arms(bound, site, host, _among(host, matchers, nodes), restarts)
    return arms


def shared_out(arms: Sequence[Arm], most: int) -> list[list[Arm]]:
    """The arms in at most so many parts that cost a server about the same: it reads every sample of each window."""
    parts: list[list[Arm]] = [[] for _ in range(min(most, len(arms)))]
    for arm in sorted(arms, key=lambda one: -one.window_seconds):
        min(parts, key=lambda part: sum(one.window_seconds for one in part)).append(arm)
    return parts


def query_of(arms: Sequence[Arm]) -> str:
    """One query whose rows carry the number of their arm in a label."""
    return joined([marked(arm.text, str(number)) for number, arm in enumerate(arms)])


def is_summed(bound: BoundDialect, ask: SumAsk) -> bool:
    """Whether the server can add the metric up; else its samples must be chosen one by one."""
    return ask.metric in bound.formulas and can_be_summed(bound, METRICS[ask.metric])


def _among(host: str, matchers: Sequence[str], nodes: frozenset[str] | None) -> Sequence[str]:
    return matchers if nodes is None else (*matchers, nodes_matcher(host, nodes))


def _arms(bound: BoundDialect, site: Site, host: str, matchers: Sequence[str], ask: SumAsk) -> Iterator[Arm]:
    among = only_where_needed(bound, ask.instead_of)
    if not is_summed(bound, ask) or among is None:
        return
    labels = _labels(bound, site, host)
    series = series_of(bound, site, [bound.formulas[ask.metric][0].name], [*matchers, *among])
    for stat in ask.stats:
        text = f"max by ({labels}) ({over_time(stat, series, ask.window_seconds)})"
        yield Arm(bound, ask.metric, ask.window_seconds, stat, text)


def _restart_arms(
    bound: BoundDialect, site: Site, host: str, matchers: Sequence[str], windows: Sequence[float]
) -> Iterator[Arm]:
    """Exporters that failed a scrape, or began to run, within a window. Servers without `up` give nothing."""
    labels = ", ".join(dict.fromkeys((INSTANCE, "job", host)))
    known = f"(count by ({labels}) ({series_of(bound, site, [bound.inventory], matchers)}) > bool 0)"
    here = selector(site.matchers)
    began = f"(time() - max by ({INSTANCE}, job) (process_start_time_seconds{here}))"
    for window in windows:
        away = f"min by ({INSTANCE}, job) (min_over_time(up{here}[{milliseconds(window)}]))"
        for stat, value, limit in (("away", away, "1"), ("began", began, repr(window))):
            text = f"({value} * on ({INSTANCE}, job) group_right () {known} < {limit})"
            yield Arm(bound, RESTART, window, stat, text)


def _labels(bound: BoundDialect, site: Site, host: str) -> str:
    """Labels that tell devices and jobs apart, and no more: the answer has many rows."""
    roles = bound.dialect.labels
    key = (*roles.get(bound.dialect.key, ()), *roles.get("slice", ()), *roles.get("slice_kind", ()))
    return ", ".join(dict.fromkeys((host, *key, *site.job_labels(bound.dialect))))
