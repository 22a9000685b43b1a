"""From pieces to rows: grouped, weighted by their own measured GPU-hours, sorted with blanks last. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from data.efficiency import GpuHours, total_hours
from data.errors import BadRequest
from data.queries.metrics.columns import COLUMNS
from data.queries.metrics.model import NOTHING, Cell, FindingUse, Group, MetricsRow, Owner, Piece, Question

UNKNOWN = "not known"
_KEYS: dict[Group, Callable[[Piece], str]] = {
    Group.JOB: lambda piece: piece.owner.job,
    Group.USER: lambda piece: piece.owner.user or UNKNOWN,
    Group.ACCOUNT: lambda piece: piece.owner.account or UNKNOWN,
    Group.PARTITION: lambda piece: piece.owner.partition or UNKNOWN,
    Group.MODEL: lambda piece: piece.model or UNKNOWN,
    Group.APPLICATION: lambda piece: piece.owner.application or UNKNOWN,
}
SORTS: dict[str, Callable[[MetricsRow], float | str | None]] = {
    "gpu_hours": lambda row: row.hours.allocated,
    "coverage": lambda row: row.hours.coverage,
    "name": lambda row: row.name.lower(),
    "jobs": lambda row: float(row.jobs),
    "finding": lambda row: max((one.gpu_hours for one in row.findings), default=None),
    **{name: (lambda row, name=name: row.value(name)) for name in COLUMNS},  # type: ignore[misc]
}


def rows_of(pieces: Iterable[Piece], question: Question) -> tuple[MetricsRow, ...]:
    """The rows that a question asks for. Raises BadRequest for an unknown sort."""
    grouped: defaultdict[tuple[str, str], list[Piece]] = defaultdict(list)
    key = _KEYS[question.group]
    for piece in pieces:
        grouped[key(piece), piece.model if question.by_model else ""].append(piece)
    rows = [row_of(name, mine, question.group, model) for (name, model), mine in grouped.items()]
    if question.finding:
        rows = [row for row in rows if any(use.id == question.finding for use in row.findings)]
    return sort_rows(rows, question.sort)


def sort_rows(rows: Iterable[MetricsRow], sort: str) -> tuple[MetricsRow, ...]:
    """Rows by one of SORTS, "-" before it for the largest first; rows without the value come last both ways."""
    key = SORTS.get(sort.removeprefix("-"))
    if key is None:
        raise BadRequest(f"metrics cannot be sorted by {sort.removeprefix('-')!r}", hint=f"Use {', '.join(SORTS)}.")
    ordered = sorted(rows, key=lambda row: (-row.hours.allocated, row.key))
    known = [row for row in ordered if key(row) is not None]
    known.sort(key=key, reverse=sort.startswith("-"))  # type: ignore[arg-type]
    return tuple(known + [row for row in ordered if key(row) is None])


def row_of(name: str, pieces: Sequence[Piece], group: Group, model: str = "") -> MetricsRow:
    """One row of these pieces; `model` is set where rows are split by it."""
    if not pieces:
        return NOTHING
    owners = {piece.owner.job: piece.owner for piece in pieces}
    return MetricsRow(
        key=f"{name} · {model}" if model else name,
        name=name,
        jobs=len(owners),
        running=sum(owner.is_running for owner in owners.values()),
        hours=total_hours(piece.hours for piece in pieces),
        cells=_cells(pieces),
        models=_models(pieces),
        user=_same(owner.user for owner in owners.values()),
        account=_same(owner.account for owner in owners.values()),
        partition=_same(owner.partition for owner in owners.values()),
        job_name=_same(owner.name for owner in owners.values()) if group is Group.JOB else None,
        utilization_metric=_utilization_metric(pieces),
        findings=finding_uses(pieces),
        estimated_hours=_hours_where(pieces, lambda piece: piece.is_estimate),
        shared_hours=_hours_where(pieces, lambda piece: piece.is_shared),
        fault_hours=_hours_where(pieces, lambda piece: piece.is_fault),
    )


def finding_uses(pieces: Iterable[Piece]) -> tuple[FindingUse, ...]:
    """Diagnoses with the measured GPU-hours and jobs for which they hold, most hours first."""
    hours: defaultdict[str, float] = defaultdict(float)
    jobs: defaultdict[str, set[str]] = defaultdict(set)
    for piece in pieces:
        for name in piece.findings:
            hours[name] += piece.hours.measured
            jobs[name].add(piece.owner.job)
    uses = [FindingUse(name, amount, len(jobs[name])) for name, amount in hours.items()]
    return tuple(sorted(uses, key=lambda use: (-use.gpu_hours, use.id)))


def keep(pieces: Iterable[Piece], question: Question) -> list[Piece]:
    """Pieces that the filters let through."""
    text = question.text.strip().lower()
    return [piece for piece in pieces if _fits(piece, question) and _has_text(piece.owner, text)]


def options_of(pieces: Iterable[Piece]) -> dict[str, tuple[str, ...]]:
    """The values that each filter can have, sorted."""
    found: dict[str, set[str]] = {"user": set(), "account": set(), "partition": set(), "model": set()}
    for piece in pieces:
        found["user"].add(piece.owner.user or "")
        found["account"].add(piece.owner.account or "")
        found["partition"].update(piece.owner.partition.split(","))
        found["model"].add(piece.model)
    return {key: tuple(sorted(values - {""})) for key, values in found.items()}


def _fits(piece: Piece, wanted: Question) -> bool:
    owner = piece.owner
    return (
        (not wanted.users or owner.user in wanted.users)
        and (not wanted.accounts or owner.account in wanted.accounts)
        and (not wanted.partitions or not wanted.partitions.isdisjoint(owner.partition.split(",")))
        and (not wanted.models or piece.model in wanted.models)
        and (not wanted.applications or owner.application in wanted.applications)
    )


def _has_text(owner: Owner, text: str) -> bool:
    fields = (owner.job, owner.name, owner.user or "", owner.account or "")
    return not text or any(text in field.lower() for field in fields)


def _cells(pieces: Sequence[Piece]) -> Mapping[str, Cell]:
    """Means over the hours in which each column was measured."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for piece in pieces:
        for name, cell in piece.cells.items():
            if cell.hours > 0:
                sums[name][0] += cell.value * cell.hours
                sums[name][1] += cell.hours
    return {name: Cell(total / hours, hours) for name, (total, hours) in sums.items()}


def _models(pieces: Sequence[Piece]) -> tuple[tuple[str, float], ...]:
    hours: defaultdict[str, float] = defaultdict(float)
    for piece in pieces:
        hours[piece.model] += piece.hours.allocated
    return tuple(sorted(hours.items(), key=lambda one: (-one[1], one[0])))


def _utilization_metric(pieces: Sequence[Piece]) -> str | None:
    found = {piece.metric for piece in pieces if piece.metric is not None}
    return None if not found else found.pop() if len(found) == 1 else "mixed"


def _hours_where(pieces: Sequence[Piece], holds: Callable[[Piece], bool]) -> float:
    hours: list[GpuHours] = [piece.hours for piece in pieces if holds(piece)]
    return sum(one.allocated for one in hours)


def _same(values: Iterable[str | None]) -> str | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None
