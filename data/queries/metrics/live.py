"""The detailed metrics of a window, from the metrics server: a few questions, however many jobs and viewers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from data.collection import without_collection
from data.findings import JobFacts, PartitionFacts, partition_facts
from data.metrics.registry import METRICS
from data.model import Device, Job, Scope, Viewer, Window, WindowReading
from data.queries.metrics.attempts import attempts_in, cut, span_in
from data.queries.metrics.columns import COLUMNS
from data.queries.metrics.model import Piece
from data.queries.metrics.pieces import owner_of, pieces_of
from data.queries.metrics.sorting_out import SortedOut, settle, sort_out
from data.report import build_report
from data.sources import Sources

LONGEST = timedelta(hours=24)
OLDEST = timedelta(days=7)
_HOST = ("cpu_seconds", "memory_used_bytes")
DEVICE_METRICS = tuple(dict.fromkeys(name for column in COLUMNS.values() for name in column.metrics if name in METRICS))
ASKED = (*DEVICE_METRICS, "gpu_memory_total_bytes", *_HOST)
# Samples that are read one by one where sums cannot tell jobs apart: about five seconds of reading.
MOST_SAMPLES = 1_500_000


@dataclass(frozen=True, slots=True)
class Pieces:
    """All pieces of a window, of everybody: whoever shows them scopes them. `missing` are metrics without a sample."""

    window: Window
    pieces: tuple[Piece, ...]
    interval_seconds: float | None = None
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def visible(viewer: Viewer, found: Pieces) -> list[Piece]:
    """The pieces that the viewer may see."""
    if viewer.is_staff:
        return list(found.pieces)
    return [piece for piece in found.pieces if viewer.may_see(piece.owner.user, piece.owner.account)]


def live_pieces(sources: Sources, since: datetime, until: datetime, now: datetime) -> Pieces:
    """The pieces of [since, until), kept for as long as they hardly change and made once for all who wait.

    A window that ends now is made for the end of the last step, so that all viewers of a while share it. Raises
    SourceError when the metrics do not answer.
    """
    span = (until - since).total_seconds()
    if until < now:
        key: tuple[object, ...] = ("metrics", since, until)
        return sources.windows.get(key, lambda: _read(sources, Window(since, until)))
    step = min(600.0, max(30.0, span / 60))
    recent = ("metrics", span, int(now.timestamp() // step))
    return sources.windows.get(recent, lambda: _read(sources, Window(since, until)))


def _read(sources: Sources, window: Window) -> Pieces:
    unknown: list[str] = []
    reading = sources.metrics.window(ASKED, window)
    jobs = attempts_in(sources, window, unknown)
    with without_collection():
        found = sort_out(reading, jobs, window)
        _settle(sources, found, jobs, reading, unknown)
        pieces = _pieces(sources, jobs, reading, found)
    return Pieces(window, tuple(pieces), reading.interval_seconds, reading.missing, tuple(unknown))


def _settle(sources: Sources, found: SortedOut, jobs: list[Job], reading: WindowReading, unknown: list[str]) -> None:
    """Read the samples themselves where sums do not tell whose they are; not where they are too many."""
    if not found.open:
        return
    series = len({(stat.device.key, stat.job_label) for stat in reading.stats if stat.device and found.is_open(stat)})
    samples = series * len(DEVICE_METRICS) * reading.window.seconds / (reading.interval_seconds or 30.0)
    if samples > MOST_SAMPLES:
        unknown.append(
            f"{len(found.open)} jobs are not measured in so long a range: their GPUs changed hands, and no job label "
            "tells whose samples are whose. Choose a shorter range, or let the exporter label jobs (see Health)."
        )
        return
    scope = Scope(frozenset(found.labels), frozenset(found.bare))
    settle(found, jobs, reading.window, sources.metrics.series(DEVICE_METRICS, reading.window, scope))


def _pieces(sources: Sources, jobs: list[Job], reading: WindowReading, found: SortedOut) -> list[Piece]:
    picture = sources.live.picture()
    inventory = {place: known.device for place, known in picture.inventory.places.items()}
    offers = _Partitions(sources)
    pieces: list[Piece] = []
    for place, job in enumerate(jobs):
        pieces += _of_job(sources, job, reading, found, place, inventory, offers)
    return pieces


def _of_job(
    sources: Sources,
    job: Job,
    reading: WindowReading,
    found: SortedOut,
    place: int,
    inventory: dict[tuple[str, int], Device],
    partitions: _Partitions,
) -> list[Piece]:
    settings, span = sources.settings, span_in(job, reading.window)
    report = build_report(
        cut(job, reading.window),
        WindowReading(span, tuple(found.stats[place]), reading.interval_seconds),
        now=reading.window.end,
        limits=settings.judgement,
        findings=settings.findings,
        inventory=inventory,
    )
    facts = JobFacts(report, settings.findings, settings.judgement, partitions.of(job))
    owner = owner_of(job, settings.applications.name_pattern)
    return pieces_of(owner, facts, span.seconds, found.shared.get(place, ()))


class _Partitions:
    """What nodes of each kind offer, looked up once for jobs on the same nodes."""

    def __init__(self, sources: Sources) -> None:
        self._snapshot = sources.live.snapshot()
        self._known: dict[tuple[str, tuple[str, ...]], PartitionFacts] = {}

    def of(self, job: Job) -> PartitionFacts:
        key = (job.partition, job.nodes)
        if key not in self._known:
            self._known[key] = partition_facts(job, self._snapshot.nodes, self._snapshot.partitions)
        return self._known[key]
