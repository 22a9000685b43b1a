"""What needs someone's attention now, worst first. Pure; of a snapshot that is scoped to its reader already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from data.model import ClusterSnapshot, Gpu, GpuState, Job, Node, SourceCondition
from data.uses import HELD
from data.words import count, of

HOT_CELSIUS = 85.0
_NAMED = 3
_TOLD_NOTES = frozenset(
    {
        "no_host_joins",
        "gpu_count_differs",
        "gpus_not_tracked",
        "mapping_disagrees",
        "signals_disagree",
        "unlisted_nodes",
        "cache_fails",
    }
)


class Severity(StrEnum):
    """Worst first."""

    BAD = "bad"
    WARN = "warn"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Attention:
    """One line: what (`kind`), about whom (`subject`), the numbers in words, and where to go.

    `target_kind` is job, node or source, `target` its id or name; both are "" for the cluster as a whole.
    `gpus` is how many GPUs it is about, or how many MIG slices where `are_slices`.
    """

    kind: str
    severity: Severity
    subject: str
    text: str
    target_kind: str = ""
    target: str = ""
    gpus: int = 0
    since: datetime | None = None
    are_slices: bool = False


def attention(snapshot: ClusterSnapshot) -> tuple[Attention, ...]:
    """Failing sources, XIDs, nodes that are down or drained, idle held GPUs by job, silent exporters, runaway jobs,
    heat, and what does not add up; by severity, then by the number of GPUs. Jobs without a visible id are left out."""
    by_node: dict[str, list[Gpu]] = {}
    for gpu in snapshot.gpus:
        by_node.setdefault(gpu.device.node, []).append(gpu)
    found = [
        *_sources(snapshot),
        *_nodes(snapshot, by_node),
        *_devices(snapshot.gpus),
        *_idle_jobs(snapshot),
        *_silent(snapshot, by_node),
        *_runaway(snapshot.runaway),
        *_notes(snapshot),
    ]
    return tuple(sorted(found, key=_rank))


def _rank(one: Attention) -> tuple[int, bool, int, str, str]:
    """A source that fails stands above all: it makes everything else doubtful."""
    severity = tuple(Severity).index(one.severity)
    return (severity, one.kind != "source_failing", -one.gpus, one.kind, one.subject)


def _sources(snapshot: ClusterSnapshot) -> Iterator[Attention]:
    for source in snapshot.sources:
        if source.condition in (SourceCondition.STALE, SourceCondition.DOWN):
            text = "does not answer; the last good state is shown" if source.condition is SourceCondition.STALE else ""
            text = text or "has not answered yet; nothing of it is known"
            yield Attention(
                "source_failing", Severity.BAD, source.name, text, "source", source.name, since=source.failing_since
            )


def _nodes(snapshot: ClusterSnapshot, by_node: dict[str, list[Gpu]]) -> Iterator[Attention]:
    for node in snapshot.nodes:
        gpus = by_node.get(node.name, [])
        if node.state.bucket == "down":
            yield _node_line("node_down", Severity.BAD, node, len(gpus))
        elif node.state.bucket in ("drained", "draining") or "DRAIN" in node.state.flags:
            yield _node_line("node_drained", Severity.WARN, node, len(gpus))


def _node_line(kind: str, severity: Severity, node: Node, gpus: int) -> Attention:
    size = f", {count(gpus, 'GPU')}" if gpus else ""
    text = f"{node.state.display.lower()}{size}: {node.reason or 'no reason given'}"
    return Attention(kind, severity, node.name, text, "node", node.name, gpus, node.reason_time)


def _devices(gpus: tuple[Gpu, ...]) -> Iterator[Attention]:
    """XID errors by card, heat by node. A value for the whole card is repeated on its slices and told once."""
    failed: dict[str, tuple[str, float]] = {}
    hot: dict[str, dict[str, float]] = {}
    for gpu in gpus:
        xid, heat = gpu.values.get("xid", 0.0), gpu.values.get("temperature_celsius", 0.0)
        if not (xid > 0 or heat >= HOT_CELSIUS):
            continue
        node, index = gpu.device.node, gpu.device.index
        card = f"{node}/{'?' if index is None else index}"
        if xid > 0:
            failed.setdefault(card, (node, xid))
        if heat >= HOT_CELSIUS:
            hot.setdefault(node, {}).setdefault(card, heat)
    for card, (node, xid) in failed.items():
        yield Attention("xid", Severity.BAD, card, f"last XID error {xid:.0f}", "node", node, 1)
    yield from (_hot_line(node, heats) for node, heats in hot.items())


def _hot_line(node: str, heats: dict[str, float]) -> Attention:
    if len(heats) == 1:
        ((card, heat),) = heats.items()
        return Attention("hot", Severity.WARN, card, f"{heat:.0f} °C: it may slow itself down", "node", node, 1)
    low, high = f"{min(heats.values()):.0f}", f"{max(heats.values()):.0f}"
    span = high if low == high else f"{low} to {high}"
    text = f"{len(heats)} GPUs at {span} °C: they may slow themselves down"
    return Attention("hot", Severity.WARN, node, text, "node", node, len(heats))


def _idle_jobs(snapshot: ClusterSnapshot) -> Iterator[Attention]:
    held = Counter(job_id for gpu in snapshot.gpus for job_id in gpu.job_ids)
    idle = Counter(job_id for gpu in snapshot.gpus if gpu.state is GpuState.IDLE for job_id in gpu.job_ids)
    whole = {job_id for gpu in snapshot.gpus if not gpu.device.is_slice for job_id in gpu.job_ids}
    for job in snapshot.jobs:
        if job.job_id and job.state == "RUNNING" and idle[job.job_id]:
            yield _idle_line(job, idle[job.job_id], held[job.job_id], are_slices=job.job_id not in whole)


def _idle_line(job: Job, idle: int, held: int, *, are_slices: bool) -> Attention:
    owner = f", user {job.user}" if job.user else ""
    text = f"{of(idle, held, 'slice' if are_slices else 'GPU')} idle now{owner}"
    name = job.display_id
    return Attention("idle_job", Severity.WARN, name, text, "job", name, idle, job.start_time, are_slices)


def _silent(snapshot: ClusterSnapshot, by_node: dict[str, list[Gpu]]) -> Iterator[Attention]:
    """Nodes that are up and of which nothing is measured, while other nodes are."""
    measured = {name for name, gpus in by_node.items() if any(gpu.values for gpu in gpus)}
    for node in snapshot.nodes if measured else ():
        gpus = by_node.get(node.name, [])
        if gpus and node.name not in measured and node.state.bucket not in ("down", "unknown"):
            held = sum(gpu.state in HELD for gpu in gpus)
            text = f"no values of its {count(len(gpus), 'GPU')}, {held} of them held: the exporter is silent"
            yield Attention("silent_node", Severity.WARN, node.name, text, "node", node.name, len(gpus))


def _runaway(jobs: tuple[Job, ...]) -> Iterator[Attention]:
    """One line for all that the viewer may see; nobody but an administrator can end them."""
    seen = [job for job in jobs if job.display_id]
    if not seen:
        return
    names = ", ".join(job.display_id for job in seen[:_NAMED])
    more = f" and {len(seen) - _NAMED} more" if len(seen) > _NAMED else ""
    text = f"only accounting believes that {names}{more} {'run' if len(seen) > 1 else 'runs'}"
    subject, since = count(len(seen), "runaway job"), seen[0].start_time
    yield Attention("runaway_jobs", Severity.WARN, subject, text, "source", "slurm", since=since)


def _notes(snapshot: ClusterSnapshot) -> Iterator[Attention]:
    for note in snapshot.notes:
        if note.kind in _TOLD_NOTES:
            severity = Severity.WARN if note.kind == "no_host_joins" else Severity.INFO
            target_kind = "node" if note.subject else ""
            yield Attention(
                note.kind, severity, note.subject or snapshot.cluster, note.text, target_kind, note.subject, note.count
            )
