"""The report and the findings of each attempt, from the sums of its samples."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from data.findings import JobFacts, PartitionFacts, find, partition_facts
from data.history.measure.pairs import OWN, Pairs
from data.history.measure.spans import Spans
from data.history.measure.sums import HourSums, PairSums, by_pair
from data.metrics.registry import METRICS
from data.model import Job, Node, Partition, Window, WindowReading, WindowStat
from data.report import JobReport, MetricUse, Swing, build_report
from data.report.join import Inventory, OwnDevice, metric_use
from settings import Settings


@dataclass
class Reporter:
    """Makes reports with the site's limits. `nodes` and `partitions` are what the findings compare with."""

    settings: Settings
    now: datetime
    inventory: Inventory | None = None
    nodes: Sequence[Node] = ()
    partitions: Sequence[Partition] = ()
    _facts: dict[tuple[str, tuple[str, ...]], PartitionFacts] = field(default_factory=dict)

    def report(self, job: Job, read: Statistics, window: Window, interval: float | None, left_out: float) -> JobReport:
        """One attempt's report; `left_out` are suspended seconds of the window without samples."""
        reading = WindowReading(window, tuple(read.stats), interval) if read.stats or read.own else None
        return build_report(
            job,
            reading,
            now=self.now,
            limits=self.settings.judgement,
            findings=self.settings.findings,
            interval_seconds=interval,
            inventory=self.inventory,
            left_out_seconds=left_out,
            own=read.own,
        )

    def findings(self, report: JobReport) -> tuple[str, ...]:
        """Ids of what is wrong with the job."""
        key = (report.job.partition, report.job.nodes)
        if key not in self._facts:
            self._facts[key] = partition_facts(report.job, self.nodes, self.partitions)
        facts = JobFacts(report, self.settings.findings, self.settings.judgement, self._facts[key])
        return tuple(dict.fromkeys(one.id for one in find(facts)))


@dataclass(frozen=True, slots=True)
class Statistics:
    """What was read of one attempt: its devices where nobody else's series tell of it (`own`), else all in `stats`."""

    stats: Sequence[WindowStat] = ()
    own: Sequence[OwnDevice] | None = None


Swings = Callable[[int], "tuple[float, float] | None"]


def statistics_of(sums: Mapping[str, HourSums], pairs: Pairs, swing: Swings) -> dict[int, Statistics]:
    """All samples of each attempt, added up per device. `swing` gives the low and the high share of a pair."""
    mixed = {attempt for attempt, kind in zip(pairs.attempt, pairs.kind, strict=True) if kind != OWN}
    stats: dict[int, list[WindowStat]] = defaultdict(list)
    uses: dict[int, dict[str, MetricUse]] = defaultdict(dict)
    for metric, rows in sums.items():
        tells_idle = METRICS[metric].tells_idle
        for pair, sum_, count, low, high, idle in _totals(by_pair(rows)):
            attempt, device = pairs.attempt[pair], pairs.device[pair]
            if device is not None and attempt not in mixed:
                uses[pair][metric] = metric_use(metric, sum_, count, low, high, idle if tells_idle else None)
                continue
            edges = (math.nan if low is None else low, math.nan if high is None else high)
            one = WindowStat(metric, pairs.node[pair], device, pairs.label[pair], sum_, count, *edges, idle)
            stats[attempt].append(one)
    own: dict[int, list[OwnDevice]] = defaultdict(list)
    for pair, metrics in uses.items():
        shares, held = swing(pair), pairs.device[pair]
        if held is not None:
            own[pairs.attempt[pair]].append(OwnDevice(held, metrics, None if shares is None else Swing(*shares)))
    return {attempt: Statistics(stats.get(attempt, ()), own.get(attempt)) for attempt in {*stats, *own}}


def _totals(rows: PairSums) -> Iterator[tuple[int, float, int, float | None, float | None, int]]:
    """Rows of one metric: pair, sum, count, minimum, maximum (None = not kept), idle samples."""
    edges = ([None if value != value else value for value in each.tolist()] for each in (rows.minima, rows.maxima))
    counts, idle = (np.rint(column).astype(np.int64).tolist() for column in (rows.counts, rows.idle))
    return zip(rows.pair.tolist(), rows.sums.tolist(), counts, *edges, idle, strict=True)


def window_of(spans: Spans, attempt: int) -> Window:
    start, end = float(spans.start[attempt]), float(spans.end[attempt])
    return Window(datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(max(start, end), UTC))
