"""The past: GPU-hours by group, detailed metrics, who wastes most, how long jobs waited, and one user over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from chat.model import Asker
from chat.tools.answer import Answer, listed, moment, number, text
from chat.tools.forms import scope_form
from chat.tools.history_forms import (
    finding_form,
    row_form,
    span_form,
    state_form,
    trend_form,
    values_form,
    wait_form,
)
from chat.tools.links import of_user, page
from chat.tools.words import Account, HistoryGroup, Limit, Model, PartitionName, Since, Until, User
from data.queries import history
from data.queries.history import Group, Report, ReportQuery, report_query

Column = Annotated[
    Literal[
        "gpu_hours_allocated",
        "gpu_hours_used",
        "gpu_hours_wasted",
        "gpu_hours_idle",
        "utilization",
        "jobs",
        "coverage",
        "wait_p50_seconds",
        "cpu_efficiency",
        "memory_efficiency",
        "failed_share",
        "cost",
        "energy_kwh",
    ],
    Field(description="Column to sort by."),
]
_REPORTED = (
    "jobs",
    "gpu_hours_allocated",
    "share",
    "gpu_hours_measured",
    "gpu_hours_used",
    "gpu_hours_wasted",
    "gpu_hours_idle",
    "utilization",
    "coverage",
    "cpu_efficiency",
    "cpu_coverage",
    "memory_efficiency",
    "memory_coverage",
    "wait_p50_seconds",
    "wait_p90_seconds",
    "waits",
    "failed_share",
    "cost",
    "cost_coverage",
    "energy_kwh",
    "energy_coverage",
)
_RANKED = (
    "jobs",
    "gpu_hours_allocated",
    "gpu_hours_measured",
    "gpu_hours_used",
    "gpu_hours_wasted",
    "gpu_hours_idle",
    "idle_coverage",
    "utilization",
    "coverage",
)
_MONTH = "30d"
# Groups that the page of history shows by its charts and not as rows.
_CHARTED = frozenset({Group.DAY.value})


def efficiency_report(
    asker: Asker,
    by: Annotated[HistoryGroup, Field(description="What a row is.")],
    since: Since = "30d",
    until: Until = "",
    user: User = "",
    account: Account = "",
    partition: PartitionName = "",
    model: Model = "",
    sort: Column = "gpu_hours_allocated",
    largest_first: Annotated[bool, Field(description="Null = yes.")] = True,
    compare: Annotated[bool, Field(description="With the time of equal length before. Null = no.")] = False,
    limit: Limit = 15,
) -> Answer:
    """GPU-hours of a past range by group: allocated, measured, used, wasted, idle, utilization, CPU and memory
    efficiency, waits, failures, energy and cost, of each group and of all together. Includes running jobs so far."""
    words = _words(by, since, until, user=user, account=account, partition=partition, model=model)
    words["sort"] = f"{'-' if largest_first else ''}{sort}"
    query = replace(_query(asker, words), columns=_REPORTED, compare=compare)
    found = history.report(asker.viewer, asker.sources, _with_limit(query, limit))
    value = scope_form(asker.viewer) | _report_form(found, by, limit) | _whole_cluster(asker, query)
    return Answer(value, found, _link(words))


def waste_ranking(
    asker: Asker,
    by: Annotated[
        Literal["user", "account", "partition", "model", "job", "application"], Field(description="Who or what.")
    ] = "user",
    of: Annotated[
        Literal["gpu_hours_wasted", "gpu_hours_idle"],
        Field(description="wasted = measured minus used; idle = hours in which the GPU did nothing at all."),
    ] = "gpu_hours_wasted",
    since: Since = "7d",
    until: Until = "",
    user: User = "",
    account: Account = "",
    partition: PartitionName = "",
    model: Model = "",
    limit: Limit = 10,
) -> Answer:
    """Who or what wasted most GPU-hours in a past range, worst first, with the total of all."""
    words = _words(by, since, until, user=user, account=account, partition=partition, model=model)
    words["sort"] = f"-{of}"
    query = replace(_query(asker, words), columns=_RANKED)
    found = history.report(asker.viewer, asker.sources, _with_limit(query, limit))
    value = scope_form(asker.viewer) | _report_form(found, by, limit) | {"ranked_by": of}
    return Answer(value, found, _link(words))


def wait_by_gpu_count(
    asker: Asker,
    since: Since = "30d",
    until: Until = "",
    partition: PartitionName = "",
    model: Model = "",
    only_mine: Annotated[bool, Field(description="Only the asker's own jobs; null = everybody's.")] = False,
) -> Answer:
    """How long jobs waited for their start, by how many GPUs they asked for: median and 90th percentile, of jobs that
    began in the range."""
    user = asker.viewer.user if only_mine else ""
    words = _words("size", since, until, user=user, partition=partition, model=model)
    query = replace(_query(asker, words), columns=("jobs", "waits", "wait_p50_seconds", "wait_p90_seconds"))
    ask = history.report if only_mine else history.cluster_report
    found = ask(asker.viewer, asker.sources, query)
    value = {
        **span_form(found),
        "of": "own jobs" if only_mine else "everybody's jobs",
        "partition": partition or None,
        "waits": listed(found.waits, wait_form, 10),
    }
    return Answer(value, found, _link({**words, "view": "waits"}))


def user_efficiency(
    asker: Asker,
    user: Annotated[str, Field(description="Whose; null = the asker's own.", max_length=200)] = "",
    since: Since = _MONTH,
    until: Until = "",
) -> Answer:
    """How well one user used GPUs over time: totals, trend, partitions, the jobs that wasted most, findings, and the
    place among all users."""
    name = user or asker.viewer.user
    words = _words("job", since, until)
    found = history.user_history(asker.viewer, asker.sources, name, replace(_query(asker, words), columns=_RANKED))
    standing = found.standing
    value = {
        "user": text(name),
        **_span(asker, words),
        **state_form(found.state),
        **values_form(found.total.values, _RANKED),
        "trend": trend_form(found.trend),
        "partitions": listed(found.partitions, lambda row: row_form(row, _RANKED, "partition"), 10),
        "jobs_that_wasted_most": listed(found.jobs, lambda row: row_form(row, _RANKED, "job"), 8),
        "findings": listed(found.findings, finding_form, 8),
        "place_among_users": {
            "rank": standing.rank,
            "of_users": standing.of,
            "median_utilization_ratio": number(standing.median),
            "note": "Rank 1 has the best utilization; null = too little measured to be ranked.",
        },
    }
    is_usual = since == _MONTH and not until  # what the page of a user shows
    return Answer(value, found, of_user(name) if is_usual else _link({**words, "user": name}))


def _whole_cluster(asker: Asker, query: ReportQuery) -> dict[str, Any]:
    """Beside a user's own numbers those of everybody, where that names nobody."""
    kept = query.filter
    if asker.viewer.is_staff or kept.users or kept.accounts:
        return {}
    whole = replace(query, by=Group.NONE, columns=_RANKED, sort="name", limit=None, compare=False)
    total = history.cluster_report(asker.viewer, asker.sources, whole).total
    return {"whole_cluster": values_form(total.values, _RANKED)}


