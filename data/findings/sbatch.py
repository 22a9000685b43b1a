"""Lines of a job script, and the sizes that they suggest."""

from __future__ import annotations

import math
from collections import Counter

from data.model import Job
from data.words import slurm_time

MIB = 1 << 20
GIB = 1 << 30
# Up to this many GiB, a suggestion is a multiple of this many GiB: finer than anybody can plan is only noise.
_MEMORY_STEPS = ((20, 1), (100, 5), (1000, 10), (math.inf, 100))
_TIME_STEPS = ((3600, 300), (6 * 3600, 900), (24 * 3600, 3600), (math.inf, 6 * 3600))
_SMALL_MIB = 100
_OPTIONS = {"cpu": "mem-per-cpu", "gpu": "mem-per-gpu", "node": "mem"}


def plus(option: str, value: object) -> str:
    return f"+ #SBATCH --{option}={value}"


def minus(option: str, value: object) -> str:
    return f"- #SBATCH --{option}={value}"


def change(option: str, old: object, new: object) -> tuple[str, ...]:
    return (minus(option, old), plus(option, new))


def suggested_memory_gib(used_gib: float, margin: float) -> int:
    """Whole GiB for a peak of `used_gib`: with the margin, rounded up to a step; at least 1."""
    return max(1, _up(used_gib * (1 + margin), _MEMORY_STEPS))


def suggested_seconds(seconds: float, margin: float) -> int:
    """Time limit for a run of `seconds`: with the margin, rounded up to a step of 5 min to 6 h."""
    return _up(seconds * (1 + margin), _TIME_STEPS)


def memory_lines(job: Job, node_bytes: int, asked_node_bytes: float | None) -> tuple[str, ...]:
    """Lines that ask for `node_bytes` on each node, in the way that the job asked; where that is not known, --mem."""
    per = job.requested_memory_per or "node"
    divisor = _divisor(job, per)
    if divisor is None:
        per, divisor = "node", 1.0
    option = _OPTIONS.get(per, "mem")
    new = plus(option, memory_size(node_bytes / divisor))
    if asked_node_bytes is None or per != job.requested_memory_per:
        return (new,)
    return (minus(option, memory_size(asked_node_bytes / divisor)), new)


def memory_size(count: float) -> str:
    """Bytes as Slurm takes them: whole GiB from 2 GiB on, else MiB in hundreds, rounded up."""
    if count >= 2 * GIB or count % GIB == 0:
        return f"{math.ceil(count / GIB)}G"
    return f"{math.ceil(count / MIB / _SMALL_MIB) * _SMALL_MIB}M"


def time_lines(old_seconds: float, new_seconds: float) -> tuple[str, ...]:
    return change("time", slurm_time(old_seconds), slurm_time(new_seconds))


def gpu_lines(job: Job, wanted: int) -> tuple[str, ...]:
    """Lines that ask for `wanted` GPUs instead of what the job has; () where there is no one way to say it."""
    counts = Counter(held.node for held in job.devices for _ in range(held.gpu_count or 0))
    types = {held.gpu_type for held in job.devices if held.gpu_count}
    if not counts or wanted < 1 or len(set(counts.values())) > 1 or len(types) > 1:
        return ()
    per_node, nodes = next(iter(counts.values())), len(counts)
    prefix = f"gpu:{kind}:" if (kind := next(iter(types), None)) else "gpu:"
    if nodes == 1:
        return change("gres", f"{prefix}{per_node}", f"{prefix}{wanted}")
    needed = math.ceil(wanted / per_node)
    if wanted % per_node == 0:
        return change("nodes", nodes, needed)
    if needed == 1:
        return (*change("nodes", nodes, 1), *change("gres", f"{prefix}{per_node}", f"{prefix}{wanted}"))
    return ()


def _divisor(job: Job, per: str) -> float | None:
    nodes = max(1, len(job.nodes))
    total = {"cpu": job.allocated.cpus, "gpu": job.allocated.gpus, "node": nodes}.get(per)
    return total / nodes if total else None


def _up(value: float, steps: tuple[tuple[float, int], ...]) -> int:
    step = next(step for most, step in steps if value <= most)
    return math.ceil(value / step - 1e-9) * step
