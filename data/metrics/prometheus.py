"""MetricsSource over any server with the Prometheus HTTP API (Prometheus, Thanos, Mimir, VictoriaMetrics)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import chain

from data.collection import without_collection
from data.errors import BadRequest, SourceGarbled
from data.metrics.dialects import BoundDialect
from data.metrics.grid import STEP_SECONDS, Grid
from data.metrics.prometheus_answers import vector
from data.metrics.prometheus_found import Found
from data.metrics.prometheus_grid import GridReader, whole_steps
from data.metrics.prometheus_health import health_of, recorded_now
from data.metrics.prometheus_http import Answer, Connection
from data.metrics.prometheus_latest import (
    VALUE_QUERIES,
    Aged,
    Latest,
    inventory_query,
    missing_metrics,
    read_latest,
    value_queries,
)
from data.metrics.prometheus_raw import Span
from data.metrics.prometheus_site import site_of
from data.metrics.prometheus_sums import SumsReader
from data.metrics.prometheus_window import Exporter, WindowReader, check_points, series_of_run, span_of
from data.metrics.registry import METRICS
from data.model import Reading, Scope, Series, SourceHealth, SumAsk, SumsReading, Window, WindowReading
from settings import MetricsSettings

# Without any sign of the scrape interval; most sites scrape every 15 to 60 s.
FALLBACK_INTERVAL_SECONDS = 60.0
# Raw samples this much closer or farther than the scrape interval of now were scraped at another one.
_OTHER_INTERVAL = 0.2
# A value counts up to two scrape intervals: one scrape may be late or lost.
FRESH_INTERVALS = 2.0
# With the usual three tries of the first question, the newest values cost no more than eight requests.
VALUE_TRIES = 2
_HOUR = 3600.0


class PrometheusSource:
    """Reads GPU and host metrics from Prometheus. Safe to share between threads; nothing is asked before use.

    `cluster` is Slurm's name of the cluster, for `metrics.cluster_label`. Raises SettingsError for settings that
    cannot be right, a SourceError when the server does not answer as it should.
    """

    kind = "prometheus"

    def __init__(self, settings: MetricsSettings, cluster: str = "") -> None:
        self._settings = settings
        self._site = site_of(settings, cluster)
        self._connection = Connection(settings)
        self._found = Found(self._connection, self._site, settings.scrape_interval_seconds)

    @property
    def requests(self) -> int:
        """HTTP requests so far, retries included."""
        return self._connection.requests

    def close(self) -> None:
        self._connection.close()

    def latest(self, metrics: Sequence[str], at: datetime | None = None) -> Reading:
        """The newest value per device; absent = not measured within two scrape intervals.

        Three requests, and every ten minutes three more and one for each exporter to find exporters and intervals; one
        more for each exporter whose target the server does not tell.
        """
        check_metrics(metrics, host=False)
        moment = at.timestamp() if at else None
        reading = self._latest(metrics, moment)
        if not reading.devices and self._found.forget():
            reading = self._latest(metrics, moment)
        return reading

    def window(self, metrics: Sequence[str], window: Window, scope: Scope | None = None) -> WindowReading:
        """Raw samples with start <= time < end added up per (device, job label), for host metrics per (node, job).

        A device that jobs share has one row for each of them, with the same samples. Bulk windows of more than
        `RAW_LIMIT` samples in all are added up by the server (see `prometheus_stats`). With a scope, an exporter of
        devices costs two requests and one of hosts one (1.5 million samples each), beside what finds exporters.
        """
        check_metrics(metrics, host=True)
        span = span_of(window)
        for exporters, is_last in self._tries(span):
            reader = WindowReader(self._connection, self._site)
            stats = reader.stats(exporters, metrics, span, scope)
            if is_last or _kinds(metrics) <= _kinds(stat.metric for stat in stats):
                break
        return WindowReading(
            window=window,
            stats=tuple(stats),
            interval_seconds=self._interval_of(exporters, reader.spacing, span),
            dropped=dict(reader.dropped),
            missing=tuple(missing_metrics(metrics, {stat.metric for stat in stats})),
            warnings=tuple(reader.warnings),
        )

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        """Samples of all devices, or those of some nodes, added up by the server: two requests for everything.

        Nodes with an impossible value, and exporters that need their samples chosen one by one, are read raw.
        """
        check_metrics([ask.metric for ask in asks], host=False)
        exporters = self._with_intervals(self._found.dialects(None, None), at.timestamp())
        devices = [one for one in exporters if one[0].dialect.scope != "host"]
        with without_collection():
            added = SumsReader(self._connection, self._site).read(devices, asks, at.timestamp(), nodes, restarts)
        return SumsReading(
            at,
            tuple(added.sums),
            _first_interval(devices),
            added.restarts,
            dict(added.dropped),
            tuple(added.warnings),
        )

    def grid(
        self,
        samples: Sequence[str],
        steps: Sequence[str],
        window: Window,
        scope: Scope | None = None,
        step_seconds: float = STEP_SECONDS,
    ) -> Grid:
        """All samples of some metrics and sums per step of others; the window begins and ends at whole steps.

        One query for the raw metrics of an exporter (1.5 million samples each), one per stepped metric and exporter,
        whatever the number of devices and jobs. Nodes with an impossible value are read again sample by sample.
        """
        metrics = (*samples, *steps)
        check_metrics(metrics, host=True)
        span, step_ms = whole_steps(span_of(window), step_seconds)
        is_open = self._found.ranges_are_open() if steps else True
        for exporters, is_last in self._tries(span):
            reader = GridReader(self._connection, self._site, step_ms=step_ms, is_open=is_open)
            runs = reader.runs(exporters, samples, steps, span, scope or Scope())
            if is_last or _kinds(metrics) <= _kinds(run.metric for run in runs):
                break
        return Grid(
            window=window,
            runs=tuple(runs),
            step_seconds=step_seconds,
            interval_seconds=self._interval_of(exporters, reader.spacing, span),
            dropped=dict(reader.dropped),
            missing=tuple(missing_metrics(metrics, {run.metric for run in runs})),
            warnings=tuple(reader.warnings),
        )

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        """Samples as they were taken, or means per step (at its begin); a gap stays a gap.

        BadRequest for more than 11,000 points a series.
        """
        check_metrics(metrics, host=True)
        span = span_of(window)
        check_points(span, step_seconds, None)
        for exporters, is_last in self._tries(span):
            interval = _first_interval(exporters)
            check_points(span, step_seconds, interval)
            runs = WindowReader(self._connection, self._site).runs(exporters, metrics, span, scope)
            if is_last or _kinds(metrics) <= _kinds(run.metric for run in runs):
                break
        return tuple(series_of_run(run, span, step_seconds, interval) for run in runs)

    def health(self) -> SourceHealth:
        """Version, exporters, interval, missing metrics with the lines that would give them, clusters and hosts."""
        return health_of(self._connection, self._site, self._found, self._settings.cluster_label)

    def recorded(self) -> tuple[str, ...] | None:
        """Names of the series that our recording rules make now; None = the server does not tell."""
        return recorded_now(self._connection, self._site, self._settings.cluster_label)

    def _tries(self, span: Span) -> Iterator[tuple[list[Exporter], bool]]:
        """Exporters to read a span with, and whether there are no others: those of now, which are known as a rule,
        then those of that time. A span up to now that has none now may have had some when it began."""
        start, end = span.start / 1000.0, span.end / 1000.0
        recent = time.time() - _HOUR
        found = self._with_intervals(self._found.dialects(None, None), end)
        is_last = start > recent or (end > recent and bool(found))
        yield found, is_last
        if not is_last:
            yield self._with_intervals(self._found.dialects(start, end), end), True

    def _with_intervals(self, dialects: Sequence[BoundDialect], end: float) -> list[Exporter]:
        """Host exporters beside one of devices are not asked for: their samples show it."""
        known: list[Exporter] = []
        for bound in sorted(dialects, key=lambda each: each.dialect.scope == "host"):
            if bound.dialect.scope == "host" and _first_interval(known):
                known.append((bound, None))
            else:
                known.append((bound, self._found.interval(bound, None) or self._found.interval(bound, end - 0.001)))
        return sorted(known, key=lambda each: each[0].rank)

    def _interval_of(self, exporters: Sequence[Exporter], spacing: float | None, span: Span) -> float | None:
        """The scrape interval of now, unless the samples show that it was another one then."""
        interval = _first_interval(exporters)
        if not interval or not spacing or abs(spacing - interval) <= _OTHER_INTERVAL * interval:
            return interval
        first = next(bound for bound, known in exporters if known)
        return self._found.interval(first, span.end / 1000.0 - 0.001) or interval

    def _latest(self, metrics: Sequence[str], at: float | None) -> Reading:
        bound = self._device_dialects(None if at is None else at - _HOUR, at)
        intervals = {each.id: self._found.interval(each, at) or FALLBACK_INTERVAL_SECONDS for each in bound}
        aged = [(each, FRESH_INTERVALS * intervals[each.id]) for each in bound]
        answers = self._newest(aged, metrics, at)
        dropped: Counter[str] = Counter()
        rows = chain.from_iterable(vector(answer.data, dropped) for answer in answers)
        with without_collection():
            latest = read_latest(rows, aged, self._site, metrics, dropped)
        return _reading(latest, answers, metrics, dropped, at, intervals)

    def _newest(self, dialects: Aged, metrics: Sequence[str], at: float | None) -> list[Answer]:
        """Who is there, and then what they show, all at the moment that the server took for the first question."""
        query = inventory_query(dialects, self._site, metrics)
        if not query:
            return []
        devices = self._connection.query(query, at)
        moment = at if at is not None else next((time for _, time, _ in vector(devices.data, Counter())), None)
        tries = min(VALUE_TRIES, self._settings.retries + 1)
        with ThreadPoolExecutor(VALUE_QUERIES) as at_once:
            queries = value_queries(dialects, self._site, metrics)
            return [devices, *at_once.map(lambda text: self._connection.query(text, moment, tries=tries), queries)]

    def _device_dialects(self, start: float | None, end: float | None) -> list[BoundDialect]:
        return [bound for bound in self._found.dialects(start, end) if bound.dialect.scope != "host"]


def _first_interval(exporters: Iterable[Exporter]) -> float | None:
    return next((interval for _, interval in exporters if interval), None)


def _kinds(metrics: Iterable[str]) -> frozenset[bool]:
    """Which of device and host metrics are among these."""
    return frozenset(METRICS[name].is_host for name in metrics)


def check_metrics(metrics: Sequence[str], *, host: bool) -> None:
    """Raise BadRequest for metrics that are not read from series, or (host=False) not from a device's."""
    for name in metrics:
        metric = METRICS.get(name)
        if metric is None or metric.is_derived:
            raise BadRequest(f"{name!r} is no measured metric", hint=f"Known are: {', '.join(METRICS)}")
        if metric.is_host and not host:
            raise BadRequest(f"{name!r} belongs to a job on a node, not to a device", hint="Ask a window of it.")


def _reading(
    latest: Latest,
    answers: Sequence[Answer],
    metrics: Sequence[str],
    dropped: Counter[str],
    at: float | None,
    intervals: dict[str, float],
) -> Reading:
    moment = at if at is not None else latest.at
    if moment is None:
        moment = datetime.now(UTC).timestamp()
    return Reading(
        at=utc(moment),
        devices=latest.devices,
        sample_time=None if latest.newest is None else utc(latest.newest),
        interval_seconds=next(iter(intervals.values()), None),
        dropped=dict(dropped),
        missing=tuple(missing_metrics(metrics, latest.measured)),
        warnings=tuple(dict.fromkeys(warning for answer in answers for warning in answer.warnings)),
        dialects=tuple(intervals),
    )


def utc(seconds: float) -> datetime:
    """Seconds since 1970 as aware UTC; SourceGarbled for times that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError) as err:
        raise SourceGarbled(f"the metrics server gave the impossible time {seconds}") from err
