"""The registry. To add a finding, write a function of JobFacts in a module here and decorate it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from data.findings.facts import JobFacts, PartitionFacts
from data.report import JobReport


class Severity(StrEnum):
    """Worst first."""

    BROKEN = "broken"  # the job did not reach its end
    WASTE = "waste"  # resources were held and not used
    NOTE = "note"  # it could be faster, or start sooner


@dataclass(frozen=True, slots=True)
class Finding:
    """`title` says what is so, `evidence` why, `advice` what to do. `sbatch` are lines of the job script, each
    beginning with "- " (take out) or "+ " (put in). `gpu_hours` is what it cost so far; None = cannot be told."""

    id: str
    title: str
    evidence: str
    advice: str
    sbatch: tuple[str, ...] = ()
    severity: Severity = Severity.WASTE
    gpu_hours: float | None = None


Finder = Callable[[JobFacts], Finding | None]

FINDINGS: dict[str, Finder] = {}


def finding(name: str) -> Callable[[Finder], Finder]:
    """Register a function as the finding `name`."""

    def register(function: Finder) -> Finder:
        if name in FINDINGS:
            raise ValueError(f"two findings are called {name}")
        FINDINGS[name] = function
        return function

    return register


def find(facts: JobFacts) -> tuple[Finding, ...]:
    """All findings about a job, those that cost most GPU-hours first. A het job is looked at part by part."""
    parts = facts.report.components
    found = [one for part in parts for one in _of_part(facts, part)] if parts else _all(facts)
    return tuple(sorted(found, key=_order))


def _all(facts: JobFacts) -> list[Finding]:
    return [one for function in FINDINGS.values() if (one := function(facts)) is not None]


def _of_part(facts: JobFacts, part: JobReport) -> list[Finding]:
    """The components of a het job may sit on different kinds of nodes: only what is known of their own counts."""
    name = part.job.display_id
    own = facts.parts.get(name, PartitionFacts(offers=facts.partition.offers))
    return [replace(one, title=f"{name}: {one.title}") for one in _all(replace(facts, report=part, partition=own))]


def _order(one: Finding) -> tuple[float, int, str]:
    return (-(one.gpu_hours or 0.0), tuple(Severity).index(one.severity), one.id)
