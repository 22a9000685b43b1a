"""Beside a job's numbers: why it waits, who else is on its nodes, what it runs, its earlier attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table
from components.elements import icon, moment, panel
from components.findings import code_block
from components.job_words import DASH, gpu_words, job_link, node_link, state_cell, user_link
from data.model import Job
from data.queries.job_context import Ahead, NodeNeighbors
from data.queries.pending import Waiting
from data.words import count, duration, gib, number

_MOST_ATTEMPTS = 20


def waiting_panel(row: Waiting, before: Ahead, base: str) -> Component:
    """Why it waits, in words; what stands before it; where it would fit now."""
    first = row.job.requested.gpus or 0
    lead = html.P(
        [icon("bad" if row.never else "wait", "bad" if row.never else "info"), html.B(row.why)], className="fw-lead"
    )
    facts = [
        ("Waits for", DASH if row.wait_seconds is None else duration(row.wait_seconds)),
        ("Slurm's reason", html.Code(row.job.reason or DASH)),
        ("Expected start", _expected(row)),
        ("Ahead of it", _ahead(before)),
    ]
    parts: list[Any] = [lead, html.Dl([_fact(name, value) for name, value in facts], className="fw-list")]
    if row.priority_parts:
        parts.append(_priority(row))
    if first:
        parts.append(_fit(row, base))
    return panel("Why it waits", [html.Div(parts, className="fw-body")])


def _expected(row: Waiting) -> Any:
    if row.never:
        return "never, unless it is changed"
    if row.expected_start_time is None:
        return "Slurm does not say"
    return html.Span([moment(row.expected_start_time), ", if the jobs that run now take their full time"])


def _ahead(before: Ahead) -> str:
    if before.jobs is None:
        return "not known: Slurm gives no priority"
    if before.jobs == 0:
        return "no job of a higher priority in its partition"
    asks = "which asks" if before.jobs == 1 else "which ask"
    devices = [count(n, word) for n, word in ((before.gpus, "GPU"), (before.slices, "MIG slice")) if n]
    asked = f", {asks} for {' and '.join(devices)}" if devices else ""
    return f"{count(before.jobs, 'job')} of a higher priority in its partition{asked}"


def _priority(row: Waiting) -> Component:
    """The parts as bars of one scale, largest first."""
    parts = sorted(((name, value) for name, value in row.priority_parts if value), key=lambda part: -abs(part[1]))
    most = max((abs(value) for _, value in parts), default=1.0) or 1.0
    rows = [
        html.Li(
            [
                html.Span(name.replace("_", " ")),
                html.Span(html.Span(style={"width": f"{100 * abs(value) / most:.1f}%"}), className="fw-inbar"),
                html.Span(number(value), className="fw-number"),
            ]
        )
        for name, value in parts
    ]
    total = DASH if row.priority is None else number(row.priority)
    return html.Div(
        [html.H3(["Priority ", html.Span(total, className="fw-unit")]), html.Ul(rows, className="fw-parts")]
    )


def _fit(row: Waiting, base: str) -> Component:
    if not row.fit:
        return html.Div(
            [
                html.H3("Free GPUs that would fit"),
                html.P("None now: no node has enough free GPUs, cores and memory of the kind it asks for."),
            ]
        )
    shown = [
        html.Li(
            [
                node_link(base, one.node),
                html.Span(f"{count(one.free_gpus, 'GPU')} free", className="fw-number"),
                html.Span("" if one.free_cpus is None else f"{count(one.free_cpus, 'core')}", className="fw-unit"),
                html.Span("" if one.free_memory_bytes is None else gib(one.free_memory_bytes), className="fw-unit"),
            ]
        )
        for one in row.fit[:8]
    ]
    more = len(row.fit) - 8
    rest = [html.P(f"and {count(more, 'more node')}", className="fw-unit")] if more > 0 else []
    note = html.P("Nobody promises them: jobs of a higher priority may be meant to have them.", className="fw-unit")
    head = html.H3(["Free GPUs that would fit ", html.Span(f"{number(row.free_gpus)} now", className="fw-unit")])
    return html.Div([head, html.Ul(shown, className="fw-fits"), *rest, note])


def neighbors_panel(nodes: Sequence[NodeNeighbors], base: str) -> Component | None:
    """Who else runs on the job's nodes; only those that the viewer may see are named."""
    rows = [html.Li(_neighbor(node, base)) for node in nodes]
    if not rows:
        return None
    note = "" if len(nodes) > 1 else nodes[0].node
    return panel(
        "On the same nodes" if len(nodes) > 1 else "On the same node",
        [html.Ul(rows, className="fw-neighbors")],
        note=html.Bdi(note),
    )


