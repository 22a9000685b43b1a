"""Selectors for the series of one exporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from data.metrics.dialects import BoundDialect, Dialect
from data.metrics.prometheus_site import INSTANCE, Site
from data.metrics.promql import any_of, equal, named, selector

# What may stand around a node's name in a host label: a domain, a port.
_AFTER_HOST = r"(\..*)?(:[0-9]+)?"


def host_choices(dialect: Dialect, site: Site) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each label that may hold the host, with matchers for the series in which it does and no better one does."""
    labels = site.host_labels(dialect)
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


def jobs_matchers(dialect: Dialect, site: Site, jobs: Iterable[str]) -> Sequence[str]:
    """One matcher per label that may hold the job id; a label that holds more than the id is searched."""
    listed = sorted(jobs)
    plain, *paths = site.job_labels(dialect) or ("",)
    if not plain:
        return ()
    searched = [any_of(label, listed, before=".*job_", after="(/.*)?") for label in paths]
    return [any_of(plain, listed), *searched]
