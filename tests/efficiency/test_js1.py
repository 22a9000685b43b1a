"""JS1 summaries: read or named for what they are, never zero and never a crash."""

from __future__ import annotations

import base64
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.js1 import MAX_JSON_BYTES, Decoded, GpuSummary, NodeSummary, Outcome, Summary, decode, encode


def packed(payload: Any) -> str:
    return "JS1:" + base64.b64encode(gzip.compress(json.dumps(payload).encode(), mtime=0)).decode()


def one_node(**values: Any) -> NodeSummary:
    summary = decode(packed({"nodes": {"n1": values}, "total_time": 100, "gpus": 1})).summary
    assert summary is not None
    return summary.nodes[0]


def test_every_recorded_string_is_read_or_named(reference: Path) -> None:
    strings = json.loads((reference / "data/js1/js1_strings.json").read_text())
    outcomes = [decode(entry["js1"]).outcome for entry in strings]
    assert len(strings) == 16
    assert outcomes.count(Outcome.SUMMARY) == 11
    assert outcomes.count(Outcome.TOO_SHORT) == 1
    assert outcomes.count(Outcome.NO_DATA) == 1
    assert outcomes.count(Outcome.DAMAGED) == 3


def test_every_recorded_number_arrives_in_our_units(reference: Path) -> None:
    for entry in json.loads((reference / "data/js1/js1_strings.json").read_text()):
        if entry["decoded"] is not None:
            assert_same_facts(decode(entry["js1"]), entry["decoded"])


def assert_same_facts(decoded: Decoded, raw: dict[str, Any]) -> None:
    summary = decoded.summary
    assert summary is not None
    assert summary.elapsed_seconds == raw["total_time"]
    assert [node.node for node in summary.nodes] == [host.split(".")[0] for host in raw["nodes"]]
    for node, values in zip(summary.nodes, raw["nodes"].values(), strict=True):
        assert node.cores == values.get("cpus")
        assert node.cpu_seconds == values.get("total_time")
        assert node.memory_used_bytes == values.get("used_memory")
        assert node.memory_allocated_bytes == values.get("total_memory")
        use = values.get("gpu_utilization", {})
        assert {str(gpu.minor): gpu.utilization for gpu in node.gpus if gpu.utilization is not None} == {
            minor: pytest.approx(percent / 100) for minor, percent in use.items()
        }


def test_the_decode_cases_of_jobstats(reference: Path) -> None:
    cases = [
        case
        for case in json.loads((reference / "cases/jobstats.json").read_text())["cases"]
        if case["kind"] == "js1_decode"
    ]
    assert len(cases) == 5
    for case in cases:
        decoded = decode(case["input"]["admincomment"])
        if case["expect"]:
            assert_same_facts(decoded, case["expect"])
        else:
            assert decoded == Decoded(Outcome.NONE)


@pytest.mark.parametrize(
    ("comment", "outcome"),
    [
        (None, Outcome.NONE),
        ("", Outcome.NONE),
        ("node drained by admin", Outcome.NONE),
        ("a `single` `double` {json:1} back\\slash", Outcome.NONE),
        ("JS1:Short", Outcome.TOO_SHORT),
        ("JS1:None", Outcome.NO_DATA),
        (" JS1:None\n", Outcome.NO_DATA),
        ("JS1:", Outcome.DAMAGED),
        ("JS1:garbage", Outcome.DAMAGED),
        ("JS1:asdfasdf", Outcome.DAMAGED),
        ("JS1:\udcff", Outcome.DAMAGED),
        (packed([1, 2]), Outcome.DAMAGED),
        (packed({"nodes": []}), Outcome.DAMAGED),
        (packed({"total_time": 5}), Outcome.DAMAGED),
        (packed("x")[:-8], Outcome.DAMAGED),
    ],
)
def test_status_words_and_damage_are_told_apart(comment: str | None, outcome: Outcome) -> None:
    decoded = decode(comment)
    assert decoded.outcome is outcome
    assert decoded.summary is None
    assert bool(decoded.reason) == (outcome is Outcome.DAMAGED)


def test_a_comment_cut_off_by_slurm_says_so() -> None:
    decoded = decode("JS1:" + "A" * 65_531)
    assert "cut off at Slurm's limit" in decoded.reason


def test_a_bomb_is_refused_at_the_limit() -> None:
    bomb = "JS1:" + base64.b64encode(gzip.compress(b" " * (MAX_JSON_BYTES + 1))).decode()
    assert len(bomb) < 65_535
    assert decode(bomb).outcome is Outcome.DAMAGED