def _words(by: str, since: str, until: str, **filters: str) -> dict[str, str]:
    return {"by": by, "since": since, "until": until, **filters}


def _query(asker: Asker, words: Mapping[str, str]) -> ReportQuery:
    """The question that the same words ask on the page and in the terminal."""
    return report_query({key: value for key, value in words.items() if value}, asker.minute, asker.zone)


def _span(asker: Asker, words: Mapping[str, str]) -> dict[str, Any]:
    query = _query(asker, words)
    return {"from_at": moment(query.since), "until_at": moment(query.until)}


def _with_limit(query: ReportQuery, limit: int) -> ReportQuery:
    """Rows are cut by the engine where they are many; a tree of accounts is small and keeps its branches."""
    return query if query.by is Group.ACCOUNT else replace(query, limit=limit)


def _report_form(found: Report, by: str, limit: int) -> dict[str, Any]:
    columns = found.query.columns
    return {
        **span_form(found),
        "by": by,
        "total": row_form(found.total, columns, "of"),
        "groups": listed(found.rows, lambda row: row_form(row, columns, by), limit, max(found.groups, len(found.rows))),
    }


def _link(words: Mapping[str, str]) -> str:
    asked = {key: value for key, value in words.items() if key != "by" or value not in _CHARTED}
    return page("/efficiency", asked)
