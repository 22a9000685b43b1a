"""How the sources are, what is missing, and what does not add up between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from data.check import Check, join, metrics, slurm
from data.errors import FullwarpError
from data.model import (
    ClusterSnapshot,
    DeviceReading,
    JoinMethod,
    Note,
    Reading,
    SourceCondition,
    SourceHealth,
    SourceState,
    Viewer,
)
from data.queries.history_health import HistoryHealth, history_health
from data.queries.live import snapshot
from data.sources import Sources


@dataclass(frozen=True, slots=True)
class Health:
    """One picture's sources and notes. `asked` is what the metrics server says of itself, None = not answered.

    `missing` are metrics that no exporter gives. `joins` counts held devices by the way that they came to their job.
    `checks` name the lines that mend something; they, addresses and error texts are for staff only. `history` is of
    now: None where none is kept or a past moment is asked for.
    """

    snapshot: ClusterSnapshot
    sources: tuple[SourceState, ...]
    missing: tuple[str, ...] = ()
    interval_seconds: float | None = None
    hosts: int = 0
    joins: Mapping[JoinMethod, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    checks: tuple[Check, ...] = ()
    history: HistoryHealth | None = None


def health(viewer: Viewer, sources: Sources, at: datetime | None = None) -> Health:
    """Answer how the sources are. Costs one look at the metrics server per half minute, however many look."""
    whole = snapshot(viewer, sources, at=at)
    asked = None if at is not None or not _is_fine(whole, "metrics") else _ask(sources)
    missing = asked.missing_metrics if asked else _of(whole, "metrics", lambda state: state.missing_metrics)
    held = [gpu for gpu in whole.gpus if gpu.join is not None]
    return Health(
        snapshot=whole,
        sources=whole.sources,
        missing=missing,
        interval_seconds=asked.interval_seconds if asked else None,
        hosts=len(asked.hosts) if asked else 0,
        joins=Counter(gpu.join for gpu in held if gpu.join is not None),
        notes=whole.notes,
        checks=tuple(_checks(sources, whole, asked, missing)) if viewer.is_staff else (),
        history=history_health(viewer, sources) if at is None else None,
    )


def _ask(sources: Sources) -> SourceHealth | None:
    try:
        return sources.recent.get("metrics health", sources.metrics.health)
    except FullwarpError:
        return None


def _is_fine(whole: ClusterSnapshot, name: str) -> bool:
    return any(state.name == name and state.condition is SourceCondition.OK for state in whole.sources)


def _of(whole: ClusterSnapshot, name: str, read: Callable[[SourceState], tuple[str, ...]]) -> tuple[str, ...]:
    return next((read(state) for state in whole.sources if state.name == name), ())


def _checks(
    sources: Sources, whole: ClusterSnapshot, asked: SourceHealth | None, missing: tuple[str, ...]
) -> Iterator[Check]:
    """The same checks as `fullwarp check`, on the picture that is there already."""
    reading = _reading(whole)
    dialects = _of(whole, "metrics", lambda state: state.dialects)
    if whole.nodes:
        yield slurm.counts_gpus(whole.nodes, whole.jobs)
        yield from slurm.cluster_name(sources.settings.cluster, whole.nodes)
    if asked is not None and asked.reachable:
        yield from metrics.exporters(asked, whole.cluster, sources.settings.metrics)
    yield from metrics.fields(missing, dialects)
    if reading.devices:
        holders = sum(job.is_running and bool(job.allocated.gpus) for job in whole.jobs)
        yield from metrics.job_labels(reading, holders)
        yield from join.hosts(whole.nodes, reading)
        yield from join.gpu_counts(whole.nodes, reading)


def _reading(whole: ClusterSnapshot) -> Reading:
    """The measured devices of the picture, as the checks want them."""
    devices = tuple(
        DeviceReading(gpu.device, gpu.values, _label(gpu.join, gpu.job_ids)) for gpu in whole.gpus if gpu.values
    )
    return Reading(whole.time, devices)


def _label(method: JoinMethod | None, job_ids: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(str(job_id) for job_id in job_ids) if method is JoinMethod.JOB_LABEL else ()
