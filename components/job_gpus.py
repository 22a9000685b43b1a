"""Where a job's GPU-hours went, and every node and GPU of it in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table
from components.elements import icon, short_model
from components.job_words import DASH, node_link
from data.efficiency import GpuHours
from data.metrics.registry import METRICS
from data.report import GpuUse, JobReport, NodeUse
from data.words import GIB, gpu_hours, number, runs

_RATIOS = ("sm_activity", "sm_occupancy", "tensor_activity", "dram_activity")
_MOST_ROWS, _MANY = 64, 16


def hours_parts(hours: GpuHours) -> tuple[tuple[str, str, float], ...]:
    """(kind, words, hours) in the order of every stack; they add up to the allocated hours."""
    used, idle = hours.used or 0.0, hours.idle or 0.0
    return (
        ("used", "Used", used),
        ("wasted", "Partly used", hours.partly_used or 0.0),
        ("idle", "Idle", idle),
        ("none", "Not measured", hours.not_measured),
    )


def hours_bar(hours: GpuHours) -> Component:
    """The stack with its legend in words; parts of nothing are not drawn."""
    parts = [part for part in hours_parts(hours) if part[2] >= 0.05]
    total = sum(amount for _, _, amount in parts) or 1.0
    stack = [
        html.Span(style={"width": f"{100 * amount / total:.2f}%"}, className=f"fw-hours-{kind}")
        for kind, _, amount in parts
    ]
    legend = [
        html.Li([html.Span(className=f"fw-hours-swatch fw-hours-{kind}"), f"{word} {_hours(amount)}"])
        for kind, word, amount in parts
    ]
    words = ", ".join(f"{word} {gpu_hours(amount)}" for _, word, amount in parts)
    return html.Div(
        [
            html.Ul(legend, className="fw-hours-legend"),
            html.Div(stack, className="fw-hours", role="img", **{"aria-label": words}),
        ]
    )


def _hours(amount: float) -> str:
    return number(amount, 1 if 0 < amount < 99.95 else 0)


def hours_panel(report: JobReport, base: str) -> Component | None:
    """GPU-hours and the tables; None for a job that has not started."""
    if report.job.start_time is None or (not report.gpus and len(report.nodes) < 2):
        return None
    inside: list[Any] = []
    title, note = "GPUs", ""
    if report.hours is not None and report.hours.allocated > 0:
        title = f"Where {gpu_hours(report.hours.allocated).replace(' GPU-h', ' GPU-hours')} went"
        note = "since the start" if report.job.end_time is None else "of the whole run"
        inside.append(html.Div(hours_bar(report.hours), className="fw-hours-box"))
    if len(report.nodes) > 1:
        inside.append(_node_table(report.nodes, base))
    if report.gpus:
        inside.append(_gpu_table(report, base))
    head = html.Div([html.H2(title), html.Span(note, className="fw-note")], className="fw-panel-head")
    return html.Section([head, *inside], className="fw-panel")


def _node_table(nodes: Sequence[NodeUse], base: str) -> Component:
    columns = (
        Column("Node", place="main"),
        Column("GPUs", "", "", True),
        Column("UTIL", "%", "", True, METRICS["gpu_utilization"].help, "value"),
        Column("GPU MEM", "%", "", True, METRICS["gpu_memory_used_bytes"].help),
        Column("CPU", "%", "", True, METRICS["cpu_seconds"].help),
        Column("MEM", "%", "", True, METRICS["memory_used_bytes"].help),
    )
    rows = [
        [
            node_link(base, node.node),
            DASH if node.gpu_count is None else number(node.gpu_count),
            *(
                points(value)
                for value in (node.utilization.value, node.gpu_memory.value, node.cpu.value, node.memory.value)
            ),
        ]
        for node in nodes[:_MOST_ROWS]
    ]
    return data_table(columns, rows, caption=f"Nodes of the job{_cut(len(nodes))}")


def _gpu_table(report: JobReport, base: str) -> Component:
    groups = _alike(report.gpus)
    columns = (
        Column("GPU", place="main"),
        Column("UTIL", "%", "", True, METRICS["gpu_utilization"].help, "value"),
        Column("Idle", "% of time", "", True, "Share of samples in which it did nothing at all."),
        *(Column(METRICS[name].label, "%", "", True, METRICS[name].help) for name in _RATIOS),
        Column("GPU MEM", "GiB", "", True, f"{METRICS['gpu_memory_used_bytes'].help} The peak."),
        Column("Power", "W", "", True, METRICS["power_watts"].help),
    )
    rows = [[_name(group, report, base), *_numbers(group)] for group in groups[:_MOST_ROWS]]
    return data_table(columns, rows, caption=f"GPUs of the job{_cut(len(groups))}")


def _cut(amount: int) -> str:
    return f", the first {_MOST_ROWS} of {number(amount)}" if amount > _MOST_ROWS else ""


def _alike(gpus: Sequence[GpuUse]) -> list[list[GpuUse]]:
    """GPUs of one node that never did anything stand in one row ("2–7, each"), and of many GPUs those whose utilization
    is the same percent; all others for themselves."""
    groups: dict[Any, list[GpuUse]] = {}
    for place, gpu in enumerate(gpus):
        is_known = gpu.device is not None and gpu.device.index is not None and not gpu.is_slice
        use = None if gpu.utilization is None else round(100 * gpu.utilization)
        same = (gpu.node, gpu.is_allocated, gpu.is_shared, gpu.utilization_metric, gpu.is_idle, use)
        groups.setdefault(same if is_known and (gpu.is_idle or len(gpus) > _MANY) else place, []).append(gpu)
    return list(groups.values())


def _numbers(group: Sequence[GpuUse]) -> list[str]:
    """The cells of a row; of several GPUs the least and the most, where they differ: in whole numbers from 10 on."""
    return [
        _range([gpu.utilization for gpu in group], 100, points),
        _range([gpu.idle_share for gpu in group], 100, points),
        *(_range([gpu.mean(name) for gpu in group], 100, points) for name in _RATIOS),
        _range([gpu.memory.used for gpu in group], 1 / GIB, lambda used: number(used / GIB, 1)),
        _range([gpu.mean("power_watts") for gpu in group], 1, number),
    ]


def _range(values: Sequence[float | None], scale: float, words: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return DASH
    ends = (min(known), max(known))
    exact = [words(end) for end in ends]
    is_whole = exact[0] != exact[1] and scale * ends[1] >= 10  # below that, whole numbers make zeros of what is none
    return "–".join(dict.fromkeys(number(scale * end) for end in ends) if is_whole else dict.fromkeys(exact))


def _name(group: Sequence[GpuUse], report: JobReport, base: str) -> Component:
    first = group[0]
    indices = [gpu.device.index for gpu in group if gpu.device is not None and gpu.device.index is not None]
    text = runs(indices) if indices else "?"
    if first.device is not None and first.device.slice_id is not None:
        text += f"/{first.device.slice_id}"
    several = [", each"] if len(group) > 1 else []
    where = [node_link(base, first.node), " "] if len(report.nodes) > 1 and first.node else []
    notes = ", ".join(_notes(first))
    under = [html.Span(notes, className="fw-under")] if notes else []
    return html.Div([*where, html.Span([text, *several], className="fw-id"), *under])


def _notes(gpu: GpuUse) -> Iterator[str]:
    if gpu.is_slice:
        profile = gpu.device.slice_profile if gpu.device is not None else None
        yield profile or short_model(gpu.model_name or "MIG slice")
    if gpu.utilization_metric == "graphics_engine_activity":
        yield "UTIL is GR"
    if gpu.is_shared:
        yield "shared with other jobs"
    if not gpu.is_allocated:
        yield "not allocated to this job"
    if gpu.utilization is None:
        yield "not measured"


def points(ratio: float | None) -> str:
    """Percent without its sign, for a column whose head has it."""
    if ratio is None:
        return DASH
    value = ratio * 100
    return number(value, 1 if abs(value) < 99.95 else 0)


def remarks(report: JobReport, unknown: Sequence[str]) -> list[Component]:
    """What a reader should know besides the numbers."""
    return [
        html.P([icon(mark, tone), text], className="fw-remark")
        for mark, tone, texts in (("none", "none", unknown), ("info", "info", report.notes))
        for text in texts
    ]
