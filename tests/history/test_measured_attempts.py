"""What attempts used, from samples made up for the case."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from data import js1
from data.efficiency import coverage
from data.history.measure import AttemptUse, attempts, jobs_table, usage_table
from data.history.measure.settling import settle
from data.history.measure.tracks import measured_shares
from data.model import Device, JobUsage, NodeDevices, Tres, Window
from tests.history.measured_samples import INTERVAL, START, Sampled, gpu, job, total, used

UTIL, GR, SM, POWER = "gpu_utilization", "graphics_engine_activity", "sm_activity", "power_watts"
MEMORY = "gpu_memory_used_bytes"
HOURS = ("gpu_hours_allocated", "gpu_hours_measured", "gpu_hours_used", "gpu_hours_idle", "gpu_hours_idle_measured")
BEGIN = START.timestamp()


def random_case(seed: int) -> tuple[list, Sampled]:
    """Some jobs on one node: gaps, pauses, two jobs after each other on a device."""
    chance, source, jobs = random.Random(seed), Sampled(), []
    at = START
    for number in range(1, 4):
        hours = chance.uniform(0.1, 9.0)
        one = job(number, hours, gpus=chance.randint(1, 3), start=at)
        jobs.append(one)
        for index in range(one.allocated.gpus or 0):
            count = int(hours * 3600 / INTERVAL)
            values = [chance.choice([0.0, 0.0, 0.3, 0.77, 1.0]) for _ in range(count)]
            begin = at.timestamp() + chance.uniform(0, INTERVAL)
            cut = chance.randint(0, count)
            for metric, scale in ((UTIL, 1.0), (SM, 0.5), (POWER, 400.0)):
                source.add(metric, gpu(index), str(number), begin, [value * scale for value in values[:cut]])
                later = begin + (cut + chance.randint(0, 40)) * INTERVAL
                source.add(metric, gpu(index), str(number), later, [value * scale for value in values[cut:]])
        at += timedelta(hours=hours, seconds=chance.randint(0, 900))
    return jobs, source


@examples(max_examples=10)
@given(st.integers(0, 10_000))
def test_totals_add_up_and_hours_sum_to_them(seed: int) -> None:
    jobs, source = random_case(seed)
    for use in used(jobs, source):
        hours = use.report.hours
        assert hours is not None
        parts = (hours.used or 0.0, hours.partly_used or 0.0, hours.idle or 0.0, hours.not_measured)
        assert sum(parts) == pytest.approx(hours.allocated)
        for name, whole in zip(
            HOURS, (hours.allocated, hours.measured, hours.used, hours.idle, hours.idle_measured), strict=True
        ):
            assert total(use, name) == pytest.approx(whole or 0.0, abs=1e-9), name
            by_node = sum(float(np.nansum(node[name])) for node in use.hours.by_node.values())
            assert by_node == pytest.approx(whole or 0.0, abs=1e-9), name
        given_, measured, spent, idle = (np.nan_to_num(use.hours.values[name]) for name in HOURS[:4])
        assert (spent + idle <= measured + 1e-9).all() and (spent >= 0).all() and (idle >= -1e-12).all()
        assert (measured <= given_ + INTERVAL * len(use.report.gpus) / 3600).all()


@examples(max_examples=6)
@given(st.integers(0, 10_000), st.sampled_from([1.0, 2.0, 3.0, 8.0]))
def test_any_cut_of_the_time_gives_the_same(seed: int, hours: float) -> None:
    jobs, source = random_case(seed)
    whole = used(jobs, source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts, "_chunk_seconds", lambda nodes: hours * 3600.0)
        cut = used(jobs, source)
    assert len(source.asked) > 3
    for one, other in zip(whole, cut, strict=True):
        assert one.shape == other.shape
        assert one.report.coverage == other.report.coverage
        for name, values in one.hours.values.items():
            assert np.allclose(values, other.hours.values[name], rtol=1e-9, atol=1e-12, equal_nan=True), name
        if one.profile and other.profile:
            assert one.profile.mean.tolist() == other.profile.mean.tolist()


def test_the_job_mean_is_the_plain_mean_of_device_means() -> None:
    source = Sampled()
    source.add(UTIL, gpu(0), "1", BEGIN, [1.0] * 360)
    source.add(UTIL, gpu(1), "1", BEGIN, [0.5] * 180)
    (use,) = used([job(gpus=2)], source)
    assert use.report.utilization.value == pytest.approx(0.75)
    assert use.report.coverage == pytest.approx(0.5)
    assert total(use, "gpu_hours_used") == pytest.approx(3.0 + 0.75)
    assert total(use, "gpu_hours_measured") == pytest.approx(4.5)


@pytest.mark.parametrize("label", ["1", None])
def test_suspended_time_is_left_out(label: str | None) -> None:
    source, held = Sampled(), (NodeDevices("n1", 1, (0,), None, 8, 1 << 34),)
    source.add(UTIL, gpu(0), label, BEGIN, [1.0] * 120 + [0.0] * 120 + [1.0] * 120)
    one = job(elapsed_seconds=7200.0, suspended_seconds=3600.0, devices=held)
    pause = Window(START + timedelta(hours=1), START + timedelta(hours=2))
    (use,) = used([one], source, suspensions={one.key: [pause]})
    assert (use.report.utilization.value, use.report.coverage) == (1.0, 1.0)
    assert use.shape is not None and use.shape.idle_longest_seconds == 0
    assert total(use, "gpu_hours_used") == pytest.approx(2.0) == total(use, "gpu_hours_allocated")
    assert use.hours.values["seconds"].sum() == pytest.approx(7200)


@pytest.mark.parametrize(
    "begin",
    [
        datetime(2026, 3, 28, 20, 30, tzinfo=UTC),
        datetime(2026, 10, 24, 19, 30, tzinfo=UTC),
        datetime(2026, 12, 31, 18, 30, tzinfo=UTC),
    ],
)
def test_midnight_new_year_and_summer_time_change_nothing(begin: datetime) -> None:
    source = Sampled()
    source.add(UTIL, gpu(0), "1", begin.timestamp(), [1.0] * 1080)
    (use,) = used([job(hours=9, start=begin)], source)
    assert use.hours.begin[0] == (begin - timedelta(minutes=30)).timestamp()
    assert use.hours.values["seconds"].tolist() == [1800.0, *[3600.0] * 8, 1800.0]
    assert use.hours.values["gpu_hours_used"].tolist() == pytest.approx([0.5, *[1.0] * 8, 0.5])


def test_shape_and_profile_of_a_run() -> None:
    source = Sampled()
    values = [0.0] * 20 + [1.0] * 40 + [0.0] * 40 + [0.5] * 10 + [0.0] * 10
    source.add(UTIL, gpu(0), "1", BEGIN, values)
    source.add(UTIL, gpu(1), "1", BEGIN + 7, [0.0] * 30 + [1.0] * 20 + [0.0] * 70)
    (use,) = used([job(hours=1, gpus=2)], source)
    shape, profile = use.shape, use.profile
    assert shape is not None and profile is not None
    assert (shape.idle_start_seconds, shape.idle_longest_seconds, shape.idle_end_seconds) == (600, 1200, 300)
    assert (shape.p05, shape.p50, shape.p95) == (0.0, 0.0, 1.0)
    assert shape.low_share == pytest.approx(170 / 240) and shape.high_share == pytest.approx(60 / 240)
    assert profile.step_seconds == 300
    assert profile.mean.tolist() == [0, 0, 50, 100, 100, 50, 0, 0, 0, 0, 25, 0]
    assert profile.maximum.tolist() == [0, 0, 100, 100, 100, 100, 0, 0, 0, 0, 50, 0]
    assert profile.measured.tolist() == [100] * 12


def test_a_gap_is_null_in_the_profile_and_no_idle_time() -> None:
    source = Sampled()
    source.add(UTIL, gpu(0), "1", BEGIN, [0.0] * 20)
    source.add(UTIL, gpu(0), "1", BEGIN + 1800, [0.0] * 60)
    (use,) = used([job(hours=1)], source)
    assert use.shape is not None and use.profile is not None
    assert (use.shape.idle_longest_seconds, use.report.coverage) == (1800, pytest.approx(80 / 120))
    row = jobs_table([use], collected_at=START, account_path={}).to_pylist()[0]
    assert row["profile"]["mean"] == [0, 0, None, None, None, None, 0, 0, 0, 0, 0, 0]
    assert row["gpu_hours_measured"] == pytest.approx(80 / 120)


def test_without_a_job_label_slurms_indices_join() -> None:
    source, held = Sampled(), (NodeDevices("n1", 1, (1,), None, 8, 1 << 34),)
    for index, value in ((0, 0.2), (1, 0.8)):
        source.add(UTIL, gpu(index), None, BEGIN - 3600, [0.1] * 120 + [value] * 360 + [0.1] * 120)
    (use,) = used([job(devices=held)], source)
    assert use.report.utilization.value == pytest.approx(0.8)
    assert (str(use.report.join), use.flags) == ("index", ())


def test_without_label_and_index_the_node_is_an_estimate() -> None:
    source = Sampled()
    for index, value in ((0, 0.2), (1, 0.8)):
        source.add(UTIL, gpu(index), None, BEGIN, [value] * 360)
    (use,) = used([job()], source)
    assert (use.report.utilization.value, use.flags) == (pytest.approx(0.5), ("node estimate",))
    assert total(use, "gpu_hours_used") == pytest.approx(1.5)
    assert use.profile is None


def test_jobs_that_share_a_device_are_marked() -> None:
    source = Sampled()
    for label in ("1", "2"):
        source.add(UTIL, gpu(0), label, BEGIN, [0.6] * 360)
    uses = used([job(1), job(2)], source)
    assert [use.flags for use in uses] == [("shared",), ("shared",)]


def test_a_slice_counts_by_its_weight_and_by_gr() -> None:
    source, mig = Sampled(), gpu(0, slice_id="3", profile="1g.10gb")
    source.add(UTIL, mig, "1", BEGIN, [0.0] * 360)
    source.add(GR, mig, "1", BEGIN, [0.5] * 360)
    source.add(POWER, mig, "1", BEGIN, [140.0] * 360)
    (use,) = used([job()], source)
    assert total(use, "gpu_hours_allocated") == pytest.approx(3 / 7)
    assert total(use, "gpu_hours_used") == pytest.approx(1.5 / 7)
    assert total(use, "energy_joules") == pytest.approx(20.0 * 3 * 3600)


def test_a_requeued_job_has_its_own_numbers_per_attempt() -> None:
    source = Sampled()
    source.add(UTIL, gpu(0), "1", BEGIN, [1.0] * 120)
    source.add(UTIL, gpu(0), "1", BEGIN + 3610, [0.5] * 120)
    source.add(SM, gpu(0), "1", BEGIN, [0.4] * 120)
    source.add(SM, gpu(0), "1", BEGIN + 3610, [0.2] * 120)
    first, second = job(hours=1), job(hours=1, start=START + timedelta(seconds=3610), restart_count=1)
    one, two = used([first, second], source)
    assert (one.report.utilization.value, two.report.utilization.value) == (pytest.approx(1.0), pytest.approx(0.5))
    assert (one.report.metrics[SM].value, two.report.metrics[SM].value) == (pytest.approx(0.4), pytest.approx(0.2))


@pytest.mark.parametrize(("number", "peak"), [(0, 30.0), (1, 20.0)])
def test_the_peak_of_an_attempt_is_not_that_of_another_one_read_in_an_earlier_pass(number: int, peak: float) -> None:
    source = Sampled()
    source.add(MEMORY, gpu(0), "1", BEGIN, [30.0] * 118 + [90.0] * 2)
    source.add(MEMORY, gpu(0), "1", BEGIN + 3610, [20.0] * 120)
    attempts = (
        job(hours=118 / 120, state="REQUEUED"),
        job(hours=1, start=START + timedelta(seconds=3610), restart_count=1),
    )
    (use,) = used([attempts[number]], source)
    assert [one.maximum(MEMORY) for one in use.report.gpus] == [peak]


def test_a_running_attempt_is_read_from_the_hour_asked_for() -> None:
    source = Sampled()
    source.add(UTIL, gpu(0), "1", BEGIN, [0.5] * 1200)
    now = START + timedelta(hours=10)
    one = job(hours=10, state="RUNNING", end_time=None, elapsed_seconds=None)
    (use,) = used([one], source, now=now, since=now - timedelta(hours=2))
    assert min(window.start for window in source.asked) == datetime(2026, 3, 29, 6, tzinfo=START.tzinfo)
    assert use.hours.values["gpu_hours_used"].tolist() == pytest.approx([0.5, 0.5, 800 / 3600 / 2])
    assert (use.profile, use.findings) == (None, ())


def test_nothing_measured_is_null_and_not_zero() -> None:
    (use,) = used([job()], Sampled())
    row = jobs_table([use], collected_at=START, account_path={}).to_pylist()[0]
    assert (row["gpu_hours_allocated"], row["gpu_hours_measured"]) == (pytest.approx(3.0), 0.0)
    names = ("gpu_hours_used", "gpu_hours_idle", "utilization", "idle_share", "profile", "energy_joules", "sm_activity")
    assert [row[name] for name in names] == [None] * len(names)
    hour = usage_table([use], collected_at=START, account_path={}).to_pylist()[0]
    assert (hour["gpu_hours_used"], hour["energy_joules"], hour["gpu_source"]) == (None, None, "none")


def test_a_summary_is_spread_evenly_and_marked() -> None:
    text = js1.encode(js1.Summary((js1.NodeSummary("n1", gpus=(js1.GpuSummary(0, 0.6, 100, 200),)),), 10_800.0, 1))
    (use,) = used([job(admin_comment=text)], Sampled())
    assert (use.source, use.is_apportioned, use.flags) == ("JS1 summary", True, ("apportioned",))
    share = use.hours.values["gpu_hours_used"] / use.hours.values["gpu_hours_allocated"]
    assert share.tolist() == pytest.approx([0.6] * 4)
    assert np.isnan(use.hours.values["gpu_hours_idle"]).all()


def test_slurms_own_utilization_is_spread_evenly_too() -> None:
    (use,) = used([job(usage=JobUsage(gpu_utilization=0.25))], Sampled())
    assert (use.source, total(use, "gpu_hours_used")) == ("Slurm accounting", pytest.approx(0.75))


def test_a_job_without_gpus_has_none_and_one_without_a_count_is_not_known() -> None:
    without, unknown = job(1, gpus=0), job(2, allocated=Tres(8), devices=())
    none, nothing = used([without, unknown], Sampled())
    assert none.hours.values["gpu_hours_allocated"].tolist() == [0.0] * 4
    assert np.isnan(nothing.hours.values["gpu_hours_allocated"]).all()


def test_an_end_before_the_start_is_flagged_and_has_no_hours() -> None:
    (use,) = used([job(hours=-1, elapsed_seconds=0.0)], Sampled(), now=START)
    assert "end before start" in use.flags and len(use.hours.begin) == 0
    assert jobs_table([use], collected_at=START, account_path={}).num_rows == 1


def test_many_jobs_cost_no_more_requests_than_one() -> None:
    source = Sampled()
    source.add(POWER, gpu(0), "1", BEGIN, [300.0] * 360)
    used([job(1)], source)
    one = source.requests
    used([job(number) for number in range(1, 50)], source)
    assert source.requests == 2 * one


@pytest.mark.parametrize(
    ("metric", "value", "joules"), [(POWER, 300.0, 3_240_000), ("energy_joules", 6000.0, 2_160_000)]
)
def test_energy_is_of_the_power_and_else_of_the_counter(metric: str, value: float, joules: float) -> None:
    source = Sampled()
    source.add(UTIL, gpu(0), "1", BEGIN, [0.5] * 360)
    source.add(metric, gpu(0), "1", BEGIN, [value] * 360)
    (use,) = used([job()], source)
    assert total(use, "energy_joules") == pytest.approx(joules)
    assert sum(use.energy.values()) == pytest.approx(joules)


def test_devices_of_two_exporters_under_one_label_do_not_count_twice() -> None:
    source = Sampled()
    source.add(UTIL, gpu(0), "1", BEGIN, [0.5] * 360)
    source.add(UTIL, gpu(0), "1", BEGIN + 1, [0.5] * 350)
    (use,) = used([job()], source)
    assert (use.report.coverage, use.report.utilization.value) == (1.0, pytest.approx(0.5))


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10), st.integers(0, 2)), min_size=1, max_size=12),
    st.lists(st.floats(0, 20), min_size=3, max_size=3),
)
def test_settling_meets_every_total_within_the_room(cells: list[tuple[float, float, int]], totals: list[float]) -> None:
    wanted, room, owner = (np.array(column) for column in zip(*cells, strict=True))
    owner = owner.astype(np.int64)
    space = np.bincount(owner, room, minlength=3)
    parts = settle(wanted, room, np.minimum(np.array(totals), space), owner)
    assert np.allclose(np.bincount(owner, parts, minlength=3), np.minimum(np.array(totals), space), atol=1e-7)
    assert (parts <= room + 1e-7).all() and (parts >= -1e-12).all()


def use_of(device: Device) -> AttemptUse:
    source = Sampled()
    source.add(UTIL, device, "1", BEGIN, [0.5] * 360)
    return used([job()], source)[0]


def test_rows_fit_the_schemas_and_name_the_model() -> None:
    use = use_of(gpu(0))
    table = jobs_table([use], collected_at=START, account_path={"lab": ("faculty", "lab")})
    row = table.to_pylist()[0]
    assert (row["gpu_model"], row["gpus_measured"], row["join"]) == ("A100 80GB", 1, "job_label")
    assert row["devices"][0]["uuid"] == "gpu-n1-0" and row["devices"][0]["gpu_utilization"] == pytest.approx(0.5)
    hours = usage_table([use], collected_at=START, account_path={}).to_pylist()
    assert [hour["by_node"][0]["node"] for hour in hours] == ["n1"] * 4
    assert sum(hour["by_node"][0]["gpu_hours_used"] for hour in hours) == pytest.approx(1.5)


@pytest.mark.parametrize("samples", [0, 1, 2, 9, 10, 11, 60, 118, 119, 120, 121, 122, 200])
@pytest.mark.parametrize(("seconds", "interval"), [(3600.0, 30.0), (59.0, 30.0), (61.0, 30.0), (3600.0, None)])
def test_shares_of_many_devices_are_their_coverage(samples: int, seconds: float, interval: float | None) -> None:
    one = coverage(samples, seconds, interval)
    columns = (np.array([float(samples)]), np.array([seconds]), np.array([np.nan if interval is None else interval]))
    assert measured_shares(*columns).tolist() == [0.0 if one is None else min(1.0, one)]
