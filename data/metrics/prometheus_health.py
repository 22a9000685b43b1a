"""What the metrics server says of itself, and the exact lines that would give what is missing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from data.errors import SourceError
from data.metrics.dialects import BoundDialect
from data.metrics.prometheus_answers import vector
from data.metrics.prometheus_found import Found
from data.metrics.prometheus_http import Connection
from data.metrics.prometheus_recording import PREFIX
from data.metrics.prometheus_selectors import host_choices, series_of
from data.metrics.prometheus_site import Site
from data.metrics.promql import selector
from data.metrics.registry import METRICS
from data.metrics.values import short_host
from data.model import SourceHealth

_HOUR = 3600.0
# Labels that sites use to tell clusters apart, besides the one in the settings.
_CLUSTER_LABELS = ("cluster", "cluster_name")


def health_of(connection: Connection, site: Site, found: Found, cluster_label: str) -> SourceHealth:
    """Ask the server directly; an unreachable one is an answer too, no error.

    Servers other than Prometheus lack parts of its API: what they do not tell is left out.
    """
    begin = time.monotonic()
    try:
        found.names(None, None)
        latency = time.monotonic() - begin
        exporters = found.dialects(None, None)
    except SourceError as err:
        return SourceHealth(reachable=False, error=str(err), hint=err.hint)
    clusters = _clusters(connection, cluster_label, exporters)
    missing = missing_metrics(exporters)
    return SourceHealth(
        reachable=True,
        version=_version(connection),
        latency_seconds=latency,
        dialects=tuple(bound.id for bound in exporters),
        interval_seconds=_interval(found, exporters),
        missing_metrics=missing,
        cluster_labels=clusters,
        hosts=_hosts(connection, site, exporters),
        notes=tuple(_notes(site, exporters, missing, clusters)),
    )


def missing_metrics(exporters: Sequence[BoundDialect]) -> tuple[str, ...]:
    """Measured metrics of a device that no exporter gives here."""
    given = {metric for bound in exporters for metric in bound.formulas}
    wanted = (name for name, metric in METRICS.items() if not (metric.is_derived or metric.is_host))
    return tuple(name for name in wanted if name not in given)


def counter_lines(exporters: Sequence[BoundDialect], missing: Sequence[str]) -> tuple[str, ...]:
    """Lines for the counters file of an exporter that could give these metrics and does not."""
    offers = (bound.dialect.switch_on for bound in exporters)
    return tuple(lines[name] for lines in offers for name in missing if name in lines)


def _notes(
    site: Site, exporters: Sequence[BoundDialect], missing: Sequence[str], clusters: Sequence[str]
) -> Iterator[str]:
    if not exporters:
        yield "no series of a known GPU exporter" + (f" with {', '.join(site.matchers)}" if site.matchers else "")
        if site.matchers and clusters:
            yield f"clusters that the server knows: {', '.join(clusters)} (see metrics.cluster_value)"
    lines = counter_lines(exporters, missing)
    if lines:
        yield "add to the counters file of dcgm-exporter (option -f) and restart it:\n" + "\n".join(lines)
    if exporters and not any(_has_jobs(site, bound) for bound in exporters):
        yield "no exporter puts the job id on its series; devices join jobs through Slurm's allocated indices"


def _has_jobs(site: Site, bound: BoundDialect) -> bool:
    labels = site.job_labels(bound.dialect)
    return bool(bound.job_value) or any(label in bound.present or not bound.present for label in labels)


def _version(connection: Connection) -> str | None:
    try:
        data = connection.ask("/api/v1/status/buildinfo", {}, tries=1).data
    except SourceError:
        return None
    return str(data["version"]) if isinstance(data, dict) and data.get("version") else None


def recorded_now(connection: Connection, site: Site, cluster_label: str) -> tuple[str, ...] | None:
    """Names of the series of our recording rules that have a value now; of the site's labels they keep the cluster.
    None = the server does not tell."""
    kept = [matcher for matcher in site.matchers if cluster_label and matcher.startswith(f"{cluster_label}=")]
    ours = selector([f'__name__=~"{PREFIX}.+"', *kept])
    try:
        rows = vector(connection.query(f"count by (__name__) ({ours})", None, tries=1).data, Counter())
        return tuple(sorted(labels["__name__"] for labels, _, _ in rows))
    except (SourceError, KeyError):
        return None


def _interval(found: Found, exporters: Sequence[BoundDialect]) -> float | None:
    for bound in exporters:
        try:
            interval = found.interval(bound, None)
        except SourceError:
            continue
        if interval:
            return interval
    return None


def _clusters(connection: Connection, cluster_label: str, exporters: Sequence[BoundDialect]) -> tuple[str, ...]:
    """Values of the labels that tell clusters apart; one that no exporter's series have is not asked for."""
    is_told = bool(exporters) and all(bound.present for bound in exporters)
    values: set[str] = set()
    for label in filter(None, dict.fromkeys((cluster_label, *_CLUSTER_LABELS))):
        if not is_told or any(label in bound.present for bound in exporters):
            values.update(_label_values(connection, label, ""))
    return tuple(sorted(values))


def _hosts(connection: Connection, site: Site, exporters: Sequence[BoundDialect]) -> tuple[str, ...]:
    hosts: set[str] = set()
    for bound in exporters:
        for label, matchers in host_choices(bound, site):
            series = series_of(bound, site, [bound.inventory], matchers)
            hosts.update(short_host(host, site.strip_domain) for host in _label_values(connection, label, series))
    return tuple(sorted(hosts))


def _label_values(connection: Connection, label: str, series: str) -> list[str]:
    now = time.time()
    parameters = {"start": f"{now - _HOUR:.3f}", "end": f"{now:.3f}"}
    if series and series != selector([]):
        parameters["match[]"] = series
    try:
        data = connection.ask(f"/api/v1/label/{label}/values", parameters, tries=1).data
    except SourceError:
        return []
    return [value for value in data if isinstance(value, str) and value] if isinstance(data, list) else []
