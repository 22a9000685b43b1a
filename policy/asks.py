"""What the metrics are asked for verdicts: two questions, whatever the number of rules, jobs and devices. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from data.metrics.registry import METRICS
from data.model import SumAsk
from policy.doubts import SIGNALS
from policy.rules import MINUTE, Rule
from settings import RuleKind

UTIL, GR, XID = "gpu_utilization", "graphics_engine_activity", "xid"
STAND_INS = {row.stands_in_for: name for name, row in METRICS.items() if row.stands_in_for}
# How far back it is looked for when the devices of a node turned idle, and how finely.
LOOK_BACK_SECONDS, FINE_SECONDS, COARSE_SECONDS = 4 * 3600.0, 240.0, 900.0
ALL_STATS = ("sum", "count", "minimum", "maximum")
_SUSPICIOUS_MINUTES = 45.0


def suspicious_seconds(rules: Iterable[Rule]) -> float:
    """How long all of a node must be idle before it is looked at when it turned so."""
    idle = [rule.windows[0] for rule in rules if rule.kind is RuleKind.IDLE and rule.metric == UTIL]
    return min(idle, default=_SUSPICIOUS_MINUTES * MINUTE)


def asks_for(rules: Sequence[Rule]) -> list[SumAsk]:
    """Of every device: sum, count and maximum of each rule's first window, once per metric and window."""
    first = dict.fromkeys((rule.metric, rule.windows[0]) for rule in rules)
    asks = [ask for metric, window in first for ask in _with_stand_in(metric, window, ("sum", "count", "maximum"))]
    seconds = suspicious_seconds(rules)
    return asks if (UTIL, seconds) in first else [*asks, *_with_stand_in(UTIL, seconds, ("count", "maximum"))]


def _with_stand_in(
    metric: str, window: float, stats: tuple[str, ...], nodes: frozenset[str] | None = None
) -> Iterator[SumAsk]:
    yield SumAsk(metric, window, stats, nodes=nodes)
    if metric in STAND_INS:
        yield SumAsk(STAND_INS[metric], window, stats, instead_of=metric, nodes=nodes)


def signal_windows(rules: Iterable[Rule]) -> list[float]:
    """Windows in which other signals may speak against low use: all that a verdict may stand on."""
    return sorted({window for rule in rules for window in rule.windows})


def asks_about(rules: Sequence[Rule], suspicious: frozenset[str]) -> list[SumAsk]:
    """Of the nodes of low jobs: everything of all windows, means of the other signals, and XID errors; of
    `suspicious` nodes also when their devices turned idle, by the largest value in windows of growing length."""
    windows = signal_windows(rules)
    every = dict.fromkeys((rule.metric, window) for rule in rules for window in rule.windows)
    asks = [ask for metric, window in every for ask in _with_stand_in(metric, window, ALL_STATS)]
    others = [(name, window) for name in SIGNALS for window in windows if (name, window) not in every]
    asks += [SumAsk(name, window, ("count", "sum")) for name, window in others]
    asks += [SumAsk(XID, window, ("count", "minimum", "maximum")) for window in windows]
    for window in _growing(suspicious_seconds(rules)) if suspicious else ():
        asks += _with_stand_in(UTIL, window, ("count", "maximum"), suspicious)
    return asks


def _growing(shortest: float) -> list[float]:
    windows = [shortest]
    while windows[-1] < LOOK_BACK_SECONDS:
        windows.append(windows[-1] + (FINE_SECONDS if windows[-1] < 2 * shortest else COARSE_SECONDS))
    return windows
