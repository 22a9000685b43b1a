"""What does not add up on one node, in words."""

from __future__ import annotations

from data.join.claims import ClaimCount
from data.join.labels import LabelCount
from data.model import Gpu, GpuState, Node, Note

_HELD = frozenset({GpuState.BUSY, GpuState.IDLE, GpuState.UNMEASURED})


def notes_of(
    node: Node, gpus: list[Gpu], measured: int, extra: int, labels: LabelCount, claims: ClaimCount
) -> list[Note]:
    """Give the notes of one node; job ids are kept apart from the words."""
    return [
        *_counts(node, gpus, measured, extra),
        *_labels(node, labels),
        *_claims(node, gpus, claims),
        *_signals(node, gpus),
    ]


def _counts(node: Node, gpus: list[Gpu], measured: int, extra: int) -> list[Note]:
    notes = []
    if extra or 0 < measured < len(gpus):
        text = f"{node.name}: Slurm has {len(gpus)} GPUs, the metrics show {measured}."
        notes.append(Note("gpu_count_differs", node.name, text, abs(measured - len(gpus)) or extra))
    if node.gpus_total > len(gpus):
        text = f"{node.name}: {node.gpus_total} GPUs configured, only the first {len(gpus)} are shown."
        notes.append(Note("too_many_gpus", node.name, text, node.gpus_total - len(gpus)))
    return notes


def _labels(node: Node, labels: LabelCount) -> list[Note]:
    notes = []
    if labels.stale:
        text = f"{node.name}: {labels.stale} job labels name jobs that no longer hold anything; they are left out."
        notes.append(Note("stale_label", node.name, text, labels.stale))
    if labels.elsewhere:
        text = f"{node.name}: the exporter names jobs that Slurm has on other nodes (mapping disagrees)."
        notes.append(Note("mapping_disagrees", node.name, text, len(labels.elsewhere), tuple(labels.elsewhere)))
    if labels.ambiguous:
        text = f"{node.name}: a job label on a GPU that is cut into slices is ambiguous; it is left out."
        notes.append(Note("ambiguous_label", node.name, text, labels.ambiguous))
    return notes


def _claims(node: Node, gpus: list[Gpu], claims: ClaimCount) -> list[Note]:
    notes = []
    if claims.disagreeing:
        jobs = tuple(sorted(set(claims.disagreeing)))
        text = f"{node.name}: job labels and Slurm's allocated GPUs differ for {len(jobs)} jobs (mapping disagrees)."
        notes.append(Note("mapping_disagrees", node.name, text, len(jobs), jobs))
    if claims.unplaced:
        text = f"{node.name}: jobs hold {claims.unplaced} more GPUs than the node has."
        notes.append(Note("too_many_held", node.name, text, claims.unplaced))
    held = sum(gpu.state in _HELD for gpu in gpus)
    unknown = sum(gpu.state is GpuState.HELD_UNKNOWN for gpu in gpus)
    if node.gpus_allocated is None and unknown:
        text = f"{node.name}: Slurm does not say how many of its {len(gpus)} GPUs are allocated; is gres/gpu tracked?"
        notes.append(Note("gpus_not_tracked", node.name, text, unknown))
    elif node.gpus_allocated is not None and unknown:
        text = f"{node.name}: Slurm counts {node.gpus_allocated} allocated GPUs, its jobs explain {held}."
        notes.append(Note("allocated_differs", node.name, text, unknown))
    return notes


def _signals(node: Node, gpus: list[Gpu]) -> list[Note]:
    odd = [gpu for gpu in gpus if gpu.signals_disagree]
    if not odd:
        return []
    names = ", ".join(gpu.device.label for gpu in odd[:4])
    jobs = tuple(sorted({job_id for gpu in odd for job_id in gpu.job_ids}))
    text = f"{names}: UTIL says idle, power or another signal says busy (signals disagree); taken as not measured."
    return [Note("signals_disagree", node.name, text, len(odd), jobs)]
