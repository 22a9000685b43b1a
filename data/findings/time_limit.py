"""The time limit: reached, or much longer than the run."""

from __future__ import annotations

import math

from data import words
from data.findings.facts import JobFacts
from data.findings.registry import Finding, Severity, finding
from data.findings.sbatch import suggested_seconds, time_lines


@finding("timed_out")
def timed_out(facts: JobFacts) -> Finding | None:
    """The job ran into its limit. Slurm says so itself: this holds for short jobs, too."""
    limit = facts.job.time_limit_seconds
    if facts.job.state != "TIMEOUT":
        return None
    advice = "Save checkpoints and start again from the last one, or ask for more time."
    lines: tuple[str, ...] = ()
    if limit is not None and math.isfinite(limit) and limit > 0:
        most = facts.partition.max_time_seconds or math.inf
        wanted = min(suggested_seconds(limit * facts.limits.timeout_factor, 0), most)
        lines = time_lines(limit, wanted) if wanted > limit else ()
        if not lines:
            advice = "Save checkpoints and start again from the last one: the partition allows no longer limit."
    return Finding(
        "timed_out",
        "The time limit was reached",
        f"It ran {words.duration(facts.report.elapsed_seconds)}; the limit was {words.duration(limit)}.",
        advice,
        lines,
        Severity.BROKEN,
    )


@finding("time_over_ask")
def time_over_ask(facts: JobFacts) -> Finding | None:
    """A completed run needed much less time than its limit: a shorter limit starts sooner."""
    used, elapsed, limit = facts.report.time.countable, facts.report.elapsed_seconds, facts.job.time_limit_seconds
    if not facts.is_old_enough or facts.job.state != "COMPLETED" or used is None or elapsed is None or limit is None:
        return None
    if math.isinf(limit) or used >= facts.judgement.time_low or limit - elapsed < facts.limits.time_unused_seconds:
        return None
    wanted = suggested_seconds(elapsed, facts.limits.time_margin)
    if wanted >= limit:
        return None
    return Finding(
        "time_over_ask",
        f"{words.percent(used)} of the time limit was used",
        f"The job ran {words.duration(elapsed)} of {words.duration(limit)}.",
        f"Ask for {words.duration(wanted)}: a shorter limit fits into gaps of the schedule and starts sooner.",
        time_lines(limit, wanted),
        Severity.NOTE,
    )
