"""Selectors for the series of one exporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from data.metrics.dialects import BoundDialect
from data.metrics.prometheus_site import INSTANCE, Site
from data.metrics.promql import any_of, equal, named, selector
from data.model import Scope

# What may stand around a node's name in a host label: a domain, a port.
_AFTER_HOST = r"(\..*)?(:[0-9]+)?"


def host_choices(bound: BoundDialect, site: Site) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each label that may hold the host, with matchers for the series in which it does and no better one does."""
    labels = site.host_labels(bound.dialect)
    here = [label for label in labels if label in bound.present]
    # `instance` is everywhere: it stands in only where no label of the exporter's own says the host
    labels = [label for label in here if label != INSTANCE] or here or list(labels)
    for position, label in enumerate(labels):
        absent = tuple(equal(better, "") for better in labels[:position])
        is_sure = label == INSTANCE or len(labels) == 1
        yield label, absent if is_sure else (*absent, f'{label}!=""')


def series_of(
    bound: BoundDialect, site: Site, names: Iterable[str], more: Iterable[str] = (), *, selected: bool = True
) -> str:
    """A selector for these series of an exporter, with the site's matchers and the dialect's own."""
    own = [equal(label, value) for label, value in bound.dialect.select] if selected else []
    return selector([named(names), *site.matchers, *own, *more])


def nodes_matcher(label: str, nodes: Iterable[str]) -> str:
    return any_of(label, nodes, after=_AFTER_HOST)


def jobs_matchers(bound: BoundDialect, site: Site, jobs: Iterable[str]) -> Iterator[str]:
    """One matcher per label that may hold the job id; a label that holds more than the id is searched."""
    listed = sorted(jobs)
    for position, label in enumerate(site.job_labels(bound.dialect)):
        if not bound.present or label in bound.present:
            yield any_of(label, listed) if position == 0 else any_of(label, listed, before=".*job_", after="(/.*)?")


def scoped(bound: BoundDialect, site: Site, names: Iterable[str], scope: Scope | None) -> Iterator[str]:
    """Selectors that together hold the series of the scope; a series may be in several.

    Host metrics are a job's own: where jobs are named, those of other jobs on the same nodes are not read.
    """
    if scope is None or (scope.job_labels is None and scope.nodes is None):
        yield series_of(bound, site, names)
        return
    by_job = list(jobs_matchers(bound, site, scope.job_labels)) if scope.job_labels else []
    for matcher in by_job:
        yield series_of(bound, site, names, [matcher])
    if scope.nodes and not (by_job and bound.dialect.scope == "host"):
        for host, matchers in host_choices(bound, site):
            yield series_of(bound, site, names, [*matchers, nodes_matcher(host, scope.nodes)])


def scoped_by_host(
    bound: BoundDialect, site: Site, names: Iterable[str], scope: Scope | None, only: Iterable[str] = ()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each label that may hold the host, with the selectors that hold the series of the scope that it names; a series
    may be in several. `only` are matchers that all must fit. For exporters of devices."""
    names, only = tuple(names), tuple(only)
    for host, choice in host_choices(bound, site):
        matchers = (*choice, *only)
        if scope is None or (scope.job_labels is None and scope.nodes is None):
            yield host, (series_of(bound, site, names, matchers),)
            continue
        more = list(jobs_matchers(bound, site, scope.job_labels)) if scope.job_labels else []
        more += [nodes_matcher(host, scope.nodes)] if scope.nodes else []
        if more:
            yield host, tuple(series_of(bound, site, names, [*matchers, one]) for one in more)


def only_where_needed(bound: BoundDialect, stands_in_for: str) -> list[str] | None:
    """Matchers for the devices that lack the metric for which another stands in: all where the exporter does not give
    it at all, else slices alone. None = the exporter has no such devices."""
    if stands_in_for not in bound.formulas:
        return []
    names = [name for name in bound.dialect.labels.get("slice", ()) if not bound.present or name in bound.present]
    return [f'{names[0]}!=""'] if names else None
