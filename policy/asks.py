"""What the metrics are asked for verdicts: two questions, whatever the number of rules, jobs and devices. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from data.model import SumAsk
from policy.doubts import SIGNALS
from policy.rules import MINUTE, Rule
from settings import RuleKind

UTIL, GR, XID = "gpu_utilization", "graphics_engine_activity", "xid"
STAND_INS = {UTIL: GR}
# How far back it is looked for when the devices of a node turned idle, and how finely.
LOOK_BACK_SECONDS, FINE_SECONDS, COARSE_SECONDS = 4 * 3600.0, 240.0, 900.0
_SUSPICIOUS_MINUTES = 45.0


def suspicious_seconds(rules: Iterable[Rule]) -> float:
    """How long all of a node must be idle before it is looked at when it turned so."""
    idle = [rule.windows[0] for rule in rules if rule.kind is RuleKind.IDLE and rule.metric == UTIL]
    return min(idle, default=_SUSPICIOUS_MINUTES * MINUTE)


def asks_for(rules: Sequence[Rule]) -> list[SumAsk]:
    """Of every device: sums, counts and extremes of each rule's windows, once per metric and window."""
    stats: dict[tuple[str, float], set[str]] = defaultdict(set)
    for rule in rules:
        for window in rule.windows:
            stats[rule.metric, window] |= {"count", "maximum"}
        stats[rule.metric, rule.windows[0]].add("sum")
        stats[rule.metric, rule.windows[-1]].add("minimum")
    stats[UTIL, suspicious_seconds(rules)] |= {"count", "maximum"}
    asks = []
    for (metric, window), wanted in stats.items():
        asks.append(SumAsk(metric, window, tuple(sorted(wanted))))
        if metric in STAND_INS:
            asks.append(SumAsk(STAND_INS[metric], window, tuple(sorted(wanted)), instead_of=metric))
    return asks


def signal_windows(rules: Iterable[Rule]) -> list[float]:
    """Windows in which other signals may speak against low use: all that a verdict may stand on."""
    return sorted({window for rule in rules for window in rule.windows})


def asks_about(rules: Sequence[Rule], suspicious: frozenset[str]) -> list[SumAsk]:
    """Of the nodes of low jobs: means of the other signals and XID errors; of `suspicious` nodes, also when their
    devices turned idle, by the largest value in windows of growing length."""
    windows = signal_windows(rules)
    asks = [SumAsk(name, window, ("count", "sum")) for name in SIGNALS for window in windows]
    asks += [SumAsk(XID, window, ("count", "minimum", "maximum")) for window in windows]
    if not suspicious:
        return asks
    for window in _growing(suspicious_seconds(rules)):
        asks.append(SumAsk(UTIL, window, ("count", "maximum"), nodes=suspicious))
        asks.append(SumAsk(GR, window, ("count", "maximum"), instead_of=UTIL, nodes=suspicious))
    return asks


def _growing(shortest: float) -> list[float]:
    windows = [shortest]
    while windows[-1] < LOOK_BACK_SECONDS:
        windows.append(windows[-1] + (FINE_SECONDS if windows[-1] < 2 * shortest else COARSE_SECONDS))
    return windows
