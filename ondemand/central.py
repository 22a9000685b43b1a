"""Asks a Fullwarp server with this user's token. What may be seen is decided there, in a process of somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from data.errors import NotFound, SettingsError
from data.queries.job_report import JobAnswer
from data.queries.job_series import JobSeries
from data.queries.jobs import JobPage
from data.queries.live import ClusterStatus
from ondemand.answers import Advised, LastJobs, Now, OneJob, Past, PastReport, PastRow
from ondemand.keeping import Keeper, Kept
from ondemand.options import Options
from policy.model import JobVerdict
from policy.queries import VerdictList
from terminal.remote import Passed, RemoteServer, read_as, read_token

T = TypeVar("T")
NEW_SECONDS = 55.0  # a page asks once a minute at most, and finds the answer of another tab
JOB_SECONDS = 300.0
PAST_SECONDS = 900.0
RANGE = "30d"
MOST_LAST = 20
_RESTART = "Restart your web server from the Help menu of Open OnDemand; a new one is made then."


@dataclass(frozen=True, slots=True)
class _Page(Generic[T]):
    """One page of a list."""

    answer: T


@dataclass(frozen=True, slots=True)
class _Finding:
    id: str
    jobs: int
    gpu_hours: float
    examples: tuple[PastRow, ...] = ()


@dataclass(frozen=True, slots=True)
class _Words:
    name: str
    advice: str


@dataclass(frozen=True, slots=True)
class _Findings:
    rows: tuple[_Finding, ...]
    advice: dict[str, _Words] = field(default_factory=dict)


class Central:
    """`user` is whom the process belongs to. Every question is about this user, staff or not."""

    is_direct = False

    def __init__(self, options: Options, user: str, keeper: Keeper) -> None:
        self.user = user
        self._options = options
        self._keeper = keeper
        self._opened: tuple[str, RemoteServer] | None = None

    def now(self) -> Now:
        mine = [("user", self.user), ("limit", "1000")]
        jobs, first = self._ask(_Page[JobPage], "jobs", mine, NEW_SECONDS)
        verdicts, second = self._ask(_Page[VerdictList], "gpu-efficiency", mine, NEW_SECONDS)
        cluster, third = self._ask(ClusterStatus, "status", [], NEW_SECONDS)
        return Now(jobs.answer, verdicts.answer, cluster, first.fault or second.fault or third.fault)

    def job(self, job_id: str) -> OneJob:
        path = f"jobs/{quote(job_id, safe='')}"
        answer, kept = self._ask(JobAnswer, path, [], JOB_SECONDS)
        series, _ = self._ask(JobSeries, f"{path}/series", [], JOB_SECONDS)
        return OneJob(answer, series, self._verdict(job_id, answer), kept.fault)

    def _verdict(self, job_id: str, answer: JobAnswer) -> JobVerdict | None:
        """Of a running job with GPUs; the list has those of the user's own."""
        job = answer.report.job
        if not job.is_running or not answer.report.gpu_count:
            return None
        mine = self.now().verdict_of(job.display_id) if job.user == self.user else None
        if mine is not None:
            return mine
        try:
            found, _ = self._ask(JobVerdict, f"gpu-efficiency/{quote(job_id, safe='')}", [], JOB_SECONDS)
        except NotFound:
            return None
        else:
            judged: JobVerdict = found
            return judged

    def past(self) -> Past:
        asked = [("user", self.user), ("since", RANGE), ("limit", "100"), ("sort", "name")]
        found, kept = self._ask(_Page[PastReport], "reports/day", asked, PAST_SECONDS)
        return Past(found.answer, _moment(kept), kept.fault)

    def last_jobs(self) -> LastJobs:
        asked = [("user", self.user), ("since", RANGE), ("limit", str(MOST_LAST)), ("sort", "-name")]
        found, kept = self._ask(_Page[PastReport], "reports/job", asked, PAST_SECONDS)
        return LastJobs(found.answer.rows, found.answer.is_empty, _moment(kept), kept.fault)

    def advised(self) -> tuple[Advised, ...]:
        asked = [("user", self.user), ("since", RANGE), ("limit", "20")]
        found, _ = self._ask(_Page[_Findings], "findings", asked, PAST_SECONDS)
        return tuple(_advised(one, found.answer.advice) for one in found.answer.rows if one.gpu_hours > 0)

    def _ask(self, kind: Any, path: str, asked: list[tuple[str, str]], seconds: float) -> tuple[Any, Kept]:
        address = f"{path}?{urlencode(asked)}" if asked else path
        kept = self._keeper.get(f"{self._options.server} {address}", seconds, lambda: self._server().ask(address))
        return read_as(kind, kept.body), kept

    def pass_on(self, method: str, name: str, asked: Mapping[str, str], given: bytes | None) -> Passed:
        return self._server().pass_on(method, f"chat/{name}", asked, given)

    def _server(self) -> RemoteServer:
        """With the token of this moment: the hook may have left a newer one."""
        token = own_token(self._options.token_folder, self.user)
        if self._opened is None or self._opened[0] != token:
            made = RemoteServer(self._options.server, token, timeout_seconds=self._options.timeout_seconds)
            self._opened = (token, made)
        return self._opened[1]


def own_token(folder: Path, user: str) -> str:
    """The token that the hook left for this user. Raises SettingsError that says who must do what."""
    try:
        return read_token(folder / user, "")
    except SettingsError as err:
        raise SettingsError(f"There is no token for {user} on this host", hint=_RESTART) from err


def _moment(kept: Kept) -> datetime:
    return datetime.fromtimestamp(kept.asked_at, UTC)


def _advised(one: _Finding, words: dict[str, _Words]) -> Advised:
    known = words.get(one.id)
    name = (known.name if known else one.id.replace("_", " ")).capitalize()
    labels = dict.fromkeys(row.label for row in one.examples)  # attempts of one job have one label
    return Advised(name, known.advice if known else "", one.jobs, one.gpu_hours, tuple(labels))
