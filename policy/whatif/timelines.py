"""The past as a rule can be replayed over it: attempts, and their profiles end to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.model import Job
from policy.rules import Rule
from settings import RuleKind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
# A profile holds UTIL, and GR where a slice has no UTIL.
_PROFILED = "gpu_utilization"


@dataclass(frozen=True, slots=True)
class PastJob:
    """One attempt that ended. `job` is as it was while it ran, without an end; `run_seconds` is how long it ran.

    `gpu_hours` are the allocated ones, `gpu_weight` its GPUs with slices by weight, `memory_share` the mean of used to
    total GPU memory over the run. None = not known.
    """

    job: Job
    run_seconds: float
    gpu_hours: float | None = None
    gpu_weight: float | None = None
    gpus_measured: int | None = None
    memory_share: float | None = None
    models: tuple[str, ...] = ()
    has_slices: bool = False
    is_shared: bool = False
    is_estimate: bool = False
    disagrees: bool = False
    has_profile: bool = True

    @property
    def gpus(self) -> int | None:
        return self.job.allocated.gpus


@dataclass(frozen=True, slots=True)
class Timelines:
    """Steps of all attempts, one after the other: those of attempt k are [offset[k], offset[k + 1]).

    `mean` and `maximum` are of the job's devices (ratios; 0 where nothing was measured), `measured` the share of the
    expected samples. `step_seconds` and `run_seconds` are by attempt.
    """

    offset: Ints
    step_seconds: Floats
    run_seconds: Floats
    is_slice: Bools
    mean: Floats
    maximum: Floats
    measured: Floats


def cannot_replay(rule: Rule) -> str:
    """Why nothing of this rule can be replayed; "" = it can."""
    if rule.metric != _PROFILED:
        return f"it looks at {rule.metric}, and profiles hold {_PROFILED} alone"
    return "" if rule.steps else "it has no steps, so that nothing follows from it"


def why_apart(rule: Rule, past: PastJob) -> str:
    """The reason why one attempt cannot be replayed, "" = it can: what a verdict would have needed is not kept."""
    gpus = past.gpus
    if gpus is None:
        return "gpu_count_unknown"
    checks = (
        ("no_profile", not past.has_profile),
        ("node_estimate", past.is_estimate),
        ("mapping_disagrees", past.disagrees),
        ("devices_differ", past.gpus_measured != gpus),
        ("shared", past.is_shared and not rule.settings.allow_shared),
        ("suspended", past.job.suspended_seconds > 0),
        ("single_devices", rule.needed(gpus) < gpus),
    )
    return next((reason for reason, holds in checks if holds), "")


APART = {
    "gpu_count_unknown": "Slurm does not say how many GPUs they had",
    "no_profile": "no profile is kept of them",
    "node_estimate": "only their nodes are known, not which GPUs they had",
    "mapping_disagrees": "the exporter named other GPUs than Slurm did",
    "devices_differ": "not all of their GPUs were measured",
    "shared": "they shared a GPU with another job",
    "suspended": "they were suspended",
    "single_devices": "the rule judges single GPUs, and a profile is of all of a job",
    "memory_not_measured": "the rule exempts high use of GPU memory, and theirs was not measured",
    "interactive_unknown": "Slurm does not say whether they were interactive",
}


def notes_of(rule: Rule) -> tuple[str, ...]:
    """What a profile does not tell, as sentences."""
    found = [
        "Signals that contradict low use, XID errors, restarts of exporters and nodes that turned idle at once are not "
        "in a profile: what they would have held back counts as done.",
        "The caps of acting, the first days of a rule that only warn, and passes that were missed are left out.",
        "Users are taken to do nothing after a warning; what they would have changed or ended themselves is not known.",
        "With several GPUs, the one that did most in a step counts: a few jobs more may have been low.",
        "How much was measured is the average over a job's GPUs, where a verdict takes the least: a job with one GPU "
        "that was hardly measured counts here, and would not have been acted on.",
    ]
    if rule.kind is RuleKind.IDLE:
        found.append("A step of a profile that rounds to 0 % counts as idle.")
    if rule.settings.exempt_memory_share is not None:
        found.append("GPU memory is the mean over the run.")
    return tuple(found)
