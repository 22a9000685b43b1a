"""How many GPUs a job asked for and got, where Slurm's TRES alone do not say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from data.model import Tres
from data.slurm.gres import gpu_entries
from data.slurm.tres import NOTHING

_GPU_OPTION: Final = re.compile(r"(?:^|\s)(?:--gpus\b|--gpus-per-\w+|-G\s*\d|--gres[= ]\S*gpu)")


def asks_for_gpus(requests: Iterable[str | None], submit_line: str | None = None) -> bool:
    """Whether GRES requests (tres_per_job, -node, -task ...; or the submit line's options) name GPUs."""
    if any(gpu_entries(request) for request in requests if request):
        return True
    return submit_line is not None and _GPU_OPTION.search(submit_line) is not None


def with_gpu_count(tres: Tres, asked_for_gpus: bool) -> Tres:
    """The same resources with 0 GPUs where none are named, unless the job did ask for some.

    Then gres/gpu is missing from AccountingStorageTRES, and the count stays None: not known, never 0.
    """
    if tres is NOTHING or tres.gpus is not None or asked_for_gpus:
        return tres
    return replace(tres, gpus=0)
