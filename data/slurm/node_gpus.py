"""The GPUs of a node from its GRES and TRES strings, the same for JSON and text."""

from __future__ import annotations

from typing import NamedTuple

from data.model import GpuPool, Gres, Node, Rows, Tres
from data.slurm.gres import gpu_pools, gpus_used, gres


class NodeGpus(NamedTuple):
    configured: tuple[Gres, ...]
    used: tuple[Gres, ...]
    pools: tuple[GpuPool, ...]
    allocated: int | None


def node_gpus(
    configured: str | None, used: str | None, total: Tres, allocated: Tres, allocated_cpus: int | None
) -> NodeGpus:
    """What a node has and what is used of it.

    Where gres/gpu is missing from AccountingStorageTRES (`total` names no GPUs) and the used GRES are not given
    either, use is not known, except that a node without a job uses none.
    """
    is_known = total.gpus is not None or allocated_cpus == 0
    pools = gpu_pools(configured, used, allocated, is_known)
    return NodeGpus(gres(configured), gres(used), pools, gpus_used(pools, used, allocated, is_known))


def implausible(rows: Rows[Node]) -> Rows[Node]:
    """The same rows, with a warning for each node that uses more GPUs than it has; its use is not known."""
    warnings = tuple(
        f"node {node.name}: {taken} GPUs used of {node.gpus_total} configured; use is shown as not known"
        for node in rows.rows
        if (taken := sum(entry.count for entry in node.gres_used if entry.name == "gpu")) > node.gpus_total
        and node.gpu_pools
    )
    return Rows(rows.rows, rows.broken, rows.broken_examples, rows.warnings + warnings)
