"""What holds for every finding: silent on short jobs and on what was not measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data.findings import FINDINGS, GpuOffer, JobFacts, PartitionFacts, find
from data.findings.registry import finding
from data.report import build_report
from settings import FindingLimits, JudgementSettings
from tests.findings.facts_builders import NODE, facts_of, found_in, gpus
from tests.report.job_builders import GIB, START, a_job, a_reading, host_stats

SAID_BY_SLURM = {"out_of_memory", "timed_out"}  # ends, not judgements of use
FROM_THE_ALLOCATION = {"fragmented", "cores_per_gpu", "time_over_ask"}
OFFERS = replace(NODE, gpus_per_node=4, cores_per_node=8, offers=(GpuOffer("1g.10gb", "mig", 10 * GIB, 1 / 7, True),))
STATES = ("RUNNING", "COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAIL")


def test_the_registry_holds_every_finding_of_the_contract() -> None:
    assert set(FINDINGS) == {
        "idle", "unbalanced", "mostly_idle", "input_bound", "small_kernels", "low_occupancy", "no_tensor_cores",
        "double_precision",
        "memory_bound", "communication_bound", "fragmented", "too_powerful", "cpu_low", "serial", "unused_nodes",
        "memory_over_ask", "out_of_memory", "time_over_ask", "timed_out", "cores_per_gpu", "memory_per_gpu",
        "cpu_fragmented",
    }  # fmt: skip


def test_two_findings_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="idle"):
        finding("idle")(lambda facts: None)


@pytest.mark.parametrize("state", STATES)
def test_only_ends_are_found_on_jobs_under_five_minutes(state: str) -> None:
    hours = 299 / 3600
    for means in ({"gpu_utilization": 0.0}, {"gpu_utilization": 0.9, "sm_activity": 0.1}):
        job = a_job(hours=hours, state=state, gpus=4, nodes=("h014", "h015"))
        host = host_stats("h014", cores=48, busy=0, peak_gib=1, given_gib=500, hours=hours)
        facts = facts_of(job, gpus(means, means, hours=hours), host, hours=hours, partition=OFFERS)
        assert {one.id for one in find(facts)} <= SAID_BY_SLURM


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("count", [None, 0, 1, 4])
def test_without_measurements_only_the_allocation_speaks(state: str, count: int | None) -> None:
    facts = facts_of(a_job(state=state, gpus=count, nodes=("h014", "h015")), partition=OFFERS)
    assert {one.id for one in find(facts)} <= SAID_BY_SLURM | FROM_THE_ALLOCATION


ratio = st.floats(0, 1)
means = st.none() | st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("gpu_utilization", "sm_activity", "sm_occupancy", "tensor_activity", "fp64_activity", "dram_activity"), ratio
    )
    | {"gpu_memory_used_bytes": st.floats(0, 80 * GIB), "power_watts": st.floats(0, 700)},
)


@example([{"gpu_utilization": 0.0}], None, "RUNNING", 1.0, None, PartitionFacts())
@given(
    st.lists(means, max_size=4),
    st.sampled_from([None, 0, 1, 2, 4]),
    st.sampled_from(STATES),
    st.floats(0, 3),
    st.none() | st.floats(0, 400),
    st.sampled_from([PartitionFacts(), NODE, OFFERS]),
)
def test_no_job_makes_a_finding_fail_or_lose_more_than_it_held(
    devices: list[Any], count: int | None, state: str, coverage: float, busy: float | None, partition: PartitionFacts
) -> None:
    job = a_job(state=state, gpus=count)
    host = [] if busy is None else host_stats("h014", cores=96, busy=busy, peak_gib=busy, given_gib=100)
    facts = facts_of(job, gpus(*devices, coverage=coverage), host, partition=partition)
    for one in find(facts):
        assert one.gpu_hours is None or 0 <= one.gpu_hours <= _held(facts, len(devices)) + 1e-6
        assert one.title
        assert one.evidence
    check_report(facts)


def _held(facts: JobFacts, devices: int) -> float:
    """GPU-hours that the job held; without a known GPU count, those of the devices seen."""
    if facts.report.hours:
        return facts.report.hours.allocated
    return devices * (facts.report.elapsed_seconds or 0.0) / 3600


def check_report(facts: JobFacts) -> None:
    report = facts.report
    assert report.gpu_count is None or len(report.allocated_gpus) == report.gpu_count
    for part in (report.cpu, report.memory, report.gpu_memory, report.time):
        assert part.value is None or part.value >= 0
    if (hours := report.hours) is not None:
        parts = (hours.used or 0.0, hours.partly_used or 0.0, hours.idle or 0.0, hours.not_measured)
        assert sum(parts) == pytest.approx(hours.allocated)
        assert min(parts) >= -1e-9


def test_a_source_that_failed_gives_no_finding_about_use() -> None:
    report = build_report(a_job(), None, now=START + timedelta(hours=5), limits=JudgementSettings())
    found = find(JobFacts(report, FindingLimits(), JudgementSettings()))
    assert [one.id for one in found] == ["time_over_ask"]


def test_an_empty_reading_is_a_failed_one_too() -> None:
    assert set(found_in(facts_of(a_job(), reading=a_reading()))) <= FROM_THE_ALLOCATION
