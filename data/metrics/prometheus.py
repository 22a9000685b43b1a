"""MetricsSource over any server with the Prometheus HTTP API (Prometheus, Thanos, Mimir, VictoriaMetrics)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from data.errors import BadRequest, SourceGarbled
from data.metrics.dialects import BoundDialect
from data.metrics.prometheus_answers import vector
from data.metrics.prometheus_found import Found
from data.metrics.prometheus_health import health_of
from data.metrics.prometheus_http import Answer, Connection, without_collection
from data.metrics.prometheus_latest import Latest, latest_query, missing_metrics, read_latest
from data.metrics.prometheus_raw import Span
from data.metrics.prometheus_site import site_of
from data.metrics.prometheus_window import WindowReader, check_points, series_of_run, span_of
from data.metrics.registry import METRICS
from data.model import Reading, Scope, Series, SourceHealth, Window, WindowReading
from settings import MetricsSettings

# Without any sign of the scrape interval; most sites scrape every 15 to 60 s.
FALLBACK_INTERVAL_SECONDS = 60.0
# A value counts up to two scrape intervals: one scrape may be late or lost.
FRESH_INTERVALS = 2.0
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

        One request, and at most four more every ten minutes to find exporters and intervals.
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
        `RAW_LIMIT` samples a metric are added up by the server (see `prometheus_stats`).
        """
        check_metrics(metrics, host=True)
        span = span_of(window)
        exporters = self._exporters(span)
        reader = WindowReader(self._connection, self._site)
        stats = reader.stats(exporters, metrics, span, scope)
        return WindowReading(
            window=window,
            stats=tuple(stats),
            interval_seconds=next((interval for _, interval in exporters if interval), None),
            dropped=dict(reader.dropped),
            missing=tuple(missing_metrics(metrics, {stat.metric for stat in stats})),
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
        exporters = self._exporters(span)
        interval = next((interval for _, interval in exporters if interval), None)
        check_points(span, step_seconds, interval)
        runs = WindowReader(self._connection, self._site).runs(exporters, metrics, span, scope)
        return tuple(series_of_run(run, span, step_seconds, interval) for run in runs)

    def health(self) -> SourceHealth:
        """Version, exporters, interval, missing metrics with the lines that would give them, clusters and hosts."""
        return health_of(self._connection, self._site, self._found, self._settings.cluster_label)

    def _exporters(self, span: Span) -> list[tuple[BoundDialect, float | None]]:
        start, end = span.start / 1000.0, span.end / 1000.0
        bound = self._found.dialects(start, end)
        return [(each, self._found.interval(each, end - 0.001)) for each in bound]

    def _latest(self, metrics: Sequence[str], at: float | None) -> Reading:
        bound = self._device_dialects(None if at is None else at - _HOUR, at)
        intervals = {each.id: self._found.interval(each, at) or FALLBACK_INTERVAL_SECONDS for each in bound}
        aged = [(each, FRESH_INTERVALS * intervals[each.id]) for each in bound]
        query = latest_query(aged, self._site, metrics)
        answer = self._connection.query(query, at) if query else None
        dropped: Counter[str] = Counter()
        rows = vector(answer.data, dropped) if answer else ()
        with without_collection():
            latest = read_latest(rows, aged, self._site, metrics, dropped)
        return _reading(latest, answer, metrics, dropped, at, intervals)

    def _device_dialects(self, start: float | None, end: float | None) -> list[BoundDialect]:
        return [bound for bound in self._found.dialects(start, end) if bound.dialect.scope != "host"]


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
    answer: Answer | None,
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
        warnings=answer.warnings if answer else (),
        dialects=tuple(intervals),
    )


def utc(seconds: float) -> datetime:
    """Seconds since 1970 as aware UTC; SourceGarbled for times that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError) as err:
        raise SourceGarbled(f"the metrics server gave the impossible time {seconds}") from err
