"""The join: every configured device once, with the right holder and the right state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from data.inventory import Inventory, Known
from data.join import join
from data.model import Device, GpuPool, GpuState, Gres, JoinMethod, NodeDevices, Tres
from tests.live.builders import (
    NOW,
    joined,
    kinds,
    make_job,
    make_node,
    measure,
    measure_slice,
    read,
    uuid_of,
)

BUSY, IDLE, FREE = GpuState.BUSY, GpuState.IDLE, GpuState.FREE
UNMEASURED, UNKNOWN, DRAINED, DOWN = GpuState.UNMEASURED, GpuState.HELD_UNKNOWN, GpuState.DRAINED, GpuState.DOWN


def states(result):
    return [gpu.state for gpu in result.gpus]


def holders(result):
    return {gpu.device.index: gpu.job_ids for gpu in result.gpus if gpu.job_ids}


def test_every_configured_gpu_appears_although_no_series_exists():
    result = joined([make_node(state="IDLE")])
    assert states(result) == [FREE] * 8
    assert all(gpu.utilization is None and gpu.values == {} for gpu in result.gpus)
    assert len({gpu.device.key for gpu in result.gpus}) == 8


def test_a_gpu_without_series_has_the_name_that_the_exporter_has_for_its_model():
    nodes = [make_node("gpu01"), make_node("gpu02", "DOWN"), make_node("gpu03", "DOWN", pools={"a100": 2, "quux": 1})]
    seen = measure("gpu01")
    names = [[gpu.model for gpu in joined(nodes, [], *there).gpus] for there in ((), (seen,), (seen, measure_slice()))]
    assert names[0] == ["h100"] * 16 + ["a100", "a100", "quux"]
    assert names[1] == names[2] == [seen.device.model] * 16 + ["a100", "a100", "quux"]
    other = measure("gpu01", 1, model="NVIDIA H100 SXM")
    assert [gpu.model for gpu in joined(nodes, [], seen, other).gpus][8:16] == ["h100"] * 8


def test_a_held_gpu_without_series_is_unmeasured_and_not_idle():
    result = joined([make_node(gpus_allocated=8)], [make_job(gpus=8)])
    assert states(result) == [UNMEASURED] * 8
    assert all(gpu.job_ids == (100,) for gpu in result.gpus)


@pytest.mark.parametrize(
    ("util", "values", "state", "disagrees"),
    [
        (0.5, {}, BUSY, False),
        (0.0, {}, IDLE, False),
        (0.0, {"power_watts": 70.0}, IDLE, False),
        (0.0, {"power_watts": 118.0, "sm_activity": 0.0}, IDLE, False),
        (0.0, {"power_watts": 650.0}, UNMEASURED, True),
        (0.0, {"sm_activity": 0.6}, UNMEASURED, True),
        (None, {"gpu_memory_used_bytes": 1e9}, UNMEASURED, False),
        (None, {"graphics_engine_activity": 0.3}, BUSY, False),
        (None, {"graphics_engine_activity": 0.001}, IDLE, False),
    ],
)
def test_the_state_of_a_held_gpu_follows_what_was_measured(util, values, state, disagrees):
    node = make_node(pools={"h100": 1}, gpus_allocated=1)
    result = joined([node], [make_job()], measure(util=util, values=values))
    assert states(result) == [state]
    assert result.gpus[0].signals_disagree is disagrees
    assert ("signals_disagree" in kinds(result)) is disagrees


@pytest.mark.parametrize(
    ("state", "free"), [("IDLE", FREE), ("DRAINED", DRAINED), ("MAINT", DRAINED), ("DOWN", DOWN), ("MIXED", FREE)]
)
def test_an_open_gpu_follows_its_node(state, free):
    assert states(joined([make_node(state=state)])) == [free] * 8


def test_held_gpus_of_a_draining_node_stay_held_and_the_others_are_not_offered():
    node = make_node(state="DRAINING", pools={"h100": 4}, gpus_allocated=2)
    result = joined([node], [make_job(gpus=2, indices=(0, 1))], measure(index=0), measure(index=1))
    assert states(result) == [BUSY, BUSY, DRAINED, DRAINED]


@pytest.mark.parametrize("job_state", ["SUSPENDED", "COMPLETING"])
def test_suspended_and_completing_jobs_hold(job_state):
    result = joined([make_node(gpus_allocated=1)], [make_job(indices=(3,), state=job_state)])
    assert holders(result) == {3: (100,)}


def test_a_completing_flag_holds_and_a_pending_job_does_not():
    completing = make_job(1, indices=(0,), state="COMPLETED", state_flags=("COMPLETING",))
    waiting = make_job(2, node=None, state="PENDING")
    assert holders(joined([make_node(gpus_allocated=1)], [completing, waiting])) == {0: (1,)}


def test_untracked_gpus_of_an_allocated_node_are_unknown_and_never_free():
    node = make_node(state="ALLOCATED", gpus_allocated=None)
    result = joined([node], [make_job(gpus=None, devices=(), allocated=Tres(cpus=192))])
    assert states(result) == [UNKNOWN] * 8
    assert "gpus_not_tracked" in kinds(result)
    assert states(joined([make_node(state="IDLE", gpus_allocated=None)])) == [FREE] * 8


def test_more_allocated_gpus_than_jobs_explain_are_unknown():
    result = joined([make_node(gpus_allocated=3)], [make_job(indices=(0,))])
    assert states(result) == [UNMEASURED, UNKNOWN, UNKNOWN, FREE, FREE, FREE, FREE, FREE]
    assert "allocated_differs" in kinds(result)


def test_a_used_index_without_a_known_job_counts_as_held():
    node = make_node(pools={}, gpu_pools=(GpuPool("h100", 4, 1, (2,), (0, 1, 3)),), gpus_allocated=1)
    result = joined([node], [], measure(index=2, util=0.0))
    assert states(result) == [FREE, FREE, IDLE, FREE]


def test_two_gpu_types_of_a_node_are_both_there():
    result = joined([make_node(state="IDLE", pools={"tesla": 2, "kepler": 2})])
    assert [gpu.model for gpu in result.gpus] == ["tesla", "tesla", "kepler", "kepler"]


def test_a_node_named_twice_counts_once():
    assert len(joined([make_node(), make_node()]).gpus) == 8


def test_the_job_label_decides_before_the_index():
    node = make_node(pools={"h100": 2}, gpus_allocated=1)
    result = joined([node], [make_job(indices=(0,))], measure(index=0), measure(index=1, labels=["100"]))
    held = [gpu for gpu in result.gpus if gpu.job_ids]
    assert [(gpu.device.index, gpu.join) for gpu in held] == [(1, JoinMethod.JOB_LABEL)]


@pytest.mark.parametrize("label", ["28", "14_3", "28.0", "14"])
def test_an_array_task_is_found_by_any_written_form(label):
    task = make_job(28, display_id="14_3", array_job_id=14, array_task_id=3, indices=(0,))
    result = joined([make_node(gpus_allocated=1)], [task], measure(index=0, labels=[label]))
    assert result.gpus[0].job_ids == (28,)
    assert result.gpus[0].join is JoinMethod.JOB_LABEL


def test_the_raw_id_of_an_array_names_its_one_task_before_the_family():
    last = make_job(14, display_id="14_9", array_job_id=14, indices=(0,))
    other = make_job(28, display_id="14_3", array_job_id=14, indices=(1,))
    readings = measure(index=0, labels=["14"]), measure(index=1, labels=["28"])
    assert holders(joined([make_node(gpus_allocated=2)], [last, other], *readings)) == {0: (14,), 1: (28,)}


def test_a_job_is_found_by_what_newer_slurm_calls_its_cgroups():
    job = make_job(gpus=1, sluid="s4N1RKR1N2JG00")
    result = joined([make_node(gpus_allocated=1)], [job], measure(index=2, labels=["s4N1RKR1N2JG00"]))
    assert [gpu.join for gpu in result.gpus if gpu.job_ids] == [JoinMethod.JOB_LABEL]


def test_a_stale_label_is_left_out_and_counted():
    result = joined([make_node(gpus_allocated=1)], [make_job(indices=(0,))], measure(index=0, labels=["77"]))
    assert result.gpus[0].job_ids == (100,)
    assert result.gpus[0].join is JoinMethod.INDEX
    assert "stale_label" in kinds(result)


def test_a_label_of_a_job_on_another_node_is_a_disagreement():
    nodes = [make_node("gpu01", "IDLE"), make_node("gpu02", gpus_allocated=1)]
    result = joined(nodes, [make_job(indices=(0,), node="gpu02")], measure("gpu01", labels=["100"]))
    assert {gpu.device.node for gpu in result.gpus if gpu.job_ids} == {"gpu02"}
    assert "mapping_disagrees" in kinds(result)
    assert not any("100" in note.text for note in result.notes)


@pytest.mark.parametrize("label", ["", "0", " ", "None"])
def test_an_empty_label_means_no_job(label):
    result = joined([make_node("gpu01", "IDLE")], [], measure(labels=[label]))
    assert result.gpus[0].job_ids == ()
    assert kinds(result) <= {"gpu_count_differs"}


def test_one_gpu_jobs_with_labels_prove_the_order_of_a_node_for_later():
    node = make_node(pools={"h100": 2}, gpus_allocated=2)
    jobs = [make_job(1, indices=(0,)), make_job(2, indices=(1,))]
    swapped = measure(index=0, labels=["2"]), measure(index=1, labels=["1"])
    first = joined([node], jobs, *swapped)
    assert first.inventory.known("gpu01", 0) == Known(swapped[1].device, True)
    unlabelled = joined([node], jobs, measure(index=0), measure(index=1), inventory=first.inventory)
    assert holders(unlabelled) == {0: (2,), 1: (1,)}
    assert {gpu.join for gpu in unlabelled.gpus} == {JoinMethod.INDEX}


def test_slurms_order_follows_the_minor_number_and_not_the_exporters_index():
    node = make_node(pools={"h100": 2}, gpus_allocated=1)
    readings = measure(index=0, minor=1), measure(index=1, minor=0)
    assert holders(joined([node], [make_job(indices=(0,))], *readings)) == {1: (100,)}


def test_a_gpu_that_fell_off_the_bus_keeps_its_identity_and_shifts_nobody():
    node = make_node(pools={"h100": 4}, gpus_allocated=4)
    jobs = [make_job(job_id, indices=(job_id,)) for job_id in range(4)]
    full = joined([node], jobs, *(measure(index=i) for i in range(4)))
    result = joined([node], jobs, *(measure(index=i) for i in (0, 1, 3)), inventory=full.inventory)
    assert holders(result) == {0: (0,), 1: (1,), 2: (2,), 3: (3,)}
    assert states(result) == [BUSY, BUSY, UNMEASURED, BUSY]
    assert result.gpus[2].device.uuid == uuid_of("gpu01", 2)
    assert "gpu_count_differs" in kinds(result)


def test_a_missing_gpu_without_memory_is_placed_by_number():
    node = make_node(pools={"h100": 4}, gpus_allocated=4)
    result = joined([node], [make_job(gpus=4, indices=(0, 1, 2, 3))], *(measure(index=i) for i in (0, 1, 3)))
    assert states(result) == [BUSY, BUSY, UNMEASURED, BUSY]


def test_a_number_that_two_devices_claim_places_neither():
    node = make_node(pools={"h100": 2}, gpus_allocated=2)
    seen = (measure(index=0), measure(index=1), measure(index=7, minor=1))
    for order in (seen, seen[::-1]):
        result = joined([node], [make_job(gpus=2, indices=(0, 1))], *order)
        assert states(result) == [BUSY, UNMEASURED]


@pytest.mark.parametrize(
    ("identity", "method"), [({"bus_id": "0000:1a:00.0"}, JoinMethod.INDEX), ({}, JoinMethod.NODE_ESTIMATE)]
)
def test_a_uuid_alone_does_not_say_which_of_a_nodes_gpus_a_device_is(identity, method):
    node = make_node(pools={"h100": 2}, gpus_allocated=1)
    job = make_job(gpus=1, indices=(0,))
    seen = measure(index=None, uuid="gpu-b", **identity), measure(index=None, uuid="gpu-a", **identity)
    (held,) = (gpu for gpu in joined([node], [job], *seen).gpus if gpu.job_ids)
    assert held.join is method


def test_devices_that_slurm_does_not_know_are_noted_and_not_added():
    result = joined([make_node(state="IDLE", pools={"h100": 2})], [], *(measure(index=i) for i in range(4)))
    assert len(result.gpus) == 2
    assert "gpu_count_differs" in kinds(result)


def test_two_exporters_of_one_gpu_are_one_gpu():
    node = make_node(pools={"h100": 1}, gpus_allocated=1)
    second = measure(index=0, util=None, uuid=None, values={"power_watts": 300.0}, labels=["100"])
    result = joined([node], [make_job()], measure(index=0), second)
    assert result.gpus[0].values == {"gpu_utilization": 0.5, "power_watts": 300.0}
    assert result.gpus[0].join is JoinMethod.JOB_LABEL


def test_hosts_that_are_no_nodes_are_noted_and_no_match_at_all_is_its_own_note():
    node = make_node(state="IDLE")
    assert "unknown_hosts" in kinds(joined([node], [], measure(), measure("other")))
    assert "no_host_joins" in kinds(joined([node], [], measure("other")))


def test_two_jobs_without_indices_or_labels_are_a_node_level_estimate():
    jobs = [make_job(1, gpus=2), make_job(2, gpus=3)]
    result = joined([make_node(gpus_allocated=5)], jobs, *(measure(index=i) for i in range(8)))
    held = [gpu for gpu in result.gpus if gpu.job_ids]
    assert len(held) == 5
    assert {gpu.join for gpu in held} == {JoinMethod.NODE_ESTIMATE}


def test_a_job_that_holds_all_gpus_of_its_node_holds_each_for_certain():
    result = joined([make_node(gpus_allocated=8)], [make_job(gpus=8)], measure(index=0))
    assert {gpu.join for gpu in result.gpus} == {JoinMethod.INDEX}


def test_gpus_of_a_job_over_two_nodes_without_detail_are_split_evenly_as_an_estimate():
    nodes = [make_node("gpu01", gpus_allocated=2), make_node("gpu02", gpus_allocated=2)]
    job = make_job(gpus=4, nodes=("gpu01", "gpu02"), devices=())
    held = [gpu for gpu in joined(nodes, [job]).gpus if gpu.job_ids]
    assert sorted(gpu.device.node for gpu in held) == ["gpu01", "gpu01", "gpu02", "gpu02"]
    assert {gpu.join for gpu in held} == {JoinMethod.NODE_ESTIMATE}


def test_more_labels_than_gpus_are_cut_to_what_slurm_confirms():
    readings = measure(index=0, labels=["100"]), measure(index=1, labels=["100"])
    result = joined([make_node(gpus_allocated=1)], [make_job(indices=(1,))], *readings)
    assert holders(result) == {1: (100,)}
    assert "mapping_disagrees" in kinds(result)


def test_a_device_labelled_with_two_running_jobs_is_shared():
    jobs = [make_job(1, gpus=1), make_job(2, gpus=1)]
    result = joined([make_node(gpus_allocated=1)], jobs, measure(index=0, labels=["1", "2"]))
    assert result.gpus[0].job_ids == (1, 2)
    assert result.gpus[0].is_shared


def test_shards_make_their_gpu_shared_and_are_no_gpus():
    node = make_node(
        pools={},
        gpu_pools=(GpuPool("", 4, 1, (0,), (1, 2, 3)),),
        gpus_allocated=1,
        gres=(Gres("gpu", None, 4), Gres("shard", None, 16)),
        gres_used=(Gres("shard", None, 1, shared=((0, 4), (1, 4), (0, 4), (0, 4))),),
    )
    jobs = [make_job(1, indices=(0,)), make_job(2, gpus=0, shards=1)]
    result = joined([node], jobs)
    assert len(result.gpus) == 4
    assert holders(result) == {0: (1,), 1: (2,)}
    assert [gpu.is_shared for gpu in result.gpus] == [False, True, False, False]


def test_shards_of_unknown_place_take_one_open_gpu_as_an_estimate():
    node = make_node(pools={"": 4}, gpus_allocated=1, gres=(Gres("shard", None, 16),))
    result = joined([node], [make_job(1, indices=(0,)), make_job(2, gpus=0, shards=1)])
    assert holders(result) == {0: (1,), 1: (2,)}
    assert result.gpus[1].join is JoinMethod.NODE_ESTIMATE


def test_mig_slices_are_devices_of_their_own_and_measured_by_gr():
    node = make_node("mig01", pools={"1g.10gb": 2}, gpus_allocated=2)
    jobs = [make_job(11, node="mig01", indices=(0,)), make_job(12, node="mig01", indices=(1,))]
    result = joined(
        [node],
        jobs,
        measure_slice(slice_id="1", labels=["11"], values={"gpu_utilization": 0.0}),
        measure_slice(slice_id="2", labels=["12"], gr=0.0),
    )
    assert [(gpu.device.slice_id, gpu.job_ids, gpu.state) for gpu in result.gpus] == [
        ("1", (11,), BUSY),
        ("2", (12,), IDLE),
    ]
    assert [gpu.utilization for gpu in result.gpus] == [0.37, 0.0]
    assert [(gpu.weight, gpu.weight_known) for gpu in result.gpus] == [(1 / 7, True)] * 2


def test_the_parent_of_slices_is_no_device_and_its_label_is_ambiguous():
    node = make_node("mig01", pools={"1g.10gb": 1}, gpus_allocated=1)
    parent = measure("mig01", 0, util=0.0, labels=["99"], values={"power_watts": 222.0})
    result = joined([node], [make_job(99, node="mig01", gpus=1)], parent, measure_slice(slice_id="1"))
    assert len(result.gpus) == 1
    assert result.gpus[0].values["power_watts"] == 222.0
    assert "gpu_utilization" not in result.gpus[0].values
    assert "ambiguous_label" in kinds(result)


def test_slices_with_uuids_of_their_own_find_their_parent_by_index():
    node = make_node("mig01", pools={"1g.10gb": 1}, gpus_allocated=0)
    own = measure("mig01", 0, util=None, uuid="mig-aaaa", slice_id="1", slice_profile="1g.10gb")
    result = joined([node], [], measure("mig01", 0, values={"power_watts": 222.0}), own)
    assert [gpu.device.uuid for gpu in result.gpus] == ["mig-aaaa"]
    assert result.gpus[0].values == {"power_watts": 222.0}


def test_whole_gpus_and_slices_of_one_node_are_kept_apart():
    node = make_node("mix01", "IDLE", pools={"a100": 1, "3g.20gb": 1, "1g.5gb": 2})
    readings = [
        measure("mix01", 1),
        measure_slice("mix01", 0, "9", "1g.5gb"),
        measure_slice("mix01", 0, "2", "3g.20gb"),
        measure_slice("mix01", 0, "10", "1g.5gb"),
    ]
    result = joined([node], [], *readings)
    assert [(g.device.index, g.device.slice_id) for g in result.gpus] == [(1, None), (0, "2"), (0, "9"), (0, "10")]


def test_an_unmeasured_slice_is_still_a_slice():
    result = joined([make_node("mig01", "IDLE", pools={"a100_1g.10gb": 7})])
    assert len({gpu.device.key for gpu in result.gpus}) == 7
    assert all(gpu.device.is_slice and gpu.weight == pytest.approx(1 / 7) for gpu in result.gpus)


def test_an_unknown_slice_weighs_one_and_says_so():
    result = joined([make_node("mig01", "IDLE", pools={"9g.1gb": 1})])
    assert [(gpu.weight, gpu.weight_known) for gpu in result.gpus] == [(1.0, False)]


def test_a_value_from_before_the_jobs_start_says_nothing_of_the_job():
    node = make_node(pools={"h100": 1}, gpus_allocated=1)
    job = make_job(indices=(0,), start_time=NOW - timedelta(seconds=3))
    result = joined([node], [job], measure(util=0.9, values={"temperature_celsius": 40.0}))
    assert states(result) == [UNMEASURED]
    assert result.gpus[0].values == {"temperature_celsius": 40.0}
    labelled = joined([node], [job], measure(util=0.9, labels=["100"]))
    assert states(labelled) == [BUSY]


def test_without_any_metrics_nothing_is_measured():
    result = join([make_node(gpus_allocated=1)], [make_job(indices=(0,))], None, Inventory(), NOW)
    assert states(result) == [UNMEASURED] + [FREE] * 7


def test_a_replaced_gpu_takes_the_place_of_the_old_one():
    node = make_node(state="IDLE", pools={"h100": 1})
    old = Inventory({("gpu01", 0): Known(Device("gpu01", 0, "gpu-old"), True)})
    result = joined([node], [], measure(index=0, uuid="gpu-new"), inventory=old)
    assert result.gpus[0].device.uuid == "gpu-new"
    assert result.inventory.known("gpu01", 0) == Known(measure(index=0, uuid="gpu-new").device)


def test_the_inventory_forgets_nodes_that_are_gone():
    first = joined([make_node("gpu01")], [], *(measure(index=i) for i in range(8)))
    assert first.inventory.places
    assert not joined([make_node("gpu02")], [], inventory=first.inventory).inventory.places


def test_an_implausible_number_of_gpus_is_capped_and_noted():
    result = joined([make_node(state="IDLE", pools={"h100": 10**9})])
    assert len(result.gpus) == 1024
    assert "too_many_gpus" in kinds(result)


def test_a_cpu_job_on_a_gpu_node_holds_no_gpu():
    job = make_job(gpus=0, devices=(NodeDevices("gpu01", 0, ()),))
    assert holders(joined([make_node(gpus_allocated=0)], [job])) == {}


def test_a_reading_for_another_time_does_not_break_the_join():
    result = join([make_node()], [], read(measure(), at=NOW + timedelta(hours=1)), Inventory(), NOW)
    assert len(result.gpus) == 8


@pytest.mark.parametrize("util", [float("nan"), -0.5, 8083349.05])
def test_what_is_no_ratio_is_not_measured_and_never_idle(util):
    node = make_node(pools={"h100": 1}, gpus_allocated=1)
    assert states(joined([node], [make_job(indices=(0,))], measure(util=util))) == [UNMEASURED]


def test_a_part_of_a_het_job_labelled_with_its_leader_is_found_on_its_own_node():
    nodes = [make_node("gpu01", gpus_allocated=1), make_node("gpu02", gpus_allocated=1)]
    leader = make_job(15, "gpu01", display_id="15+0", het_job_id=15, indices=(0,))
    part = make_job(16, "gpu02", display_id="15+1", het_job_id=15, indices=(0,))
    result = joined(nodes, [leader, part], measure("gpu01", labels=["15"]), measure("gpu02", labels=["15"]))
    held = {gpu.device.node: (gpu.job_ids, gpu.join) for gpu in result.gpus if gpu.job_ids}
    assert held == {"gpu01": ((15,), JoinMethod.JOB_LABEL), "gpu02": ((16,), JoinMethod.JOB_LABEL)}


def test_a_new_job_does_not_inherit_values_that_still_carry_the_last_jobs_label():
    node = make_node(pools={"h100": 1}, gpus_allocated=1)
    job = make_job(indices=(0,), start_time=NOW - timedelta(seconds=40))
    result = joined([node], [job], measure(util=0.9, labels=["77"]))
    assert states(result) == [UNMEASURED]
    assert states(joined([node], [job], measure(util=0.9))) == [BUSY]
