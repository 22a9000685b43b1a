"""The rows of the nodes of a snapshot, and one node of it. Pure: of what its viewer may see already."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

from data.attention import Attention, attention
from data.errors import NotFound
from data.gpu_columns import gpu_columns
from data.model import ClusterSnapshot, Gpu, Job, Node, NodeFilter, Note, SourceState
from data.narrowing import narrow
from data.uses import Use, use_of, uses


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node with the counts of its devices; `running_jobs` counts everybody's."""

    node: Node
    use: Use
    running_jobs: int
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeList:
    """Rows in the order of the snapshot's nodes, with the moment that they show and how the sources are."""

    time: datetime
    rows: tuple[NodeRow, ...]
    total: int
    sources: tuple[SourceState, ...] = ()
    unknown: tuple[str, ...] = ()
    is_past: bool = False


@dataclass(frozen=True, slots=True)
class NodeDetail:
    """One node; jobs that the viewer may not see are there without names."""

    time: datetime
    node: Node
    use: Use
    gpus: tuple[Gpu, ...]
    jobs: tuple[Job, ...]
    notes: tuple[Note, ...] = ()
    attention: tuple[Attention, ...] = ()
    sources: tuple[SourceState, ...] = ()
    unknown: tuple[str, ...] = ()


def nodes_of(whole: ClusterSnapshot, filter: NodeFilter | None = None) -> NodeList:
    """The nodes of a snapshot that its viewer may see already."""
    wanted = narrow(whole, filter)
    columns = gpu_columns(wanted.gpus)
    use = dict(zip(columns.nodes, uses(columns, columns.node, len(columns.nodes)), strict=True))
    models: dict[str, set[str]] = {}
    for gpu in wanted.gpus:
        if gpu.model:
            models.setdefault(gpu.device.node, set()).add(gpu.model)
    running = Counter(name for job in whole.jobs for name in job.nodes)
    rows = tuple(
        NodeRow(node, use.get(node.name, Use()), running[node.name], tuple(sorted(models.get(node.name, ()))))
        for node in wanted.nodes
    )
    return NodeList(whole.time, rows, len(whole.nodes), whole.sources, whole.unknown, whole.is_past)


def node_of(whole: ClusterSnapshot, name: str) -> NodeDetail:
    """One node of a snapshot that its viewer may see already; NotFound as `node`."""
    wanted = name.strip().lower()
    found = next((one for one in whole.nodes if one.name.lower() == wanted), None)
    if found is None:
        raise _unknown(whole, name)
    part = _part_of(whole, found)
    return NodeDetail(
        time=whole.time,
        node=found,
        use=use_of(part.gpus),
        gpus=part.gpus,
        jobs=part.jobs,
        notes=part.notes,
        attention=attention(part),
        sources=whole.sources,
        unknown=whole.unknown,
    )


def _part_of(whole: ClusterSnapshot, node: Node) -> ClusterSnapshot:
    """The snapshot of this node alone."""
    return ClusterSnapshot(
        cluster=whole.cluster,
        time=whole.time,
        made_at=whole.made_at,
        nodes=(node,),
        gpus=tuple(gpu for gpu in whole.gpus if gpu.device.node == node.name),
        jobs=tuple(job for job in whole.jobs if node.name in job.nodes),
        notes=tuple(note for note in whole.notes if note.subject == node.name),
    )


def _unknown(whole: ClusterSnapshot, name: str) -> NotFound:
    names = [node.name for node in whole.nodes]
    near = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if not names:
        return NotFound(f"No node {name!r} is known", hint=" ".join(whole.unknown) or "Slurm lists no nodes.")
    hint = f"Did you mean {', '.join(near)}?" if near else "See the list of nodes for their names."
    return NotFound(f"There is no node {name!r}", hint=hint)
