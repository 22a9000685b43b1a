"""The batch script of one job: which command prints it, and where it stands in what that prints. Pure."""

from __future__ import annotations

import re
from typing import Final

from data.model import Job
from data.slurm.job_ids import job_id, written

# sacct puts "Batch Script for ID" and a rule of 80 dashes before each script, "NONE" where it has none
_HEAD: Final = re.compile(r"^Batch Script for \S+\n-{80}\n", re.MULTILINE)
_NOTHING: Final = "NONE"


def question(job: Job) -> tuple[str, ...]:
    """The command that prints the script. By its raw id slurmctld means one task, sacct a whole array."""
    if job.end_time is None:
        return ("scontrol", "write", "batch_script", str(job.job_id), "-")
    return ("sacct", "-B", "-j", written(job_id(job.display_id)))


def by_hand(job: Job) -> str:
    """The same as a person types it."""
    return " ".join(question(job))


def script_in(printed: str, job: Job) -> str | None:
    """The first script in what the command printed; None without one."""
    if job.end_time is None:
        return printed or None
    found = _HEAD.split(printed, maxsplit=2)
    text = found[1].rstrip("\n") if len(found) > 1 else ""
    return None if text in ("", _NOTHING) else f"{text}\n"
