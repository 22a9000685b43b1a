"""A world in which the real enforcer acts: jobs that live, a mail server and a Slurm that fail, and a sudden end at any
named place. What was done is kept here, apart from what the enforcer believes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

from sqlalchemy import StaticPool, create_engine

from data.enforcement.store import ENFORCEMENT
from data.enforcement.tables import METADATA
from data.errors import SourceUnreachable
from data.model import Job
from data.state.store import StateStore
from policy.actions.outcome import Refused, Unsettled
from policy.decide import Act, ActKey
from policy.enforcer.enforce import enforce
from policy.enforcer.looking import Look
from policy.enforcer.passing import Passing
from policy.enforcer.report import PassReport
from policy.judge import judge_job
from policy.model import JobVerdict, attempt_of
from policy.queries import VerdictList
from policy.recheck import Checked, compared
from settings import PolicySettings, Settings
from tests.policy.random_lives import JUDGING, POLICY, RULES, T0, Life

SECOND = timedelta(seconds=1)


class Killed(BaseException):
    """The process ends here, without another word."""


@dataclass(frozen=True)
class Delivered:
    """A mail that reached its user."""

    minute: int
    reference: str
    acts: tuple[ActKey, ...]


@dataclass(frozen=True)
class Ended:
    """A job that Slurm ended because it was told to."""

    minute: int
    act: ActKey
    wanted: str


def memory_store() -> StateStore:
    """A store of its own that outlives its enforcers."""
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    METADATA.create_all(engine)
    return StateStore(engine, ENFORCEMENT)


class NoLock:
    def require(self) -> None:
        """There is no other."""


@dataclass
class World:
    """`chance` decides what fails, with these probabilities; 0 = nothing does. `kill` names the place and how often it
    must be reached before the end comes; None = no end. `mails` came, `tried` are all that were begun. In a
    `steady` world a pass takes no time."""

    lives: list[Life]
    store: StateStore = field(default_factory=memory_store)
    policy: PolicySettings = POLICY
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    failing: Mapping[str, float] = field(default_factory=dict)
    stop_file: Path | None = None
    minute: int = 0
    skew: int = 0
    ticks: int = 0
    steady: bool = False
    no_metrics: bool = False
    no_slurm: bool = False
    no_accounting: bool = False
    kill: tuple[str, int] | None = None
    mails: list[Delivered] = field(default_factory=list)
    tried: list[Delivered] = field(default_factory=list)
    ends: list[Ended] = field(default_factory=list)
    staff: list[str] = field(default_factory=list)
    states: dict[object, str] = field(default_factory=dict)
    unknown_users: set[str] = field(default_factory=set)
    no_mail: bool = False
    before_look: Callable[[], None] = lambda: None
    _messages: dict[str, tuple[ActKey, ...]] = field(default_factory=dict)
    _now_sent: tuple[Act, ...] = ()

    @property
    def settings(self) -> Settings:
        return Settings(policy=self.policy.model_copy(update={"stop_file": self.stop_file}))

    def one_pass(self) -> PassReport | None:
        """One pass of a new process; None when it was killed."""
        passing = Passing(self.settings, self, self.store, NoLock(), self, self.reached)
        try:
            return enforce(passing)
        except Killed:
            return None

    def reached(self, name: str) -> None:
        if self.kill is not None and self.kill[0] == name:
            self.kill = (name, self.kill[1] - 1)
            if self.kill[1] <= 0:
                self.kill = None
                raise Killed

    def fails(self, what: str) -> bool:
        return self.chance.random() < self.failing.get(what, 0.0)

    # what the enforcer sees

    def now(self) -> datetime:
        self.ticks += not self.steady
        return T0 + timedelta(minutes=self.minute + self.skew) + self.ticks % 50 * SECOND

    def jobs(self) -> list[tuple[Life, Job]]:
        found = [(life, job) for life in self.lives if (job := life.at(self.minute)) is not None]
        return [(life, replace(job, state=self.states.get(attempt_of(job), job.state))) for life, job in found]

    def judged(self, only: Sequence[Act] | None = None) -> tuple[JobVerdict, ...]:
        wanted = None if only is None else {act.job.job_id for act in only}
        clock = self.minute + self.skew
        fault = "down" if self.no_metrics else "clock" if self.skew else ""
        now = T0 + timedelta(minutes=clock)
        return tuple(
            judge_job(life.evidence(job, clock, self.minute, fault), RULES, JUDGING, now)
            for life, job in self.jobs()
            if job.is_running and (wanted is None or job.job_id in wanted)
        )

    def look(self) -> Look:
        self.ticks = 0
        if self.no_slurm:
            raise SourceUnreachable("Slurm does not answer")
        there = {attempt_of(job): job for _, job in self.jobs() if job.state != "CANCELLED"}
        running = sum(job.is_running for job in there.values())
        fault = "down" if self.no_metrics else "clock" if self.skew else ""
        verdicts = VerdictList(self.now(), self.judged(), running_gpu_jobs=running, fault=fault)
        return Look(T0 + timedelta(minutes=self.minute + self.skew), "demo", verdicts, there)

    def again(self, acts: Sequence[Act]) -> list[Checked]:
        self.before_look()
        if self.fails("look"):
            raise SourceUnreachable("Slurm does not answer")
        there = {attempt_of(job): job for _, job in self.jobs() if job.state != "CANCELLED"}
        judged = {attempt_of(one.job): one for one in self.judged(acts)}
        found = [compared(act, there.get(attempt_of(act.job)), judged.get(attempt_of(act.job))) for act in acts]
        return [replace(one, why="it was busy meanwhile") if self.fails("last look") else one for one in found]

    def known(self, job: Job) -> Job | None:
        if self.fails("look"):
            raise SourceUnreachable("Slurm does not answer")
        if (state := self.states.get(attempt_of(job))) is not None and not self.no_accounting:
            return replace(job, state=state)
        return next((one for _, one in self.jobs() if attempt_of(one) == attempt_of(job)), None)

    # what the enforcer does

    def notice(self, acts: Sequence[Act], reference: str, now: datetime, after: object) -> EmailMessage:
        self.address(acts[0].job.user or "")
        if self.fails("odd job"):
            raise ValueError("a name that no header takes")
        message = EmailMessage()
        message["Message-ID"] = f"<{reference}@x>"
        message["X-Acts"] = ",".join(f"{act.job.job_id}-{act.job.restart_count}" for act in acts)
        message.set_content("idle")
        self._messages[f"{message['Message-ID']} {message['X-Acts']}"] = tuple(act.key for act in acts)
        return message

    def address(self, user: str) -> str:
        if user in self.unknown_users:
            raise Refused(f"no mail address is known of {user}")
        return f"{user}@example.org"

    def check_mail(self) -> None:
        if self.no_mail or self.fails("mail server"):
            raise Refused("mail server does not answer")

    def send(self, message: EmailMessage) -> None:
        acts = self._messages[f"{message['Message-ID']} {message['X-Acts']}"]
        mail = Delivered(self.minute, message["Message-ID"], acts)
        self.tried.append(mail)
        if self.no_mail or self.fails("mail"):
            raise Refused("550 no")
        if self.fails("mail lost"):
            raise Unsettled("cut before the answer")
        self.mails.append(mail)
        if self.fails("mail answer"):
            raise Unsettled("cut before the answer")

    def cancel(self, job: Job, cancel_id: str) -> None:
        if self.fails("cancel"):
            raise Refused("Invalid job id specified")
        if self.fails("cancel lost"):
            raise Unsettled("no answer in time")
        if self.states.get(attempt_of(job)) != "CANCELLED":
            key = [row.act.key for row in self.open_cancels() if attempt_of(row.act.job) == attempt_of(job)][-1]
            self.ends.append(Ended(self.minute, key, cancel_id))
        self.states[attempt_of(job)] = "CANCELLED"
        if self.fails("cancel answer"):
            raise Unsettled("no answer in time")

    def open_cancels(self) -> list:
        from policy.store.audit import open_rows

        with self.store.connection() as connection:
            return [row for row in open_rows(connection, "demo") if row.act.cancel_id is not None]

    def comment(self, act: Act, now: datetime) -> None:
        if self.fails("comment"):
            raise Refused("no")

    def tell_staff(self, lines: Sequence[str], reference: str, now: datetime) -> None:
        if self.no_mail:
            raise Refused("mail server does not answer")
        self.staff += lines

    def announce(self, acts: Sequence[Act], now: datetime) -> None:
        if self.fails("announce"):
            raise Refused("no")