def test_deeply_nested_json_is_damaged_and_not_a_crash() -> None:
    nested = "JS1:" + base64.b64encode(gzip.compress(b"[" * 1_000_000)).decode()
    assert decode(nested).outcome is Outcome.DAMAGED


@pytest.mark.parametrize(("said", "count"), [(True, 2), (False, 0), (2, 2), (None, None), ("2", None), (-1, None)])
def test_a_gpu_count_may_be_a_boolean(said: Any, count: int | None) -> None:
    payload = {"nodes": {"n1": {"gpu_utilization": {"0": 1, "1": 2}}}, "gpus": said}
    summary = decode(packed(payload)).summary
    assert summary is not None
    assert summary.gpu_count == count


def test_missing_keys_of_one_gpu_stay_unknown() -> None:
    node = one_node(gpu_total_memory={"2": 80, "3": 80}, gpu_used_memory={"2": 8}, gpu_utilization={"3": 9.5})
    assert node.gpus == (GpuSummary(2, None, 8, 80), GpuSummary(3, 0.095, None, 80))
    assert node.cpu_seconds is None


def test_a_full_gpu_may_be_a_rounding_hair_above_all_of_it() -> None:
    # jobstats takes the mean of GPM ratios times 100, and rounds it to one place.
    assert one_node(gpu_utilization={"0": 100.1}).gpus[0].utilization == 1.0


def test_base64_in_lines_is_the_same() -> None:
    whole = packed({"nodes": {"n1": {"cpus": 8}}})
    assert decode(whole[:40] + "\n" + whole[40:]) == decode(whole)


@pytest.mark.parametrize("value", [101, -1, "95", True, None, [1], math.nan, math.inf])
def test_an_impossible_utilization_is_not_measured(value: Any) -> None:
    assert one_node(gpu_utilization={"0": value}).gpus[0].utilization is None


def test_impossible_numbers_are_counted() -> None:
    payload = {"nodes": {"n1": {"cpus": -1, "gpu_utilization": {"0": 101, "x": 5, "007": 1, "9" * 5000: 1}}}}
    summary = decode(packed(payload)).summary
    assert summary is not None
    assert summary.dropped == 5


def test_two_hosts_with_one_short_name_keep_their_domains() -> None:
    summary = decode(packed({"nodes": {"n1.a": {}, "n1.b": {}}})).summary
    assert summary is not None
    assert [node.node for node in summary.nodes] == ["n1.a", "n1.b"]


counts = st.none() | st.integers(0, 1 << 50)
gpus = st.builds(GpuSummary, st.integers(0, 15), st.sampled_from([None, 0.0, 0.095, 1.0]), counts, counts).filter(
    lambda gpu: (gpu.utilization, gpu.memory_used_bytes, gpu.memory_total_bytes) != (None, None, None)
)
nodes = st.builds(
    NodeSummary,
    st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True),
    st.none() | st.integers(1, 512),
    st.none() | st.floats(0, 1e9),
    counts,
    counts,
    st.lists(gpus, max_size=8, unique_by=lambda gpu: gpu.minor).map(
        lambda found: tuple(sorted(found, key=lambda gpu: gpu.minor))
    ),
)


@given(
    st.lists(nodes, max_size=4, unique_by=lambda node: node.node),
    st.none() | st.floats(0, 1e7),
    st.none() | st.integers(0, 64),
)
def test_what_is_written_is_read_again(found: list[NodeSummary], elapsed: float | None, count: int | None) -> None:
    summary = Summary(tuple(found), elapsed, count)
    assert decode(encode(summary)) == Decoded(Outcome.SUMMARY, summary)


@given(st.text() | st.text().map("JS1:".__add__) | st.binary().map(lambda raw: "JS1:" + base64.b64encode(raw).decode()))
def test_no_text_makes_it_fail(text: str) -> None:
    assert decode(text).summary is None


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from(["cpus", "total_time", "used_memory", "total_memory", "gpu_utilization", "gpu_used_memory"])


@given(st.dictionaries(st.text(max_size=5), st.dictionaries(keys, json_values), max_size=3), json_values, json_values)
def test_no_payload_makes_it_fail_or_gives_an_impossible_number(nodes_: Any, elapsed: Any, count: Any) -> None:
    summary = decode(packed({"nodes": nodes_, "total_time": elapsed, "gpus": count})).summary
    assert summary is not None
    for node in summary.nodes:
        assert node.cpu_seconds is None or 0 <= node.cpu_seconds < math.inf
        assert all(gpu.utilization is None or 0 <= gpu.utilization <= 1 for gpu in node.gpus)
