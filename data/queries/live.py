"""The cluster now (or at a past moment): everything that the Overview shows, from one snapshot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from data.attention import Attention, attention
from data.model import ClusterSnapshot, NodeFilter, SourceState, Viewer
from data.narrowing import FilterOptions, filter_options, narrow
from data.queries.scope import scope_snapshot
from data.sources import Sources
from data.totals import Totals, totals


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """Totals and what needs attention, without the rows of nodes, GPUs and jobs."""

    cluster: str
    time: datetime
    is_past: bool
    unknown: tuple[str, ...]
    totals: Totals
    attention: tuple[Attention, ...]
    sources: tuple[SourceState, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """`snapshot` and `totals` are narrowed by the filter, `options` are those of the whole cluster."""

    snapshot: ClusterSnapshot
    totals: Totals
    options: FilterOptions
    attention: tuple[Attention, ...]

    @property
    def status(self) -> ClusterStatus:
        shown = self.snapshot
        return ClusterStatus(
            shown.cluster, shown.time, shown.is_past, shown.unknown, self.totals, self.attention, shown.sources
        )


def overview(
    viewer: Viewer, sources: Sources, *, at: datetime | None = None, filter: NodeFilter | None = None
) -> Overview:
    """Answer with nodes, GPUs and jobs, their totals, and what needs attention.

    Totals count everybody's jobs; names and ids are only those that the viewer may see. Raises BadRequest for a
    moment in the future and SourceError when there is no picture at all.
    """
    whole = sources.live.snapshot() if at is None else sources.live.at(at)
    wanted = narrow(whole, filter)
    seen = _scoped(viewer, sources, whole) if wanted is whole else scope_snapshot(viewer, wanted)
    of_nodes = narrow(whole, None if filter is None else replace(filter, gpu_states=frozenset(), models=frozenset()))
    kept = {node.name for node in wanted.nodes}
    lines = [
        one
        for one in attention(seen if of_nodes is wanted else scope_snapshot(viewer, of_nodes))
        if one.target_kind != "node" or one.target in kept
    ]
    counted = sources.recent.get(("totals", whole.version, filter), lambda: (totals(wanted), filter_options(whole)))
    return Overview(seen, *counted, tuple(lines))


def snapshot(viewer: Viewer, sources: Sources, *, at: datetime | None = None) -> ClusterSnapshot:
    """Answer with the picture as the viewer may see it."""
    return _scoped(viewer, sources, sources.live.snapshot() if at is None else sources.live.at(at))


def _scoped(viewer: Viewer, sources: Sources, whole: ClusterSnapshot) -> ClusterSnapshot:
    """The whole picture scoped once for each viewer; staff see it as it is."""
    if viewer.is_staff:
        return whole
    return sources.views.get(("scoped", whole.version, viewer), lambda: scope_snapshot(viewer, whole))
