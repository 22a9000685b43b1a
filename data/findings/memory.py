"""Host memory: too little, or much more than was used."""

from __future__ import annotations

from data import words
from data.findings.facts import JobFacts
from data.findings.registry import Finding, Severity, finding
from data.findings.sbatch import GIB, memory_lines, suggested_memory_gib
from data.report import NodeUse, UseSource

_OOM_SIGNAL = 125  # how Slurm says out of memory in an exit code
_WHOLE_RUNS = ("COMPLETED", "TIMEOUT")
_NEARLY_ALL = 0.95


@finding("out_of_memory")
def out_of_memory(facts: JobFacts) -> Finding | None:
    """The job or a step of it was ended for want of host memory. Slurm says so: it holds for short jobs, too."""
    codes = (facts.job.exit_code, facts.job.derived_exit_code)
    was_signaled = any(code is not None and code.signal == _OOM_SIGNAL for code in codes)
    if facts.job.state != "OUT_OF_MEMORY" and not was_signaled:
        return None
    asked = _asked_per_node(facts)
    lines = _more_memory(facts, asked)
    advice = "Ask for more memory, or make the program need less: smaller batches, fewer workers, data read in parts."
    evidence = f"The job had {words.gib(asked)} on each node" if asked else "Slurm says so"
    if facts.report.memory.used is not None and facts.report.host_source is not UseSource.SLURM:
        evidence += f"; the last measured peak was {words.gib_of(facts.report.memory.used, facts.report.memory.given)}"
    return Finding("out_of_memory", "Out of memory", evidence + ".", advice, lines, Severity.BROKEN)


@finding("memory_over_ask")
def memory_over_ask(facts: JobFacts) -> Finding | None:
    """A whole run used much less memory than it asked for."""
    memory = facts.report.memory
    used = memory.countable
    if used is None or not facts.are_hosts_sound or facts.job.state not in _WHOLE_RUNS:
        return None
    unused = (memory.given or 0.0) - (memory.used or 0.0)
    if used >= facts.judgement.memory_low or unused < facts.limits.memory_unused_gib * GIB:
        return None
    peak, asked = _highest(facts)
    if peak is None or asked is None:
        return None
    wanted = suggested_memory_gib(peak / GIB, facts.limits.memory_margin)
    if wanted * GIB >= asked:
        return None
    source = " of the largest step, as Slurm saw it" if facts.report.host_source is UseSource.SLURM else ""
    return Finding(
        "memory_over_ask",
        f"{words.percent(used)} of the memory was used",
        f"Peak{source}: {words.gib_of(memory.used, memory.given)}.",
        f"Ask for {wanted} GiB on each node: the peak and {words.percent(facts.limits.memory_margin)} more."
        + (" If a step runs several tasks, count the memory of all." if source else ""),
        memory_lines(facts.job, wanted * GIB, asked),
        Severity.NOTE,
    )


def _more_memory(facts: JobFacts, asked: float | None) -> tuple[str, ...]:
    """Lines for more memory; () where the node has no more."""
    if not asked:
        return ()
    wanted = suggested_memory_gib(asked * facts.limits.oom_factor / GIB, 0) * GIB
    most = facts.partition.memory_per_node_bytes
    if most is not None:
        if asked >= most * _NEARLY_ALL:
            return ()
        wanted = min(wanted, int(most // GIB) * GIB)
    return memory_lines(facts.job, wanted, asked)


def _highest(facts: JobFacts) -> tuple[float | None, float | None]:
    """Peak and ask of the node with the highest peak."""
    nodes = [node for node in facts.report.nodes if node.memory.value is not None]
    if not nodes:
        return None, None
    worst: NodeUse = max(nodes, key=lambda node: node.memory.used or 0.0)
    return worst.memory.used, worst.memory.given


def _asked_per_node(facts: JobFacts) -> float | None:
    held = [one.memory_bytes for one in facts.job.devices if one.memory_bytes]
    total = facts.job.allocated.memory_bytes
    if held:
        return float(max(held))
    return total / max(1, len(facts.job.nodes)) if total else None
