"""Who is exempt now, by which exemption, and the GPU-hours held under each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from data.efficiency import gpu_hours
from data.exemption import SUBJECTS, KeptExemption
from data.model import Job, SourceState, Viewer
from data.sources import Sources
from policy.exemptions import as_rules, exemptions_now
from policy.model import JobVerdict, Status, Verdict
from policy.queries import VerdictList, verdicts

MADE = "exemption"
Key = str | tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class HeldExemption:
    """One exemption and the running GPU jobs under it that the viewer may see.

    `kind` is user, account, qos, partition or job; interactive and memory are those of a rule. `id` is empty, and so
    are who made it and when, for those of the settings. `rule` "" means every rule. `low_jobs` are those whose measured
    status is low all the same. `gpu_hours_held` are those of these jobs since they started, or since the exemption was
    made if that is later; None = a GPU count is not known.
    """

    kind: str
    name: str
    id: str = ""
    rule: str = ""
    reason: str = ""
    created_by: str = ""
    created_at: datetime | None = None
    until: datetime | None = None
    jobs: int = 0
    low_jobs: int = 0
    gpus: float | None = 0.0
    gpu_hours_held: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ExemptionList:
    """Those that count now, the most GPU-hours first. `sources` are those that the answer stands on; where the store
    does not answer, the exemptions that people made are missing."""

    time: datetime
    rows: tuple[HeldExemption, ...]
    sources: tuple[SourceState, ...] = ()


def exemptions(viewer: Viewer, sources: Sources) -> ExemptionList:
    """Answer with the exemptions that the viewer may see: staff all, others those that are about them or hold for a
    job that they may see, without who made them. Raises SourceError when there is no picture at all."""
    found = verdicts(viewer, sources)
    return exemptions_of(viewer, found, exemptions_now(sources).rows)


def exemptions_of(viewer: Viewer, found: VerdictList, kept: Sequence[KeptExemption]) -> ExemptionList:
    """The same, of verdicts that are the viewer's already."""
    rows = [row for row in _held(found.verdicts, kept, found.time) if row.jobs or _is_about(viewer, row)]
    ordered = sorted(rows, key=lambda row: (-(row.gpu_hours_held or 0.0), row.kind, row.name, row.id))
    if not viewer.is_staff:
        ordered = [replace(row, created_by="") for row in ordered]
    return ExemptionList(found.time, tuple(ordered), found.sources)


def _is_about(viewer: Viewer, row: HeldExemption) -> bool:
    if viewer.is_staff:
        return True
    accounts = viewer.accounts | viewer.coordinated_accounts
    return (row.kind == "user" and row.name == viewer.user) or (row.kind == "account" and row.name in accounts)


def _held(every: Sequence[JobVerdict], kept: Sequence[KeptExemption], now: datetime) -> Iterator[HeldExemption]:
    rows: dict[Key, HeldExemption] = {one.id: _row_of(one) for one in kept}
    jobs: dict[Key, dict[int, tuple[JobVerdict, bool]]] = {key: {} for key in rows}
    for one in every:
        for verdict in one.verdicts:
            if verdict.status is Status.EXEMPT:
                row = _by(verdict, one.job, kept, now)
                key: Key = row.id or (row.kind, row.name, row.rule)
                rows.setdefault(key, row)
                was_low = jobs.setdefault(key, {}).get(one.job.job_id, (one, False))[1]
                jobs[key][one.job.job_id] = (one, was_low or verdict.measured_status is Status.LOW)
    for key, row in rows.items():
        yield _with_jobs(row, list(jobs[key].values()), now)


def _row_of(one: KeptExemption) -> HeldExemption:
    return HeldExemption(
        one.kind, one.name, one.id, one.rule, one.reason, one.created_by, one.created_at, until=one.until
    )


def _by(verdict: Verdict, job: Job, kept: Sequence[KeptExemption], now: datetime) -> HeldExemption:
    """The exemption that a verdict names, in the order in which the rules look."""
    if verdict.reason in SUBJECTS:
        return HeldExemption(verdict.reason, getattr(job, verdict.reason) or "", reason="in the settings")
    if verdict.reason == MADE:
        pairs = zip(kept, as_rules(kept), strict=True)
        found = next((one for one, rule in pairs if rule.holds(job, verdict.rule, now)), None)
        if found is not None:
            return _row_of(found)
    return HeldExemption(verdict.reason, "", rule=verdict.rule, reason=f"by the rule {verdict.rule}")


def _with_jobs(row: HeldExemption, under: Sequence[tuple[JobVerdict, bool]], now: datetime) -> HeldExemption:
    gpus = [one.gpu_weight for one, _ in under]
    hours = [_hours(one, row.created_at, now) for one, _ in under]
    return replace(
        row,
        jobs=len(under),
        low_jobs=sum(is_low for _, is_low in under),
        gpus=total_of(gpus),
        gpu_hours_held=total_of(hours),
    )


def _hours(one: JobVerdict, since: datetime | None, now: datetime) -> float | None:
    elapsed = one.job.elapsed_at(now)
    if elapsed is not None and since is not None:
        elapsed = min(elapsed, (now - since).total_seconds())
    return gpu_hours(elapsed, one.gpu_weight)


def total_of(values: Iterable[float | None]) -> float | None:
    """The sum; None as soon as one is not known."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
