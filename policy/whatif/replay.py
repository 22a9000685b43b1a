"""One rule over the past: who it is about, who is exempt, and what would have been done to whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from data.efficiency.hours import HOUR
from policy.model import Doubt
from policy.rules import Exemption, Rule, covers, exemption_of, may_be_interactive
from policy.whatif.climb import Climbed, Ways, climb
from policy.whatif.seen import LOW, seen
from policy.whatif.timelines import Ints, PastJob, Timelines, why_apart


@dataclass(frozen=True, slots=True)
class Past:
    """`jobs` and their steps in `lines`; those without a profile have none."""

    jobs: tuple[PastJob, ...]
    lines: Timelines


@dataclass(frozen=True, slots=True)
class Sorted:
    """Attempts that the rule is about, of these the exempt ones, those that cannot be replayed with the reason, and the
    places in `Past.jobs` of those that can."""

    about: tuple[PastJob, ...]
    exempt: tuple[PastJob, ...]
    apart: tuple[tuple[PastJob, str], ...]
    judged: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One attempt that would have been warned or cancelled: what it held and used after the cancel (GPU-hours), and
    whether it became busy in any step after it."""

    past: PastJob
    climbed: Climbed
    held_gpu_hours: float = 0.0
    used_gpu_hours: float = 0.0
    became_busy: bool = False


def sort_out(rule: Rule, past: Past, ways: Ways, exemptions: Sequence[Exemption], now: datetime) -> Sorted:
    """The exemptions are those that count now."""
    about, exempt, apart, judged = [], [], [], []
    for place, one in enumerate(past.jobs):
        if not covers(rule, one.job, ways.policy, one.models):
            continue
        about.append(one)
        if exemption_of(rule, one.job, ways.policy, exemptions, now) is not None:
            exempt.append(one)
        elif reason := why_apart(rule, one):
            apart.append((one, reason))
        else:
            judged.append(place)
    return Sorted(tuple(about), tuple(exempt), tuple(apart), tuple(judged))


def replay(rule: Rule, past: Past, judged: Iterable[int], ways: Ways) -> tuple[list[Hit], list[tuple[PastJob, str]]]:
    """What would have been done to these attempts; and those that were low and that nobody can say it of, with the
    reason. Exempt by high use of memory is one that was low and held so much: nothing is done."""
    said = seen(past.lines, rule)
    hits: list[Hit] = []
    apart: list[tuple[PastJob, str]] = []
    for place in _low_ones(past.lines, said.status, judged):
        one = past.jobs[place]
        first, last = past.lines.offset[place : place + 2]
        climbed = climb(rule, one.job, said.part(first, last), ways)
        if not climbed.warned:
            continue
        if (reason := _why_not_known(rule, one, ways)) is not None:
            apart.append((one, reason))
        elif not rule.exempts_memory(one.memory_share):
            hits.append(_hit(past.lines, place, one, climbed, ways))
    return hits, apart


def _low_ones(lines: Timelines, status: Ints, judged: Iterable[int]) -> Iterator[int]:
    """Those of the attempts that are low at the end of any step."""
    low = set((np.searchsorted(lines.offset, np.flatnonzero(status == LOW), "right") - 1).tolist())
    return (place for place in judged if place in low)


def _why_not_known(rule: Rule, one: PastJob, ways: Ways) -> str | None:
    if rule.exempts_memory(one.memory_share) is None:
        return Doubt.MEMORY.value
    return Doubt.INTERACTIVE.value if may_be_interactive(rule, one.job, ways.policy) else None


def _hit(lines: Timelines, place: int, one: PastJob, climbed: Climbed, ways: Ways) -> Hit:
    at = climbed.cancelled
    if at is None:
        return Hit(one, climbed)
    first, last = lines.offset[place : place + 2]
    mean, length = lines.mean[first:last], lines.step_seconds[place]
    begins = np.arange(last - first) * length
    rest = np.clip(np.minimum(begins + length, one.run_seconds) - np.maximum(begins, at), 0.0, None)
    used = float((rest * lines.measured[first:last] * mean).sum())
    is_busy = bool((mean[rest > 0] >= ways.busy_from).any())
    weight = one.gpu_weight or 0.0
    return Hit(one, climbed, weight * (one.run_seconds - at) / HOUR, weight * used / HOUR, is_busy)
