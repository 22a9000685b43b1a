"""Sums of all devices in one question: of which devices a metric stands in for another, added up or read raw."""

from __future__ import annotations

import pytest

from data.metrics.prometheus_sum_query import Arm, shared_out
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


def test_a_question_is_two_requests_of_about_the_same_cost_and_both_are_in_the_answer(case: Case) -> None:
    case.write(dcgm(UTIL), grid(20), [50] * 20)
    source = case.source(scrape_interval_seconds=30)
    source.sums([ASK], moment(T0 + 600))
    before = source.requests
    asks = [SumAsk("gpu_utilization", window, ("sum", "count", "maximum")) for window in (600.0, 150.0)]
    found = source.sums(asks, moment(T0 + 600))
    assert source.requests - before == 2
    assert {(one.window_seconds, one.count, one.sum, one.maximum) for one in found.sums} == {
        (600.0, 20, 10.0, 0.5),
        (150.0, 5, 2.5, 0.5),
    }


def test_the_parts_of_a_question_cost_about_the_same_and_hold_each_arm_once() -> None:
    arms = [Arm(None, "m", seconds, str(n), "") for n in range(3) for seconds in (14400.0, 2700.0)]  # type: ignore[arg-type]
    parts = shared_out(arms, 2)
    costs = sorted(sum(arm.window_seconds for arm in part) for part in parts)
    assert sorted(map(id, [arm for part in parts for arm in part])) == sorted(map(id, arms))
    assert costs == [14400 + 3 * 2700, 2 * 14400]
    assert shared_out(arms[:1], 2) == [arms[:1]]
