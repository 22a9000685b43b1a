"""The GPU map's panel: head with metric and grouping, legend that filters, and the box that the browser draws in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import Choice, choice, panel_state, source_name, switch
from components.map_payload import COLOR_METRICS
from components.policy_words import WORDS
from components.sources_banner import worst_source
from data.metrics.registry import METRICS
from data.model import ClusterSnapshot, GpuState
from data.uses import Use
from data.words import count, number

GROUPS: tuple[Choice, ...] = (
    ("rack", "Rack"),
    ("node", "Node"),
    ("partition", "Partition"),
    ("model", "Model"),
    ("user", "User"),
)
ALLOCATION, POLICY = "allocation", "policy"
METRIC_CHOICES: tuple[Choice, ...] = (
    *((name, METRICS[name].label) for name in COLOR_METRICS),
    (ALLOCATION, "Allocation"),
    (POLICY, "Policy"),
)
VERDICT_WORDS = (*((status.value, word) for status, word in WORDS.items()), ("none", "Not judged"))
STATE_WORDS: Mapping[GpuState, str] = {
    GpuState.BUSY: "Busy",
    GpuState.IDLE: "Held, idle",
    GpuState.FREE: "Free",
    GpuState.DRAINED: "Drained",
    GpuState.DOWN: "Down",
    GpuState.UNMEASURED: "Not measured",
    GpuState.HELD_UNKNOWN: "Not known",
}
_SWATCH = {GpuState.BUSY: "s7", GpuState.HELD_UNKNOWN: "unmeasured"}
_ALWAYS = frozenset(STATE_WORDS) - {GpuState.HELD_UNKNOWN}


def known_choice(value: str, choices: Sequence[Choice]) -> str:
    """The value where it is one of the choices, else the first."""
    return value if any(value == key for key, _ in choices) else choices[0][0]


def map_panel(
    payload: Mapping[str, Any], body: Sequence[Any], legend: Component, note: str, *, metric: str, group: str
) -> Component:
    """The panel as it stands on the page. `body` replaces the map where there is nothing to draw."""
    helps = {name: METRICS[name].help for name in COLOR_METRICS}
    helps[POLICY] = "The verdict on the job that holds it, by the site's rules for low use."
    chosen = known_choice(metric, METRIC_CHOICES)
    switches = [
        choice("map-group", "Group", GROUPS, known_choice(group, GROUPS)),
        html.Div(choice("map-metric-narrow", "Color", METRIC_CHOICES, chosen), className="fw-only-narrow"),
        html.Div(switch("map-metric", "Color by", METRIC_CHOICES, chosen, helps), className="fw-only-wide"),
    ]
    head = [
        html.H2("GPU map"),
        html.Div(switches, className="fw-panel-right"),
    ]
    drawn = html.Div(
        id="gpu-map",
        className="fw-map",
        role="group",
        **{"aria-label": "GPU map. Arrow keys move between GPUs, Enter opens the node, J the job."},
    )
    return html.Section(
        [
            html.Div(head, className="fw-panel-head"),
            html.Div([html.Div(legend, id="map-legend"), _note_and_scale(note)], className="fw-map-key"),
            html.Div([html.Div(list(body), id="map-instead"), drawn], className="fw-map-body"),
            html.Div(id="map-card", className="fw-card", hidden=True),
            dcc.Store(id="map-data", data=payload),
            dcc.Store(id="map-drawn"),
        ],
        className="fw-panel fw-map-panel",
        **{"data-ramp": "seq"},
    )


def _note_and_scale(note: str) -> Component:
    return html.Div(
        [html.Span(note, id="map-note", className="fw-note"), _verdict_key(), _scale()], className="fw-map-scale"
    )


def _scale() -> Component:
    steps = [html.I(className=f"fw-s{step}") for step in range(1, 10)]
    low, high = html.Span("0", **{"data-low": ""}), html.Span("100 %", **{"data-high": ""})
    return html.Span(
        [low, html.Span(steps, className="fw-ramp", **{"aria-hidden": "true"}), high],
        id="map-scale",
        className="fw-scale",
    )


def _verdict_key() -> Component:
    """What the looks of cells mean while the map shows verdicts."""
    entries = [
        html.Span([html.I(className=f"fw-swatch fw-cell fw-v-{name}", **{"aria-hidden": "true"}), word])
        for name, word in VERDICT_WORDS
    ]
    return html.Span(entries, id="map-verdicts", className="fw-verdict-key", hidden=True)


def legend(use: Use, chosen: str = "") -> Component:
    """Every state with its cue and count; a click filters by it. Whole GPUs are counted; slices are named on hover,
    and counted where there is nothing else."""
    states = [state for state in STATE_WORDS if state in _ALWAYS or _count(use, state)]
    return html.Div([_entry(state, use, chosen) for state in states], className="fw-legend")


def _count(use: Use, state: GpuState) -> float:
    counts = use.gpus if use.gpus.total else use.slices
    return float(getattr(counts, state.value))


def _entry(state: GpuState, use: Use, chosen: str) -> Component:
    swatch = html.Span(className=f"fw-cell fw-swatch fw-{_SWATCH.get(state, state.value)}", **{"aria-hidden": "true"})
    gpus, slices = int(getattr(use.gpus, state.value)), int(getattr(use.slices, state.value))
    return html.Button(
        [swatch, STATE_WORDS[state], " ", html.B(number(_count(use, state)))],
        type="button",
        title=f"{count(gpus, 'GPU')} and {count(slices, 'MIG slice')}" if use.slices.total else None,
        **{"data-state": state.value, "aria-pressed": "true" if chosen == state.value else "false"},
    )


def nothing_to_draw(snapshot: ClusterSnapshot) -> list[Component]:
    """What stands in the map's place where there is no GPU to draw, and why; [] where there is a map."""
    if snapshot.gpus:
        return []
    failing = worst_source(snapshot.sources)
    if failing is not None and not snapshot.nodes:
        lines = ["No node is known, so nothing is shown.", "The page fills itself when the source answers again."]
        return [panel_state("bad", "bad", f"{source_name(failing)} is not available", lines)]
    if snapshot.nodes:
        lines = [
            f"Slurm lists {count(len(snapshot.nodes), 'node')}, and none has a GPU.",
            "GPUs are read from Gres=gpu:... in slurm.conf.",
        ]
        return [panel_state("empty", "none", "No GPUs in this cluster", lines)]
    return [
        panel_state(
            "empty", "none", "No nodes", ["Slurm answered with an empty list.", "fullwarp check says what it sees."]
        )
    ]
