"""In which way a job asked for memory: per node, per CPU or per GPU (`Job.requested_memory_per`)."""

from __future__ import annotations

import re
from typing import Final

from data.model import Tres
from data.slurm.scalars import MEBIBYTE

_PER_GPU: Final = re.compile(r"(?:^|,)(?:gres[:/])?gpu:(\d+)M?(?=,|$)", re.IGNORECASE)
_PER_UNIT: Final = re.compile(r"\d+(?:\.\d+)?[KMGTPE]?([nc])", re.IGNORECASE)
_UNITS: Final = {"n": "node", "c": "cpu"}


def memory_per(node: int | None, cpu: int | None, per_tres: str | None, requested: Tres, allocated: Tres) -> str | None:
    """ "node", "cpu" or "gpu" from slurmctld's fields (bytes, and text such as gpu:60000); None = not known.

    A site's default per GPU stands in `per_tres` of jobs with --mem, too, and newer versions then repeat it as the
    memory per node: the memory that the job got tells whether it counted. 0 per node (--mem=0) is all of a node.
    """
    per_gpu = _PER_GPU.search(per_tres or "")
    if per_gpu is None:
        return "cpu" if cpu else "node" if node else None
    size = int(per_gpu[1]) * MEBIBYTE
    total = allocated if allocated.memory_bytes is not None else requested
    if total.gpus and total.memory_bytes == size * total.gpus:
        return "gpu"
    if cpu and allocated.memory_bytes is not None:
        return "cpu"
    return "node" if node and node != size else None


def recorded_memory_per(node: int | None, cpu: int | None) -> str | None:
    """The same from slurmdbd's two fields, of which one is set; 0 per node is a default or --mem-per-gpu, too."""
    return "cpu" if cpu else "node" if node else None


def memory_per_of_text(required: str | None) -> str | None:
    """The same from sacct's ReqMem: 4Gn, 2000Mc; newer versions print a total, which does not say."""
    match = _PER_UNIT.fullmatch((required or "").strip())
    return None if match is None or float(re.sub(r"[^\d.]", "", match[0])) == 0 else _UNITS[match[1].lower()]
