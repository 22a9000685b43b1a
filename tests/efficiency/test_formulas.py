"""The formulas, each with its table of inputs and answers."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from data.efficiency import (
    GPU_CLASSES,
    CoverageState,
    GpuHours,
    Judgement,
    Level,
    Mean,
    coverage,
    coverage_state,
    cpu_efficiency,
    device_hours,
    device_mean,
    device_weight,
    expected_samples,
    gpu_class,
    gpu_hours,
    idle_share,
    is_too_short,
    job_mean,
    judge_mean,
    judge_share,
    memory_efficiency,
    saved_gpu_hours,
    share,
    slice_profile,
    total_hours,
    total_share,
    utilization_gap,
    wait_seconds,
    wait_stats,
    weighted_mean,
)

T = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("duration", "interval", "samples"),
    [(3600, 30, 120), (3629, 30, 120), (29, 30, 0), (0, 30, 0), (-5, 30, 0), (60, 0, None), (None, 30, None)],
)
def test_expected_samples_are_whole_intervals(duration: float | None, interval: float, samples: int | None) -> None:
    assert expected_samples(duration, interval) == samples


@pytest.mark.parametrize(
    ("samples", "duration", "share_seen"),
    [
        (120, 3600, 1.0),
        (119, 3600, 1.0),  # left-open ranges
        (121, 3600, 1.0),
        (118, 3600, 118 / 120),
        (240, 3600, 2.0),
        (0, 3600, 0.0),
        (1, 59, None),  # too short: not partial
        (0, 59, None),
    ],
)
def test_one_sample_more_or_less_is_not_a_gap(samples: int, duration: float, share_seen: float | None) -> None:
    assert coverage(samples, duration, 30) == share_seen


def test_under_two_intervals_is_too_short_and_an_unknown_interval_is_not() -> None:
    assert is_too_short(59, 30)
    assert not is_too_short(60, 30)
    assert not is_too_short(1, None)


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (None, CoverageState.UNKNOWN),
        (0.0, CoverageState.PARTIAL),
        (0.79, CoverageState.PARTIAL),
        (0.8, CoverageState.WHOLE),
        (1.05, CoverageState.WHOLE),
        (1.06, CoverageState.DISAGREES),
    ],
)
def test_coverage_above_its_maximum_is_a_fault(value: float | None, state: CoverageState) -> None:
    assert coverage_state(value, minimum=0.8, maximum=1.05) is state


def test_too_short_is_not_called_partial() -> None:
    assert coverage_state(None, minimum=0.8, maximum=1.05, too_short=True) is CoverageState.TOO_SHORT


def test_device_mean_needs_samples() -> None:
    assert device_mean(60.0, 120) == 0.5
    assert device_mean(0.0, 0) is None
    assert device_mean(math.nan, 3) is None


def test_job_mean_is_of_measured_devices_with_bounds() -> None:
    assert job_mean([1.0, None]) == Mean(1.0, 1, 2, 0.5, 1.0)
    assert job_mean([1.0, None]).is_partial
    assert job_mean([0.2, 0.4]) == Mean(pytest.approx(0.3), 2, 2, pytest.approx(0.3), pytest.approx(0.3))  # type: ignore[arg-type]
    assert job_mean([None, None]) == Mean(None, 0, 2)
    assert job_mean([300.0, None], most=None).high is None


def test_job_mean_is_plain_however_many_samples_each_device_has() -> None:
    long_idle, short_busy = device_mean(0, 1000), device_mean(10, 10)
    assert job_mean([long_idle, short_busy]).value == 0.5


def test_weighted_mean_of_the_contract() -> None:
    assert weighted_mean([(0.8, 40), (0.4, 60)]) == pytest.approx(0.56)
    assert weighted_mean([(None, 40), (0.4, 60), (0.9, None), (0.9, 0)]) == pytest.approx(0.4)
    assert weighted_mean([(None, 40)]) is None


def test_the_gap_needs_both_sides() -> None:
    assert utilization_gap(0.95, 0.2) == pytest.approx(0.75)
    assert utilization_gap(0.1, 0.3) == pytest.approx(-0.2)
    assert utilization_gap(None, 0.2) is None
    assert utilization_gap(0.9, None) is None


def test_idle_share_is_none_where_idleness_is_not_counted() -> None:
    assert idle_share(3, 4) == 0.75
    assert idle_share(None, 4) is None
    assert idle_share(0, 0) is None


@pytest.mark.parametrize(
    ("profile", "model", "weight", "is_known"),
    [
        ("1g.10gb", "NVIDIA H100 80GB HBM3", 1 / 7, True),
        ("3g.40gb", "a100", 3 / 7, True),
        ("1g.5gb", None, 1 / 7, True),
        ("2g.12gb", None, 2 / 4, True),
        ("2g.12gb", "NVIDIA A30", 2 / 4, True),
        ("a30_1g.6gb", None, 1 / 4, True),
        ("1g.24gb", None, 1.0, False),  # of H100 NVL one of seven, of RTX PRO 6000 one of four
        ("1g.24gb", "NVIDIA H100 NVL", 1 / 7, True),
        ("1g.18gb", "NVIDIA H200", 1 / 7, True),
        ("1g.23gb", "NVIDIA B200", 1 / 7, True),
        ("1g.99gb", None, 1.0, False),
        ("1g.10gb", "Tesla V100-SXM2-32GB", 1.0, False),
        ("h100", None, 1.0, True),
        (None, None, 1.0, True),
        ("1g.10gb+me", "h100", 1 / 7, True),
    ],
)
def test_a_slice_weighs_its_share_of_the_model(
    profile: str | None, model: str | None, weight: float, is_known: bool
) -> None:
    found = device_weight(profile, model)
    assert found.value == pytest.approx(weight)
    assert found.is_known is is_known


def test_a_known_slice_of_unknown_profile_counts_whole_and_says_so() -> None:
    assert not device_weight(None, "h100", is_slice=True).is_known


def test_slice_profile_is_found_in_any_spelling() -> None:
    assert slice_profile(None, "nvidia_a100_3g.20gb") == "3g.20gb"
    assert slice_profile("MIG 1g.10gb") == "1g.10gb"
    assert slice_profile("h100", "a100-sxm4-80gb") is None


def test_gpu_hours_need_both_numbers() -> None:
    assert gpu_hours(3600, 8) == 8
    assert gpu_hours(None, 8) is None
    assert gpu_hours(3600, None) is None


def test_hours_of_a_device_split_into_four_parts() -> None:
    parts = device_hours(10 * 3600, measured_share=0.5, mean=0.4, idle=0.2)
    assert parts == GpuHours(10, 5, 2, 1, 5)
    assert parts.wasted == 3
    assert parts.partly_used == 2
    assert parts.not_measured == 5


def test_an_unmeasured_device_has_no_used_hours_rather_than_none_used() -> None:
    parts = device_hours(3600, measured_share=1.0, mean=None, idle=None)
    assert parts == GpuHours(1.0)
    assert parts.used is None
    assert parts.wasted is None
    assert parts.partly_used is None


def test_hours_without_idleness_keep_their_own_idle_coverage() -> None:
    known = device_hours(3600, measured_share=1.0, mean=0.0, idle=1.0)
    unknown = device_hours(3600, measured_share=1.0, mean=0.5, idle=None)
    both = total_hours([known, unknown, None])
    assert both.idle == 1.0
    assert both.idle_coverage == 0.5
    assert both.partly_used == 0.5


@pytest.mark.parametrize(
    ("limit", "elapsed", "saved"),
    [(24 * 3600, 2 * 3600, 80.0), (3600, 3600, 0.0), (None, 60, None), (math.inf, 60, None), (3600, None, None)],
)
def test_a_cancel_saves_half_the_limit_less_what_ran(
    limit: float | None, elapsed: float | None, saved: float | None
) -> None:
    assert saved_gpu_hours(8, limit, elapsed) == saved


def test_more_than_given_is_marked_and_left_out_of_means() -> None:
    # ReqCPUS 2, UserCPU 1-16:59:47, Elapsed 00:26:34
    part = cpu_efficiency(147_587, 2, 1594)
    assert part.value == pytest.approx(46.29, abs=0.01)
    assert part.is_implausible
    assert part.countable is None


@pytest.mark.parametrize(
    ("cpu_seconds", "value"), [(7200, 1.0), (7230, 1.0), (7260, 1.0), (7261, 7261 / 7200), (7000, 7000 / 7200)]
)
def test_all_cores_busy_is_one_within_an_interval(cpu_seconds: float, value: float) -> None:
    part = cpu_efficiency(cpu_seconds, 2, 3600, slack_seconds=30)
    assert part.value == pytest.approx(value)
    assert part.is_implausible == (cpu_seconds > 7260)


def test_nothing_given_is_not_a_ratio() -> None:
    assert cpu_efficiency(0.001, 2, 0).value is None
    assert memory_efficiency(10, 0).value is None
    assert memory_efficiency(None, 10).value is None
    assert share(math.inf, 10).used is None
    assert share(-1, 10).used is None


def test_total_share_adds_only_what_is_known_on_both_sides() -> None:
    total = total_share([share(1, 4), share(None, 100), share(3, 4)])
    assert total.value == 0.5
    assert total_share([share(None, 1)]).value is None


def test_wait_runs_from_eligible_to_start() -> None:
    assert wait_seconds(T + timedelta(minutes=9), T) == 540
    assert wait_seconds(T, T + timedelta(minutes=9)) is None
    assert wait_seconds(None, T) is None


@pytest.mark.parametrize(
    ("gpus", "name"),
    [
        (0, "no GPU"),
        (1, "1 GPU"),
        (2, "2-4 GPUs"),
        (4, "2-4 GPUs"),
        (5, "5-8 GPUs"),
        (8, "5-8 GPUs"),
        (9, GPU_CLASSES[-1]),
    ],
)
def test_gpu_classes(gpus: int, name: str) -> None:
    assert gpu_class(gpus) == name


def test_waits_are_summed_up_by_class_and_unknown_ones_left_out() -> None:
    stats = wait_stats([(1, 10.0), (1, 20.0), (1, 30.0), (None, 99.0), (2, None), (16, 5.0)])
    by_class = {one.gpu_class: one for one in stats}
    assert tuple(by_class) == GPU_CLASSES
    assert (by_class["1 GPU"].jobs, by_class["1 GPU"].p50_seconds, by_class["1 GPU"].p90_seconds) == (3, 20.0, 28.0)
    assert by_class["2-4 GPUs"].p50_seconds is None
    assert by_class[GPU_CLASSES[-1]].p90_seconds == 5.0


def test_a_partial_mean_is_never_good_and_low_only_where_both_bounds_are() -> None:
    idle_and_unknown = job_mean([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None])
    busy_and_unknown = job_mean([1.0, None])
    assert judge_mean(idle_and_unknown, bad=0.15, low=0.25) == Judgement(Level.BAD, 0.15)
    assert judge_mean(job_mean([0.0, None]), bad=0.15, low=0.25).level is Level.NOT_JUDGED
    assert judge_mean(busy_and_unknown, bad=0.15, low=0.25).level is Level.NOT_JUDGED  # never praised
    assert judge_mean(Mean(0.9, 1, None), bad=0.15, low=0.25).level is Level.NOT_JUDGED


@pytest.mark.parametrize(
    ("used", "level"),
    [
        (64, Level.BAD),
        (65, Level.LOW),
        (79, Level.LOW),
        (80, Level.GOOD),
        (101, Level.NOT_JUDGED),
        (None, Level.NOT_JUDGED),
    ],
)
def test_a_share_is_judged_by_its_limits(used: float | None, level: Level) -> None:
    assert judge_share(share(used, 100), bad=0.65, low=0.8).level is level
