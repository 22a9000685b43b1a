"""CPU cores that were held and not used."""

from __future__ import annotations

from data import words
from data.findings.facts import JobFacts
from data.findings.registry import Finding, finding
from data.findings.sbatch import change, plus
from data.report import NodeUse


@finding("serial")
def serial(facts: JobFacts) -> Finding | None:
    """A CPU job that keeps one core busy and holds several."""
    cores, busy = facts.job.allocated.cpus, _busy_cores(facts)
    if not _is_serial(facts) or cores is None or busy is None:
        return None
    return Finding(
        "serial",
        f"One of {cores} cores was used",
        f"On average {words.number(busy, 1)} of {words.count(cores, 'core')} {_was(busy)} busy.",
        "Ask for one core, unless the program can be told to use more (threads, tasks, a job array).",
        (plus("ntasks", 1), plus("cpus-per-task", 1)),
    )


@finding("cpu_low")
def cpu_low(facts: JobFacts) -> Finding | None:
    """A CPU job whose cores were mostly idle. Of GPU jobs the cores are not the point."""
    use = facts.cpu_utilization
    if facts.report.gpu_count != 0 or use is None or use >= facts.judgement.cpu_bad:
        return None
    if _is_serial(facts) or unused_node_rows(facts):
        return None
    busy, cores = _busy_cores(facts), facts.job.allocated.cpus
    detail = f"{words.number(busy, 1)} of {words.count(cores, 'core')}" if cores and busy is not None else "the cores"
    return Finding(
        "cpu_low",
        f"{words.percent(use)} of the CPU time was used",
        f"On average {detail} busy, limit {words.percent(facts.judgement.cpu_bad)}.",
        "Ask for as many cores as the program uses, and match its threads and tasks to --cpus-per-task and --ntasks.",
    )


@finding("unused_nodes")
def unused_nodes(facts: JobFacts) -> Finding | None:
    """Nodes on which the job did nothing."""
    unused = unused_node_rows(facts)
    total = len(facts.report.nodes)
    if not unused:
        return None
    names = ", ".join(node.node for node in unused[:4]) + (", ..." if len(unused) > 4 else "")
    left = total - len(unused)
    return Finding(
        "unused_nodes",
        f"{words.of(len(unused), total, 'node')} {'was' if len(unused) == 1 else 'were'} never used",
        f"{names}: CPU 0 % in {words.duration(facts.report.elapsed_seconds)}.",
        f"Start the program on all nodes (srun, mpirun), or ask for {words.count(left, 'node')}.",
        change("nodes", total, left),
    )


def unused_node_rows(facts: JobFacts) -> list[NodeUse]:
    """Nodes without CPU use, where others have some. GPUs on them count as use, unless they were idle as well:
    then the finding about GPUs says it."""
    nodes = facts.report.nodes
    if len(nodes) < 2 or not facts.are_hosts_sound or any(node.cpu.value is None for node in nodes):
        return []
    unused = [node for node in nodes if (node.cpu.value or 0.0) <= facts.limits.node_idle_cpu]
    if len(unused) == len(nodes) or any(node.gpus or node.gpu_count for node in unused):
        return []
    return unused


def _is_serial(facts: JobFacts) -> bool:
    cores, busy = facts.job.allocated.cpus, _busy_cores(facts)
    if facts.report.gpu_count != 0 or cores is None or cores < 2 or busy is None:
        return False
    return facts.limits.serial_low <= busy <= facts.limits.serial_high


def _busy_cores(facts: JobFacts) -> float | None:
    use, cores = facts.cpu_utilization, facts.job.allocated.cpus
    return None if use is None or cores is None else use * cores


def _was(busy: float) -> str:
    return "was" if round(busy, 1) == 1 else "were"
