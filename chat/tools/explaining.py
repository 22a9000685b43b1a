"""What a metric, a column, a finding or a word of the policy means, in the words of the pages and with the limits of
this site."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field

from chat.model import Asker
from chat.tools.answer import Answer
from chat.tools.links import page
from data.errors import BadRequest
from data.findings.advice import advice
from data.metrics.registry import METRICS, Metric
from data.queries.history import COLUMNS, ReportColumn
from data.queries.metrics import COLUMNS as METRIC_COLUMNS
from data.queries.metrics.columns import MetricColumn
from data.queries.metrics.rows import SORTS as METRIC_SORTS
from policy.model import Status

_STATUSES = {
    Status.LOW: "The job uses its GPUs less than the rule asks, and the measurements suffice to say so.",
    Status.UNKNOWN: "The job ran long enough, but what was measured does not suffice. Never acted on.",
    Status.CALCULATING: "The job has not run as long as the rule looks back.",
    Status.OK: "The job uses its GPUs as much as the rule asks.",
    Status.EXEMPT: "An exemption covers the job; its measured status stands beside it.",
}


def explain(
    asker: Asker,
    term: Annotated[
        str,
        Field(
            description="A metric (UTIL, SM, tensor_activity), report column, finding (small_kernels) or status.",
            min_length=1,
            max_length=100,
        ),
    ],
) -> Answer:
    """What a metric, a column, a finding or a status of the policy means, with this site's limits."""
    meanings = list(_meanings(asker))
    wanted = _plain(term)
    found = [one for one, names in meanings if wanted in names]
    if not found:
        every = sorted({name for _, names in meanings for name in names})
        near = get_close_matches(wanted, every, 4) or ["util", "sm", "idle", "small kernels"]
        raise BadRequest(f"{term[:60]} is no metric, column, finding or status", hint=f"Such as {', '.join(near)}.")
    return Answer({"term": term[:100], "meanings": found}, found, _link(found[0]))


def _meanings(asker: Asker) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """Every word that is known, with the names that it goes by."""
    for metric in METRICS.values():
        yield _column("metric", metric)
    for shown in METRIC_COLUMNS.values():
        if shown.name not in METRICS:
            yield _column("metric", shown)
    for column in COLUMNS.values():
        if column.name not in METRICS and column.name not in METRIC_COLUMNS:
            yield _column("report column", column)
    for one in advice(asker.sources.settings.findings).values():
        said = {"kind": "finding", "name": one.id, "label": one.name}
        yield said | {"means": one.when, "advice": one.advice}, _names(one.id, one.name)
    for status, words in _STATUSES.items():
        yield {"kind": "policy status", "name": status.value, "means": words}, _names(status.value)


def _column(kind: str, one: Metric | MetricColumn | ReportColumn) -> tuple[dict[str, Any], frozenset[str]]:
    said = {"kind": kind, "name": one.name, "label": one.label, "unit": one.unit or "count", "means": one.help}
    return said, _names(one.name, one.label)


def _names(*words: str) -> frozenset[str]:
    return frozenset(_plain(word) for word in words)


def _plain(word: str) -> str:
    """A name as people may write it: lower case, spaces for underscores and dashes."""
    return " ".join(word.lower().replace("_", " ").replace("-", " ").split())


def _link(found: dict[str, Any]) -> str:
    name, kind = found["name"], found["kind"]
    if kind == "finding":
        return page("/metrics", {"finding": name})
    if kind == "policy status":
        return page("/policy", {"status": name})
    if kind == "metric" and name in METRIC_SORTS:
        return page("/metrics", {"sort": f"-{name}"})
    return "/efficiency" if kind == "report column" else ""
