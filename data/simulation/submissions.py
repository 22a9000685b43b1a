"""When jobs were submitted and which ids they got."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.simulation import archetypes as kinds
from data.simulation import campaigns
from data.simulation.campaigns import ARRAY, HET, LOOP, NONE
from data.simulation.chance import Floats, Ints, units
from data.simulation.columns import Columns
from data.simulation.layout import Group
from data.simulation.numbers import Numbers


def submit(jobs: Columns, wanted: Sequence[tuple[Group, int]], epoch: Ints, numbers: Numbers) -> None:
    """Set submit and eligible times and ids. Later attempts keep the id and are submitted at the requeue."""
    when = jobs.start - jobs.wait
    arrays = _arrays(jobs)
    _submit_together(jobs, when, arrays)
    heads = np.flatnonzero(jobs.origin < 0)
    residue = _residues(jobs, wanted, epoch, numbers)[heads]
    jobs.job_id[heads], jobs.submit[heads] = numbers.assign(epoch[heads], residue, when[heads])
    for row in np.flatnonzero(jobs.origin >= 0).tolist():
        before = int(jobs.origin[row])
        jobs.job_id[row], jobs.submit[row] = jobs.job_id[before], jobs.end[before] + 1
    _share_array_ids(jobs, arrays)
    jobs.eligible[:] = jobs.submit
    late = jobs.queued & (jobs.link == NONE) & (units(jobs.key, 56) < 0.05)
    jobs.eligible[late] = np.maximum(jobs.submit[late], jobs.start[late] - 20)
    again = jobs.origin >= 0
    jobs.eligible[again] = np.minimum(jobs.submit[again] + 120, jobs.start[again] - 5)
    chained = jobs.previous >= 0
    jobs.eligible[chained] = np.maximum(jobs.submit[chained], jobs.end[jobs.previous[chained]])


def _residues(jobs: Columns, wanted: Sequence[tuple[Group, int]], epoch: Ints, numbers: Numbers) -> Ints:
    """The port that numbers each row: one campaign keeps to one, het jobs to the first of their group."""
    ports = [numbers.residues(group, number) for group, number in wanted]
    sizes = np.array([len(each) for each in ports])
    port = (jobs.owner >> np.uint64(17)).astype(np.int64) % 997
    port[jobs.link == HET] = 0
    first = np.cumsum(sizes) - sizes
    residue: Ints = np.concatenate(ports)[first[epoch] + port % sizes[epoch]]
    return residue


def _submit_together(jobs: Columns, wanted: Floats, arrays: list[Ints]) -> None:
    """Chains are submitted at once; crash loops again after each crash; array tasks get their ids when they start."""
    for row in np.flatnonzero(jobs.previous >= 0).tolist():
        wanted[row] = max(wanted[jobs.previous[row]] + 1, jobs.start[row] - campaigns.MOST_WAIT)
    loop = np.flatnonzero((jobs.link == LOOP) & (jobs.place > 0))
    wanted[loop] = jobs.start[loop] - 5
    for rows in arrays:
        order = rows[np.argsort(jobs.start[rows], kind="stable")]
        first = float(wanted[order[0]])
        wanted[order] = np.maximum(first + 1, jobs.start[order] - 30)
        wanted[order[-1]] = first
        jobs.task[order] = np.arange(len(order))


def _share_array_ids(jobs: Columns, arrays: list[Ints]) -> None:
    """The last task keeps the array's own id as raw id; all tasks share its time of submission."""
    for rows in arrays:
        last = rows[np.argmax(jobs.task[rows])]
        jobs.array_id[rows] = jobs.job_id[last]
        jobs.submit[rows] = jobs.submit[last]


def _arrays(jobs: Columns) -> list[Ints]:
    """The rows of each array; a lane's own campaign, or the bundle that several lanes share."""
    rows = np.flatnonzero((jobs.link == ARRAY) & (jobs.archetype != kinds.FREE))
    _, which, count = np.unique(jobs.owner[rows], return_inverse=True, return_counts=True)
    return np.split(rows[np.argsort(which, kind="stable")], np.cumsum(count)[:-1]) if len(rows) else []
