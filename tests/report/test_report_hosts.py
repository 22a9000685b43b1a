"""CPU and host memory in a report."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from data.model import WindowReading
from data.report import JobReport, UseSource, build_report
from settings import JudgementSettings
from tests.report.job_builders import START, a_job, a_reading, host_stats

LIMITS = JudgementSettings()


def report(job: Any, *readings: WindowReading | None) -> JobReport:
    return build_report(job, *readings, now=START + timedelta(hours=5), limits=LIMITS)


def test_host_numbers_of_another_job_do_not_count() -> None:
    other = host_stats("h014", cores=96, busy=50, peak_gib=10, given_gib=100, label="777")
    found = report(a_job(), a_reading(other))
    assert found.cpu.value is None
    assert found.host_source is UseSource.NONE


def test_host_numbers_come_by_the_name_of_the_cgroup_of_newer_slurm() -> None:
    host = host_stats("h014", cores=96, busy=48, peak_gib=10, given_gib=100, label="s4N1RKR1N2JG00")
    assert report(a_job(sluid="s4N1RKR1N2JG00"), a_reading(host)).cpu.value == pytest.approx(0.5)


def test_a_cgroup_without_a_limit_takes_slurms_number() -> None:
    host = host_stats("h014", cores=96, busy=50, peak_gib=100, given_gib=float(1 << 33))
    found = report(a_job(memory_gib=1000), a_reading(host))
    assert found.memory.value == pytest.approx(0.1)


def test_a_counter_read_at_its_edges_is_not_above_one() -> None:
    host = host_stats("h014", cores=96, busy=96.1, peak_gib=100, given_gib=1000)
    found = report(a_job(), a_reading(host))
    assert found.cpu.value == 1.0
    assert report(a_job(), a_reading(host_stats("h014", cores=96, busy=98, peak_gib=1, given_gib=2))).cpu.is_implausible


def test_host_readings_may_come_on_their_own() -> None:
    host = a_reading(host_stats("h014", cores=96, busy=48, peak_gib=100, given_gib=1000))
    found = report(a_job(), None, host)
    assert found.cpu.value == pytest.approx(0.5)
    assert found.host_source is UseSource.SERIES


def test_a_node_without_host_numbers_leaves_the_job_not_judged() -> None:
    job = a_job(nodes=("n1", "n2"), gpus=0, cpus=64)
    found = report(job, a_reading(host_stats("n1", cores=32, busy=1, peak_gib=1, given_gib=500)))
    assert found.host_nodes_measured == 1
    assert found.judgements["cpu"].reason == "partly measured"
