"""The newest values from a real Prometheus, against the raw samples that were written."""

from __future__ import annotations

import re

import pytest

from data.errors import BadRequest, SettingsError
from data.metrics.prometheus import PrometheusSource
from data.metrics.prometheus_latest import VALUE_QUERIES, value_queries
from settings import MetricsSettings
from tests.metrics.series_builders import T0, Case, dcgm, grid, moment, only
from tests.services.prometheus import STALE, PrometheusServer, metric

NOW = moment(T0 + 9 * 30 + 10)


@pytest.fixture
def case(prometheus_server: PrometheusServer) -> Case:
    return Case(prometheus_server)


def test_values_come_in_ratios_and_bytes_with_the_full_identity(case: Case) -> None:
    for name, value in (("DCGM_FI_DEV_GPU_UTIL", 37), ("DCGM_FI_DEV_FB_USED", 1000), ("DCGM_FI_DEV_FB_FREE", 24)):
        case.write(dcgm(name, hpc_job="123"), grid(10), [value] * 10)
    reading = case.source().latest(["gpu_utilization", "gpu_memory_used_bytes", "gpu_memory_total_bytes"], NOW)
    device = only(reading)
    assert device.values == {
        "gpu_utilization": pytest.approx(0.37),
        "gpu_memory_used_bytes": 1000 * 2**20,
        "gpu_memory_total_bytes": 1024 * 2**20,
    }
    assert (device.device.node, device.device.index, device.device.minor) == ("gpu001", 0, 0)
    assert (device.device.uuid, device.device.model, device.job_labels) == ("gpu-gpu001-0", "H100", ("123",))
    assert (reading.interval_seconds, reading.sample_time) == (30.0, moment(T0 + 270))
    assert reading.dialects == ("dcgm_exporter",)


def test_reserved_memory_belongs_to_the_total(case: Case) -> None:
    for name, value in (("FB_USED", 10), ("FB_FREE", 20), ("FB_RESERVED", 5)):
        case.write(dcgm(f"DCGM_FI_DEV_{name}"), grid(10), [value] * 10)
    assert only(case.source().latest(["gpu_memory_total_bytes"], NOW)).values == {"gpu_memory_total_bytes": 35 * 2**20}


