"""The job of the demo cluster whose end never reached accounting: nobody runs it, and slurmdbd counts it on."""

from __future__ import annotations

from dataclasses import replace

from data.model import Job
from data.simulation.chance import key_of, unit_of
from data.simulation.clockwork import DAY, EARLIEST
from data.simulation.describe import jobs_of
from data.simulation.world import World

PERIOD = 28 * DAY
_ANOTHER = 91


def runaway_at(world: World, now: float) -> tuple[Job, ...]:
    """One job that began two to six weeks before `now`, with an id that no other job has; () in the first weeks."""
    begin = now // PERIOD * PERIOD - PERIOD / 2
    running = world.running(begin) if begin > EARLIEST else []
    if not running:
        return ()
    chosen = running[int(unit_of(key_of(world.seed, int(begin)), _ANOTHER) * len(running))]
    job = jobs_of(world, chosen, begin)[0]
    job_id = next(number for number in range(job.job_id + 1, job.job_id + PERIOD) if not world.find(number))
    alone = replace(job, array_job_id=None, array_task_id=None, het_job_id=None, het_offset=None, devices=())
    return (replace(alone, job_id=job_id, display_id=str(job_id), state="RUNNING", end_time=None),)
