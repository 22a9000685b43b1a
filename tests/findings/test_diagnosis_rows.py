"""The diagnosis table, row by row, each just inside and just outside of its limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.findings import MetricRow, diagnose
from data.findings.diagnosis import DIAGNOSES
from data.gpu_models import gpu_model
from data.metrics.registry import METRICS
from data.report import Swing
from settings import FindingLimits

LIMITS = FindingLimits()
H100, A40, P100 = gpu_model("h100"), gpu_model("a40"), gpu_model("p100")
NVLINK = 450e9


def row(utilization: float | None, model: Any = H100, **values: Any) -> MetricRow:
    extra = {
        name: values.pop(name) for name in ("gpu_count", "cpu_utilization", "swing", "idle_share") if name in values
    }
    return MetricRow(values, utilization, model=model, **extra)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (row(0.0), {"idle"}),
        (row(0.0005, idle_share=1.0), {"idle"}),  # profiling fields are a hair above 0
        (row(0.0, power_watts=149.0), {"idle"}),
        (row(0.0, power_watts=151.0), set()),  # signals disagree
        (row(0.0, model=None, power_watts=600.0), {"idle"}),  # no idle power is known
        (row(0.0, sm_activity=0.3), set()),
        (row(0.0, graphics_engine_activity=0.3), set()),
        (row(0.0, memory_copy_utilization=0.3), set()),
        (row(0.0, tensor_activity=0.02), set()),
        (row(None), set()),
        (row(None, sm_activity=0.0), set()),
        (row(0.49, cpu_utilization=0.9), {"input_bound"}),
        (row(0.49, cpu_utilization=0.89), set()),
        (row(0.50, cpu_utilization=0.95), set()),
        (row(0.49), set()),
        (row(0.3, swing=Swing(0.2, 0.2)), {"input_bound"}),
        (row(0.3, swing=Swing(0.6, 0.19)), set()),
        (row(0.3, swing=Swing(0.19, 0.5)), set()),
        (row(0.70, sm_activity=0.39), {"small_kernels"}),
        (row(0.69, sm_activity=0.39), set()),
        (row(0.70, sm_activity=0.40), set()),
        (row(0.99), set()),
        (row(0.9, sm_activity=0.60, sm_occupancy=0.19), {"low_occupancy"}),
        (row(0.9, sm_activity=0.59, sm_occupancy=0.19), set()),
        (row(0.9, sm_activity=0.60, sm_occupancy=0.20), set()),
        (row(0.9, sm_activity=0.9), set()),
        (row(0.7, tensor_activity=0.019, fp64_activity=0.049), {"no_tensor_cores"}),
        (row(0.7, tensor_activity=0.02, fp64_activity=0.0), set()),
        (row(0.7, tensor_activity=0.0, fp64_activity=0.05), set()),
        (row(0.7, tensor_activity=0.0), set()),  # FP64 not measured
        (row(0.7, model=P100, tensor_activity=0.0, fp64_activity=0.0), set()),
        (row(0.7, model=None, tensor_activity=0.0, fp64_activity=0.0), set()),
        (row(0.9, model=A40, fp64_activity=0.10), {"double_precision"}),
        (row(0.9, model=A40, fp64_activity=0.09), set()),
        (row(0.9, model=H100, fp64_activity=0.5), set()),
        (row(0.9, model=None, fp64_activity=0.5), set()),
        (row(0.9, dram_activity=0.60, tensor_activity=0.19), {"memory_bound"}),
        (row(0.9, dram_activity=0.59, tensor_activity=0.19), set()),
        (row(0.9, dram_activity=0.60, tensor_activity=0.20), set()),
        (row(0.9, dram_activity=0.9), set()),
        (row(0.5, gpu_count=2, sm_activity=0.39, nvlink_tx_bytes_per_second=NVLINK / 2), {"communication_bound"}),
        (row(0.5, gpu_count=2, sm_activity=0.39, pcie_rx_bytes_per_second=32e9), {"communication_bound"}),
        (row(0.5, gpu_count=2, sm_activity=0.39, nvlink_tx_bytes_per_second=NVLINK / 2.1), set()),
        (row(0.5, gpu_count=1, sm_activity=0.39, nvlink_tx_bytes_per_second=NVLINK), set()),
        (row(0.5, gpu_count=2, sm_activity=0.40, nvlink_tx_bytes_per_second=NVLINK), set()),
        (row(0.5, model=None, gpu_count=2, sm_activity=0.1, nvlink_tx_bytes_per_second=NVLINK), set()),
        (row(0.5, gpu_count=2, sm_activity=0.1), set()),
    ],
)
def test_a_row_is_diagnosed_by_its_limits(row: MetricRow, found: set[str]) -> None:
    assert set(diagnose(row, LIMITS)) == found


def test_a_row_can_have_several() -> None:
    both = row(0.95, sm_activity=0.2, tensor_activity=0.0, fp64_activity=0.0)
    assert set(diagnose(both, LIMITS)) == {"small_kernels", "no_tensor_cores"}


def test_power_of_the_whole_card_says_nothing_of_a_slice() -> None:
    idle_slice = MetricRow({"power_watts": 600.0}, 0.0, model=H100, is_slice=True)
    assert diagnose(idle_slice, LIMITS) == ("idle",)


metric = st.sampled_from(sorted(METRICS))


@given(st.dictionaries(metric, st.none()), st.sampled_from([None, H100, A40]))
def test_nothing_measured_is_never_diagnosed(values: dict[str, None], model: Any) -> None:
    assert diagnose(MetricRow(values, None, model=model, gpu_count=8), LIMITS) == ()


@given(st.dictionaries(metric, st.floats(0, 1)), st.none() | st.floats(0, 1), st.sampled_from(sorted(DIAGNOSES)))
def test_a_diagnosis_needs_the_metrics_that_it_names(
    values: dict[str, float], utilization: float | None, name: str
) -> None:
    needed = {
        "small_kernels": ("sm_activity",),
        "low_occupancy": ("sm_activity", "sm_occupancy"),
        "no_tensor_cores": ("tensor_activity", "fp64_activity"),
        "double_precision": ("fp64_activity",),
        "memory_bound": ("dram_activity", "tensor_activity"),
        "communication_bound": ("sm_activity",),
    }.get(name, ())
    if name in diagnose(MetricRow(values, utilization, model=H100, gpu_count=2), LIMITS):
        assert all(one in values for one in needed)
        assert utilization is not None or name not in ("idle", "input_bound", "small_kernels", "no_tensor_cores")
