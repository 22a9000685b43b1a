"""What slurmctld's times mean, which depends on the job's state.

`start_time` of a pending job is when it is expected to start, `end_time` of a running one when its limit ends it.
`suspend_time` is when the job was last suspended *or resumed*, and `pre_sus_time` the seconds that it had run by then.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from data.slurm.job_states import JobState


class TimeFields(TypedDict, total=False):
    """The fields of a Job that depend on its state. `suspend_time` is there only while the job is suspended, and
    `resumed_time` only while it runs again."""

    start_time: datetime
    expected_start_time: datetime | None
    end_time: datetime | None
    suspend_time: datetime | None
    suspended_seconds: float
    resumed_time: datetime | None
    elapsed_seconds: float | None


def controller_times(
    state: JobState,
    start: datetime | None,
    end: datetime | None,
    suspend: datetime | None,
    ran_before_seconds: float | None,
    *,
    has_nodes: bool,
) -> TimeFields:
    """Times from slurmctld's fields, as Slurm's own RunTime reads them.

    A job that ended without nodes never ran: Slurm sets its start to its end.
    """
    if state.state == "PENDING":
        return {"expected_start_time": start}
    if start is None or (state.is_terminal and not has_nodes):
        return {"end_time": end if state.is_terminal else None}
    suspended = _suspended(start, suspend, ran_before_seconds)
    ended = end if state.is_terminal else None
    return {
        "start_time": start,
        "end_time": ended,
        "suspend_time": suspend if state.state == "SUSPENDED" else None,
        "suspended_seconds": suspended,
        "resumed_time": suspend if state.state == "RUNNING" else None,
        "elapsed_seconds": None if ended is None else max(0.0, (ended - start).total_seconds() - suspended),
    }


def _suspended(start: datetime, suspend: datetime | None, ran_before_seconds: float | None) -> float:
    """Seconds spent suspended up to `suspend`: the time since the start, less what the job had run by then."""
    if suspend is None:
        return 0.0
    return max(0.0, (suspend - start).total_seconds() - (ran_before_seconds or 0.0))
