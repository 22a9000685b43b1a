"""How the GPUs were used in detail: UTIL, SM, occupancy, tensor, memory, links, with a diagnosis for each row."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from chat.model import Asker
from chat.tools.answer import Answer, listed, moment, number, text, texts
from chat.tools.forms import hours_form, scope_form, unit_key
from chat.tools.links import page
from chat.tools.words import Account, Limit, Model, PartitionName, Since, Until, User, one_of
from data.known import require_known
from data.moment import parse_edge
from data.queries.metrics import COLUMNS, Group, MetricsRow, MetricsTable, Question
from data.queries.metrics import detailed_metrics as ask

_WHOLE = 0.995
MetricsGroupWord = Literal["job", "user", "account", "partition", "model", "application"]
MetricsSort = Annotated[
    str,
    Field(description="gpu_hours, coverage, or a metric such as utilization_gap, sm_activity; '-' = largest first."),
]


def detailed_metrics(
    asker: Asker,
    by: Annotated[MetricsGroupWord, Field(description="What a row is.")] = "job",
    since: Since = "1h",
    until: Until = "",
    user: User = "",
    account: Account = "",
    partition: PartitionName = "",
    model: Model = "",
    finding: Annotated[str, Field(description="Only rows with this diagnosis, such as small_kernels.")] = "",
    sort: MetricsSort = "-gpu_hours",
    limit: Limit = 10,
) -> Answer:
    """Detailed GPU metrics by group over a range (the last hour unless given): UTIL, SM, UTIL-SM, occupancy, tensor,
    FP64/32/16, DRAM, NVLink, PCIe, memory and power, each with its coverage, and a diagnosis for each row."""
    start = parse_edge("since", since, asker.minute, asker.zone)
    end = parse_edge("until", until, asker.minute, asker.zone)
    filters = (one_of(user), one_of(account), one_of(partition), one_of(model))
    question = Question(start, end, Group(by), False, *filters, finding=finding, sort=sort)
    found = ask(asker.viewer, asker.sources, question)
    require_known("finding", one_of(finding), found.advice)
    for kind, words in zip(("user", "account", "partition", "model"), filters, strict=True):
        require_known(kind, words, found.options.get(kind, ()))
    chosen = {"user": user, "account": account, "partition": partition, "model": model}
    span = {"since": found.since.isoformat(), "until": found.until.isoformat()}
    link = page("/metrics", {"group": by, **span, **chosen, "finding": finding, "sort": sort})
    return Answer(scope_form(asker.viewer) | _table_form(found, by, limit), found, link)


def _table_form(found: MetricsTable, by: str, limit: int) -> dict[str, Any]:
    return {
        "from_at": moment(found.since),
        "until_at": moment(found.until),
        "read_from": found.origin.value,
        "by": by,
        "total": _row_form(found.total, "of") | {"of": "all rows"},
        "groups": listed(found.rows, lambda row: _row_form(row, by), limit),
        "diagnoses": listed(
            found.findings,
            lambda one: {
                "finding": one.id,
                "jobs_with_it": one.jobs,
                "measured_gpu_hours": number(one.gpu_hours),
                "advice": found.advice[one.id].advice if one.id in found.advice else None,
            },
            15,
        ),
        "not_exported_here": [one.column for one in found.not_exported],
        "not_known": texts(found.unknown),
    }


def _row_form(row: MetricsRow, by: str) -> dict[str, Any]:
    """Metrics with the share of the row's GPU-hours that each was measured in, where that is not all of them."""
    allocated = row.hours.allocated
    values = {unit_key(name, COLUMNS[name].unit): number(cell.value) for name, cell in row.cells.items()}
    shares = {name: cell.hours / allocated for name, cell in row.cells.items() if allocated > 0}
    return {
        by: text(row.name),
        **({"job_name": text(row.job_name, 80), "user": text(row.user)} if by == "job" else {}),
        "jobs": row.jobs,
        "jobs_running": row.running,
        **hours_form(row.hours),
        "utilization_ratio": number(row.hours.utilization),
        "metrics": values,
        "metrics_not_measured_everywhere": {
            f"{name}_coverage_ratio": number(one) for name, one in shares.items() if one < _WHOLE
        },
        "diagnoses": [one.id for one in row.findings],
    }
