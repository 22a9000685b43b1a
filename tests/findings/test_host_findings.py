"""Findings about cores, host memory and the time limit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from data.findings import JobFacts, PartitionFacts
from data.findings.sbatch import memory_size, suggested_memory_gib, suggested_seconds
from data.model import ExitCode, JobUsage
from settings import JudgementSettings
from tests.findings.facts_builders import NODE, facts_of, found_in
from tests.report.job_builders import GIB, a_job, host_stats

CPU: dict[str, Any] = {"gpus": 0, "gpu_type": None, "cpus": 32, "memory_gib": 100, "nodes": ("c1",)}


def cpu_job(*, busy: float = 16, peak_gib: float = 90, partition: PartitionFacts = NODE, **more: Any) -> JobFacts:
    job = a_job(**(CPU | more))
    host = host_stats("c1", cores=job.allocated.cpus or 0, busy=busy, peak_gib=peak_gib, given_gib=100)
    return facts_of(job, host, partition=partition)


def test_low_cpu_use_of_a_cpu_job() -> None:
    one = found_in(cpu_job(busy=16))["cpu_low"]
    assert one.title == "50 % of the CPU time was used"
    assert "16.0 of 32 cores" in one.evidence


def test_low_cpu_use_of_a_gpu_job_is_not_a_finding() -> None:
    host = host_stats("h014", cores=96, busy=5, peak_gib=900, given_gib=1000)
    assert "cpu_low" not in found_in(facts_of(a_job(), host))


@pytest.mark.parametrize(
    ("busy", "found"), [(1, True), (0.85, True), (0.84, False), (1.1, True), (1.2, False), (4, False)]
)
def test_a_serial_job_keeps_one_core_busy(busy: float, found: bool) -> None:
    findings = found_in(cpu_job(busy=busy))
    assert ("serial" in findings) == found
    assert ("cpu_low" in findings) == (not found)


def test_a_serial_job_is_told_the_lines() -> None:
    assert found_in(cpu_job(busy=1))["serial"].sbatch == ("+ #SBATCH --ntasks=1", "+ #SBATCH --cpus-per-task=1")


def test_impossible_cpu_use_gives_no_finding() -> None:
    assert not {"cpu_low", "serial"} & set(found_in(cpu_job(busy=64)))


def four_nodes(*busy: float | None) -> JobFacts:
    names = tuple(f"c{number}" for number in range(len(busy)))
    job = a_job(**(CPU | {"nodes": names, "cpus": 32 * len(names), "memory_gib": 400}))
    stats = [
        stat
        for name, cores in zip(names, busy, strict=True)
        if cores is not None
        for stat in host_stats(name, cores=32, busy=cores, peak_gib=90, given_gib=100)
    ]
    return facts_of(job, stats)


def test_nodes_that_did_nothing_are_named() -> None:
    one = found_in(four_nodes(30, 0, 0, 0))["unused_nodes"]
    assert one.title == "3 of 4 nodes were never used"
    assert one.sbatch == ("- #SBATCH --nodes=4", "+ #SBATCH --nodes=1")


@pytest.mark.parametrize("busy", [(30, 30, 30), (0, 0), (30, 0, None), (None, None)])
def test_unused_nodes_need_all_nodes_measured_and_one_used(busy: tuple[float | None, ...]) -> None:
    assert "unused_nodes" not in found_in(four_nodes(*busy))


def test_memory_over_ask_suggests_the_peak_and_a_margin() -> None:
    one = found_in(cpu_job(peak_gib=26))["memory_over_ask"]
    assert one.title == "26 % of the memory was used"
    assert one.sbatch == ("+ #SBATCH --mem=35G",)


@pytest.mark.parametrize(
    ("per", "lines"),
    [
        ("node", ("- #SBATCH --mem=100G", "+ #SBATCH --mem=35G")),
        ("cpu", ("- #SBATCH --mem-per-cpu=4G", "+ #SBATCH --mem-per-cpu=1200M")),
        ("gpu", ("+ #SBATCH --mem=35G",)),  # no GPUs to divide by
    ],
)
def test_memory_is_suggested_in_the_way_it_was_asked_for(per: str, lines: tuple[str, ...]) -> None:
    assert found_in(cpu_job(peak_gib=26, requested_memory_per=per))["memory_over_ask"].sbatch == lines


def test_memory_per_gpu_is_suggested_per_gpu() -> None:
    host = host_stats("h014", cores=96, busy=90, peak_gib=80, given_gib=1000)
    found = found_in(facts_of(a_job(requested_memory_per="gpu"), host))
    assert found["memory_over_ask"].sbatch == ("- #SBATCH --mem-per-gpu=125G", "+ #SBATCH --mem-per-gpu=13G")


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(cpu_job(peak_gib=70), id="at the limit"),
        pytest.param(cpu_job(peak_gib=120), id="more than given"),
        pytest.param(cpu_job(peak_gib=10, state="RUNNING"), id="still running"),
        pytest.param(cpu_job(peak_gib=10, state="FAILED"), id="did not get far"),
        pytest.param(cpu_job(peak_gib=10, state="OUT_OF_MEMORY"), id="out of memory"),
        pytest.param(facts_of(a_job(**CPU)), id="not measured"),
        pytest.param(four_nodes(30, None), id="one node not measured"),
    ],
)
def test_memory_over_ask_needs_a_whole_run_and_whole_data(facts: JobFacts) -> None:
    assert "memory_over_ask" not in found_in(facts)


def test_memory_from_slurm_says_that_it_is_one_steps() -> None:
    job = replace(a_job(**CPU), usage=JobUsage(memory_used_bytes=10 * GIB))
    one = found_in(facts_of(job))["memory_over_ask"]
    assert "largest step" in one.evidence
    assert "several tasks" in one.advice


def test_the_node_with_the_highest_peak_sets_the_memory() -> None:
    names = ("c1", "c2")
    job = a_job(**(CPU | {"nodes": names, "memory_gib": 200, "cpus": 64}))
    low = host_stats("c1", cores=32, busy=30, peak_gib=5, given_gib=100)
    high = host_stats("c2", cores=32, busy=30, peak_gib=50, given_gib=100)
    assert found_in(facts_of(job, low, high))["memory_over_ask"].sbatch == ("+ #SBATCH --mem=60G",)


def test_a_suggestion_above_the_ask_is_no_suggestion() -> None:
    job = a_job(**(CPU | {"nodes": ("c1", "c2"), "memory_gib": 200, "cpus": 64}))
    low = host_stats("c1", cores=32, busy=30, peak_gib=1, given_gib=100)
    high = host_stats("c2", cores=32, busy=30, peak_gib=95, given_gib=100)
    assert "memory_over_ask" not in found_in(facts_of(job, low, high))
    long_run = a_job(**(CPU | {"hours": 25, "time_limit_seconds": 29 * 3600.0}))
    assert "time_over_ask" not in found_in(facts_of(long_run, judgement=JudgementSettings(time_low=0.9), hours=25))


def test_out_of_memory_raises_the_ask_even_of_a_short_job() -> None:
    job = a_job(**(CPU | {"state": "OUT_OF_MEMORY", "hours": 1 / 3600, "memory_gib": 0.09765625}))
    one = found_in(facts_of(job))["out_of_memory"]
    assert one.sbatch == ("+ #SBATCH --mem=1G",)
    assert one.severity == "broken"


@pytest.mark.parametrize("where", ["exit_code", "derived_exit_code"])  # the job's own, and of a step that failed it
def test_an_exit_by_signal_125_is_out_of_memory(where: str) -> None:
    job = replace(a_job(**(CPU | {"state": "FAILED"})), **{where: ExitCode("SIGNALED", 0, 125)})
    assert found_in(facts_of(job))["out_of_memory"].sbatch == ("+ #SBATCH --mem=150G",)


@pytest.mark.parametrize(("node_gib", "lines"), [(120, ("+ #SBATCH --mem=120G",)), (101, ())])
def test_out_of_memory_never_asks_for_more_than_a_node_has(node_gib: int, lines: tuple[str, ...]) -> None:
    partition = replace(NODE, memory_per_node_bytes=node_gib << 30)
    job = a_job(**(CPU | {"state": "OUT_OF_MEMORY"}))
    assert found_in(facts_of(job, partition=partition))["out_of_memory"].sbatch == lines


def test_a_short_run_of_a_long_limit_suggests_a_shorter_one() -> None:
    one = found_in(cpu_job())["time_over_ask"]
    assert one.title == "21 % of the time limit was used"
    assert one.sbatch == ("- #SBATCH --time=1-00:00:00", "+ #SBATCH --time=07:00:00")


@pytest.mark.parametrize(
    "more",
    [
        {"time_limit_seconds": math.inf},
        {"time_limit_seconds": None},
        {"time_limit_seconds": 6 * 3600.0},
        {"state": "RUNNING"},
        {"state": "FAILED"},
        {"state": "CANCELLED"},
        {"hours": 0.05},
        {"hours": 0.2, "time_limit_seconds": 1800.0},
    ],
)
def test_time_over_ask_needs_a_completed_run_and_a_limit(more: dict[str, Any]) -> None:
    assert "time_over_ask" not in found_in(cpu_job(**more))


def test_a_time_out_suggests_more_within_the_partitions_limit() -> None:
    job = a_job(**(CPU | {"state": "TIMEOUT", "hours": 24}))
    assert found_in(facts_of(job))["timed_out"].sbatch == ("- #SBATCH --time=1-00:00:00", "+ #SBATCH --time=1-12:00:00")
    short = replace(NODE, max_time_seconds=30 * 3600)
    assert found_in(facts_of(job, partition=short))["timed_out"].sbatch[1] == "+ #SBATCH --time=1-06:00:00"
    at_most = found_in(facts_of(job, partition=replace(NODE, max_time_seconds=24 * 3600)))["timed_out"]
    assert at_most.sbatch == ()
    assert "no longer limit" in at_most.advice


def test_cores_per_gpu_above_the_nodes_share() -> None:
    one = found_in(facts_of(a_job(gpus=3, cpus=96)))["cores_per_gpu"]
    assert one.title == "32 cores for each GPU"
    assert one.sbatch == ("+ #SBATCH --cpus-per-gpu=12",)


@pytest.mark.parametrize(
    ("job", "partition"),
    [
        (a_job(gpus=8, cpus=96), NODE),
        (a_job(gpus=3, cpus=96), PartitionFacts()),
        (a_job(gpus=None, cpus=96), NODE),
        (a_job(gpus=7, cpus=96, gpu_type="1g.10gb"), NODE),
    ],
)
def test_cores_per_gpu_needs_a_share_and_more_than_it(job: Any, partition: PartitionFacts) -> None:
    assert "cores_per_gpu" not in found_in(facts_of(job, partition=partition))


def test_unused_memory_above_the_gpus_share() -> None:
    host = host_stats("h014", cores=12, busy=6, peak_gib=18, given_gib=500)
    one = found_in(facts_of(a_job(gpus=1, cpus=12, memory_gib=500), host))["memory_per_gpu"]
    assert one.title == "500 GiB of host memory for each GPU"
    assert one.sbatch == ("+ #SBATCH --mem=250G",)


def test_memory_per_gpu_needs_measured_memory() -> None:
    assert "memory_per_gpu" not in found_in(facts_of(a_job(gpus=1, memory_gib=500)))
    judgement = JudgementSettings(max_memory_per_gpu_gib=600)
    host = host_stats("h014", cores=12, busy=6, peak_gib=18, given_gib=500)
    assert "memory_per_gpu" not in found_in(facts_of(a_job(gpus=1, memory_gib=500), host, judgement=judgement))


@pytest.mark.parametrize(
    ("count", "text"),
    [(GIB, "1G"), (2 * GIB, "2G"), (2.1 * GIB, "3G"), (1.5 * GIB, "1600M"), (90 << 20, "100M")],
)
def test_memory_sizes_round_up(count: float, text: str) -> None:
    assert memory_size(count) == text


@pytest.mark.parametrize(("seconds", "wanted"), [(300, 600), (18_000, 25_200), (240, 300), (86_400, 108_000)])
def test_suggested_times_round_up(seconds: float, wanted: int) -> None:
    assert suggested_seconds(seconds, 0.25) == wanted


def test_a_suggestion_is_never_below_the_peak() -> None:
    for tenth in range(1, 20_000, 7):
        assert suggested_memory_gib(tenth / 10, 0.2) >= tenth / 10 * 1.2 - 1e-6
