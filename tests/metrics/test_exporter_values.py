"""Values and labels as exporters give them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from data.metrics.devices import identity
from data.metrics.dialects import shipped_dialects
from data.metrics.prometheus_site import Site
from data.metrics.registry import METRICS
from data.metrics.values import bus_id, device_uuid, job_label, prom_value, screen, short_host

DCGM = shipped_dialects()[0]


def cases(reference: Path, parser: str) -> list[dict[str, object]]:
    listed = json.loads((reference / "cases" / "slurm_parse.json").read_text())["cases"]
    found = [case for case in listed if case["parser"] == parser]
    assert found
    return found


def test_values_of_the_http_api_are_numbers_or_absent(reference: Path) -> None:
    for case in cases(reference, "prom_value"):
        assert prom_value(case["input"]) == case["expected"], case["id"]


def test_small_values_stay_as_they_are_and_would_round_as_jobstats_stores_them(reference: Path) -> None:
    listed = json.loads((reference / "cases" / "jobstats.json").read_text())["cases"]
    found = [case for case in listed if case["kind"] == "prom_value"]
    assert found
    for case in found:
        value = prom_value([0, case["input"]["string"]])
        assert value == float(case["input"]["string"])
        assert round(value, 1) == case["expect"]["stored"]


def test_job_labels_that_name_no_job_are_no_job(reference: Path) -> None:
    for case in cases(reference, "hpc_job_label"):
        job = job_label(str(case["input"]))
        assert (None if job is None else int(job)) == case["expected"], case["id"]


def test_identity_is_node_index_and_slice(reference: Path) -> None:
    for case in cases(reference, "gpu_identity"):
        assert identity(DCGM, Site(), case["input"]) == case["expected"], case["id"]


@pytest.mark.parametrize("text", ["none", "N/A", "  ", "000", "-", "job"])
def test_words_in_a_job_label_are_no_job(text: str) -> None:
    assert job_label(text) is None


@pytest.mark.parametrize("text", ["12_7", "12+1", "s0123456789ABC"])
def test_array_het_and_sluid_forms_are_jobs(text: str) -> None:
    assert job_label(text) == text


def _weird(reference: Path) -> list[tuple[str, float]]:
    rows = json.loads((reference / "data/gpu_exporter_metrics/weird_values.json").read_text())
    flat = []
    for row in rows[:3]:
        values = row["values"]
        pairs = values.items() if isinstance(values, dict) else [(row["metric"], value) for value in values]
        flat += [(name, float(value)) for name, value in pairs if name not in ("power_usage", "fb_used")]
    return flat


def test_no_blank_or_spike_of_the_field_passes_as_a_utilization(reference: Path) -> None:
    for name, raw in _weird(reference):
        dropped: Counter[str] = Counter()
        scale = 0.01 if name == "DCGM_FI_DEV_GPU_UTIL" else 1.0
        _, kept = screen(np.array([raw]), scale, METRICS["sm_activity"], dropped)
        assert not kept.any(), (name, raw)
        assert dropped.total() == 1


def test_values_are_dropped_by_reason_and_a_rounding_hair_is_not() -> None:
    dropped: Counter[str] = Counter()
    raw = np.array([98.0, 808334905.0, 4294967295.0, np.nan, np.inf, -5.0, 100.05])
    values, kept = screen(raw, 0.01, METRICS["gpu_utilization"], dropped)
    assert values[kept].tolist() == [0.98, 1.0]
    assert dropped == {
        "implausible: gpu_utilization": 2,
        "blank: gpu_utilization": 1,
        "not a number: gpu_utilization": 2,
    }


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("gpu001.cluster.example:9400", "gpu001"),
        ("gpu001", "gpu001"),
        ("10.1.2.3:9400", "10.1.2.3"),
        ("[fe80::1]:9400", "fe80::1"),
        ("fe80::1", "fe80::1"),
    ],
)
def test_hosts_lose_port_and_domain_and_addresses_stay_whole(text: str, host: str) -> None:
    assert short_host(text) == host


def test_uuids_and_bus_ids_have_one_spelling() -> None:
    assert device_uuid("58E8F5EA-13cc") == device_uuid("GPU-58e8f5ea-13cc") == "gpu-58e8f5ea-13cc"
    assert device_uuid("MIG-1") == "mig-1"
    assert device_uuid(" ") is None
    assert bus_id("00000000:1A:00.0") == bus_id("0000:1a:00.0") == bus_id("1a:00.0") == "0000:1a:00.0"


def test_every_metric_of_a_dialect_is_in_the_registry_and_told_by_one_exporter_only() -> None:
    owner: dict[str, str] = {}
    for dialect in shipped_dialects():
        assert set(dialect.metrics) <= set(METRICS), dialect.id
        for choices in dialect.metrics.values():
            for term in (term for formula in choices for term in formula):
                assert owner.setdefault(term.name, dialect.id) == dialect.id
