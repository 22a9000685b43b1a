"""When jobs were suspended, noted while it happens. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from data.history.state import Suspension
from data.model import Job, Window

_KEPT = timedelta(days=45)


def noted(before: Iterable[Suspension], jobs: Iterable[Job], now: datetime) -> tuple[Suspension, ...]:
    """Open what is suspended now, close what is not any more: at the time of the resume, which Slurm gives for a
    running job as its time of suspension, else when it was first seen to be over."""
    by_key: dict[tuple[Any, ...], Job] = {job.key: job for job in jobs}
    kept = [one for one in before if now - (one.end or now) < _KEPT]
    found = [_closed(one, by_key.get(one.key), now) for one in kept]
    is_open = {one.key for one in found if one.end is None}
    for job in by_key.values():
        if job.state == "SUSPENDED" and job.suspend_time is not None and job.key not in is_open:
            found.append(Suspension(*job.key, begin=job.suspend_time))
    return tuple(found)


def windows(found: Iterable[Suspension]) -> Mapping[tuple[Any, ...], tuple[Window, ...]]:
    """The suspensions that are over, by `Job.key`."""
    spans: defaultdict[tuple[Any, ...], list[Window]] = defaultdict(list)
    for one in found:
        if one.end is not None and one.end > one.begin:
            spans[one.key].append(Window(one.begin, one.end))
    return {key: tuple(spans_of) for key, spans_of in spans.items()}


def _closed(one: Suspension, job: Job | None, now: datetime) -> Suspension:
    if one.end is not None or (job is not None and job.state == "SUSPENDED"):
        return one
    resumed = None if job is None else job.suspend_time
    return replace(one, end=resumed if resumed is not None and one.begin < resumed <= now else now)
