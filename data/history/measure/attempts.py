"""Read a span chunk by chunk, cut it by attempt, add up, and make each attempt's use of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from data.history.columns import RATE_METRICS, RATIO_METRICS
from data.history.measure.accumulate import Accumulated
from data.history.measure.finish import uses_of
from data.history.measure.reports import Reporter
from data.history.measure.spans import HOUR, Spans, Suspensions
from data.history.measure.use import Measured
from data.metrics.grid import STEP_SECONDS, Grid
from data.model import Job, Node, Partition, Scope, Window
from data.protocols import MetricsSource
from data.report.join import Inventory
from settings import Settings

POWER, ENERGY = "power_watts", "energy_joules"
SAMPLES = ("gpu_utilization", "graphics_engine_activity")
STEPS = (
    *(name for name in RATIO_METRICS if name not in SAMPLES),
    *RATE_METRICS,
    "gpu_memory_used_bytes",
    "gpu_memory_total_bytes",
    POWER,
)
HOSTS = ("cpu_seconds", "memory_used_bytes", "memory_allocated_bytes", "allocated_cores")
# A chunk holds about this many raw samples of one metric: 1,000 devices at 30 s for a day.
_SAMPLES_PER_CHUNK = 3_000_000
_DAY = 86400.0
_DEVICES_PER_NODE = 8
# Naming nodes in a query pays while few of them are wanted.
_MOST_NAMED_NODES = 64


def measure(
    jobs: Sequence[Job],
    metrics: MetricsSource | None,
    *,
    now: datetime,
    settings: Settings,
    since: datetime | None = None,
    suspensions: Suspensions | None = None,
    inventory: Inventory | None = None,
    nodes: Sequence[Node] = (),
    partitions: Sequence[Partition] = (),
    progress: Callable[[float], None] = lambda share: None,
) -> Measured:
    """What each attempt used, by its `key`. Attempts that never started are left out.

    Ended attempts are read whole, running ones from the hour of `since` on. `suspensions` are known suspended spans by
    key, `inventory` which device Slurm's index means. `metrics` None reads nothing: JS1 summaries and Slurm's own
    numbers count. Requests = chunks x metrics. `progress` is told the share of the chunks that are read. Raises a
    SourceError when the metrics server does not answer.
    """
    started = list({job.key: job for job in jobs if job.start_time is not None}.values())
    spans = Spans(started, now, since, suspensions)
    read = Accumulated(spans, settings.findings)
    dropped: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    warnings: list[str] = []
    chunks = list(chunks_of(spans)) if metrics is not None else []
    for number, (window, scope) in enumerate(chunks):
        assert metrics is not None
        for grid in _grids(metrics, window, scope):
            read.add(grid)
            dropped.update(grid.dropped)
            missing.update(grid.missing)
            warnings += [text for text in grid.warnings if text not in warnings]
        progress((number + 1) / len(chunks))
    reporter = Reporter(settings, now, inventory, nodes, partitions)
    uses = uses_of(read, reporter)
    never = tuple(name for name, times in missing.items() if times == len(chunks))
    return Measured({use.job.key: use for use in uses}, dict(dropped), never, tuple(warnings))


def _grids(metrics: MetricsSource, window: Window, scope: Scope) -> Iterator[Grid]:
    """One chunk; the energy counter is read, sample by sample, only where the power is not exported."""
    grid = metrics.grid(SAMPLES, (*STEPS, *HOSTS), window, scope, STEP_SECONDS)
    yield grid
    if grid.runs and POWER in grid.missing:
        yield metrics.grid((), (ENERGY,), window, scope, STEP_SECONDS)


def chunks_of(spans: Spans) -> Iterator[tuple[Window, Scope]]:
    """Chunks of at most a day, from whole hours to whole hours, in which any attempt ran, and the nodes wanted."""
    begin, end = spans.start, spans.end
    nodes = [frozenset((*job.nodes, *(held.node for held in job.devices))) for job in spans.jobs]
    longest = _chunk_seconds(len(frozenset().union(*nodes)) if nodes else 0)
    live = np.flatnonzero(end > begin)
    if not len(live):
        return
    at = float(np.floor(begin[live].min() / longest) * longest)
    last = float(end[live].max())
    while at < last:
        stop = min(at + longest, float(np.ceil(last / HOUR) * HOUR))
        here = live[(begin[live] < stop) & (end[live] > at)]
        if len(here):
            names = frozenset().union(*(nodes[place] for place in here.tolist()))
            first = max(at, float(np.floor(begin[here].min() / HOUR) * HOUR))
            final = min(stop, float(np.ceil(end[here].max() / HOUR) * HOUR))
            window = Window(datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(final, UTC))
            yield window, Scope(nodes=names) if 0 < len(names) <= _MOST_NAMED_NODES else Scope()
        at = stop


def _chunk_seconds(nodes: int) -> float:
    """A day, or fewer hours where many nodes would be too much at once; whole parts of a day."""
    samples = max(1, nodes) * _DEVICES_PER_NODE * _DAY / 30.0
    parts = next(parts for parts in (1, 2, 3, 4, 6, 8, 12, 24) if samples / parts <= _SAMPLES_PER_CHUNK or parts == 24)
    return _DAY / parts
