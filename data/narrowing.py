"""Which part of a snapshot a filter lets through. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from data.gpu_columns import STATES, model_name
from data.model import ClusterSnapshot, Gpu, Job, Node, NodeFilter


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """The values that a filter can have on this cluster, sorted."""

    partitions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    gpu_states: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


def filter_options(snapshot: ClusterSnapshot) -> FilterOptions:
    return FilterOptions(
        partitions=_sorted(name for node in snapshot.nodes for name in node.partitions),
        states=_sorted(node.state.bucket for node in snapshot.nodes),
        gpu_states=_sorted(STATES[place].value for place in {STATES.index(gpu.state) for gpu in snapshot.gpus}),
        models=_sorted(map(model_name, snapshot.gpus)),
        features=_sorted(name for node in snapshot.nodes for name in node.features),
    )


def narrow(snapshot: ClusterSnapshot, wanted: NodeFilter | None) -> ClusterSnapshot:
    """Keep the nodes that fit, the GPUs on them that fit, and the jobs that run there or wait for their partitions.

    With a filter on GPUs, nodes without one that fits go too.
    """
    if wanted is None or wanted == NodeFilter():
        return snapshot
    nodes = {node.name: node for node in snapshot.nodes if _node_fits(node, wanted)}
    gpus = tuple(gpu for gpu in snapshot.gpus if gpu.device.node in nodes and _gpu_fits(gpu, wanted))
    if wanted.gpu_states or wanted.models:
        kept = {gpu.device.node for gpu in gpus}
        nodes = {name: node for name, node in nodes.items() if name in kept}
    return replace(
        snapshot,
        nodes=tuple(nodes.values()),
        gpus=gpus,
        jobs=tuple(job for job in snapshot.jobs if _job_fits(job, nodes, wanted)),
        runaway=tuple(job for job in snapshot.runaway if _job_fits(job, nodes, wanted)),
    )


def _node_fits(node: Node, wanted: NodeFilter) -> bool:
    return (
        (not wanted.partitions or not wanted.partitions.isdisjoint(node.partitions))
        and (not wanted.states or node.state.bucket in wanted.states)
        and (not wanted.features or not wanted.features.isdisjoint(node.features))
        and (not wanted.feature_sets or any(names.issubset(node.features) for names in wanted.feature_sets))
        and wanted.text.strip().lower() in node.name.lower()
    )


def _gpu_fits(gpu: Gpu, wanted: NodeFilter) -> bool:
    return (not wanted.gpu_states or gpu.state.value in wanted.gpu_states) and (
        not wanted.models or model_name(gpu) in wanted.models
    )


def _job_fits(job: Job, nodes: dict[str, Node], wanted: NodeFilter) -> bool:
    if job.nodes:
        return any(name in nodes for name in job.nodes)
    return not wanted.partitions or not wanted.partitions.isdisjoint(job.partition.split(","))


def _sorted(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))
