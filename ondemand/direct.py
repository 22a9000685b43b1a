"""Asks Slurm itself, as the user, for a trial without a server: own jobs only, no history, no secret."""

from __future__ import annotations

from collections.abc import Mapping

from data.errors import CannotKnow, NotFound
from data.model import JobFilter, Role, Viewer, Visibility
from data.queries.job_report import job_answer
from data.queries.job_series import job_series
from data.queries.jobs import jobs
from data.queries.live import overview
from data.sources import open_sources
from ondemand.answers import Advised, LastJobs, Now, OneJob, Past
from ondemand.options import Options
from policy.queries import verdict, verdicts
from settings import (
    CacheSettings,
    IdentityKind,
    IdentitySettings,
    MetricsKind,
    MetricsSettings,
    PolicySettings,
    Settings,
)
from terminal.remote import Passed


class Direct:
    """The viewer is always a plain user who sees own jobs: nothing that the process is told makes it more."""

    is_direct = True

    def __init__(self, options: Options, user: str) -> None:
        self.user = user
        self._viewer = Viewer(user, Role.USER, visibility=Visibility.OWN, matched="the direct mode knows no other")
        self._sources = open_sources(_settings(options))

    def now(self) -> Now:
        mine = JobFilter(users=frozenset({self.user}))
        found = jobs(self._viewer, self._sources, mine, limit=1000)
        judged = verdicts(self._viewer, self._sources)
        return Now(found, judged, overview(self._viewer, self._sources).status)

    def job(self, job_id: str) -> OneJob:
        answer = job_answer(self._viewer, self._sources, job_id)
        series = job_series(self._viewer, self._sources, job_id)
        try:
            judged = verdict(self._viewer, self._sources, job_id)
        except NotFound:
            judged = None
        return OneJob(answer, series, judged)

    def past(self) -> Past:
        raise _no_history()

    def last_jobs(self) -> LastJobs:
        raise _no_history()

    def advised(self) -> tuple[Advised, ...]:
        raise _no_history()

    def pass_on(self, method: str, name: str, asked: Mapping[str, str], given: bytes | None) -> Passed:
        raise CannotKnow("There is no assistant in the direct mode", hint="It runs on the server of the central mode.")


def _no_history() -> CannotKnow:
    return CannotKnow("There is no history in the direct mode", hint="The central mode has it.")


def _settings(options: Options) -> Settings:
    """Values alone: no file and no variable besides the options is read."""
    return Settings(
        site_timezone=options.site_timezone,
        refresh_seconds=options.refresh_seconds,
        slurm=options.slurm,
        metrics=options.metrics or MetricsSettings(kind=MetricsKind.NONE),
        identity=IdentitySettings(kind=IdentityKind.UNIX),
        cache=CacheSettings(kind="memory"),
        policy=PolicySettings(),
    )
