"""The map's columns: order, racks, slices, marks, not measured."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from components.map_payload import map_payload
from components.map_still import look, node_look
from components.racks import natural_key, racks
from data.model import Device, GpuState, JoinMethod, NodeState
from settings import RackSettings
from tests.components.snapshots import gpu, job, node, snapshot


def test_cells_stand_in_natural_order_whatever_the_snapshots_order() -> None:
    gpus = [gpu("h10", 1), gpu("h2", 10), gpu("h2", 9), gpu("h10", 0)]
    columns = map_payload(snapshot(gpus=tuple(gpus)))
    assert columns["nodes"]["name"] == ["h2", "h10"]
    assert list(zip(columns["gpus"]["node"], columns["gpus"]["label"], strict=True)) == [
        (0, "9"), (0, "10"), (1, "0"), (1, "1")
    ]  # fmt: skip


def test_not_measured_is_null_and_zero_is_zero() -> None:
    columns = map_payload(snapshot(gpus=(gpu("h1", 0, utilization=None), gpu("h1", 1, GpuState.IDLE, 0.0))))
    assert columns["values"]["gpu_utilization"] == [None, 0]
    assert columns["values"]["power_watts"] == [None, 80]


def test_the_worst_verdict_of_its_jobs_colors_a_cell_and_a_part_of_a_het_job_has_its_leaders() -> None:
    gpus = tuple(gpu("h1", index, job_ids=ids) for index, ids in enumerate([(1,), (1, 2), (4,), (5,), ()]))
    jobs = (job(1), job(2), replace(job(4), het_job_id=3), job(5))
    shown = map_payload(snapshot(gpus=gpus, jobs=jobs), verdicts={1: "ok", 2: "low", 3: "exempt"}, is_judging=True)
    assert shown["gpus"]["verdict"] == [4, 0, 3, -1, -1]
    assert [shown["verdicts"][place] for place in (0, 3, 4)] == ["low", "exempt", "ok"] and shown["judging"]
    assert [look(shown, at, "policy") for at in range(4)] == [
        f"fw-cell fw-v-{word}" for word in ("ok", "low", "exempt", "none")
    ]
    assert node_look(shown, range(5), "policy") == "fw-cell fw-v-low"


def test_memory_keeps_a_tenth_of_a_gib() -> None:
    columns = map_payload(snapshot(gpus=(gpu("h1", 0, utilization=0.5),)))
    assert (columns["values"]["gpu_memory_used_bytes"], columns["values"]["gpu_memory_total_bytes"]) == ([200], [800])


@pytest.mark.parametrize(
    ("profile", "slots"), [("1g.10gb", 1), ("3g.40gb", 3), ("7g.80gb", 7), ("1g.10gb+me", 1), (None, 1), ("odd", 1)]
)
def test_a_slice_covers_its_slots_and_shares_its_card(profile: str | None, slots: int) -> None:
    first = gpu("a01", 0, device=Device("a01", index=0, slice_id="7", slice_profile=profile))
    second = gpu("a01", 0, device=Device("a01", index=0, slice_id="8", slice_profile=profile))
    columns = map_payload(snapshot(gpus=(first, second, gpu("a01", 1))))["gpus"]
    assert columns["slots"] == [slots, slots, 0]
    assert columns["parent"] == [0, 0, 1]
    assert columns["label"] == ["0/7", "0/8", "1"]


def test_whole_gpus_with_one_index_are_not_taken_for_slices_of_one_card() -> None:
    twins = (gpu("h1", 0), gpu("h1", 0, device=Device("h1", index=0, uuid="gpu-other")))
    assert map_payload(snapshot(gpus=twins))["gpus"]["parent"] == [0, 1]


@pytest.mark.parametrize(
    ("states", "mark"),
    [
        ([GpuState.DOWN, GpuState.DOWN], "down"),
        ([GpuState.DRAINED, GpuState.DRAINED], "drained"),
        ([GpuState.UNMEASURED, GpuState.UNMEASURED], "silent"),
        ([GpuState.DOWN, GpuState.BUSY], ""),
        ([GpuState.BUSY, GpuState.IDLE], ""),
    ],
)
def test_a_node_is_marked_when_all_of_its_gpus_agree(states: list[GpuState], mark: str) -> None:
    gpus = tuple(gpu("h1", index, state) for index, state in enumerate(states))
    assert map_payload(snapshot(gpus=gpus))["nodes"]["mark"] == [mark]


def test_a_filter_dims_and_never_removes() -> None:
    shown = frozenset({gpu("h1", 1).device.key})
    columns = map_payload(snapshot(gpus=(gpu("h1", 0), gpu("h1", 1))), shown)
    assert columns["gpus"]["out"] == [1, 0]
    assert map_payload(snapshot(gpus=(gpu("h1", 0),)))["gpus"]["out"] == [0]


def test_jobs_carry_the_id_that_people_write_and_only_known_users() -> None:
    jobs = (job(28, display_id="14_3"), job(29, user=None))
    columns = map_payload(snapshot(jobs=jobs, gpus=(gpu("h1", 0, job_ids=(28, 29, 30)),)))["gpus"]
    assert (columns["job"], columns["user"]) == (["14_3, 29, 30"], ["alice"])


def test_what_makes_a_number_doubtful_is_said() -> None:
    gpus = (
        gpu("h1", 0, signals_disagree=True),
        gpu("h1", 1, is_shared=True),
        gpu("h1", 2, join=JoinMethod.NODE_ESTIMATE),
        gpu("h1", 3, join=JoinMethod.JOB_LABEL),
    )
    columns = map_payload(snapshot(gpus=gpus))
    assert [columns["notes"][at] if at >= 0 else "" for at in columns["gpus"]["note"]] == [
        "UTIL says idle, another signal says busy: not judged.",
        "Shared by several jobs.",
        "Known by node only: an estimate.",
        "",
    ]


def test_the_shape_changes_with_the_cells_and_not_with_their_values() -> None:
    whole = snapshot()
    warmer = replace(whole, gpus=tuple(replace(item, values={}) for item in whole.gpus), version="2")
    fewer = replace(whole, gpus=whole.gpus[1:])
    assert map_payload(whole)["shape"] == map_payload(warmer)["shape"] != map_payload(fewer)["shape"]


def test_a_drain_reason_goes_with_its_node_as_text() -> None:
    drained = node("h1", state=NodeState("IDLE", ("DRAIN",), "DRAINED", "drained", False), reason="<script>alert(1)")
    columns = map_payload(snapshot(nodes=(drained,), gpus=(gpu("h1", 0, GpuState.DRAINED),)))
    assert columns["nodes"]["reason"] == ["DRAINED: <script>alert(1)"]


def test_eight_thousand_gpus_stay_small_on_the_wire() -> None:
    import brotli

    gpus = tuple(
        gpu(f"n{place:04}", index, utilization=((place * 37 + index * 11) % 1000) / 1000, job_ids=(place,))
        for place in range(1000)
        for index in range(8)
    )
    payload = map_payload(snapshot(nodes=tuple(node(f"n{place:04}") for place in range(1000)), gpus=gpus))
    body = json.dumps(payload, separators=(",", ":")).encode()
    assert len(brotli.compress(body, quality=4)) < 200_000


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["r1n1", "r1n2", "r2n1", "r2n2"], ["r1", "r1", "r2", "r2"]),
        (["rack12-gpu1", "rack12-gpu2", "rack3-gpu1"], ["rack12", "rack12", "rack3"]),
        ([f"h{n}" for n in range(1, 8)], ["R1"] * 6 + ["R2"]),
        (["a1", "h1", "h2"], ["R1", "R2", "R2"]),
        (["gpu"], ["R1"]),
        (["r1n1", "login"], ["R1", "R2"]),
        ([], []),
    ],
)
def test_racks_come_from_names_or_stand_in_rows_of_six(names: list[str], labels: list[str]) -> None:
    assert [racks(names)[name] for name in names] == labels


@pytest.mark.parametrize(
    ("rule", "labels"),
    [
        ({"pattern": r"^(r\d)"}, {"r1n1": "r1", "r1n2": "r1", "r2n1": "r2", "login": "other"}),
        ({"pattern": "(x)?r"}, {"r1n1": "other", "r1n2": "other", "r2n1": "other", "login": "other"}),
        ({"hosts": {"B": "login,r2n1", "A": "r1n[1-2]"}}, {"r2n1": "B", "login": "B", "r1n1": "A", "r1n2": "A"}),
        ({"hosts": {"B": "r2n1"}, "pattern": r"^(r\d)"}, {"r2n1": "B", "r1n1": "r1", "r1n2": "r1", "login": "other"}),
        ({"hosts": {"B": "r2n1", "C": "r2n[1-9]"}}, {"r2n1": "B", "r1n1": "other", "r1n2": "other", "login": "other"}),
        ({}, {"r1n1": "R1", "r1n2": "R1", "r2n1": "R1", "login": "R2"}),
    ],
)
def test_a_site_says_which_nodes_stand_in_which_rack(rule: dict[str, object], labels: dict[str, str]) -> None:
    found = racks(["r1n1", "r1n2", "r2n1", "login"], RackSettings.model_validate(rule))
    assert found == labels
    assert next(iter(found.values())) == next(iter(labels.values()))


def test_the_map_stands_in_the_order_of_the_racks() -> None:
    rule = RackSettings(hosts={"B": "h002", "A": "h001"})
    nodes = map_payload(snapshot(), None, rule)["nodes"]
    assert (nodes["name"], nodes["rack"]) == (["h002", "h001"], ["B", "A"])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"pattern": "("}, "not a regular expression"),
        ({"pattern": "rack"}, "needs a group"),
        ({"hosts": {"A": "gpu[9-1]"}}, "9-1 is no range"),
        ({"hosts": {"A": "gpu[1-999999]"}}, "1-999999 is no range"),
        ({"hosts": {"A": "gpu[1"}}, "no host list"),
        ({"hosts": {"A": ""}}, "no host list"),
        ({"hosts": {"A": "<script>"}}, "no host list"),
    ],
)
def test_racks_that_cannot_be_read_are_refused_in_words(rule: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RackSettings.model_validate(rule)


def test_any_name_has_an_order() -> None:
    names = ["n10", "n2", "", "٣", "n2a", "²", "x" * 300]
    assert sorted(names, key=natural_key)[:2] == ["", "n2"]
