"""Cancels one job, by scancel or slurmrestd, and looks whether it ended. Never the wrong one, never a whole array."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from data.errors import CannotKnow, FullwarpError, NotFound, SourceDenied, SourceError
from data.model import Job
from data.protocols import SchedulerSource
from data.slurm.command_client import CommandClient
from data.slurm.command_errors import failure, names_no_job
from data.slurm.job_states import TERMINAL_STATES
from data.slurm.records_json_fields import member
from policy.actions.outcome import Refused, Unsettled
from policy.actions.slurm_rest import ActingRest
from policy.decide import cancel_id
from settings import SlurmKind, SlurmSettings

# Slurm 23.02 and 23.11 (v0.0.39, v0.0.40) take 123_7 and end all of 123: slurmrestd passes on the number alone.
WHOLE_ARRAYS: Final = (39, 40)
_WAITS: Final = (0.0, 0.3, 1.0, 3.0)


class Canceller:
    """Ends jobs by the way that Slurm is read. `scheduler` tells what became of them."""

    def __init__(
        self, settings: SlurmSettings, scheduler: SchedulerSource, *, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings, self._scheduler, self._wait = settings, scheduler, wait
        self._commands = CommandClient(settings)
        self._rest = ActingRest(settings) if settings.kind is SlurmKind.REST else None

    def cancel(self, job: Job, wanted: str) -> None:
        """End the job, which Slurm calls `wanted`; returns when Slurm says that it ends.

        Raises Refused when it surely was not done, also when the job had ended by itself; Unsettled when it may have
        been done, or the job runs on.
        """
        if wanted != cancel_id(job):
            raise Refused(f"job {job.display_id} is {cancel_id(job) or 'not to be named'} for Slurm, not {wanted}")
        if self._settings.kind is SlurmKind.SIMULATED:
            raise Refused("jobs of the simulated cluster cannot be cancelled")
        if self._rest is None:
            self._by_command(wanted)
        else:
            self._by_rest(self._rest, job, wanted)
        self._see(job)

    def _by_command(self, wanted: str) -> None:
        try:
            done = self._commands.finished("scancel", wanted)
        except SourceError as err:
            raise Refused(str(err)) from err
        error = failure(done)
        if error is None:
            return
        if isinstance(error, SourceDenied) or names_no_job(done):
            raise Refused(str(error))
        raise Unsettled(str(error))

    def _by_rest(self, rest: ActingRest, job: Job, wanted: str) -> None:
        try:
            version = rest.version
        except FullwarpError as err:
            raise Refused(str(err)) from err
        if job.array_task_id is not None and version in WHOLE_ARRAYS:
            raise Refused(
                f"slurmrestd v0.0.{version} would end the whole array of {wanted}: set slurm.kind = commands, or use a "
                "slurmrestd with v0.0.41"
            )
        try:
            payload = rest.delete_job(wanted)
        except (SourceDenied, NotFound, CannotKnow) as err:
            raise Refused(str(err)) from err
        except FullwarpError as err:
            # The base class alone is Slurm's own word; the others are an answer that did not come.
            raise (Refused if type(err) is SourceError else Unsettled)(str(err)) from err
        _check_each(payload)

    def _see(self, job: Job) -> None:
        """What Slurm says of the attempt now."""
        for seconds in _WAITS:
            self._wait(seconds)
            state = self._state(job)
            if state in (None, "CANCELLED", "COMPLETING"):
                return
            if state in TERMINAL_STATES:
                raise Refused(f"it had ended by itself: {state}")
        raise Unsettled(f"Slurm took the cancellation, and the job is still {state}")

    def _state(self, job: Job) -> str | None:
        """The attempt's state; None = it is not there any more. Raises Unsettled when Slurm does not say."""
        try:
            rows = self._scheduler.job(job.display_id)
        except FullwarpError as err:
            raise Unsettled(f"Slurm took the cancellation, and does not say what became of the job: {err}") from err
        same = [row.state for row in rows if (row.job_id, row.start_time) == (job.job_id, job.start_time)]
        # slurmdbd may still have a started job as PENDING, beside what slurmctld says of it.
        return next((state for state in same if state != "PENDING"), same[0] if same else None)


def _check_each(payload: dict[str, Any]) -> None:
    """Newer versions answer for each job: an error there is a refusal, whatever the status of the whole."""
    for entry in payload.get("status") or ():
        code, words = member(entry, "error", "code"), member(entry, "error", "string")
        if code:
            raise Refused(f"Slurm answered: {words or code}")
