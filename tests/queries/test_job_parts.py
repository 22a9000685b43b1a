"""One job's report: the parts of a het job each by their own time and nodes, and nothing said of what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from data.metrics.registry import METRICS
from data.model import Job, JobUsage, Tres, WindowReading, WindowStat
from data.queries import job_report
from data.queries.job_report import JobAnswer
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node, measure
from tests.queries.cluster import ALICE, open_fakes, readings

START = NOW - timedelta(hours=2)


def part(offset: int, node: str, gpus: int, **fields: object) -> Job:
    het = {"het_job_id": 50, "het_offset": offset, "display_id": f"50+{offset}"}
    return make_job(50 + offset, node, gpus, tuple(range(gpus)), **{**het, **fields})


def asked_of(parts: Sequence[Job]) -> FakeScheduler:
    nodes = [
        make_node("gpu01"),
        make_node("gpu02", pools={"a100": 4}, cpus=48),
        make_node("cpu01", pools={}, cpus=128, partitions=("cpu",)),
    ]
    found = FakeScheduler(nodes, [])
    found.job = lambda job_id: tuple(parts)  # type: ignore[method-assign]
    return found


def answer(parts: Sequence[Job], measured: FakeMetrics | None = None, at: datetime | None = None) -> JobAnswer:
    measured = measured or FakeMetrics(readings())
    return job_report.job_answer(ALICE, open_fakes(asked_of(parts), measured), "50", at)


def windows_of(parts: Sequence[Job]) -> list[tuple[bool, datetime, datetime, set[str]]]:
    """What was asked: whether of devices, from, to, on which nodes."""
    measured = FakeMetrics(readings())
    answer(parts, measured)
    return [
        (any(not METRICS[name].is_host for name in names), window.start, window.end, set(scope.nodes))
        for names, window, scope in measured.windows
        if scope is not None and scope.nodes is not None
    ]


def test_parts_that_run_together_share_one_window() -> None:
    assert windows_of([part(0, "gpu01", 2), part(1, "cpu01", 0)]) == [(True, START, NOW, {"gpu01", "cpu01"})]


def test_a_common_window_is_where_all_parts_ran() -> None:
    late, early = START + timedelta(seconds=3), NOW - timedelta(minutes=5)
    parts = [
        part(0, "gpu01", 2, end_time=early + timedelta(seconds=2), state="COMPLETED"),
        part(1, "gpu02", 1, start_time=late, end_time=early, state="COMPLETED"),
    ]
    assert windows_of(parts) == [(True, late, early, {"gpu01", "gpu02"})]


def test_a_part_that_ended_early_does_not_count_what_came_after_it() -> None:
    early = NOW - timedelta(hours=1)
    parts = [part(0, "gpu01", 2), part(1, "gpu02", 1, end_time=early, state="CANCELLED")]
    assert windows_of(parts) == [(True, START, NOW, {"gpu01"}), (True, START, early, {"gpu02"})]


def test_more_than_two_times_are_not_read_and_that_is_said() -> None:
    parts = [part(n, "gpu02", 1, start_time=START + timedelta(minutes=10 * n)) for n in range(3)]
    assert len(windows_of(parts)) == 2
    assert any("very different times" in line for line in answer(parts).unknown)


def test_a_job_without_gpus_asks_for_host_metrics_only() -> None:
    job = make_job(50, "cpu01", 0, ())
    assert [window[0] for window in windows_of([job])] == [False]
    untold = make_job(50, "cpu01", None, None)
    assert [window[0] for window in windows_of([untold])] == [True]


def busy(node: str, count: int, label: str) -> list[WindowStat]:
    devices = [measure(node, index).device for index in range(count)]
    return [WindowStat("gpu_utilization", node, one, label, 240 * 0.9, 240, 0.9, 0.9, 0) for one in devices]


def test_findings_of_a_part_speak_of_its_own_nodes() -> None:
    """8 cores of 48 for 1 of 4 GPUs are fair; 40 of 64 for 1 of 8 are too many."""
    parts = [
        part(0, "gpu01", 1, allocated=Tres(cpus=40, memory_bytes=1 << 33, nodes=1, gpus=1)),
        part(1, "gpu02", 1, allocated=Tres(cpus=8, memory_bytes=1 << 33, nodes=1, gpus=1)),
    ]
    measured = FakeMetrics(readings())

    def window(names, span, scope=None):  # type: ignore[no-untyped-def]
        return WindowReading(span, (*busy("gpu01", 1, "50"), *busy("gpu02", 1, "51")), 30.0)

    measured.window = window  # type: ignore[method-assign]
    found = answer(parts, measured)
    cores = [one.title for one in found.findings if one.id == "cores_per_gpu"]
    assert len(cores) == 1
    assert cores[0].startswith("50+0: ")


@pytest.mark.parametrize("gpus", [None, 0, 2])
def test_a_job_that_waits_is_not_told_that_gpus_are_not_tracked(gpus: int | None) -> None:
    job = make_job(50, None, gpus, state="PENDING", requested=Tres(cpus=8, nodes=1, gpus=gpus))
    assert not any("AccountingStorageTRES" in note for note in answer([job]).report.notes)


def test_a_job_that_runs_without_a_known_number_of_gpus_is() -> None:
    assert any("AccountingStorageTRES" in note for note in answer([make_job(50, "gpu01", None)]).report.notes)


def test_the_past_of_a_job_knows_nothing_that_came_at_its_end() -> None:
    usage = JobUsage(cpu_seconds=9000.0, memory_used_bytes=1 << 32)
    ended = make_job(50, "gpu01", 1, None, "FAILED", end_time=NOW - timedelta(minutes=30), usage=usage, reason="X")
    then = answer([ended], at=NOW - timedelta(hours=1)).report
    assert (then.cpu.used, then.memory.used, then.job.reason) == (None, None, None)
    assert answer([ended]).report.cpu.used == 9000.0


def test_before_its_start_a_job_held_nothing() -> None:
    ended = make_job(50, "gpu01", 1, None, "COMPLETED", end_time=NOW - timedelta(minutes=30))
    then = answer([ended], at=START - timedelta(minutes=30)).report
    assert (then.job.state, then.gpus, then.hours, then.device_hours) == ("PENDING", (), None, None)
