"""The columns that rows of `jobs/` and `usage/` share: who, what, where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from data.history.columns import SCHEMA_VERSION
from data.history.measure.flags import APPORTIONED
from data.history.measure.use import AttemptUse
from data.report import JobReport

AccountPaths = Mapping[str, Sequence[str]]
_MIXED = "mixed"


def identity(use: AttemptUse, collected_at: datetime, account_path: AccountPaths) -> dict[str, Any]:
    """The columns that jobs and usage share: who, what, where."""
    job = use.job
    path = account_path.get(job.account or "")
    return {
        "schema_version": SCHEMA_VERSION,
        "cluster": job.cluster,
        "job_id": job.job_id,
        "submit_time": job.submit_time,
        "start_time": job.start_time,
        "collected_at": collected_at,
        "display_id": job.display_id,
        "name": job.name,
        "state": job.state,
        "user": job.user,
        "account": job.account,
        "partition": job.partition.split(",")[0],
        "qos": job.qos,
        "gpu_model": model_of(use.report),
        "account_path": None if path is None else list(path),
        "gpu_count": use.report.gpu_count,
        "gpu_source": use.source,
    }


def model_of(report: JobReport) -> str | None:
    """The model of the job's GPUs; "mixed" for several, None without GPUs or where no name is known."""
    names = set()
    for gpu in report.allocated_gpus:
        known, said = gpu.model, (gpu.device.model if gpu.device else None) or gpu.model_name
        names.add(known.name if known else said)
    names.discard(None)
    return None if not names else names.pop() if len(names) == 1 else _MIXED


def is_apportioned(use: AttemptUse) -> bool:
    return use.is_apportioned or APPORTIONED in use.flags