def test_a_value_older_than_two_intervals_is_absent_while_others_of_the_device_stay(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_FB_USED"), grid(10), [1] * 10)
    case.write(dcgm("DCGM_FI_DEV_GPU_UTIL"), grid(7), [50] * 7)
    reading = case.source().latest(["gpu_utilization", "gpu_memory_used_bytes"], NOW)
    assert only(reading).values == {"gpu_memory_used_bytes": 2**20}
    assert reading.missing == ("gpu_utilization",)


def test_a_job_that_ended_leaves_its_device_at_once(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_FB_USED", hpc_job="1"), grid(10), [70] * 9 + [STALE])
    case.write(dcgm("DCGM_FI_DEV_FB_USED"), grid(1, T0 + 270), [3])
    device = only(case.source().latest(["gpu_memory_used_bytes"], NOW))
    assert (device.job_labels, device.values) == ((), {"gpu_memory_used_bytes": 3 * 2**20})


def test_jobs_that_share_a_device_are_all_named_and_its_value_counts_once(case: Case) -> None:
    for job in ("11", "12", "0", ""):
        labels = dcgm("DCGM_FI_DEV_GPU_UTIL", **({"hpc_job": job} if job else {}))
        case.write(labels, grid(10), [80] * 10)
    device = only(case.source().latest(["gpu_utilization"], NOW))
    assert (device.job_labels, device.values) == (("11", "12"), {"gpu_utilization": pytest.approx(0.8)})


def test_both_spellings_of_the_host_label_live_side_by_side(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_GPU_UTIL", node="old"), grid(10), [10] * 10)
    case.write(dcgm("DCGM_FI_DEV_GPU_UTIL", node="new", host="hostname"), grid(10), [20] * 10)
    found = {d.device.node: d.values["gpu_utilization"] for d in case.source().latest(["gpu_utilization"], NOW).devices}
    assert found == {"old": pytest.approx(0.1), "new": pytest.approx(0.2)}


@pytest.mark.parametrize(("profile", "slice_id"), [("GPU_I_PROFILE", "GPU_I_ID"), ("gpu_i_profile", "gpu_i_id")])
def test_names_and_labels_in_lower_case_are_the_same_exporter(case: Case, profile: str, slice_id: str) -> None:
    labels = metric(
        "dcgm_fi_prof_gr_engine_active",
        gpu="1",
        uuid="GPU-0451a3f1",
        device="nvidia1",
        instance="gpu7:9400",
        **{profile: "4g.40gb", slice_id: "1"},
    )
    case.write(labels, grid(10), [0.06868] * 10)
    device = only(case.source().latest(["graphics_engine_activity"], NOW))
    assert device.values == {"graphics_engine_activity": 0.06868}
    assert (device.device.label, device.device.slice_profile) == ("gpu7/1/1", "4g.40gb")


def test_on_a_slice_gr_counts_util_does_not_and_the_cut_card_is_no_device(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_POWER_USAGE"), grid(10), [400] * 10)
    for piece, job, gr in (("7", "11", 0.37), ("8", "12", 0.0)):
        more = {"GPU_I_ID": piece, "GPU_I_PROFILE": "3g.40gb", "hpc_job": job}
        case.write(dcgm("DCGM_FI_DEV_GPU_UTIL", **more), grid(10), [0] * 10)
        case.write(dcgm("DCGM_FI_PROF_GR_ENGINE_ACTIVE", **more), grid(10), [gr] * 10)
    metrics = ["gpu_utilization", "graphics_engine_activity", "power_watts"]
    found = {d.device.slice_id: d for d in case.source().latest(metrics, NOW).devices}
    assert set(found) == {"7", "8"}
    assert found["7"].values == {"graphics_engine_activity": 0.37, "power_watts": 400.0}
    assert found["8"].values == {"graphics_engine_activity": 0.0, "power_watts": 400.0}
    assert (found["7"].job_labels, found["8"].job_labels) == (("11",), ("12",))


def _princeton(name: str, uuid: str, ordinal: str = "0", **more: str) -> dict[str, str]:
    return metric(name, uuid=uuid, ordinal=ordinal, minor_number=ordinal, name="H100", instance="gpu001:9445", **more)


def test_two_exporters_on_one_device_are_one_device_and_never_averaged(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_GPU_UTIL"), grid(10), [40] * 10)
    job = {"jobid": "77", "userid": "1001"}
    case.write(_princeton("nvidia_gpu_duty_cycle", "GPU-GPU001-0", **job), grid(10), [90] * 10)
    case.write(_princeton("nvidia_gpu_memory_used_bytes", "GPU-GPU001-0", **job), grid(10), [5.0] * 10)
    device = only(case.source().latest(["gpu_utilization", "gpu_memory_used_bytes"], NOW))
    assert device.values == {"gpu_utilization": pytest.approx(0.4), "gpu_memory_used_bytes": 5.0}
    assert (device.job_labels, device.user_labels) == (("77",), ("1001",))


def test_princeton_percent_names_are_ratios_and_slices_of_two_exporters_meet(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_FB_USED", GPU_I_ID="3"), grid(10), [1] * 10)
    case.write(_princeton("nvidia_gpu_memory_used_bytes", "GPU-gpu001-0"), grid(10), [9e9] * 10)
    slice_of = _princeton("nvidia_gpu_graphics_util_percent", "MIG-abc", GPU_I_ID="3", jobid="5")
    case.write(slice_of, grid(10), [0.42] * 10)
    memory = _princeton("nvidia_gpu_memory_used_bytes", "MIG-abc", GPU_I_ID="3", jobid="5")
    case.write(memory, grid(10), [7e9] * 10)
    device = only(case.source().latest(["graphics_engine_activity", "gpu_memory_used_bytes"], NOW))
    assert device.values == {"gpu_memory_used_bytes": 2**20, "graphics_engine_activity": 0.42}
    assert device.device.key == ("gpu001", "gpu-gpu001-0", "3")


def test_older_princeton_exporters_give_the_job_as_a_value(case: Case) -> None:
    case.write(_princeton("nvidia_gpu_memory_used_bytes", "GPU-1"), grid(10), [1.0] * 10)
    case.write(_princeton("nvidia_gpu_jobId", "GPU-1"), grid(10), [4711] * 10)
    assert only(case.source().latest(["gpu_memory_used_bytes"], NOW)).job_labels == ("4711",)


def test_nvidia_gpu_exporters_before_1_5_give_the_index_as_a_value(case: Case) -> None:
    for uuid, index in (("b", 0), ("a", 1)):
        labels = {"uuid": uuid, "instance": "gpu001:9835"}
        case.write(metric("nvidia_smi_gpu_info", name="A100", **labels), grid(10), [1] * 10)
        case.write(metric("nvidia_smi_index", **labels), grid(10), [index] * 10)
        case.write(metric("nvidia_smi_utilization_gpu_ratio", **labels), grid(10), [0.5 + index / 10] * 10)
    found = case.source().latest(["gpu_utilization"], NOW).devices
    values = {(d.device.uuid, d.device.index): d.values["gpu_utilization"] for d in found}
    assert values == {("gpu-b", 0): 0.5, ("gpu-a", 1): 0.6}


def test_nvidia_smi_of_some_drivers_knows_only_the_power_of_the_instant(case: Case) -> None:
    labels = {"uuid": "a", "index": "0", "instance": "gpu001:9835"}
    case.write(metric("nvidia_smi_gpu_info", **labels), grid(10), [1] * 10)
    case.write(metric("nvidia_smi_power_draw_instant_watts", **labels), grid(10), [61.5] * 10)
    assert only(case.source().latest(["power_watts"], NOW)).values == {"power_watts": 61.5}


@pytest.mark.parametrize("prefix", ["", "amd_"])
def test_empty_labels_of_amd_are_no_job_and_fillers_on_partitions_no_value(case: Case, prefix: str) -> None:
    for partition, kind, value in (("0", "cpx", 60), ("1", "cpx", 0)):
        labels = metric(
            prefix + "gpu_gfx_activity",
            gpu_id=partition,
            gpu_uuid=f"cfff7408-{partition}",
            gpu_partition_id=partition,
            gpu_compute_partition_type=kind,
            hostname="node",
            job_id="",
        )
        case.write(labels, grid(10), [value] * 10)
    device = only(case.source().latest(["gpu_utilization"], NOW))
    assert (device.values, device.job_labels) == ({"gpu_utilization": pytest.approx(0.6)}, ())


def test_devices_numbered_within_jobs_stay_apart(case: Case) -> None:
    for job in ("1", "2"):
        labels = metric("slurm_job_utilization_gpu", slurmjobid=job, gpu="0", gpu_type="A100", instance="n1:9798")
        case.write(labels, grid(10), [50 if job == "1" else 70] * 10)
    found = {d.job_labels: d.values["gpu_utilization"] for d in case.source().latest(["gpu_utilization"], NOW).devices}
    assert found == {("1",): pytest.approx(0.5), ("2",): pytest.approx(0.7)}


def test_blank_and_impossible_values_are_absent_and_counted(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_FB_USED"), grid(10), [1] * 10)
    case.write(dcgm("DCGM_FI_DEV_GPU_UTIL"), grid(10), [808334905] * 10)
    case.write(dcgm("DCGM_FI_PROF_SM_ACTIVE"), grid(10), [140737488355328.0] * 10)
    reading = case.source().latest(["gpu_utilization", "sm_activity", "gpu_memory_used_bytes"], NOW)
    assert only(reading).values == {"gpu_memory_used_bytes": 2**20}
    assert reading.dropped == {"implausible: gpu_utilization": 1, "blank: sm_activity": 1}


def test_a_site_may_rename_metrics_and_labels(case: Case) -> None:
    labels = metric("site:util", slurm_host="gpu5.example", gpu="2", UUID="GPU-5", slurm_job="88")
    case.write(labels, grid(10), [25] * 10)
    source = case.source(names={"gpu_utilization": "site:util"}, job_label="slurm_job", host_label="slurm_host")
    device = only(source.latest(["gpu_utilization"], NOW))
    assert (device.device.label, device.job_labels) == ("gpu5/2", ("88",))
    assert device.values == {"gpu_utilization": pytest.approx(0.25)}


def test_values_of_settings_cannot_leave_their_matcher(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_GPU_UTIL", cluster='a"} or vector(1) #\\'), grid(10), [10] * 10)
    case.write(dcgm("DCGM_FI_DEV_GPU_UTIL", gpu=1, cluster="b"), grid(10), [20] * 10)
    source = case.source(cluster_label="cluster", cluster_value='a"} or vector(1) #\\')
    assert only(source.latest(["gpu_utilization"], NOW)).device.index == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"job_label": "a-b"},
        {"names": {"gpu_utilization": "x{}"}},
        {"names": {"nonsense": "x"}},
        {"dialects": ["nvidia"]},
        {"cluster_label": "cluster"},
    ],
)
def test_settings_that_cannot_be_right_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        PrometheusSource(MetricsSettings(**{"url": "http://127.0.0.1:9", **wrong}))


def test_host_metrics_and_unknown_ones_are_refused_by_name(case: Case) -> None:
    for name in ("cpu_seconds", "utilization_gap", "nonsense"):
        with pytest.raises(BadRequest, match=name):
            case.source().latest([name])


def test_a_server_without_gpu_series_gives_no_device_and_names_what_is_missing(case: Case) -> None:
    case.write(metric("up"), grid(10), [1] * 10)
    reading = case.source().latest(["gpu_utilization"], NOW)
    assert (reading.devices, reading.missing, reading.dialects) == ((), ("gpu_utilization",), ())


def test_the_value_queries_together_ask_for_every_series_once(case: Case) -> None:
    for name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_GPU_UTIL"):
        case.write(dcgm(name), grid(10), [1] * 10)
    source = case.source()
    (bound,) = source._device_dialects(NOW.timestamp() - 3600, NOW.timestamp())
    queries = value_queries([(bound, 60.0)], source._site, ["gpu_utilization", "gpu_memory_total_bytes"])
    assert len(queries) == VALUE_QUERIES
    asked = [name for query in queries for name in re.findall(r"DCGM_[A-Z_]+", query)]
    assert sorted(asked) == ["DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_UTIL"]
