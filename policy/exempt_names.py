"""Whether Slurm knows what was exempted: a name that is written wrong spares nobody."""

from __future__ import annotations

from data.errors import NotFound
from data.protocols import SchedulerSource


def doubt_of(scheduler: SchedulerSource, kind: str, name: str) -> str:
    """What to say of a name that Slurm does not know now; "" = it does. Raises SourceError when it does not answer."""
    if _is_known(scheduler, kind, name):
        return ""
    return f"Slurm knows no {'QOS' if kind == 'qos' else kind} {name} now; names count as they are written"


def _is_known(scheduler: SchedulerSource, kind: str, name: str) -> bool:
    if kind == "job":
        try:
            return bool(scheduler.job(name))
        except NotFound:
            return False
    if kind in ("user", "account"):
        return any(getattr(row, kind) == name for row in scheduler.associations().rows)
    partitions = scheduler.partitions().rows
    if kind == "partition":
        return any(row.name == name for row in partitions)
    return any(name in row.allowed_qos for row in partitions) or any(job.qos == name for job in scheduler.jobs().rows)
