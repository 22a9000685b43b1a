"""The batch script with which a simulated job could have been submitted."""

from __future__ import annotations

from data.model import Job
from data.words import slurm_time


def script_of(job: Job) -> str | None:
    """The script, made of what the job asked for; None for a job that was not submitted as one."""
    if not job.is_batch:
        return None
    lines = [f"#SBATCH --{name}={value}" for name, value in _options(job) if value]
    head = ["#!/bin/bash", *lines, "", "module purge", "module load cuda/12.6 python/3.12"]
    body = [f"cd {job.working_directory}", "source venv/bin/activate", f"srun python {job.name}.py{_task(job)}"]
    return "\n".join([*head, "", *body]) + "\n"


def _options(job: Job) -> list[tuple[str, object]]:
    asked = job.requested
    nodes = asked.nodes or 1
    memory = asked.memory_bytes or 0
    return [
        ("job-name", job.name),
        ("account", job.account),
        ("partition", job.partition),
        ("qos", job.qos),
        ("nodes", nodes),
        ("gpus-per-node", (asked.gpus or 0) // nodes),
        ("cpus-per-task", (asked.cpus or 0) // nodes),
        ("mem", f"{memory // nodes >> 30}G" if memory else ""),
        ("time", slurm_time(job.time_limit_seconds) if job.time_limit_seconds else ""),
        ("output", "%x-%A_%a.out" if job.array_job_id else "%x-%j.out"),
    ]


def _task(job: Job) -> str:
    return " --task $SLURM_ARRAY_TASK_ID" if job.array_job_id else ""
