"""What a site's settings say about its series: further matchers, renamed metrics and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from data.errors import SettingsError
from data.metrics.dialects import Dialect, shipped_dialects
from data.metrics.promql import equal, label_name, series_name
from data.metrics.registry import METRICS
from settings import MetricsSettings

# Every scraped series has it; stands in where an exporter gives no host of its own.
INSTANCE = "instance"


@dataclass(frozen=True, slots=True)
class Site:
    """`matchers` go into every query; `names` are the site's series names by metric."""

    matchers: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    job_label: str = ""
    host_label: str = ""
    strip_domain: bool = True
    dialects: tuple[Dialect, ...] = ()

    def job_labels(self, dialect: Dialect) -> Sequence[str]:
        return (self.job_label,) if self.job_label else dialect.labels.get("job", ())

    def host_labels(self, dialect: Dialect) -> Sequence[str]:
        """Labels that may hold the host, best first; the last one is always there in scraped series."""
        if self.host_label:
            return (self.host_label,)
        own = tuple(dialect.labels.get("host", ()))
        return own if INSTANCE in own else (*own, INSTANCE)


def site_of(settings: MetricsSettings, cluster: str) -> Site:
    """Check the settings that become PromQL; SettingsError names the field that cannot be right."""
    for metric, name in settings.names.items():
        if metric not in METRICS:
            raise SettingsError(f"metrics.names has {metric!r}, which is no metric", hint=", ".join(METRICS))
        series_name(name, f"names.{metric}")
    return Site(
        matchers=_matchers(settings, cluster),
        names=settings.names,
        job_label=label_name(settings.job_label, "job_label") if settings.job_label else "",
        host_label=label_name(settings.host_label, "host_label") if settings.host_label else "",
        strip_domain=settings.strip_domain,
        dialects=_chosen(settings.dialects),
    )


def _matchers(settings: MetricsSettings, cluster: str) -> tuple[str, ...]:
    matchers = []
    if settings.cluster_label:
        value = settings.cluster_value or cluster
        if not value:
            raise SettingsError("metrics.cluster_label is set, but neither metrics.cluster_value nor cluster is")
        matchers.append(equal(label_name(settings.cluster_label, "cluster_label"), value))
    if settings.selector:
        matchers.append(settings.selector.strip().strip("{}").strip().rstrip(","))
    return tuple(matchers)


def _chosen(ids: Sequence[str]) -> tuple[Dialect, ...]:
    known = {dialect.id: dialect for dialect in shipped_dialects()}
    for wanted in ids:
        if wanted not in known:
            raise SettingsError(f"metrics.dialects has {wanted!r}; known are {', '.join(known)}")
    return tuple(known[wanted] for wanted in ids) if ids else tuple(known.values())
