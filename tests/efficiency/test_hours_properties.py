"""Properties that hold for every input of the formulas."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from data.efficiency import (
    coverage,
    cpu_efficiency,
    device_hours,
    device_mean,
    gpu_hours,
    idle_share,
    job_mean,
    saved_gpu_hours,
    share,
    total_hours,
    wait_stats,
    weighted_mean,
)

ratios = st.floats(0, 1)
maybe_ratios = st.none() | ratios
seconds = st.floats(0, 1e8)
devices = st.builds(
    device_hours,
    seconds,
    measured_share=st.none() | st.floats(0, 3),
    mean=maybe_ratios,
    idle=maybe_ratios,
    weight=st.sampled_from([0.0, 1 / 7, 3 / 7, 1.0]),
)


@given(st.lists(devices, max_size=20))
def test_the_parts_of_any_sum_add_up_and_none_is_negative(parts: list) -> None:  # type: ignore[type-arg]
    total = total_hours(parts)
    known = (total.used or 0.0, total.partly_used or 0.0, total.idle or 0.0, total.not_measured)
    assert math.isclose(sum(known), total.allocated, rel_tol=1e-9, abs_tol=1e-6)
    assert min(known) >= -1e-6
    assert total.measured <= total.allocated + 1e-6


@given(st.lists(maybe_ratios, max_size=20), st.integers(0, 30))
def test_a_job_mean_lies_within_its_bounds(values: list[float | None], total: int) -> None:
    mean = job_mean(values, total=total)
    assert mean.measured <= (mean.total or 0)
    if mean.value is None:
        assert all(value is None for value in values)
        assert mean.low is None
    else:
        assert mean.low is not None
        assert mean.high is not None
        assert -1e-12 <= mean.low <= mean.value + 1e-9
        assert mean.value <= mean.high + 1e-9 <= 1 + 1e-8


@given(st.lists(st.tuples(maybe_ratios, st.none() | st.just(0.0) | st.floats(1e-6, 1e6))))
def test_a_weighted_mean_lies_among_its_values(pairs: list[tuple[float | None, float | None]]) -> None:
    mean = weighted_mean(pairs)
    known = [value for value, weight in pairs if value is not None and weight]
    assert (mean is None) == (not known)
    if mean is not None:
        assert min(known) - 1e-9 <= mean <= max(known) + 1e-9


anything = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@given(anything, anything)
def test_a_share_is_a_ratio_marked_or_nothing(used: float | None, given_: float | None) -> None:
    part = share(used, given_)
    assert part.value is None or part.value >= 0
    assert part.countable is None or 0 <= part.countable <= 1
    assert part.is_implausible == (part.value is not None and part.value > 1)


@given(st.integers(-5, 10_000), anything, anything)
def test_coverage_is_never_negative_nor_nan(samples: int, duration: float | None, interval: float | None) -> None:
    found = coverage(samples, duration, interval)
    assert found is None or (found >= 0 and math.isfinite(found))


@given(st.integers(0, 100), st.integers(0, 100))
def test_an_idle_share_is_a_ratio(idle: int, count: int) -> None:
    found = idle_share(idle, count)
    assert (found is None) if count == 0 else 0 <= (found or 0.0) <= 1


@given(st.lists(st.tuples(st.none() | st.integers(0, 64), st.none() | st.floats(0, 1e7))))
def test_every_known_wait_is_counted_once(waits: list[tuple[int | None, float | None]]) -> None:
    stats = wait_stats(waits)
    assert sum(one.jobs for one in stats) == sum(gpus is not None and wait is not None for gpus, wait in waits)
    for one in stats:
        assert (one.p50_seconds is None) == (one.jobs == 0)
        assert one.p50_seconds is None or one.p50_seconds <= (one.p90_seconds or 0.0) + 1e-6


def test_nothing_in_gives_nothing_out() -> None:
    assert coverage(None, 3600, 30) is None
    assert device_mean(1.0, 0) is None
    assert gpu_hours(None, None) is None
    assert device_hours(None, measured_share=1, mean=1, idle=0) is None
    assert saved_gpu_hours(None, 3600, 60) is None
    assert cpu_efficiency(None, None, None).value is None
    assert weighted_mean([]) is None
    assert job_mean([]).value is None
