"""What can be asked next, from the results of tools alone: commands that lead on from what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from chat.model import ToolResult

MOST = 4
FIRST = ("/status", "/waste week", "/low", "/me")
Value = Mapping[str, Any]


def suggestions(results: Sequence[ToolResult]) -> tuple[str, ...]:
    """At most MOST commands, of the newest results first; none of what was asked already."""
    asked = {_as_asked(one) for one in results}
    found: list[str] = []
    for result in reversed(results):
        lead = _LEADS.get(result.tool)
        if lead is not None and result.value is not None:
            found += [one for one in lead(result.value) if one not in found and one not in asked]
    return tuple(found[:MOST]) if found or not results else ("/help",)


def _as_asked(result: ToolResult) -> str:
    words = [str(value) for value in result.arguments.values() if value]
    return " ".join((f"/{_COMMAND_OF.get(result.tool, result.tool)}", *words))


_COMMAND_OF = {
    "job_report": "job",
    "job_series": "series",
    "why_pending": "why-pending",
    "policy_verdict": "verdict",
    "user_efficiency": "user",
    "node": "node",
}


def _of_job(value: Value) -> Iterator[str]:
    job = value.get("job")
    if value.get("state") == "PENDING":
        yield f"/why-pending {job}"
    elif value.get("gpus"):
        yield f"/series {job}"
        if value.get("state") == "RUNNING":
            yield f"/verdict {job}"
    for finding in _rows(value, "findings")[:1]:
        yield f"/explain {finding['finding']}"
    if value.get("user"):
        yield f"/user {value['user']}"


def _jobs_of(key: str) -> Callable[[Value], Iterator[str]]:
    def lead(value: Value) -> Iterator[str]:
        rows = _rows(value, key)
        for row in rows[:2]:
            is_waiting = row.get("state") == "PENDING"
            yield f"/{'why-pending' if is_waiting else 'job'} {row['job']}"
        users = list(dict.fromkeys(row["user"] for row in rows if row.get("user")))
        yield from (f"/user {name}" for name in users[:1])

    return lead


def _of_status(value: Value) -> Iterator[str]:
    yield "/low"
    if value.get("jobs_pending"):
        yield "/jobs pending"
    yield "/nodes gpu_state=free"
    yield "/waste week"


def _of_groups(value: Value) -> Iterator[str]:
    by = value.get("by")
    for row in _rows(value, "groups")[:2]:
        name = row.get(str(by))
        if by in ("user", "job") and name:
            yield f"/{by} {name}"
    if by == "user":
        yield "/waste week by job"
    elif by != "job":
        yield "/waste week by user"


def _of_user(value: Value) -> Iterator[str]:
    yield from (f"/job {row['job']}" for row in _rows(value, "jobs_that_wasted_most")[:2])
    yield from (f"/explain {row['finding']}" for row in _rows(value, "findings")[:1])
    yield f"/jobs running user={value.get('user')}"


def _of_node(value: Value) -> Iterator[str]:
    yield from (f"/job {row['job']}" for row in _rows(value, "jobs")[:3])


def _of_nodes(value: Value) -> Iterator[str]:
    yield from (f"/node {row['node']}" for row in _rows(value, "nodes")[:2])


def _of_verdict(value: Value) -> Iterator[str]:
    yield f"/job {value.get('job')}"
    yield f"/series {value.get('job')}"
    yield "/low"


def _of_series(value: Value) -> Iterator[str]:
    yield f"/job {value.get('job')}"


def _of_waiting(value: Value) -> Iterator[str]:
    yield from (f"/node {row['node']}" for row in _rows(value, "fitting_nodes")[:1])
    yield "/wait month"


def _of_both(value: Value) -> Iterator[str]:
    yield from (f"/series {value[key]['job']}" for key in ("first", "second"))


def _of_advice(value: Value) -> Iterator[str]:
    if value.get("advice"):
        yield f"/nodes {value['advice']['partition']} gpu_state=free"
    yield "/wait month"
    yield "/me"


def _of_term(value: Value) -> Iterator[str]:
    yield "/metrics day"
    yield "/waste week"


def _of_health(value: Value) -> Iterator[str]:
    yield "/status"


def _of_waits(value: Value) -> Iterator[str]:
    yield "/jobs pending"
    yield "/nodes gpu_state=free"


def _rows(value: Value, key: str) -> Sequence[Value]:
    found = value.get(key)
    return found["rows"] if isinstance(found, Mapping) else ()


_LEADS: Mapping[str, Callable[[Value], Iterator[str]]] = {
    "cluster_status": _of_status,
    "find_nodes": _of_nodes,
    "node": _of_node,
    "find_jobs": _jobs_of("jobs"),
    "job_report": _of_job,
    "job_series": _of_series,
    "why_pending": _of_waiting,
    "policy_verdict": _of_verdict,
    "policy_verdicts": _jobs_of("verdicts"),
    "user_efficiency": _of_user,
    "efficiency_report": _of_groups,
    "waste_ranking": _of_groups,
    "detailed_metrics": _of_groups,
    "wait_by_gpu_count": _of_waits,
    "compare_jobs": _of_both,
    "sbatch_advice": _of_advice,
    "explain": _of_term,
    "source_health": _of_health,
}
