"""Rows, tables and charts of nodes: not measured is a dash, slices stand in their card, nobody is named."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from dash.development.base_component import Component

from components.device_table import SHOWN, device_table
from components.metric_values import cell_text, value_text
from components.node_numbers import node_kpis
from components.node_rows import node_rows
from components.node_words import flag_words, state_chip
from components.series_panel import series_instead, series_payload, series_table
from data.device_lines import Line
from data.metrics.registry import METRICS
from data.model import Device, GpuState, Job, NodeDevices, NodeState, Role, SourceCondition, Viewer, Window
from data.narrowing import FilterOptions
from data.node_rows import node_of, nodes_of
from data.queries.node_detail import SERIES_METRICS, NodeSeries, NodesView
from tests.components.snapshots import GIB, NOON, gpu, job, node, snapshot, source, values

EVE = Viewer("eve", Role.USER)
DRAINED = NodeState("IDLE", ("DRAIN",), "DRAINED", "drained", False)
WINDOW = Window(NOON - timedelta(hours=1), NOON)


def text_of(part: Any) -> str:
    """All text of a component tree, in order."""
    if isinstance(part, Component):
        return text_of(getattr(part, "children", None))
    if isinstance(part, list | tuple):
        return " ".join(filter(None, map(text_of, part)))
    return "" if part is None else str(part)


def rows_of(**changes: Any) -> list[dict[str, Any]]:
    shown = snapshot(**changes)
    return node_rows(NodesView(shown, nodes_of(shown), FilterOptions()))


def test_rows_count_devices_and_say_percent() -> None:
    busy, mixed = rows_of()
    assert (busy["gpus"], busy["busy"], busy["idle"], busy["free"], busy["utilization"]) == (8, 8, 0, 0, 90.0)
    assert mixed["cells"].split() == ["idle", "unmeasured", "free", "drained", "down", "unmeasured", "s1", "free"]


def test_what_is_not_known_is_none_and_never_zero() -> None:
    (row,) = rows_of(
        nodes=(node("h001"),), gpus=tuple(gpu("h001", index, GpuState.UNMEASURED, None) for index in range(8))
    )
    assert [row[key] for key in ("busy", "idle", "utilization", "watts", "cpu", "load", "memory")] == [None] * 7
    assert row["free"] == 0


def test_a_node_without_gpus_has_no_gpu_numbers() -> None:
    (row,) = rows_of(nodes=(node("c01", gpu_pools=(), cpus=64, allocated_cpus=16),), gpus=())
    assert (row["gpus"], row["idle"], row["cells"], row["cpu"]) == (None, None, "", 25.0)


def test_values_that_are_too_old_go_and_states_stay() -> None:
    stale = (source("slurm"), source("metrics", SourceCondition.STALE))
    row = rows_of(sources=stale, metrics_time=NOON - timedelta(minutes=16))[0]
    assert row["utilization"] is None and row["watts"] is None and set(row["cells"].split()) == {"unmeasured"}
    assert row["gpus"] == 8


def test_rows_are_in_the_order_in_which_people_count() -> None:
    names = [row["name"] for row in rows_of(nodes=(node("n10"), node("n2"), node("")), gpus=())]
    assert names == ["", "n2", "n10"]
    assert len({row["id"] for row in rows_of(nodes=(node(""), node("n1")), gpus=())}) == 2


def test_rows_are_plain_json() -> None:
    assert json.loads(json.dumps(rows_of(), allow_nan=False))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("gpu_utilization", None, "–"),
        ("gpu_utilization", 0.0, "0"),
        ("gpu_utilization", 0.034, "3.4"),
        ("gpu_utilization", 0.97, "97"),
        ("gpu_memory_used_bytes", 37.2 * GIB, "37.2"),
        ("power_watts", 463.4, "463"),
        ("sm_clock_hertz", 1.98e9, "1\u2009980"),
        ("nvlink_tx_bytes_per_second", 1.5e9, "1.50"),
        ("nvlink_tx_bytes_per_second", 9.996e9, "10.0"),
        ("nvlink_tx_bytes_per_second", 28.66e9, "28.7"),
        ("nvlink_tx_bytes_per_second", 277.4e9, "277"),
        ("utilization_gap", -0.02, "\u22122.0"),
    ],
)
def test_a_cell_is_a_number_in_the_unit_of_its_head(name: str, value: float | None, text: str) -> None:
    assert cell_text(name, value) == text


def test_words_never_say_zero_for_what_was_not_measured() -> None:
    assert value_text("power_watts", None) == "not measured" and value_text("power_watts", 0.0) == "0 W"


def table(gpus: Any, jobs: tuple[Job, ...] = (), *, is_staff: bool = True) -> Component:
    return device_table(gpus, jobs, "/jobs/", is_staff=is_staff, is_dim=False)


def test_every_metric_has_a_column_with_its_explanation() -> None:
    head = table([gpu("h001", 0)]).children.children[0].children.children
    assert [cell.children[0].title for cell in head[1:]] == [METRICS[name].help for name in SHOWN]


def test_a_metric_that_is_not_measured_is_a_dash() -> None:
    (row,) = table([gpu("h001", 0, values={"gpu_utilization": 0.0})]).children.children[1].children
    cells = [text_of(cell.children) for cell in row.children[1:]]
    assert cells[0].strip() == "0" and set(cells[1:]) == {"–"}


def test_slices_stand_below_their_card_and_do_not_repeat_its_power() -> None:
    card = [
        gpu(
            "a01",
            0,
            device=Device("a01", 0, slice_id=str(number), slice_profile="1g.10gb"),
            values=values(0.3, xid=79.0),
        )
        for number in (1, 2)
    ]
    rows = table([*card, gpu("a01", 1)]).children.children[1].children
    assert [text_of(row.children[0]).split()[0:2] for row in rows] == [
        ["GPU", "0"],
        ["Slice", "1"],
        ["Slice", "2"],
        ["GPU", "1"],
    ]
    watts, xid = 1 + SHOWN.index("power_watts"), 1 + SHOWN.index("xid")
    assert [text_of(row.children[watts]) for row in rows] == ["260", "card", "card", "620"]
    assert text_of(rows[0].children[xid]).strip() == "79"


@pytest.mark.parametrize(
    ("state", "is_staff", "words"),
    [
        (GpuState.BUSY, False, "another user's job"),
        (GpuState.UNMEASURED, False, "another user's job"),
        (GpuState.BUSY, True, "job not known"),
        (GpuState.FREE, False, "free"),
        (GpuState.DOWN, True, "down"),
    ],
)
def test_who_holds_a_device_is_said_without_a_name(state: GpuState, is_staff: bool, words: str) -> None:
    assert words in text_of(table([gpu("h001", 0, state)], is_staff=is_staff))


def test_a_job_that_may_be_seen_is_a_link() -> None:
    assert "48211" in text_of(table([gpu("h001", 0, job_ids=(48211,))], (job(48211),)))


def test_the_numbers_of_a_node_without_anything_are_dashes() -> None:
    shown = snapshot(nodes=(node("h001"),), gpus=(), jobs=())
    cells = node_kpis(node_of(shown, "h001"))
    assert [cell.value for cell in cells] == ["–", "0", "–", "–", "–", "–", "–"]


def test_idle_and_hot_devices_carry_a_mark() -> None:
    gpus = (gpu("h001", 0, GpuState.IDLE, 0.0), gpu("h001", 1, values=values(0.9, temperature_celsius=91.0)))
    marked = [cell.label for cell in node_kpis(node_of(snapshot(gpus=gpus), "h001")) if cell.mark]
    assert marked == ["UTIL", "Hottest"]


def test_flags_are_explained_and_unknown_ones_are_kept() -> None:
    assert flag_words(NodeState("IDLE", ("DRAIN", "NEW_FLAG"), "X", "drained", False))[1] == "NEW_FLAG"
    assert text_of(state_chip(DRAINED)).strip() == "DRAINED" and state_chip(DRAINED).title == "takes no jobs"


def line(index: int, mean: float | None, slice_id: str = "") -> Line:
    if mean is None:
        return Line((index, slice_id), None, "gpu_utilization")
    start = WINDOW.start.timestamp()
    return Line(
        (index, slice_id),
        None,
        "gpu_utilization",
        (start, start + 30, start + 90),
        (mean, None, mean),
        mean,
        mean,
        mean,
        0.5,
    )


def found(*lines: Line, metric: str = "gpu_utilization", unknown: str = "") -> NodeSeries:
    return NodeSeries(metric, WINDOW, lines, None, unknown)


def test_charts_share_one_axis_and_keep_gaps() -> None:
    payload = series_payload(found(line(0, 0.5), line(1, None)))
    assert payload["high"] == 100.0 and payload["lines"][0]["v"] == [50.0, None, 50.0]
    assert payload["lines"][1] == {"name": "GPU 1", "mean": "not measured", "foot": "no samples", "t": [], "v": []}
    assert "50 % measured" in payload["lines"][0]["foot"]


def test_of_many_devices_the_lowest_come_first() -> None:
    payload = series_payload(found(*(line(index, 0.9 - index / 100) for index in range(20)), line(20, None)))
    assert payload["more"] == 5 and payload["lines"][0]["name"] == "GPU 19" and payload["lines"][-1]["name"] == "GPU 20"


@pytest.mark.parametrize("metric", SERIES_METRICS)
def test_every_metric_can_be_drawn_with_an_axis_that_holds_it(metric: str) -> None:
    size = {
        "ratio": 1.0,
        "bytes": 80.0 * GIB,
        "watts": 684.0,
        "celsius": 88.0,
        "hertz": 1.98e9,
        "bytes/s": 3e11,
        "code": 79.0,
    }
    most = size[METRICS[metric].unit]
    payload = series_payload(found(replace(line(0, most), metric=metric), metric=metric))
    assert payload["high"] >= max(value for value in payload["lines"][0]["v"] if value is not None)
    assert json.dumps(payload, allow_nan=False)


@pytest.mark.parametrize(
    ("given", "title"),
    [
        (found(unknown="The source does not answer."), "No series"),
        (found(), "No GPU on this node"),
        (found(line(0, None)), "Not measured"),
    ],
)
def test_what_cannot_be_drawn_says_why(given: NodeSeries, title: str) -> None:
    assert title in text_of(series_instead(given)) and series_payload(given)["lines"] == []


def test_the_same_as_a_table() -> None:
    rows = text_of(series_table(found(line(0, 0.5), line(1, None)))).split()
    assert rows[-12:] == ["GPU", "0", "50", "50", "50", "50", "GPU", "1", "–", "–", "–", "–"]


def test_a_slice_that_a_job_holds_here_is_no_gpu() -> None:
    from components.node_side import jobs_panel

    held = job(48211, nodes=("h001",), devices=(NodeDevices("h001", 1, (0,), "1g.10gb"),), start_time=NOON)
    assert "1 slice here" in text_of(jobs_panel(node_of(snapshot(jobs=(held,)), "h001"), "/jobs/"))


def test_a_hidden_job_is_anothers() -> None:
    from components.node_side import jobs_panel
    from data.queries.scope import scope_snapshot

    held = job(48211, nodes=("h001",), devices=(NodeDevices("h001", 8),), start_time=NOON - timedelta(hours=5))
    detail = node_of(scope_snapshot(EVE, snapshot(jobs=(held,))), "h001")
    words = text_of(jobs_panel(detail, "/jobs/"))
    assert "Another user's job" in words and "5 h" in words and "8" in words
    assert not {"alice", "nlp", "train", "48211"} & set(words.replace(".", "").split())
