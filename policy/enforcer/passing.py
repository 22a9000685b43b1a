"""What all parts of one pass share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection

from data.errors import FullwarpError
from data.state.store import StateStore
from policy.decide import Act, ActKey
from policy.enforcer.lock import Lock
from policy.enforcer.looking import Looking
from policy.enforcer.outward import Outward
from policy.enforcer.report import Fate, Noted
from policy.enforcer.stop import why_stopped
from policy.ladder import Episode, EpisodeKey, take
from policy.recheck import Checked
from policy.store.audit import Outcome, intend, settle, supersede
from policy.store.ladders import keep_taken
from settings import Settings

Reached = Callable[[str], None]
BEFORE_AUDIT, AFTER_AUDIT = "before audit", "after audit"
AFTER_ACCEPT, AFTER_CANCEL, AFTER_COMMIT = "after SMTP accept", "after cancel", "after commit"
FRESH, MOST_TOGETHER = timedelta(seconds=30), 50
AGAIN = "it was not known whether this was done: it is done again"


def nothing_reached(name: str) -> None:
    """Nobody wants to know how far a pass is."""


@dataclass
class Passing:
    """`reached` hears the names of the places where a crash must do no harm. `episodes` and `acting_since` are as
    this pass found or made them; acts that were `tried_before` may have been done by a pass that was stopped.
    `warnings` are all that are due in this pass."""

    settings: Settings
    looking: Looking
    store: StateStore
    lock: Lock
    outward: Outward
    reached: Reached = nothing_reached
    noted: Noted = field(default_factory=Noted)
    cluster: str = ""
    episodes: dict[EpisodeKey, Episode] = field(default_factory=dict)
    acting_since: Mapping[str, datetime] = field(default_factory=dict)
    tried_before: set[ActKey] = field(default_factory=set)
    warnings: Sequence[Act] = ()
    _looked: dict[ActKey, Checked] = field(default_factory=dict)
    _looked_at: datetime | None = None

    def why_not(self) -> str:
        """Why no act may begin now; "" = it may. Raises HeldByAnother once another enforcer has taken over."""
        self.lock.require()
        return why_stopped(self.settings.policy)

    def intend(self, acts: Iterable[Act]) -> dict[ActKey, int]:
        """The audit's rows of what is about to be done."""
        self.reached(BEFORE_AUDIT)
        now = self.looking.now()
        with self.store.connection() as connection:
            rows = {}
            for act in acts:
                if supersede(connection, act.key, now, AGAIN):
                    self.tried_before.add(act.key)
                rows[act.key] = intend(connection, act, now)
        self.reached(AFTER_AUDIT)
        return rows

    def last_look(self, acts: Sequence[Act], rows: Mapping[ActKey, int]) -> dict[ActKey, Checked]:
        """What the last look says of each act. Raises FullwarpError where it cannot be had; nothing is done then."""
        try:
            return dict(zip(rows, self.looking.again(acts), strict=True))
        except FullwarpError as err:
            self._settle(acts, rows, Outcome.WITHHELD, str(err))
            raise

    def last_look_at_warnings(self, acts: Sequence[Act], rows: Mapping[ActKey, int]) -> dict[ActKey, Checked]:
        """The same of warnings, which are looked at with the next ones of the pass: a mail to each of hundreds of users
        must not read all of Slurm hundreds of times. A look is used for half a minute."""
        now, wanted = self.looking.now(), {act.key for act in acts}
        is_old = self._looked_at is None or abs(now - self._looked_at) > FRESH
        if is_old or not wanted <= self._looked.keys():
            waiting = [one for one in self.warnings if one.key not in wanted and self.noted.fate_of(one) is None]
            together = [*acts, *waiting[: max(0, MOST_TOGETHER - len(acts))]]
            try:
                found = self.looking.again(together)
            except FullwarpError as err:
                self._settle(acts, rows, Outcome.WITHHELD, str(err))
                raise
            self._looked = {one.key: checked for one, checked in zip(together, found, strict=True)}
            self._looked_at = now
        return {act.key: self._looked[act.key] for act in acts}

    def end(self, acts: Iterable[Act], rows: Mapping[ActKey, int], outcome: Outcome, why: str = "") -> None:
        """Settle acts that were not done, and note it."""
        acts = list(acts)
        self._settle(acts, rows, outcome, why)
        self.noted.note(acts, Fate.REFUSED if outcome is Outcome.REFUSED else Fate.WITHHELD, why)

    def _settle(self, acts: Iterable[Act], rows: Mapping[ActKey, int], outcome: Outcome, why: str) -> None:
        now = self.looking.now()
        with self.store.connection() as connection:
            for act in acts:
                settle(connection, rows[act.key], outcome, now, why)

    def guard(self, acts: Sequence[Act], act: Callable[[], None]) -> None:
        """Act; what breaks in a way that nobody thought of stays open, as if the enforcer had ended, and the others go
        on. Raises FullwarpError as `act` does."""
        try:
            act()
        except FullwarpError:
            raise
        except Exception as err:
            logging.getLogger(__name__).exception("an act broke")
            jobs, words = ", ".join(one.job.display_id for one in acts), f"{type(err).__name__}: {err}"
            self.noted.fault(f"the act on {jobs} broke, which is a fault of Fullwarp ({words})")
            self.noted.alarm(f"broke {jobs}", f"the act on {jobs} broke ({words})")
            self.noted.note([one for one in acts if self.noted.fate_of(one) is None], Fate.UNKNOWN, words)

    def take(self, connection: Connection, act: Act, now: datetime) -> None:
        """Write down that the act's step is taken."""
        key = (act.key[0], act.rule)
        self.episodes[key] = take(self.episodes[key], now)
        keep_taken(connection, self.episodes[key])
