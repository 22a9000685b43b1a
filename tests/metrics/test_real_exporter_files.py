"""Every file of real exporters, loaded into a real Prometheus; the expected values are read from its raw text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from data.metrics.registry import METRICS
from data.model import DeviceReading
from tests.metrics.series_builders import T0, Case, grid, moment
from tests.services.prometheus import PrometheusServer

NOW = moment(T0 + 280)
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
DEVICE_METRICS = [m.name for m in METRICS.values() if not (m.is_host or m.is_derived)]


@pytest.fixture
def case(prometheus_server: PrometheusServer) -> Case:
    return Case(prometheus_server)


def load(case: Case, text: str) -> None:
    for name, labels, value in _LINE.findall(text):
        given = {**dict(_LABEL.findall(labels)), "__name__": name, "instance": "node7.example:9835"}
        case.write(given, grid(10), [float(value)] * 10)


def raw(text: str, name: str) -> float:
    (value,) = re.findall(rf"^{name}\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
    return float(value)


def devices(case: Case) -> tuple[DeviceReading, ...]:
    return case.source().latest(DEVICE_METRICS, NOW).devices


@pytest.mark.parametrize("part", ["h100-80gb", "h100-mig", "l40s"])
def test_nvidia_gpu_exporter_files_give_one_card_with_its_values(reference: Path, case: Case, part: str) -> None:
    folder = reference / "data/gpu_exporter_metrics/nvidia_gpu_exporter"
    (path,) = folder.glob(f"*{part}*.metrics")
    text = path.read_text()
    load(case, text)
    (device,) = devices(case)
    expected = {
        "gpu_memory_used_bytes": raw(text, "nvidia_smi_memory_used_bytes"),
        "gpu_memory_total_bytes": raw(text, "nvidia_smi_memory_total_bytes"),
        "power_watts": raw(text, "nvidia_smi_power_draw_watts"),
        "temperature_celsius": raw(text, "nvidia_smi_temperature_gpu"),
        "sm_clock_hertz": raw(text, "nvidia_smi_clocks_current_sm_clock_hz"),
    }
    if "mig" not in part:
        expected["gpu_utilization"] = raw(text, "nvidia_smi_utilization_gpu_ratio")
        expected["memory_copy_utilization"] = raw(text, "nvidia_smi_utilization_memory_ratio")
    assert device.values == expected
    assert device.device.label == "node7/0"
    assert device.device.uuid == "gpu-00000000-0000-0000-0000-000000000000"
    assert device.job_labels == ()


def test_dcgm_slices_of_one_card_are_three_devices(reference: Path, case: Case) -> None:
    text = (reference / "data/gpu_exporter_metrics/dcgm_h100_mig_k8s_issue512.prom").read_text()
    load(case, text)
    found = {each.device.label: each for each in devices(case)}
    assert set(found) == {f"gsrh100-074/0/{piece}" for piece in re.findall(r'GPU_I_ID="(\d+)"', text)}
    assert all(each.values == {"graphics_engine_activity": 0.0} for each in found.values())
    assert {each.device.slice_profile for each in found.values()} == {"1g.10gb"}


def test_dcgm_fields_that_no_metric_uses_make_no_device(reference: Path, case: Case) -> None:
    load(case, (reference / "data/gpu_exporter_metrics/dcgm_v100_issue250.prom").read_text())
    (device,) = devices(case)
    assert (device.device.label, device.values) == ("r6i3n0/0", {"gpu_utilization": 0.0})


def test_single_lines_of_the_field_give_what_they_say(reference: Path, case: Case) -> None:
    text = (reference / "data/gpu_exporter_metrics/other_lines.txt").read_text()
    load(case, text)
    found = {each.device.label: each for each in devices(case)}
    assert found["dcgm-exporter-4flp2/0/1"].values == {"graphics_engine_activity": 0.959228}
    assert found["424773df46e0/0"].values == {"gpu_utilization": 0.0}
    assert all(each.job_labels == () for each in found.values())


def test_lower_case_lines_have_their_host_from_the_target(reference: Path, case: Case) -> None:
    lines = (reference / "data/gpu_exporter_metrics/other_lines.txt").read_text().splitlines()
    load(case, "\n".join(line for line in lines if line.startswith("dcgm_")))
    (device,) = devices(case)
    assert (device.device.label, device.values) == ("node7/1/1", {"graphics_engine_activity": 0.06868})
