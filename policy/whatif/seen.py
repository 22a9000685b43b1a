"""What a rule would have said at the end of each step, for all attempts at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.model import Status
from policy.rules import Rule
from policy.whatif.timelines import Bools, Floats, Ints, Timelines
from settings import RuleKind

STATUSES = tuple(Status)
_CODE = {status: code for code, status in enumerate(STATUSES)}
LOW = _CODE[Status.LOW]
# Shares are sums of rounded ones.
_HAIR = 1e-9


@dataclass(frozen=True, slots=True)
class Seen:
    """By step: `status` as a place in STATUSES, `at_seconds` since the attempt's start, `idle_seconds` and
    `busy_within_seconds` as a verdict has them (0 and inf = none)."""

    status: Ints
    at_seconds: Floats
    idle_seconds: Floats
    busy_within_seconds: Floats

    def part(self, first: int, last: int) -> Seen:
        """Of one attempt."""
        cut = slice(first, last)
        return Seen(self.status[cut], self.at_seconds[cut], self.idle_seconds[cut], self.busy_within_seconds[cut])


@dataclass(frozen=True, slots=True)
class _Steps:
    """Each step's attempt, length and end. `at` is the end as a place between the steps."""

    begin: Ints
    length: Floats
    end: Floats
    at: Floats
    epsilon: Floats


def seen(lines: Timelines, rule: Rule) -> Seen:
    """Look at every step's end with the rule's windows up to it."""
    steps = _steps(lines, rule)
    covered = _Sums(steps, lines.measured)
    share = covered.between(rule.windows[0]) * steps.length / rule.windows[0]
    busy: Bools = lines.maximum > steps.epsilon
    status = np.full(len(busy), _CODE[Status.OK])
    idle, within = np.zeros(len(busy)), np.full(len(busy), np.inf)
    if rule.kind is RuleKind.MEAN:
        used = _Sums(steps, lines.measured * lines.maximum).between(rule.windows[0])
        weight = covered.between(rule.windows[0])
        mean = np.divide(used, weight, out=np.full(len(busy), np.inf), where=weight > 0)
        status[mean < rule.low_below] = _CODE[Status.LOW]
    else:
        idle, within = _idle(rule, steps, busy, covered)
        status[idle > 0] = _CODE[Status.LOW]
    status[share < rule.settings.min_coverage - _HAIR] = _CODE[Status.UNKNOWN]
    status[steps.end < rule.needs_seconds] = _CODE[Status.CALCULATING]
    return Seen(status, steps.end, idle, within)


def _steps(lines: Timelines, rule: Rule) -> _Steps:
    counts = np.diff(lines.offset)
    owner = np.repeat(np.arange(len(counts)), counts)
    begin, length = lines.offset[owner], lines.step_seconds[owner]
    number = np.arange(len(owner)) - begin
    end = np.minimum((number + 1) * length, lines.run_seconds[owner])
    epsilon = np.where(lines.is_slice, rule.epsilon_of(True), rule.epsilon_of(False))[owner]
    return _Steps(begin, length, end, begin + end / length, epsilon)


class _Sums:
    """Sums of a value per step over the windows that end at each step."""

    def __init__(self, steps: _Steps, values: Floats) -> None:
        self._steps = steps
        self._places = np.arange(len(values) + 1, dtype=np.float64)
        self._total = np.concatenate([[0.0], np.cumsum(values)])

    def between(self, seconds: float) -> Floats:
        """In steps; windows that would begin before the attempt are cut."""
        steps = self._steps
        since = np.maximum(steps.at - seconds / steps.length, steps.begin)
        return self._at(steps.at) - self._at(since)

    def _at(self, places: Floats) -> Floats:
        found: Floats = np.interp(places, self._places, self._total)
        return found


def _idle(rule: Rule, steps: _Steps, busy: Bools, covered: _Sums) -> tuple[Floats, Floats]:
    """The longest window that was idle and well measured, and the shortest with a busy step."""
    since_busy = _since_busy(steps, busy)
    idle, within = np.zeros(len(busy)), np.full(len(busy), np.inf)
    goes_on = np.ones(len(busy), dtype=np.bool_)
    for window in rule.windows:
        usable = steps.end >= window + rule.grace_seconds
        share = covered.between(window) * steps.length / window
        goes_on &= usable & (since_busy >= window) & (share >= rule.settings.min_coverage - _HAIR)
        idle[goes_on] = window
        within[usable & (since_busy < window) & np.isinf(within)] = window
    return idle, within


def _since_busy(steps: _Steps, busy: Bools) -> Floats:
    """Seconds since the end of the last busy step, or since the start."""
    places = np.arange(len(busy))
    last = np.maximum.accumulate(np.where(busy, places, -1)) if len(busy) else places
    end = (last - steps.begin + 1) * steps.length
    found: Floats = np.maximum(0.0, np.where(last < steps.begin, steps.end, steps.end - end))
    return found
