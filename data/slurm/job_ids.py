"""Read job ids as people write them, and the ranges of pending arrays."""

from __future__ import annotations

import re
from typing import Final, TypedDict

from data.errors import BadRequest
from data.model import JobId

_JOB_ID: Final = re.compile(r"(\d{1,10})(?:_(?:(\d{1,10})|\[([^\]]*)\]?))?(?:\+(\d{1,10}))?(?:\.(\S+))?", re.ASCII)
_RANGE: Final = re.compile(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?", re.ASCII)


class IdFields(TypedDict):
    """The fields of a Job that say which one it is."""

    job_id: int
    display_id: str
    array_job_id: int | None
    array_task_id: int | None
    array_tasks: str | None
    array_task_count: int
    het_job_id: int | None
    het_offset: int | None


def id_fields(
    raw_id: int, array_job_id: int | None, task: int | str | None, het_job_id: int | None, het_offset: int | None
) -> IdFields:
    """The fields from the raw id and what is said of array and het job; `task` is a number, or a pending list."""
    one, several = (task, None) if isinstance(task, int) else (None, task)
    return {
        "job_id": raw_id,
        "display_id": display_id(raw_id, array_job_id, task, het_job_id, het_offset),
        "array_job_id": array_job_id,
        "array_task_id": one,
        "array_tasks": several,
        "array_task_count": array_task_count(several),
        "het_job_id": het_job_id,
        "het_offset": het_offset,
    }


def job_id(value: str) -> JobId:
    """The parts of 123, 123_7, 123_[1-10%2], 123+1 and 123.batch. Raises BadRequest for anything else."""
    match = _JOB_ID.fullmatch(value.strip())
    if match is None or not int(match[1]):
        raise BadRequest(f"{value[:80]!r} is not a job id", hint="write it like 12345, 12345_7 or 12345+1")
    task: int | str | None = match[3] if match[2] is None else int(match[2])
    return JobId(int(match[1]), task, None if match[4] is None else int(match[4]), match[5])


def written(wanted: JobId) -> str:
    """An id as Slurm's commands take it, without step or pending list."""
    if wanted.het is not None:
        return f"{wanted.job}+{wanted.het}"
    return f"{wanted.job}_{wanted.task}" if isinstance(wanted.task, int) else str(wanted.job)


def display_id(
    raw_id: int,
    array_job_id: int | None = None,
    array_task: int | str | None = None,
    het_job_id: int | None = None,
    het_offset: int | None = None,
) -> str:
    """What people write: 123_7, 123_[1-10], 123+1 or the raw id."""
    if array_job_id and array_task is not None:
        return f"{array_job_id}_{array_task}" if isinstance(array_task, int) else f"{array_job_id}_[{array_task}]"
    if het_job_id and het_offset is not None:
        return f"{het_job_id}+{het_offset}"
    return str(raw_id)


def array_task_count(tasks: str | None) -> int:
    """How many tasks "1-10%2", "1,5" or "0-6:2" stand for; 1 for a single task or none.

    Slurm cuts long lists ("1,3,..."): then it is the number of those shown. A hexadecimal mask counts its bits.
    """
    if not tasks:
        return 1
    ranges = tasks.partition("%")[0].strip("[] ")
    if ranges.lower().startswith("0x"):
        return max(1, bin(int(ranges, 16)).count("1")) if re.fullmatch(r"0[xX][0-9a-fA-F]+", ranges) else 1
    return max(1, sum(_range_size(part.strip()) for part in ranges.split(",")))


def _range_size(part: str) -> int:
    match = _RANGE.fullmatch(part)
    if match is None:
        return 0
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    return max(0, (last - first) // max(1, step) + 1)
