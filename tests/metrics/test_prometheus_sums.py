"""Sums of all devices in one question: of which devices a metric stands in for another, added up or read raw."""

from __future__ import annotations

import pytest

from data.model import SumAsk
from tests.metrics.series_builders import T0, Case, dcgm, grid, moment
from tests.services.prometheus import PrometheusServer

UTIL, GR, FB = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_FB_USED"
MIG = {"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.10gb"}
ASK = SumAsk("graphics_engine_activity", 600.0, instead_of="gpu_utilization")


@pytest.fixture
def case(prometheus_server: PrometheusServer) -> Case:
    return Case(prometheus_server)


@pytest.mark.parametrize("is_util_exported", [True, False])
@pytest.mark.parametrize("is_one_impossible", [True, False])
def test_gr_stands_in_on_slices_and_for_all_where_there_is_no_util(
    case: Case, is_util_exported: bool, is_one_impossible: bool
) -> None:
    values = [0.5] * 19 + [808334905.0 if is_one_impossible else 0.5]
    for gpu, labels in (("0", {}), ("1", MIG)):
        case.write(dcgm(GR, gpu=gpu, **labels), grid(20), values)
        case.write(dcgm(FB, gpu=gpu, **labels), grid(20), [1000] * 20)
    if is_util_exported:
        case.write(dcgm(UTIL), grid(20), [50] * 20)
    found = case.source(scrape_interval_seconds=30).sums([ASK], moment(T0 + 600))
    count = 19 if is_one_impossible else 20
    wanted = {"3": count} if is_util_exported else {None: count, "3": count}
    assert {one.device.slice_id: one.count for one in found.sums} == wanted
    assert all(one.sum == pytest.approx(0.5 * count) for one in found.sums)
