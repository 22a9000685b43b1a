"""How far one attempt would have come on the ladder: the ladder itself, with a pass at the end of each step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import numpy as np

from data.model import Job
from policy.calendar import may_step
from policy.decide import ends_soon
from policy.ladder import Episode, due_at, next_step, observe, take
from policy.model import Status, Verdict, attempt_of
from policy.rules import Rule
from policy.whatif.seen import LOW, STATUSES, Seen
from settings import PolicySettings, StepAction


@dataclass(frozen=True, slots=True)
class Climbed:
    """Seconds since the start of each warning and of the cancel, if any."""

    warned: tuple[float, ...] = ()
    cancelled: float | None = None


@dataclass(frozen=True, slots=True)
class Ways:
    """What a replay stands on besides the rule and the past. A step with at least `busy_from` (ratio) is busy."""

    policy: PolicySettings
    zone: tzinfo
    busy_from: float


def climb(rule: Rule, job: Job, seen: Seen, ways: Ways) -> Climbed:
    """Take each step when it is due. The last look lies at the end of the run, where nothing can be done any more."""
    start = job.start_time
    low = np.flatnonzero(seen.status == LOW)
    if start is None or not len(low):
        return Climbed()
    walk = _Walk(rule, job, seen, start, ways, turns=_turns(seen), low=low)
    return walk.go()


def _turns(seen: Seen) -> np.ndarray:
    """The steps before and after which something else is seen: between them a pass finds nothing new."""
    parts = (seen.status, seen.idle_seconds, seen.busy_within_seconds)
    changed = np.zeros(len(seen.status), dtype=np.bool_)
    for part in parts:
        changed[1:] |= part[1:] != part[:-1]
    after = np.flatnonzero(changed)
    return np.union1d(after, after - 1)


@dataclass
class _Walk:
    rule: Rule
    job: Job
    seen: Seen
    start: datetime
    ways: Ways
    turns: np.ndarray
    low: np.ndarray

    def go(self) -> Climbed:
        warned: list[float] = []
        episode: Episode | None = None
        place: int | None = int(self.low[0])
        while place is not None and place < len(self.seen.status) - 1:
            episode, due, action = self._pass(episode, place)
            if action is StepAction.CANCEL:
                return Climbed(tuple(warned), float(self.seen.at_seconds[place]))
            if action is StepAction.WARN:
                warned.append(float(self.seen.at_seconds[place]))
            place = self._next(episode, place, due)
        return Climbed(tuple(warned))

    def _pass(self, last: Episode | None, place: int) -> tuple[Episode | None, datetime | None, StepAction | None]:
        """The episode after this pass, when its next step is due where that is later, and the step taken."""
        now = self.start + timedelta(seconds=float(self.seen.at_seconds[place]))
        verdict = self._verdict(place)
        episode = observe(last, attempt_of(self.job), self.rule, verdict, now)
        step = None if episode is None else next_step(episode, self.rule)
        if episode is None or step is None or verdict.status is not Status.LOW:
            return episode, None, None
        due = due_at(episode, self.rule, verdict, now, warn_only_until=None)
        if due > now:
            return episode, due, None
        if not may_step(self.ways.policy, self.ways.zone, now) or ends_soon(self.job, self.rule, now):
            return episode, now, None
        return take(episode, now), now, step.action

    def _verdict(self, place: int) -> Verdict:
        within = float(self.seen.busy_within_seconds[place])
        return Verdict(
            self.rule.name,
            self.rule.kind,
            self.rule.settings.mode,
            STATUSES[int(self.seen.status[place])],
            idle_seconds=float(self.seen.idle_seconds[place]),
            busy_within_seconds=None if np.isinf(within) else within,
        )

    def _next(self, episode: Episode | None, place: int, due: datetime | None) -> int | None:
        """The next pass that can find or do something: the ladder counts a longer silence than a window as a gap."""
        if episode is None or not episode.is_open:
            later = self.low[np.searchsorted(self.low, place + 1) :]
            return int(later[0]) if len(later) else None
        if self.seen.status[place] != LOW:
            return place + 1
        length = float(self.seen.at_seconds[0])
        found = [place + max(1, int(self.rule.windows[0] // length))]
        turn = np.searchsorted(self.turns, place + 1)
        if turn < len(self.turns):
            found.append(int(self.turns[turn]))
        if due is not None:
            wanted = (due - self.start).total_seconds()
            found.append(max(place + 1, int(np.searchsorted(self.seen.at_seconds, wanted - 1e-6))))
        return min(found)
