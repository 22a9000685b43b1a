"""Who may see what, and the filter, inside the question itself: what is not allowed is never read out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

from data.model import Viewer, Visibility
from data.queries.history.groups import SIZE_UNKNOWN, SIZES
from data.queries.history.model import Between, HistoryFilter

GIB = 1 << 30
Table = Any
Condition = Any


def visible(viewer: Viewer, rows: Table) -> Table:
    """The rows that the viewer may see in full: the same rule as `Viewer.may_see`."""
    if viewer.is_staff or viewer.visibility is Visibility.ALL:
        return rows
    accounts = viewer.coordinated_accounts
    if viewer.visibility is Visibility.ACCOUNT:
        accounts = accounts | viewer.accounts
    own = rows.user == viewer.user
    return rows.filter(own | rows.account.isin(sorted(accounts)) if accounts else own)


def fitting(wanted: HistoryFilter, rows: Table) -> Table:
    """The rows that fit all but state, findings, nodes and means.

    Here `departments` are the accounts of the departments, and `applications` regular expressions for lower case.
    """
    conditions = [
        _any_of(rows.user, wanted.users),
        _any_of(rows.partition, wanted.partitions),
        _any_of(rows.qos, wanted.qos),
        _any_of(rows.gpu_model, wanted.models),
        _account(rows, wanted.accounts),
        _any_of(rows.account, wanted.departments),
        _name(rows.name, wanted.applications),
        _any_of(size_of(rows.gpu_count), wanted.sizes),
    ]
    return _filter(rows, conditions)


def ended_as(wanted: HistoryFilter) -> Callable[[Table], Table] | None:
    """Keep the attempts whose `state` and `findings` fit; None where any do."""
    if not wanted.states and not wanted.findings:
        return None

    def keep(rows: Table) -> Table:
        found = [rows.findings.contains(name) for name in sorted(wanted.findings)]
        return _filter(rows, [_any_of(rows.state, wanted.states), reduce(or_, found) if found else None])

    return keep


def with_means(wanted: HistoryFilter, attempts: Table) -> Table:
    """Keep the attempts whose own means inside the range fit."""
    conditions: list[Condition | None] = []
    if wanted.utilization is not None:
        used = attempts.gpu_hours_used / attempts.gpu_hours_measured.nullif(0)
        conditions += _between(used, wanted.utilization, 1.0)
    if wanted.gpu_memory_gib is not None:
        hours = attempts.gpu_memory_used_bytes_measured_hours.nullif(0)
        conditions += _between(attempts.gpu_memory_used_bytes_hours / hours, wanted.gpu_memory_gib, GIB)
    return _filter(attempts, conditions)


def size_of(gpu_count: Condition) -> Condition:
    """The size of a job by its number of GPUs, one of SIZES."""
    return by_size(gpu_count, (*SIZES, SIZE_UNKNOWN))


def by_size(gpu_count: Condition, values: Sequence[str] | Sequence[int]) -> Condition:
    """The value for the size of a job, in the order of SIZES; the last one where its number of GPUs is not known."""
    import ibis

    one, few, many, more, none, unknown = values
    return ibis.cases(
        (gpu_count == 0, none),
        (gpu_count == 1, one),
        (gpu_count <= 4, few),
        (gpu_count <= 8, many),
        (gpu_count > 8, more),
        else_=unknown,
    )


def pattern_of(glob: str) -> str:
    """A job name pattern (`*`, `?`) as a regular expression that every engine understands, for lower case."""
    parts = {"*": ".*", "?": "."}
    return f"^{''.join(parts.get(char) or re.escape(char) for char in glob.lower())}$"


def _account(rows: Table, names: frozenset[str]) -> Condition | None:
    """The account itself, or one above it in the tree."""
    if not names:
        return None
    above = [rows.account_path.contains(name).fill_null(False) for name in sorted(names)]
    return reduce(or_, above, rows.account.isin(sorted(names)))


def _name(name: Condition, patterns: frozenset[str]) -> Condition | None:
    found = [name.lower().re_search(pattern) for pattern in sorted(patterns)]
    return reduce(or_, found) if found else None


def _any_of(value: Condition, words: frozenset[str]) -> Condition | None:
    return value.isin(sorted(words)) if words else None


def _between(value: Condition, wanted: Between, scale: float) -> list[Condition]:
    found = [] if wanted.low is None else [value >= wanted.low * scale]
    return found if wanted.high is None else [*found, value < wanted.high * scale]


def _filter(rows: Table, conditions: list[Condition | None]) -> Table:
    found = [one for one in conditions if one is not None]
    return rows.filter(reduce(and_, found)) if found else rows
