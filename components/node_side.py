"""Beside a node's charts: its jobs, what is wrong with it, and what Slurm knows of it."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from components.attention import AttentionRow
from components.elements import age, icon, moment
from components.node_words import flag_words, state_meaning
from components.overview_attention import attention_rows
from data.efficiency.mig import slice_profile
from data.model import Job, Node
from data.node_rows import NodeDetail
from data.words import count, duration, number


def jobs_panel(detail: NodeDetail, base: str) -> Component:
    """Jobs on the node; those that the viewer may not see are there without a name."""
    jobs = sorted(detail.jobs, key=lambda job: (not job.display_id, job.job_id))
    head = [html.H2("Jobs"), html.Span(count(len(jobs), "job"), className="fw-note")]
    rows = [html.Li(_job(job, detail, base)) for job in jobs]
    body = html.Ul(rows, className="fw-node-list") if rows else html.P("No job runs here.", className="fw-quiet")
    return html.Section([html.Div(head, className="fw-panel-head"), body], className="fw-panel")


def _job(job: Job, detail: NodeDetail, base: str) -> list[Any]:
    part = next((devices for devices in job.devices if devices.node == detail.node.name), None)
    amount = None if part is None else part.gpu_count
    elapsed = job.elapsed_at(detail.time)
    ran = "has not started" if elapsed is None else f"{duration(elapsed)} of {duration(job.time_limit_seconds)}"
    if job.time_limit_seconds is None and elapsed is not None:
        ran = duration(elapsed)
    if job.display_id:
        title: list[Any] = [html.A(job.display_id, href=f"{base}{job.display_id}", className="fw-go"), f" {job.name}"]
        who = ", ".join(name for name in (job.user, job.account) if name)
        context = f"{who}. {ran}" if who else ran
    else:
        title, context = ["Another user's job"], ran
    state = "" if job.is_running else f", {job.state.lower()}"
    said = [html.Div(title, className="fw-title"), html.Div(context + state, className="fw-context")]
    known = number(amount) if amount is not None else "–"
    noun = "slice" if part is not None and slice_profile(part.gpu_type) else "GPU"
    what = html.Div(f"{noun if amount == 1 else noun + 's'} here", className="fw-what")
    held = html.Div([html.B(known), what], className="fw-count")
    return [icon("play") if job.is_running else icon("clock"), html.Div(said), held]


def health_panel(detail: NodeDetail) -> Component:
    """What needs somebody on this node: heat, XID, drain, silent exporter, what does not add up."""
    rows = attention_rows(detail.attention)
    known = {line.kind for line in detail.attention}
    notes = [note.text for note in detail.notes if note.kind not in known]
    head = [
        html.H2("Needs attention"),
        html.Span(f"{number(len(rows))} open" if rows else "nothing open", className="fw-note"),
    ]
    parts: list[Component] = [html.Div(head, className="fw-panel-head")]
    if rows:
        parts.append(html.Ul([html.Li(_line(row)) for row in rows], className="fw-node-list"))
    else:
        parts.append(html.P("No heat, no XID error, no drain.", className="fw-quiet"))
    parts += [html.P(text, className="fw-quiet") for text in notes]
    return html.Section(parts, className="fw-panel")


def _line(row: AttentionRow) -> list[Any]:
    said = [html.Div(row.title, className="fw-title"), html.Div(row.context, className="fw-context")]
    amount = [] if row.amount is None else [html.B(number(row.amount)), html.Div(row.what, className="fw-what")]
    return [icon(*row.mark), html.Div(said), html.Div(amount, className="fw-count")]


def facts_panel(node: Node, *, is_staff: bool) -> Component:
    """State, flags, partitions, features, versions and times, in words."""
    meaning = state_meaning(node.state)
    facts: list[tuple[str, Any]] = [
        ("State", f"{node.state.display}, {meaning}" if meaning else node.state.display),
        ("Flags", _lines(flag_words(node.state)) or "none"),
        ("Reason", node.reason or "none"),
        ("Partitions", ", ".join(node.partitions) or "none"),
        ("Features", ", ".join(node.features) or "none"),
        ("GPUs", ", ".join(f"{pool.total} × {pool.type or 'gpu'}" for pool in node.gpu_pools) or "none"),
        ("Booted", _time(node.boot_time)),
        ("Last busy", _time(node.last_busy_time)),
        ("slurmd", node.slurm_version or "not known"),
    ]
    if is_staff:
        facts.append(("Address", node.address or "not known"))
    rows = [part for name, value in facts for part in (html.Dt(name), html.Dd(value))]
    head = html.Div(html.H2("Slurm says"), className="fw-panel-head")
    return html.Section([head, html.Dl(rows, className="fw-facts")], className="fw-panel")


def _lines(words: list[str]) -> list[Any]:
    return [html.Div(text) for text in words]


def _time(time: Any) -> Any:
    return "not known" if time is None else [age(time), " ago, ", moment(time)]
