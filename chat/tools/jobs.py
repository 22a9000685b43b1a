"""Jobs: the list, one job's report, its series in short, why one waits, and two beside each other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from chat.model import Asker
from chat.tools.answer import Answer, listed, moment, number, text, texts
from chat.tools.forms import hours_form, job_facts, job_row, scope_form, sources_form
from chat.tools.job_forms import report_form
from chat.tools.links import of_job, page
from chat.tools.running_hours import SORTS as HOUR_SORTS
from chat.tools.running_hours import SPAN, rows_by_hours
from chat.tools.series_forms import series_form
from chat.tools.words import Account, At, JobId, Limit, PartitionName, Text, User, one_of
from data.errors import BadRequest
from data.fitting import Fit
from data.known import require_known, require_slurm
from data.model import JobFilter
from data.queries.asked import require_partitions
from data.queries.finished import SORTS as FINISHED_SORTS
from data.queries.job_list import ListQuestion, Show, job_list
from data.queries.job_report import job_answer
from data.queries.job_series import series_of
from data.queries.jobs import SORTS
from data.queries.live import snapshot
from data.queries.pending import Waiting, waiting
from data.slurm.job_states import JOB_STATES, TERMINAL_STATES

_BUDGET_SECONDS = 5.0


def _whole(given: object) -> object:
    """A command gives its numbers as words, and some models do."""
    return int(given) if isinstance(given, str) and given.isdecimal() else given


Days = Annotated[Literal[1, 3, 7], BeforeValidator(_whole)]
JobSort = Annotated[
    str,
    Field(
        description="Running: idle_gpu_hours or wasted_gpu_hours (of the last day), idle (GPUs idle now), utilization; "
        "all: gpus, elapsed, wait, user, state; waiting: priority, submit; finished: end. '-' = largest first."
    ),
]
Plotted = Literal["gpu_utilization", "sm_activity", "gpu_memory_used_bytes", "power_watts"]


def find_jobs(
    asker: Asker,
    show: Annotated[Literal["running", "pending", "finished"], Field(description="Which list of jobs.")] = "running",
    user: User = "",
    account: Account = "",
    partition: PartitionName = "",
    state: Annotated[str, Field(description="Only in this Slurm state, such as TIMEOUT or SUSPENDED.")] = "",
    text: Text = "",
    days: Annotated[Days, Field(description="Finished jobs of the last 1, 3 or 7 days.")] = 1,
    sort: JobSort = "",
    at: At = "",
    limit: Limit = 20,
) -> Answer:
    """Jobs that run, wait or have finished, with GPUs, use and times. Filters combine. For GPU-hours wasted by finished
    jobs ask waste_ranking; for why a job is slow, job_report."""
    which = Show(show)
    moment_asked = asker.moment(at)
    require_known("job state", one_of(state.upper()), JOB_STATES)
    _require_in_list(state.upper(), which)
    require_partitions(asker.viewer, asker.sources, one_of(partition), moment_asked)
    _require_sort(sort, which, at)
    filter = JobFilter(one_of(state.upper()), one_of(user), one_of(account), one_of(partition), text)
    words = {"user": user, "account": account, "partition": partition, "state": state.upper(), "q": text}
    if sort.removeprefix("-") in HOUR_SORTS:
        return _by_hours(asker, filter, sort.removeprefix("-"), limit, page("/jobs", {**words, "sort": "-idle"}))
    asked = ListQuestion(
        which, filter, days=days, sort=sort, limit=limit, at=moment_asked, budget_seconds=_BUDGET_SECONDS
    )
    found = job_list(asker.viewer, asker.sources, asked)
    if found.error is not None:
        raise found.error
    require_slurm(found.snapshot.sources, is_empty=which is not Show.FINISHED and not found.snapshot.jobs)
    value = {
        "as_of_at": moment(found.snapshot.time),
        "shown": which.value,
        **scope_form(asker.viewer),
        **({"days": days, "days_not_read_yet": found.unread} if which is Show.FINISHED else {}),
        "sorted_by": asked.order,
        "jobs": listed(found.rows, job_row, limit, found.total),
        "jobs_running_seen": found.running,
        "jobs_pending_seen": found.pending,
        "not_known": texts(found.unknown),
        "sources_failing": sources_form(found.snapshot.sources),
    }
    more = {"days": str(days)} if which is Show.FINISHED else {}
    return Answer(value, found, page("/jobs", {"show": show, **words, "sort": sort, **more, "at": at}))


def _require_in_list(state: str, which: Show) -> None:
    """Raises BadRequest for a state that no job of the list can have: an empty list would say that there are none."""
    is_there = {"PENDING": which is Show.PENDING, "RUNNING": which is Show.RUNNING}.get(state)
    has_ended = state in TERMINAL_STATES - {"REQUEUED"}
    if is_there is False or (has_ended and which is not Show.FINISHED):
        lists = "finished" if has_ended else state.lower()
        raise BadRequest(f"no {which.value} job is {state}", hint=f"Ask with show={lists}.")


def job_report(asker: Asker, job_id: JobId, at: At = "") -> Answer:
    """One job's efficiency report, running or finished: what it was given and what it used (GPU, memory, CPU, time),
    each GPU, GPU-hours used and wasted, and findings with the #SBATCH lines to change."""
    found = job_answer(asker.viewer, asker.sources, job_id, asker.moment(at))
    return Answer(report_form(found), found, of_job(found.report.job.display_id, at))


