"""Job labels of exporters: which of them speak of a job that holds something on that node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from data.join.holding import holds
from data.model import Job

_NO_JOB = frozenset({"", "0", "None", "null", "N/A"})


@dataclass(slots=True)
class LabelCount:
    """What became of the labels of one node. `stale` name no job that holds anything, `elsewhere` are jobs that
    Slurm has on other nodes, `ambiguous` sat on a GPU that is cut into slices."""

    stale: int = 0
    elsewhere: list[int] = field(default_factory=list)
    ambiguous: int = 0


class Labels:
    """Finds the holding job that a label (123, 123_4, 123+1, 123.0, s4N1RKR1N2JG00) means on a node."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        holding = [job for job in jobs if holds(job)]
        self._nodes = {job.job_id: frozenset(job.nodes) for job in holding}
        self._written = {label: job.job_id for job in holding for label in job.labels}
        self._family: dict[str, list[int]] = {}
        for job in holding:
            for leader in {job.array_job_id, job.het_job_id} - {None}:
                self._family.setdefault(str(leader), []).append(job.job_id)

    def on(self, node: str, labels: tuple[str, ...], count: LabelCount) -> list[int]:
        """Give the raw ids of the jobs meant that hold something on the node; count the others."""
        found: list[int] = []
        for label in labels:
            text = label.strip()
            if text in _NO_JOB:
                continue
            own, family = self._meant(text)
            here = [job_id for job_id in own or family if node in self._nodes[job_id]]
            here = here or [job_id for job_id in family if node in self._nodes[job_id]]
            if len(here) == 1:
                found += [job_id for job_id in here if job_id not in found]
            elif own or family:
                count.elsewhere += (own or family)[:1]
            else:
                count.stale += 1
        return found

    def _meant(self, text: str) -> tuple[list[int], list[int]]:
        """The job of that raw id or written form, and the tasks or parts of that array or heterogeneous job."""
        bare = text.split(".", 1)[0]
        number = int(bare) if bare.isascii() and bare.isdecimal() and len(bare) < 20 else None
        own = number if number in self._nodes else self._written.get(bare)
        return [] if own is None else [own], self._family.get(bare, [])
