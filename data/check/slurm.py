"""Slurm: does it answer, and does it count GPUs?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from data.check.result import Check, Verdict, some
from data.live.runaway import hidden_by_slurmctld, unknown_to_slurmctld
from data.model import Job, Node, Rows, SourceHealth

SUBJECT = "Slurm"
TRACK_GPUS = (
    "in slurm.conf: AccountingStorageTRES=gres/gpu",
    "then: systemctl restart slurmctld   (jobs that start from then on are counted)",
)
SEE_ALL_JOBS = (
    "PrivateData=jobs in slurm.conf hides them; for the account that asks Slurm:",
    "sacctmgr modify user where name=NAME set AdminLevel=Operator",
)
DEFINE_GPUS = (
    "in slurm.conf: GresTypes=gpu",
    "in slurm.conf, for each GPU node: NodeName=... Gres=gpu:h100:8",
    "in gres.conf on that node: AutoDetect=nvml",
    "then: systemctl restart slurmctld, and slurmd on those nodes",
)


def answers(kind: str, health: SourceHealth) -> Check:
    """Whether Slurm answers, with its version; else its own words and what to do."""
    if not health.reachable:
        fix = (health.hint,) if health.hint else ()
        return Check(SUBJECT, Verdict.PROBLEM, f"no usable answer through {kind}: {health.error or 'unknown'}", fix)
    speed = "" if health.latency_seconds is None else f" in {health.latency_seconds:.2f} s"
    version = f"version {health.version}" if health.version else "(version not told)"
    return Check(SUBJECT, Verdict.OK, f"{version} answers through {kind}{speed}")


def broken_rows(what: str, rows: Rows[Node] | Rows[Job]) -> Iterator[Check]:
    """Rows that could not be read: counted, named, and left out of every number."""
    if rows.broken:
        examples = "; ".join(rows.broken_examples[:3])
        text = f"{rows.broken} of {rows.broken + len(rows.rows)} {what} could not be read: {examples}"
        yield Check(SUBJECT, Verdict.PROBLEM, text, ("Please report these rows; the others are shown.",))


def counts_gpus(nodes: Sequence[Node], jobs: Sequence[Job]) -> Check:
    """Whether nodes have GPUs in Slurm's eyes and gres/gpu is in AccountingStorageTRES."""
    with_gpus = [node for node in nodes if node.gpus_total]
    if not with_gpus:
        return Check(SUBJECT, Verdict.PROBLEM, f"none of {len(nodes)} nodes has GPUs in Slurm's Gres", DEFINE_GPUS)
    total = sum(node.gpus_total for node in with_gpus)
    seen = f"{total} GPUs and MIG slices on {len(with_gpus)} of {len(nodes)} nodes"
    untold = _untold_jobs(jobs)
    if untold or all(node.gpus_allocated is None for node in with_gpus):
        which = f"; GPU count unknown for job {some(untold)}" if untold else ""
        return Check(SUBJECT, Verdict.PROBLEM, f"{seen}, but gres/gpu is not tracked{which}", TRACK_GPUS)
    return Check(SUBJECT, Verdict.OK, f"{seen}, gres/gpu is tracked")


def _untold_jobs(jobs: Sequence[Job]) -> list[str]:
    """Running jobs that hold GPUs by their node details and whose AllocTRES does not say how many."""
    holds = (job for job in jobs if job.is_running and any(part.gpu_count for part in job.devices))
    return [job.display_id for job in holds if job.allocated.gpus is None]


def hidden_jobs(accounted: Sequence[Job], nodes: Sequence[Node], jobs: Sequence[Job]) -> Iterator[Check]:
    """Whether slurmctld keeps jobs from this account that slurmdbd tells: no page would show them."""
    found = hidden_by_slurmctld(unknown_to_slurmctld(accounted, jobs), nodes, jobs)
    if found:
        which = some([job.display_id for job in found])
        text = f"slurmctld hides jobs from this account that slurmdbd says run: {which}; they are missing everywhere"
        yield Check(SUBJECT, Verdict.PROBLEM, text, SEE_ALL_JOBS)


def cluster_name(wanted: str, nodes: Sequence[Node]) -> Iterator[Check]:
    """Whether settings and Slurm mean the same cluster."""
    found = {node.cluster for node in nodes if node.cluster}
    if wanted and found and wanted not in found:
        text = f"the settings say cluster {wanted}, and Slurm calls itself {some(found)}"
        yield Check(SUBJECT, Verdict.PROBLEM, text, (f'in fullwarp.toml: cluster = "{sorted(found)[0]}"',))