def job_series(
    asker: Asker,
    job_id: JobId,
    metric: Annotated[Plotted, Field(description="Which metric over time.")] = "gpu_utilization",
    at: At = "",
) -> Answer:
    """A job's metric over time in short: trend from its first to its last third, and the idle stretches, by device,
    worst first."""
    report = job_answer(asker.viewer, asker.sources, job_id, asker.moment(at))
    found = series_of(asker.viewer, asker.sources, report, metric)
    return Answer(series_form(report.report.job.display_id, found), found, of_job(report.report.job.display_id, at))


def why_pending(asker: Asker, job_id: JobId) -> Answer:
    """Why a job waits, since when, when Slurm expects it to start, its priority, and which nodes have free GPUs, cores
    and memory that would fit it now."""
    found = waiting(asker.viewer, asker.sources, job_id)
    seen = snapshot(asker.viewer, asker.sources).time
    return Answer({"as_of_at": moment(seen), **_waiting_form(found)}, found, of_job(found.job.display_id))


def compare_jobs(asker: Asker, job_id: JobId, other_job_id: JobId) -> Answer:
    """Two jobs side by side: the efficiency report of each, and the difference of what both have measured."""
    answers = [job_answer(asker.viewer, asker.sources, one) for one in (job_id, other_job_id)]
    first, second = (report_form(one, short=True) for one in answers)
    value = {"first": first, "second": second, "second_minus_first": _differences(first, second)}
    return Answer(value, tuple(answers))


def _by_hours(asker: Asker, filter: JobFilter, sort: str, limit: int, link: str) -> Answer:
    """Running GPU jobs by what they left idle or wasted in the last day."""
    found = rows_by_hours(asker, filter, sort)
    value: dict[str, Any] = {
        "as_of_at": moment(asker.now),
        "shown": "running",
        **scope_form(asker.viewer),
        "sorted_by": f"-{sort}",
        "hours_are_of_the_last_seconds": SPAN.total_seconds(),
        "jobs": listed(found, lambda one: job_row(one[0]) | _of_last_day(hours_form(one[1])), limit),
        "not_known": [],
    }
    return Answer(value, tuple(row for row, _ in found), link)


def _of_last_day(hours: dict[str, Any]) -> dict[str, Any]:
    kept = ("idle_gpu_hours", "wasted_gpu_hours", "allocated_gpu_hours", "coverage_ratio")
    return {f"last_day_{key}": hours.get(key) for key in kept}


def _require_sort(sort: str, which: Show, at: str) -> None:
    known: tuple[str, ...] = tuple(FINISHED_SORTS if which is Show.FINISHED else SORTS)
    if which is Show.RUNNING and not at:
        known += HOUR_SORTS
    if sort and sort.removeprefix("-") not in known:
        raise BadRequest(f"{which.value} jobs cannot be sorted by {sort[:40]}", hint=f"Use {', '.join(known)}.")


def _waiting_form(found: Waiting) -> dict[str, Any]:
    job = found.job
    return {
        **job_facts(job),
        "why": text(found.why, 400),
        "reason": text(job.reason),
        "never_starts_by_itself": found.never,
        "wait_seconds": number(found.wait_seconds),
        "expected_start_at": moment(found.expected_start_time),
        "priority": number(found.priority),
        "priority_parts": {name: number(part) for name, part in found.priority_parts},
        "gpus_requested": job.requested.gpus,
        "cpus_requested": job.requested.cpus,
        "memory_requested_bytes": job.requested.memory_bytes,
        "features_requested": text(job.requested_features),
        "gpus_free_on_fitting_nodes": found.free_gpus,
        "fitting_nodes": listed(found.fit, _fit_form, 20),
        "note": "Free GPUs that fit promise no start: jobs of higher priority may be meant to have them.",
    }


def _fit_form(fit: Fit) -> dict[str, Any]:
    return {
        "node": fit.node,
        "gpus_free": fit.free_gpus,
        "cpus_free": fit.free_cpus,
        "memory_free_bytes": fit.free_memory_bytes,
    }


_COMPARED = (
    "gpu_utilization_ratio",
    "gpu_memory_ratio",
    "cpu_ratio",
    "memory_ratio",
    "time_limit_used_ratio",
    "elapsed_seconds",
    "allocated_gpu_hours",
    "used_gpu_hours",
    "wasted_gpu_hours",
)


def _differences(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Of what both have; absent = one of them was not measured."""
    both = {key: (first.get(key), second.get(key)) for key in _COMPARED}
    return {key: number(two - one) for key, (one, two) in both.items() if one is not None and two is not None}