def _neighbor(node: NodeNeighbors, base: str) -> list[Any]:
    said: list[Any] = [
        html.Div(
            [
                node_link(base, node.node),
                html.Span(
                    f"{number(node.free_gpus)} of {count(node.gpus, 'GPU')} free" if node.gpus else "no GPU",
                    className="fw-unit",
                ),
            ],
            className="fw-neighbor-head",
        )
    ]
    jobs = [
        html.Li(
            [
                job_link(base, job),
                " ",
                user_link(base, job.user),
                html.Span(gpu_words(job, job.allocated.gpus), className="fw-unit"),
            ]
        )
        for job in node.jobs[:8]
    ]
    hidden = len(node.jobs) - len(jobs)
    if hidden > 0:
        jobs.append(html.Li(f"{count(hidden, 'more job')}", className="fw-unit"))
    if node.others:
        jobs.append(html.Li(f"{count(node.others, 'job')} of others", className="fw-unit"))
    said.append(html.Ul(jobs) if jobs else html.P("No other job.", className="fw-unit"))
    return said


def what_it_runs(job: Job) -> Component:
    """Command, folder, comment, and the same job in the terminal."""
    facts = [
        ("Command", job.command),
        ("Folder", job.working_directory),
        ("Comment", job.comment),
        ("Depends on", job.dependency),
        ("Features", job.requested_features),
        ("Reservation", job.reservation),
        ("Cancelled by", job.cancelled_by),
    ]
    rows = [_fact(name, html.Code(value)) for name, value in facts if value]
    asked = _asked(job)
    if asked:
        rows.insert(0, _fact("Asked for", asked))
    parts: list[Any] = [html.Dl(rows, className="fw-list")] if rows else []
    parts.append(code_block("in the terminal", (f"fullwarp job {job.display_id}",)))
    return panel("What it runs", [html.Div(parts, className="fw-body")])


def _asked(job: Job) -> str:
    asked = job.requested
    parts = [
        count(asked.gpus, "GPU") if asked.gpus else "",
        count(asked.cpus, "core") if asked.cpus else "",
        gib(asked.memory_bytes) if asked.memory_bytes else "",
        count(asked.nodes, "node") if asked.nodes else "",
    ]
    return ", ".join(part for part in parts if part)


def attempts_panel(attempts: Sequence[Job]) -> Component | None:
    """Earlier attempts of the same job, newest first; None where there are none."""
    if not attempts:
        return None
    columns = (
        Column("Started", place="main"),
        Column("Ended"),
        Column("State"),
        Column("Ran", "", "", True),
        Column("Nodes"),
    )
    rows = [
        [
            DASH if job.start_time is None else moment(job.start_time),
            DASH if job.end_time is None else moment(job.end_time),
            state_cell(job.state),
            DASH if job.elapsed_seconds is None else duration(job.elapsed_seconds),
            ", ".join(job.nodes[:3]) or DASH,
        ]
        for job in attempts[:_MOST_ATTEMPTS]
    ]
    table = data_table(columns, rows, caption="Earlier attempts")
    return panel("Earlier attempts", [table], note=count(len(attempts), "attempt"))


def _fact(name: str, value: Any) -> Component:
    return html.Div([html.Dt(name), html.Dd(value)])
