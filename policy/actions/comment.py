"""Notes an act in the job's AdminComment, where nothing of somebody else stands."""

from __future__ import annotations

from typing import Final

from data.errors import FullwarpError, SourceDenied
from data.model import Job
from data.protocols import SchedulerSource
from data.slurm.command_client import CommandClient
from data.words import one_line
from policy.actions.outcome import Refused
from policy.actions.slurm_rest import ActingRest
from policy.decide import cancel_id
from settings import SlurmKind, SlurmSettings

PREFIX: Final = "fullwarp: "
FIRST_VERSION: Final = 41  # before Slurm 24.05 slurmrestd cannot set it, or sets it for a whole array
_MOST_CHARS: Final = 200


class Commenter:
    """Writes to running jobs, by the way that Slurm is read; needs the rights of an Administrator in Slurm."""

    def __init__(self, settings: SlurmSettings, scheduler: SchedulerSource) -> None:
        self._settings, self._scheduler = settings, scheduler
        self._commands = CommandClient(settings)
        self._rest = ActingRest(settings) if settings.kind is SlurmKind.REST else None

    def comment(self, job: Job, text: str) -> bool:
        """Set the AdminComment of a running job, in place of an earlier one of ours; False where anything else stands
        there, such as a job's summary: that is kept. Raises Refused."""
        if self._settings.kind is SlurmKind.SIMULATED:
            raise Refused("jobs of the simulated cluster have no comments")
        wanted = cancel_id(job)
        if wanted is None:
            raise Refused(f"it cannot be told what Slurm calls job {job.display_id}")
        try:
            if not self._is_free(job):
                return False
            if self._rest is None:
                self._commands.text("scontrol", "update", f"jobid={wanted}", f"AdminComment={_line(text)}")
            else:
                self._by_rest(self._rest, job, text)
        except SourceDenied as err:
            raise Refused(
                f"AdminComment of {job.display_id}: {err} (it takes Slurm's AdminLevel Administrator)"
            ) from err
        except FullwarpError as err:
            raise Refused(f"AdminComment of {job.display_id}: {err}") from err
        return True

    def _is_free(self, job: Job) -> bool:
        rows = self._scheduler.job(job.display_id)
        same = next((row for row in rows if (row.job_id, row.start_time) == (job.job_id, job.start_time)), None)
        if same is None or not same.is_running:
            raise Refused(f"job {job.display_id} does not run any more")
        return not same.admin_comment or same.admin_comment.startswith(PREFIX)

    def _by_rest(self, rest: ActingRest, job: Job, text: str) -> None:
        if rest.version < FIRST_VERSION:
            raise Refused(f"slurmrestd v0.0.{rest.version} cannot set an AdminComment")
        if job.job_id == job.array_job_id:
            raise Refused(f"slurmrestd cannot tell the task {job.display_id} from its array")
        rest.change_job(str(job.job_id), {"admin_comment": _line(text)})


def _line(text: str) -> str:
    return (PREFIX + one_line(text))[:_MOST_CHARS]
