"""How a job sits on its nodes: spread out, or with more of a node than its GPUs' share."""

from __future__ import annotations

import math

from data import words
from data.findings.facts import JobFacts
from data.findings.registry import Finding, Severity, finding
from data.findings.sbatch import GIB, change, memory_lines


@finding("fragmented")
def fragmented(facts: JobFacts) -> Finding | None:
    """More nodes than the GPUs need."""
    gpus, per_node, nodes = facts.report.gpu_count, facts.partition.gpus_per_node, len(facts.job.nodes)
    if not facts.is_old_enough or not gpus or not per_node or _has_slices(facts):
        return None
    needed = max(math.ceil(gpus / per_node), _nodes_for_cores(facts), _nodes_for_memory(facts))
    if nodes <= needed:
        return None
    lines = change("nodes", nodes, needed)
    if gpus % nodes == 0 and gpus % needed == 0:
        lines += change("gpus-per-node", gpus // nodes, gpus // needed)
    return Finding(
        "fragmented",
        f"{words.count(gpus, 'GPU')} on {words.count(nodes, 'node')} fit on {needed}",
        f"A node of this kind has {words.count(per_node, 'GPU')}.",
        f"Ask for {words.count(needed, 'node')}: GPUs of one node talk faster, and no half-used nodes stay behind.",
        lines,
        Severity.NOTE,
    )


@finding("cpu_fragmented")
def cpu_fragmented(facts: JobFacts) -> Finding | None:
    """A CPU job on more nodes than its cores and its memory need."""
    cores, per_node, nodes = facts.job.allocated.cpus, facts.partition.cores_per_node, len(facts.job.nodes)
    used = facts.report.memory.countable
    if facts.report.gpu_count != 0 or not facts.are_hosts_sound or not cores or not per_node or used is None:
        return None
    if facts.partition.memory_per_node_bytes is None or cores / nodes >= facts.limits.fragment_cores * per_node:
        return None
    needed = max(_nodes_for_cores(facts), _nodes_for_used_memory(facts))
    if nodes <= needed or any(node.cpu.value == 0 for node in facts.report.nodes):
        return None
    return Finding(
        "cpu_fragmented",
        f"{words.count(cores, 'core')} on {words.count(nodes, 'node')} fit on {needed}",
        f"A node of this kind has {words.count(per_node, 'core')}; the job used {words.gib(facts.report.memory.used)}.",
        f"Ask for {words.count(needed, 'node')}: fewer nodes start sooner and need less network.",
        change("nodes", nodes, needed),
        Severity.NOTE,
    )


@finding("cores_per_gpu")
def cores_per_gpu(facts: JobFacts) -> Finding | None:
    """More cores than come with the GPUs: they strand GPUs that others could use."""
    gpus, cores = facts.report.gpu_count, facts.job.allocated.cpus
    limit = facts.judgement.max_cores_per_gpu or _share(facts.partition.cores_per_node, facts)
    if not facts.is_old_enough or not gpus or not cores or not limit or _has_slices(facts) or cores / gpus <= limit:
        return None
    use = facts.cpu_utilization
    wanted = math.floor(limit)
    evidence = f"{words.count(cores, 'core')} for {words.count(gpus, 'GPU')}; the share is {wanted} per GPU."
    return Finding(
        "cores_per_gpu",
        f"{words.number(cores / gpus)} cores for each GPU",
        evidence + ("" if use is None else f" CPU {words.percent(use)}."),
        f"Ask for at most {wanted} cores per GPU: with more, GPUs of the node stay without cores.",
        (f"+ #SBATCH --cpus-per-gpu={wanted}",) if wanted else (),
        Severity.NOTE,
    )


@finding("memory_per_gpu")
def memory_per_gpu(facts: JobFacts) -> Finding | None:
    """More host memory than comes with the GPUs, and not used."""
    gpus, memory = facts.report.gpu_count, facts.report.memory
    limit = (facts.judgement.max_memory_per_gpu_gib or 0) * GIB or _share(facts.partition.memory_per_node_bytes, facts)
    used = memory.countable
    if not facts.are_hosts_sound or not gpus or not limit or used is None or not memory.given or _has_slices(facts):
        return None
    per_gpu = memory.given / gpus
    if per_gpu <= limit or used >= facts.limits.memory_per_gpu_used:
        return None
    nodes = max(1, len(facts.job.nodes))
    wanted = int(limit * gpus / nodes // GIB) * GIB
    fits = wanted > (memory.used or 0.0) * (1 + facts.limits.memory_margin) / nodes
    return Finding(
        "memory_per_gpu",
        f"{words.gib(per_gpu)} of host memory for each GPU",
        f"{words.gib_of(memory.used, memory.given)} used for {words.count(gpus, 'GPU')}; "
        f"the share is {words.gib(limit)} per GPU.",
        f"Ask for at most {words.gib(limit)} per GPU: with more, GPUs of the node stay without memory.",
        memory_lines(facts.job, wanted, memory.given / nodes) if fits else (),
        Severity.NOTE,
    )


def _share(of_node: int | None, facts: JobFacts) -> float | None:
    gpus = facts.partition.gpus_per_node
    return of_node / gpus if of_node and gpus else None


def _nodes_for_cores(facts: JobFacts) -> int:
    cores, per_node = facts.job.allocated.cpus, facts.partition.cores_per_node
    return math.ceil(cores / per_node) if cores and per_node else 1


def _nodes_for_memory(facts: JobFacts) -> int:
    memory, per_node = facts.job.allocated.memory_bytes, facts.partition.memory_per_node_bytes
    return math.ceil(memory / per_node) if memory and per_node else 1


def _nodes_for_used_memory(facts: JobFacts) -> int:
    used, per_node = facts.report.memory.used, facts.partition.memory_per_node_bytes
    return math.ceil(used * (1 + facts.limits.memory_margin) / per_node) if used and per_node else 1


def _has_slices(facts: JobFacts) -> bool:
    return any(gpu.is_slice for gpu in facts.report.allocated_gpus)
