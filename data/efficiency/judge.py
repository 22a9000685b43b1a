"""Good, low or very low, by the site's limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from data.efficiency.means import Mean
from data.efficiency.share import Share


class Level(StrEnum):
    GOOD = "good"
    LOW = "low"
    BAD = "bad"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`limit` is the one that the value fell short of (ratio); `reason` says why something is not judged."""

    level: Level
    limit: float | None = None
    reason: str = ""


def not_judged(reason: str) -> Judgement:
    return Judgement(Level.NOT_JUDGED, reason=reason)


def judge(value: float | None, *, bad: float | None, low: float) -> Judgement:
    """Judge a ratio: below `bad` = bad, below `low` = low. `bad` None = there is no such limit."""
    if value is None:
        return not_judged("not measured")
    if bad is not None and value < bad:
        return Judgement(Level.BAD, bad)
    return Judgement(Level.LOW, low) if value < low else Judgement(Level.GOOD)


def judge_share(part: Share, *, bad: float | None, low: float) -> Judgement:
    """Judge used of given; more than was given is not judged."""
    return not_judged("above 100 %") if part.is_implausible else judge(part.value, bad=bad, low=low)


def judge_mean(mean: Mean, *, bad: float, low: float) -> Judgement:
    """Judge a mean of devices; a partial one is never good, and low only where both of its bounds are."""
    if mean.value is None or not mean.is_partial:
        return judge(mean.value, bad=bad, low=low)
    least, most = judge(mean.low, bad=bad, low=low), judge(mean.high, bad=bad, low=low)
    is_certain = least == most and mean.total is not None and least.level is not Level.GOOD
    return least if is_certain else not_judged("partly measured")


def first_reason(*checks: tuple[bool, str], then: Callable[[], Judgement]) -> Judgement:
    """Not judged for the first reason that holds, else `then()`."""
    return next((not_judged(reason) for holds, reason in checks if holds), None) or then()
