"""Every route of the API as one row: its path, its parameters, its answer, and who answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from api import asking as by
from api import parameters as of
from api.paging import Paged
from data.exemption import KeptExemption
from data.node_rows import NodeDetail, NodeList
from data.queries.asked import Asked
from data.queries.history import Report
from data.queries.job_report import JobAnswer
from data.queries.job_series import JobSeries
from data.queries.jobs import JobPage
from data.queries.live import ClusterStatus
from data.queries.metrics import MetricsTable
from policy.exempted import ExemptionList
from policy.model import JobVerdict
from policy.queries import VerdictList


@dataclass(frozen=True)
class Operation:
    """`path` is below /api/v1/, with the parameters in braces that stand in it. What changes something has another
    `method` than GET: it takes a token of staff alone, and the rest of its parameters in a JSON body."""

    name: str
    path: str
    summary: str
    parameters: type[of.Parameters]
    answer: Any
    ask: Callable[[Asked, Any], Any]
    method: str = "GET"

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    @property
    def has_body(self) -> bool:
        return self.changes and set(self.in_path) != set(self.parameters.model_fields)

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def rule(self) -> str:
        """The path as Flask writes it."""
        return self.path.replace("{", "<").replace("}", ">")


OPERATIONS = (
    Operation(
        "status",
        "status",
        "The totals of the cluster and what needs attention.",
        of.StatusParameters,
        ClusterStatus,
        by.ask_status,
    ),
    Operation("nodes", "nodes", "Nodes with their GPUs.", of.NodesParameters, Paged[NodeList], by.ask_nodes),
    Operation(
        "node",
        "nodes/{name}",
        "One node: every metric of its devices, its jobs, its health.",
        of.NodeParameters,
        NodeDetail,
        by.ask_node,
    ),
    Operation("jobs", "jobs", "Running, pending and suspended jobs.", of.JobsParameters, Paged[JobPage], by.ask_jobs),
    Operation(
        "job",
        "jobs/{job_id}",
        "One job, running or finished: its efficiency report and findings.",
        of.JobParameters,
        JobAnswer,
        by.ask_job,
    ),
    Operation(
        "job_series",
        "jobs/{job_id}/series",
        "One metric of a job's devices over time.",
        of.SeriesParameters,
        JobSeries,
        by.ask_series,
    ),
    Operation(
        "report",
        "reports/{group}",
        "GPU-hours of a past range by user, account, partition ...",
        of.ReportParameters,
        Paged[Report],
        by.ask_report,
    ),
    Operation(
        "findings",
        "findings",
        "Findings over all finished jobs of a range, those that wasted most first.",
        of.FindingsParameters,
        Paged[by.FindingList],
        by.ask_findings,
    ),
    Operation(
        "metrics",
        "metrics",
        "How the GPUs were used: UTIL, SM, tensor, memory, links, with diagnoses.",
        of.MetricsParameters,
        Paged[MetricsTable],
        by.ask_metrics,
    ),
    Operation(
        "verdicts",
        "gpu-efficiency",
        "The verdict of every running GPU job, worst first.",
        of.VerdictsParameters,
        Paged[VerdictList],
        by.ask_verdicts,
    ),
    Operation(
        "verdict",
        "gpu-efficiency/{job_id}",
        "The verdict of one running job.",
        of.VerdictParameters,
        JobVerdict,
        by.ask_verdict,
    ),
    Operation(
        "exemptions",
        "exemptions",
        "Who is exempt now, by which exemption, and the GPU-hours held under each.",
        of.ExemptionsParameters,
        Paged[ExemptionList],
        by.ask_exemptions,
    ),
    Operation(
        "exemption_add",
        "exemptions",
        "Exempt somebody or something until a time. Only with a token of staff.",
        of.NewExemption,
        KeptExemption,
        by.add_exemption,
        method="POST",
    ),
    Operation(
        "exemption_remove",
        "exemptions/{exemption_id}",
        "End an exemption now. Only with a token of staff.",
        of.ExemptionParameters,
        KeptExemption,
        by.remove_exemption,
        method="DELETE",
    ),
)
