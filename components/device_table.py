"""Every device of one node with every metric; slices stand inside their card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon, short_model
from components.gpu_map import STATE_WORDS
from components.metric_values import cell_text, label, shown
from components.node_rows import order_in_node
from data.device_lines import place_of
from data.metrics.registry import METRICS
from data.model import Gpu, GpuState, Job
from data.words import count

SHOWN = (
    "gpu_utilization", "graphics_engine_activity", "sm_activity", "utilization_gap", "sm_occupancy", "tensor_activity",
    "fp64_activity", "fp32_activity", "fp16_activity", "dram_activity", "memory_copy_utilization",
    "gpu_memory_used_bytes", "gpu_memory_total_bytes", "power_watts", "temperature_celsius", "sm_clock_hertz", "xid",
    "nvlink_tx_bytes_per_second", "nvlink_rx_bytes_per_second", "pcie_tx_bytes_per_second", "pcie_rx_bytes_per_second",
)  # fmt: skip
_PHONE = frozenset({"gpu_utilization", "gpu_memory_used_bytes", "power_watts"})
_MARKS = {
    GpuState.IDLE: ("waste", "waste"),
    GpuState.DOWN: ("bad", "bad"),
    GpuState.DRAINED: ("drained", "none"),
    GpuState.UNMEASURED: ("none", "none"),
    GpuState.HELD_UNKNOWN: ("none", "none"),
}


def device_table(
    gpus: Iterable[Gpu], jobs: Iterable[Job], jobs_base: str, *, is_staff: bool, is_dim: bool
) -> Component:
    """One row per device, or per card with its slices below it. Values that are not measured are dashes."""
    ordered = sorted(gpus, key=order_in_node)
    by_id = {job.job_id: job for job in jobs}
    rows: list[Component] = []
    cards_told: set[int | None] = set()
    for gpu in ordered:
        if gpu.device.is_slice and place_of(gpu)[0] not in cards_told:
            cards_told.add(place_of(gpu)[0])
            rows.append(_card_row(gpu, [one for one in ordered if place_of(one)[0] == place_of(gpu)[0]]))
        rows.append(_device_row(gpu, by_id, jobs_base, is_staff=is_staff))
    head = html.Tr([html.Th(["Device", html.Span("held by", className="fw-unit")], scope="col"), *map(_head, SHOWN)])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="fw-devices" + (" fw-dim" if is_dim else ""))
    return html.Div(table, className="fw-scroll", tabIndex="0", role="region", **{"aria-label": "Devices, all metrics"})


def _head(name: str) -> Component:
    parts = [
        html.Span(label(name), title=METRICS[name].help),
        html.Span(shown(METRICS[name]).unit, className="fw-unit"),
    ]
    return html.Th(parts, scope="col", className=_place(name))


def _place(name: str) -> str:
    return "" if name in _PHONE else "fw-minor"


def _device_row(gpu: Gpu, jobs: Mapping[int, Job], base: str, *, is_staff: bool) -> Component:
    index, slice_id = place_of(gpu)
    title = f"Slice {slice_id}" if slice_id else f"GPU {'?' if index is None else index}"
    kind = gpu.device.slice_profile or "" if slice_id else short_model(gpu.model or "")
    name = html.Div(
        [html.B(title), html.Span(kind, className="fw-unit")], className="fw-device-name", title=gpu.device.uuid
    )
    head = html.Th([name, html.Div(_held(gpu, jobs, base, is_staff=is_staff), className="fw-under-name")], scope="row")
    return html.Tr([head, *(_cell(gpu, metric) for metric in SHOWN)], className="fw-slice" if slice_id else "")


def _card_row(first: Gpu, slices: Sequence[Gpu]) -> Component:
    """The card that slices were cut from, with what is measured of it as a whole."""
    index = place_of(first)[0]
    words = f"{short_model(first.model or '')}, {count(len(slices), 'slice')}".lstrip(", ")
    name = html.Div(
        [html.B(f"GPU {'?' if index is None else index}"), html.Span(words, className="fw-unit")],
        className="fw-device-name",
    )
    cells = [
        html.Td(_number(metric, _most(metric, slices)), className=_place(metric))
        if METRICS[metric].is_whole_card
        else html.Td("", className=_place(metric))
        for metric in SHOWN
    ]
    return html.Tr([html.Th(name, scope="row"), *cells], className="fw-card-of-slices")


def _most(metric: str, slices: Sequence[Gpu]) -> float | None:
    return max((value for gpu in slices if (value := gpu.values.get(metric)) is not None), default=None)


def _cell(gpu: Gpu, metric: str) -> Component:
    """A cell; a slice does not repeat what belongs to its card."""
    if gpu.device.is_slice and METRICS[metric].is_whole_card:
        return html.Td(
            html.Span("card", className="fw-unit", title="Measured for the whole card"), className=_place(metric)
        )
    return html.Td(_number(metric, gpu.values.get(metric)), className=_place(metric))


def _number(metric: str, value: float | None) -> Any:
    if value is None:
        return html.Span(cell_text(metric, None), className="fw-unit", title="not measured")
    if metric == "xid" and value > 0:
        return html.Span([icon("bad", "bad"), cell_text(metric, value)], className="fw-text-bad fw-with-mark")
    text = cell_text(metric, value)
    if METRICS[metric].unit != "ratio" or metric == "utilization_gap":
        return text
    width = f"{min(100.0, max(0.0, value * 100)):.1f}%"
    bar = html.Div(html.I(style={"width": width}), className="fw-cellbar", **{"aria-hidden": "true"})
    return [text, bar]


def _held(gpu: Gpu, jobs: Mapping[int, Job], base: str, *, is_staff: bool) -> list[Any]:
    """The state, and who holds it where the viewer may know."""
    mark = [icon(*_MARKS[gpu.state])] if gpu.state in _MARKS else []
    held = gpu.state in (GpuState.BUSY, GpuState.IDLE, GpuState.UNMEASURED)
    seen = [jobs[job_id] for job_id in gpu.job_ids if job_id in jobs and jobs[job_id].display_id]
    if seen:
        return [*mark, *_links(seen, base)]
    if held:
        return [*mark, "job not known" if is_staff else "another user's job"]
    return [*mark, STATE_WORDS[gpu.state].lower()]


def _links(jobs: Sequence[Job], base: str) -> list[Any]:
    parts: list[Any] = []
    for job in jobs:
        parts += [html.A(job.display_id, href=f"{base}{job.display_id}", className="fw-go"), ", "]
    return parts[:-1]
