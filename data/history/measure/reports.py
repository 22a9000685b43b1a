"""The report and the findings of each attempt, from the sums of its samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from data.findings import JobFacts, PartitionFacts, find, partition_facts
from data.history.measure.pairs import Pairs
from data.history.measure.spans import Spans
from data.history.measure.sums import HourSums, by_pair
from data.model import Job, Node, Partition, Window, WindowReading, WindowStat
from data.report import JobReport, build_report
from data.report.join import Inventory
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

    def report(
        self, job: Job, stats: Sequence[WindowStat], window: Window, interval: float | None, left_out: float
    ) -> JobReport:
        """One attempt's report; `left_out` are suspended seconds of the window without samples."""
        reading = WindowReading(window, tuple(stats), interval) if stats else None
        return build_report(
            job,
            reading,
            now=self.now,
            limits=self.settings.judgement,
            findings=self.settings.findings,
            interval_seconds=interval,
            inventory=self.inventory,
            left_out_seconds=left_out,
        )

    def findings(self, report: JobReport) -> tuple[str, ...]:
        """Ids of what is wrong with the job."""
        key = (report.job.partition, report.job.nodes)
        if key not in self._facts:
            self._facts[key] = partition_facts(report.job, self.nodes, self.partitions)
        facts = JobFacts(report, self.settings.findings, self.settings.judgement, self._facts[key])
        return tuple(dict.fromkeys(one.id for one in find(facts)))


def stats_of(sums: Mapping[str, HourSums], pairs: Pairs) -> dict[int, list[WindowStat]]:
    """All samples of each attempt, added up per device."""
    found: dict[int, list[WindowStat]] = defaultdict(list)
    for metric, rows in sums.items():
        total = by_pair(rows)
        columns = (total.pair, total.sums, total.counts, total.minima, total.maxima, total.idle)
        for pair, sum_, count, low, high, idle in zip(*(column.tolist() for column in columns), strict=True):
            found[pairs.attempt[pair]].append(
                WindowStat(
                    metric,
                    pairs.node[pair],
                    pairs.device[pair],
                    pairs.label[pair],
                    sum_,
                    round(count),
                    low,
                    high,
                    round(idle),
                )
            )
    return found


def window_of(spans: Spans, attempt: int) -> Window:
    start, end = float(spans.start[attempt]), float(spans.end[attempt])
    return Window(datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(max(start, end), UTC))
