"""Jobs in words and marks, the same in lists and on their own page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from urllib.parse import quote

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import icon, short_model
from data.model import ClusterSnapshot, Job, SourceCondition
from data.words import count, duration, number

DASH = "–"
# icon and tone of a state; those that end well or go on are quiet
STATE_MARKS: dict[str, tuple[str, str]] = {
    "RUNNING": ("play", ""),
    "COMPLETING": ("play", ""),
    "PENDING": ("wait", ""),
    "SUSPENDED": ("pause", "info"),
    "COMPLETED": ("ok", "ok"),
    "TIMEOUT": ("clock", "waste"),
    "CANCELLED": ("close", "none"),
    "PREEMPTED": ("info", "info"),
    "REQUEUED": ("info", "info"),
}


def are_jobs_known(snapshot: ClusterSnapshot) -> bool:
    """Whether the picture says anything of jobs: without Slurm, none is not zero."""
    return not any(one.name == "slurm" and one.condition is SourceCondition.DOWN for one in snapshot.sources)


def state_word(state: str) -> str:
    """ "Out of memory" of OUT_OF_MEMORY."""
    return state.replace("_", " ").capitalize() or "Not known"


def state_cell(state: str) -> Component:
    """Mark and word of a state."""
    mark = STATE_MARKS.get(state, ("bad", "bad"))
    return html.Span([icon(*mark), state_word(state)], className="fw-jobstate")


def chip(children: object, tone: str = "") -> Component:
    return html.Span(children, className="fw-chip" + (f" fw-chip-{tone}" if tone else ""))


def job_href(base: str, display_id: str) -> str:
    return f"{base}jobs/{quote(display_id, safe='+_')}"


def job_link(base: str, job: Job, *, with_name: bool = False) -> Component:
    """The id, and below it the name."""
    link = dcc.Link(job.display_id, href=job_href(base, job.display_id), className="fw-id")
    if not with_name:
        return link
    return html.Div([link, html.Bdi(job.name or DASH, className="fw-under", title=job.name)])


def user_link(base: str, user: str | None) -> Component:
    """A link to the user's page; plain where nobody is named."""
    if not user:
        return html.Span(DASH)
    return dcc.Link(html.Bdi(user), href=f"{base}users/{quote(user, safe='')}")


def node_link(base: str, node: str) -> Component:
    return dcc.Link(html.Bdi(node), href=f"{base}nodes/{quote(node, safe='')}")


def nodes_words(job: Job, most: int = 2) -> str:
    """The first nodes, and how many more; of a waiting job how many it asks for."""
    if not job.nodes:
        return DASH if not job.requested.nodes else count(job.requested.nodes, "node")
    more = len(job.nodes) - most
    return ", ".join(job.nodes[:most]) + (f" and {number(more)} more" if more > 0 else "")


def gpu_words(job: Job, gpus: int | None) -> str:
    """ "8 H100", "16 GPUs", "no GPU"; a dash where Slurm does not say."""
    if gpus is None:
        return DASH
    if gpus == 0:
        return f"{count(job.allocated.shards, 'shard')}" if job.allocated.shards else "none"
    types = (job.allocated if job.start_time else job.requested).gpus_by_type
    kinds = [kind for kind, amount in types.items() if kind and amount]
    return f"{number(gpus)} {type_word(kinds[0])}" if len(kinds) == 1 else count(gpus, "GPU")


def type_word(kind: str) -> str:
    """Slurm's type as people say it: h100 = H100, 3g.40gb stays."""
    return short_model(kind) if not kind.islower() or "." in kind else kind.upper()


def time_words(elapsed: float | None, limit: float | None) -> str:
    if elapsed is None:
        return DASH
    if limit is None:
        return duration(elapsed)
    return f"{duration(elapsed)} of {'no limit' if math.isinf(limit) else duration(limit)}"


def listed(parts: Sequence[str]) -> str:
    return ", ".join(part for part in parts if part)
