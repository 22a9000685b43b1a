"""Jobs that only accounting believes to run: which, since when, and what an administrator does about them."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from components.elements import age, moment, panel
from components.findings import code_block
from data.model import Job
from data.words import count, number

MOST = 50
_WHY = (
    "Slurm's controller does not know these jobs, so nothing will end them. They hold no GPU and count in no number "
    "here; sreport and fair share count them on until an administrator ends them."
)
_HOW = "sacctmgr show runawayjobs    # lists them and offers to end them"
_HEADS = ("Job", "User", "Account", "Nodes", "GPUs", "Began", "Since")


def runaway_panel(jobs: Sequence[Job], *, is_staff: bool) -> Component:
    """The list, the oldest first; jobs of others are counted, never named."""
    seen = [job for job in jobs if job.display_id]
    parts: list[Component] = [html.P(_WHY, className="fw-quiet")]
    if is_staff:
        parts.append(html.Div(code_block("administrator's command", (_HOW,)), className="fw-pad"))
    if seen:
        parts.append(_table(seen[:MOST]))
    left = len(jobs) - min(len(seen), MOST)
    if left:
        others = "more" if seen else "of other users"
        parts.append(html.P(f"{number(left)} {others}.", className="fw-quiet"))
    return panel("Runaway jobs", parts, note=count(len(jobs), "job"))


def _table(jobs: Sequence[Job]) -> Component:
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in _HEADS]))
    body = html.Tbody([_row(job) for job in jobs])
    table = html.Table([head, body], className="fw-plain-table fw-runaway")
    label = {"aria-label": "Runaway jobs"}
    return html.Div(table, className="fw-scroll", tabIndex="0", role="region", **label)


def _row(job: Job) -> Component:
    gpus = "–" if job.allocated.gpus is None else number(job.allocated.gpus)
    nodes = ", ".join(job.nodes[:3]) + (f" and {len(job.nodes) - 3}" if len(job.nodes) > 3 else "")
    began = [moment(job.start_time)] if job.start_time else ["–"]
    since = [age(job.start_time)] if job.start_time else ["–"]
    texts = (job.user or "–", job.account or "–", nodes or "–")
    cells = [html.Td(html.Bdi(text)) for text in texts]
    return html.Tr(
        [html.Th(job.display_id, scope="row"), *cells, html.Td(gpus), html.Td(began), html.Td(since)],
    )
