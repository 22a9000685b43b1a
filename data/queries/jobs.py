"""Jobs that run or wait: the list, and the search field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from data.errors import BadRequest
from data.job_filter import fits_filter
from data.join import holds
from data.model import ClusterSnapshot, Gpu, GpuState, Job, JobFilter, JoinMethod, SourceState, Viewer
from data.queries.live import snapshot
from data.queries.scope import may_see
from data.sources import Sources

MOST_ROWS = 10_000
_BEST_FIRST = tuple(JoinMethod)


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job and what its devices do now. None = not known or not measured.

    `utilization` is the plain mean of the `gpus_measured` devices whose signals can be trusted, of `gpus` held (or
    asked for, while it waits). `join` is the weakest way in which a device came to the job.
    """

    job: Job
    elapsed_seconds: float | None
    wait_seconds: float | None
    gpus: int | None
    gpus_measured: int = 0
    gpus_idle: int = 0
    utilization: float | None = None
    join: JoinMethod | None = None
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class JobPage:
    """A part of the jobs that the viewer may see and the filter lets through; `total` is the number of all of them."""

    time: datetime
    rows: tuple[JobRow, ...]
    total: int
    offset: int = 0
    sources: tuple[SourceState, ...] = ()
    unknown: tuple[str, ...] = ()
    is_past: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """One hit of the search: `kind` is job, node, user or account."""

    kind: str
    name: str
    text: str = ""


SORTS: dict[str, Callable[[JobRow], Any]] = {
    "id": lambda row: (row.job.array_job_id or row.job.job_id, row.job.job_id),
    "name": lambda row: row.job.name.lower() or None,
    "user": lambda row: row.job.user,
    "account": lambda row: row.job.account,
    "partition": lambda row: row.job.partition or None,
    "state": lambda row: row.job.state,
    "gpus": lambda row: row.gpus,
    "idle": lambda row: row.gpus_idle if row.gpus_measured else None,
    "utilization": lambda row: row.utilization,
    "elapsed": lambda row: row.elapsed_seconds,
    "wait": lambda row: row.wait_seconds,
    "start": lambda row: row.job.start_time,
    "submit": lambda row: row.job.submit_time,
    "priority": lambda row: row.job.priority,
}


def jobs(
    viewer: Viewer,
    sources: Sources,
    filter: JobFilter | None = None,
    at: datetime | None = None,
    sort: str = "id",
    limit: int = 100,
    offset: int = 0,
) -> JobPage:
    """Answer with running, pending and suspended jobs. `sort` is a key of SORTS, with "-" before it the other way
    round; unknown values come last both ways. Raises BadRequest for another sort or a limit outside 1..10,000."""
    key = _sort_key(sort)
    if not 1 <= limit <= MOST_ROWS or offset < 0:
        raise BadRequest(f"limit {limit}, offset {offset}", hint=f"limit is 1 to {MOST_ROWS}, offset 0 or more.")
    whole = snapshot(viewer, sources, at=at)
    rows = job_rows(viewer, whole, filter or JobFilter())
    known = [row for row in rows if key(row) is not None]
    known.sort(key=key, reverse=sort.startswith("-"))
    rows = known + [row for row in rows if key(row) is None]
    shown = tuple(rows[offset : offset + limit])
    return JobPage(whole.time, shown, len(rows), offset, whole.sources, whole.unknown, whole.is_past)


def job_rows(viewer: Viewer, whole: ClusterSnapshot, wanted: JobFilter) -> list[JobRow]:
    """Rows of the jobs in a snapshot that the viewer may see and the filter lets through."""
    seen = [job for job in whole.jobs if job.job_id and may_see(viewer, job) and fits_filter(job, wanted)]
    held: dict[int, list[Gpu]] = {}
    for gpu in whole.gpus:
        for job_id in gpu.job_ids:
            held.setdefault(job_id, []).append(gpu)
    return [_row(job, held.get(job.job_id, []), whole.time) for job in seen]


def find(viewer: Viewer, sources: Sources, text: str, limit: int = 10) -> tuple[Found, ...]:
    """Answer the search field: jobs by id or name, nodes, users and accounts, exact hits first.

    Only what the viewer may see is found; an id that is not in the live picture is not looked up.
    """
    wanted = text.strip().lower()
    if not wanted:
        return ()
    whole = snapshot(viewer, sources)
    seen = [job for job in whole.jobs if job.job_id and may_see(viewer, job)]
    hits = [
        *(Found("job", job.display_id, job.name) for job in seen if _names_job(job, wanted)),
        *(Found("node", node.name, node.state.display) for node in whole.nodes if wanted in node.name.lower()),
        *(Found("user", name) for name in _names((job.user for job in seen), wanted)),
        *(Found("account", name) for name in _names((job.account for job in seen), wanted)),
    ]
    hits.sort(key=lambda hit: (hit.name.lower() != wanted, not hit.name.lower().startswith(wanted)))
    return tuple(hits[: max(0, limit)])


def _sort_key(sort: str) -> Callable[[JobRow], Any]:
    name = sort.removeprefix("-")
    if name not in SORTS:
        raise BadRequest(f"jobs cannot be sorted by {name!r}", hint=f"Choose one of {', '.join(sorted(SORTS))}.")
    return SORTS[name]


def _names_job(job: Job, text: str) -> bool:
    return text in (job.display_id, str(job.job_id), str(job.array_job_id)) or text in job.name.lower()


def _names(names: Iterable[str | None], text: str) -> list[str]:
    return sorted({name for name in names if name and text in name.lower()})


def _row(job: Job, gpus: list[Gpu], now: datetime) -> JobRow:
    measured = [gpu for gpu in gpus if gpu.state in (GpuState.BUSY, GpuState.IDLE)]
    values = [value for gpu in measured if (value := gpu.utilization) is not None]
    methods = [gpu.join for gpu in gpus if gpu.join is not None]
    return JobRow(
        job=job,
        elapsed_seconds=job.elapsed_at(now),
        wait_seconds=_wait(job, now),
        gpus=_gpu_count(job, gpus),
        gpus_measured=len(values),
        gpus_idle=sum(gpu.state is GpuState.IDLE for gpu in gpus),
        utilization=sum(values) / len(values) if values else None,
        join=max(methods, key=_BEST_FIRST.index) if methods else None,
        is_shared=any(gpu.is_shared for gpu in gpus),
    )


def _gpu_count(job: Job, gpus: list[Gpu]) -> int | None:
    if not holds(job):
        return job.requested.gpus
    return job.allocated.gpus if job.allocated.gpus is not None else len(gpus) or None


def _wait(job: Job, now: datetime) -> float | None:
    """Start less eligible time; of a waiting job up to now, and None while it is not eligible yet."""
    since = job.eligible_time or (job.submit_time if job.start_time is not None else None)
    if since is None:
        return None
    seconds = ((job.start_time or now) - since).total_seconds()
    return seconds if seconds >= 0 else None
