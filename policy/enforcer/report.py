"""What one pass did or would do, and why not the rest: for the screen, the log and the mail to staff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from policy.decide import Act, ActKey
from policy.model import Status
from settings import StepAction


class Fate(StrEnum):
    DONE = "done"
    WOULD = "would be done"  # a dry run
    WITHHELD = "withheld"
    REFUSED = "refused"
    UNKNOWN = "not known"  # it may have been done; the next pass finds out, or sends the same mail again


@dataclass(frozen=True, slots=True)
class Line:
    """One act and what became of it. `is_earlier` marks one of a pass before, which was settled in this one."""

    job: str
    user: str
    account: str | None
    partition: str
    gpus: int | None
    rule: str
    step: int
    action: StepAction
    low_since: datetime
    fate: Fate
    why: str = ""
    is_earlier: bool = False


@dataclass(frozen=True, slots=True)
class PassReport:
    """`dry_because` is "" for a pass that acts. `faults` are why something could not be done at all (exit code 2),
    `alarms` what staff should look at; both are in plain words. `counts` are all verdicts by status."""

    time: datetime
    cluster: str = ""
    dry_because: str = ""
    running_gpu_jobs: int = 0
    counts: Mapping[Status, int] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    faults: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()

    @property
    def fates(self) -> Mapping[Fate, int]:
        return Counter(line.fate for line in self.lines)


def line_of(act: Act, fate: Fate, why: str = "", *, is_earlier: bool = False) -> Line:
    job = act.job
    return Line(
        job.display_id,
        job.user or "",
        job.account,
        job.partition,
        job.allocated.gpus,
        act.rule,
        act.step,
        act.action,
        act.low_since,
        fate,
        why,
        is_earlier,
    )


class Noted:
    """What a pass notes on its way. Alarms have a key, so that staff do not hear the same every few minutes."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.faults: list[str] = []
        self.alarms: dict[str, str] = {}
        self._fates: dict[ActKey, Fate] = {}

    def note(self, acts: Iterable[Act], fate: Fate, why: str = "", *, is_earlier: bool = False) -> None:
        for act in acts:
            self.lines.append(line_of(act, fate, why, is_earlier=is_earlier))
            if not is_earlier:
                self._fates[act.key] = fate

    def fate_of(self, act: Act) -> Fate | None:
        """What became of an act of this pass; None = nothing yet."""
        return self._fates.get(act.key)

    def fault(self, text: str) -> None:
        if text not in self.faults:
            self.faults.append(text)

    def alarm(self, key: str, text: str) -> None:
        self.alarms[key[:200]] = text
