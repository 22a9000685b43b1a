"""The commands: for each the tool that it runs and how its words become arguments. To add one, add a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Command:
    """`words` are the arguments that plain words fill in their order, `needed` those without which there is no answer
    (taken from the page where it shows one). `takes_rest` = all words are the first argument. `fixed` are arguments
    that the command itself says. `tool` "" = help."""

    name: str
    usage: str
    shows: str
    tool: str
    words: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    has_period: bool = False
    has_by: bool = False
    takes_rest: bool = False
    aliases: tuple[str, ...] = ()


COMMANDS = (
    Command("help", "/help", "these commands", "", aliases=("?", "h")),
    Command("status", "/status [PARTITION]", "the cluster now", "cluster_status", ("partition",), aliases=("cluster",)),
    Command(
        "job",
        "/job ID",
        "one job's report",
        "job_report",
        ("job_id",),
        ("job_id",),
    ),
    Command("series", "/series ID [METRIC]", "a job over time", "job_series", ("job_id", "metric"), ("job_id",)),
    Command(
        "why-pending",
        "/why-pending ID",
        "why a job waits, and which free GPUs would fit",
        "why_pending",
        ("job_id",),
        ("job_id",),
        aliases=("why", "pending"),
    ),
    Command(
        "verdict",
        "/verdict ID",
        "the policy's verdict on a job and its next step",
        "policy_verdict",
        ("job_id",),
        ("job_id",),
        aliases=("policy",),
    ),
    Command(
        "low",
        "/low [USER]",
        "running jobs that use their GPUs too little",
        "policy_verdicts",
        ("user",),
        fixed={"status": "low"},
    ),
    Command(
        "compare",
        "/compare ID ID",
        "two jobs side by side",
        "compare_jobs",
        ("job_id", "other_job_id"),
        ("job_id", "other_job_id"),
    ),
    Command("jobs", "/jobs [running|pending|finished] [user=NAME]", "a list of jobs", "find_jobs", ("show",)),
    Command("nodes", "/nodes [PARTITION] [gpu_state=free]", "a list of nodes", "find_nodes", ("partition",)),
    Command("node", "/node NAME", "one node and its GPUs", "node", ("name",), ("name",)),
    Command(
        "user",
        "/user NAME [month]",
        "how well somebody used GPUs",
        "user_efficiency",
        ("user",),
        ("user",),
        has_period=True,
    ),
    Command("me", "/me [month]", "how well you used GPUs", "user_efficiency", has_period=True),
    Command(
        "waste",
        "/waste [week] [by user]",
        "who wasted most GPU-hours",
        "waste_ranking",
        has_period=True,
        has_by=True,
    ),
    Command(
        "report",
        "/report [by partition] [month]",
        "GPU-hours by group",
        "efficiency_report",
        ("by",),
        has_period=True,
        has_by=True,
        needed=("by",),
    ),
    Command(
        "metrics",
        "/metrics [by user] [day]",
        "detailed GPU metrics with diagnoses",
        "detailed_metrics",
        has_period=True,
        has_by=True,
    ),
    Command(
        "wait",
        "/wait [month]",
        "how long jobs wait, by GPU count",
        "wait_by_gpu_count",
        ("partition",),
        has_period=True,
        aliases=("waits",),
    ),
    Command(
        "sbatch",
        "/sbatch GPUS [TYPE] [hours=10]",
        "#SBATCH lines for a workload",
        "sbatch_advice",
        ("gpus", "gpu_type"),
        ("gpus",),
        aliases=("advice",),
    ),
    Command(
        "explain", "/explain TERM", "what a metric or finding means", "explain", ("term",), ("term",), takes_rest=True
    ),
    Command(
        "docs",
        "/docs WORDS",
        "what this site's documents say",
        "site_documents",
        ("words",),
        ("words",),
        takes_rest=True,
        aliases=("doc",),
    ),
    Command("health", "/health", "whether the sources answer", "source_health"),
)

BY_NAME: Mapping[str, Command] = {name: one for one in COMMANDS for name in (one.name, *one.aliases)}
