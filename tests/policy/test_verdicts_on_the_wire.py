"""Verdicts from a real Prometheus: right, and two requests at any size."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from data.cache import MemoryCache
from data.live import LiveCluster
from data.metrics.prometheus import PrometheusSource
from data.model import Role, Viewer
from data.sources import Sources
from policy.decide import Act
from policy.model import JobVerdict
from policy.queries import VerdictList, verdicts
from policy.recheck import recheck
from settings import MetricsSettings, Settings, StepAction
from tests.live.builders import FakeScheduler, make_job, make_node
from tests.services.fault_proxy import FaultProxy
from tests.services.prometheus import PrometheusServer, metric

STAFF = Viewer("root", Role.STAFF)
EVERY, SPAN = 300.0, 5 * 3600.0
Values = Callable[[int, int], Sequence[float]]
COUNT = int(SPAN / EVERY)


@dataclass
class Case:
    """A cluster of nodes, each held whole by one job, on a Prometheus of which only this is seen."""

    server: PrometheusServer
    proxy: FaultProxy
    nodes: int
    run: str
    now: float

    @property
    def gpus(self) -> int:
        """Of a node: few where there are many nodes, for the writing of samples takes the time."""
        return 8 if self.nodes < 100 else 2

    def times(self) -> list[float]:
        return [self.now - SPAN + EVERY * (number + 1) for number in range(COUNT)]

    def write(self, name: str, values: Values, gpus: int | None = None, nodes: Sequence[int] | None = None) -> None:
        series = (
            (
                metric(
                    name,
                    Hostname=f"n{node:04d}",
                    gpu=str(gpu),
                    UUID=f"GPU-{node}-{gpu}",
                    modelName="NVIDIA H100 80GB HBM3",
                    hpc_job=str(1000 + node),
                    instance=f"n{node:04d}:9400",
                    job="dcgm",
                ),
                self.times(),
                values(node, gpu),
            )
            for node in (range(self.nodes) if nodes is None else nodes)
            for gpu in range(self.gpus if gpus is None else gpus)
        )
        self.server.write(series, run=self.run)

    def sources(self, **policy: object) -> Sources:
        clock = datetime.fromtimestamp(self.now + 1, UTC)
        jobs = [
            make_job(
                1000 + node,
                f"n{node:04d}",
                self.gpus,
                tuple(range(self.gpus)),
                submit_time=clock - timedelta(seconds=SPAN),
                start_time=clock - timedelta(seconds=SPAN),
                is_batch=True,
            )
            for node in range(self.nodes)
        ]
        nodes = [
            make_node(f"n{node:04d}", pools={"h100": self.gpus}, gpus_allocated=self.gpus) for node in range(self.nodes)
        ]
        asked = FakeScheduler(nodes, jobs)
        settings = Settings.model_validate({"policy": policy})
        measured = PrometheusSource(
            MetricsSettings.model_validate(
                {
                    "url": self.proxy.url,
                    "selector": f'run="{self.run}"',
                    "scrape_interval_seconds": EVERY,
                    "timeout_seconds": 30,
                }
            )
        )
        live = LiveCluster(asked, measured, MemoryCache(), lambda: clock, limits=(60.0, 60.0))
        return Sources(settings, asked, measured, live, lambda: clock)


@pytest.fixture
def case(request: pytest.FixtureRequest, prometheus_server: PrometheusServer) -> Iterator[Case]:
    now = time.time() // 60 * 60
    with FaultProxy("127.0.0.1", prometheus_server.port) as proxy:
        yield Case(prometheus_server, proxy, getattr(request, "param", 6), f"verdicts-{time.time_ns()}", now)


def idle_on(*nodes: int) -> Values:
    return lambda node, gpu: [0.0 if node in nodes else 70.0 + gpu] * COUNT


def named(found: VerdictList) -> dict[int, JobVerdict]:
    return {one.job.job_id - 1000: one for one in found.verdicts}


UTIL, POWER, XID = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_XID_ERRORS"


@pytest.mark.parametrize("case", [10, 1000], indirect=True)
def test_all_verdicts_cost_four_requests_at_any_size_and_none_for_the_next_viewer(case: Case) -> None:
    case.write(UTIL, idle_on(3, 5, 7))
    case.write(POWER, lambda node, gpu: [110.0] * COUNT, nodes=[3, 5, 7])
    sources = case.sources()
    sources.live.snapshot()
    case.proxy.reset_counts()
    found = verdicts(STAFF, sources)
    assert case.proxy.requests == 4, case.proxy.paths
    assert {number for number, one in named(found).items() if one.status == "low"} == {3, 5, 7}
    assert found.counts == {"low": 3, "ok": case.nodes - 3}
    verdicts(Viewer("alice", Role.USER), sources)
    assert case.proxy.requests == 4
    low = named(found)[3].verdict
    assert (low.rule, low.mean, low.coverage, low.devices_idle) == ("idle", 0.0, 1.0, case.gpus)
    assert low.idle_seconds == 90 * 60
    assert low.wasted_gpu_hours_window == pytest.approx(case.gpus * 0.75)


def test_without_a_low_job_the_first_question_is_enough(case: Case) -> None:
    case.write(UTIL, idle_on())
    sources = case.sources()
    sources.live.snapshot()
    case.proxy.reset_counts()
    assert verdicts(STAFF, sources).counts == {"ok": 6}
    assert case.proxy.requests == 2


def test_statistics_are_those_of_the_samples(case: Case) -> None:
    values = [float((7 * number) % 11) for number in range(COUNT)]
    case.write(UTIL, lambda node, gpu: values)
    verdict = named(verdicts(STAFF, case.sources()))[0].verdicts[0]
    inside = values[-48:]  # four hours of one sample every five minutes
    assert verdict.rule == "low-mean" and verdict.window_seconds == 4 * 3600
    assert verdict.mean == pytest.approx(sum(inside) / len(inside) / 100)
    assert verdict.wasted_gpu_hours_window == pytest.approx(32 * (1 - (verdict.mean or 0)), rel=0.01)


def test_power_speaks_against_an_idle_sensor(case: Case) -> None:
    case.write(UTIL, idle_on(1, 2))
    case.write(POWER, lambda node, gpu: [350.0 if node == 1 else 110.0] * COUNT, nodes=[1, 2])
    found = named(verdicts(STAFF, case.sources()))
    assert (found[1].status, found[1].verdict.reason) == ("unknown", "signals_disagree")
    assert found[2].status == "low"


def test_an_xid_error_and_a_failed_scrape_of_the_node_forbid_a_low_verdict(case: Case) -> None:
    case.write(UTIL, idle_on(1, 2, 3))
    case.write(XID, lambda node, gpu: [0.0] * (COUNT - 3) + [79.0 if node == 1 and gpu == 5 else 0.0] * 3)
    up = [
        (
            metric("up", instance=f"n{node:04d}:9400", job="dcgm"),
            case.times(),
            [1.0] * (COUNT - 2) + [float(node != 2), 1],
        )
        for node in range(case.nodes)
    ]
    case.server.write(up, run=case.run)
    found = named(verdicts(STAFF, case.sources()))
    assert (found[1].status, found[1].verdict.reason) == ("unknown", "xid")
    assert (found[2].status, found[2].verdict.reason) == ("unknown", "exporter_restart")
    assert found[3].status == "low"


def test_a_node_that_turned_idle_at_once_is_left_alone(case: Case) -> None:
    turned = int(3600 / EVERY)
    case.write(UTIL, lambda node, gpu: [60.0] * (COUNT - turned) + [0.0 if node == 1 else 60.0] * turned)
    sources = case.sources()
    sources.live.snapshot()
    case.proxy.reset_counts()
    found = named(verdicts(STAFF, sources))
    assert (found[1].status, found[1].verdict.reason) == ("unknown", "node_zero")
    assert case.proxy.requests == 4


def test_an_impossible_value_is_read_again_without_it(case: Case) -> None:
    spike = [0.0] * (COUNT - 5) + [808334905.0] + [0.0] * 4
    case.write(UTIL, lambda node, gpu: spike if (node, gpu) == (1, 0) else [0.0 if node == 1 else 50.0] * COUNT)
    found = named(verdicts(STAFF, case.sources()))
    assert found[1].status == "low"
    assert found[1].verdict.mean == 0.0


def test_missing_samples_and_missing_devices_are_unknown(case: Case) -> None:
    case.write(UTIL, idle_on(*range(6)), gpus=7)
    found = verdicts(STAFF, case.sources())
    assert found.counts == {"unknown": 6}


@pytest.mark.parametrize("fault", ["refuse", "500", "garbage", "half"])
def test_a_broken_metrics_server_makes_verdicts_unknown_and_says_so(case: Case, fault: str) -> None:
    case.write(UTIL, idle_on(1))
    sources = case.sources()
    picture = sources.live.snapshot()
    case.proxy.mode = fault
    sources = replace(sources, recent=type(sources.recent)())
    found = verdicts(STAFF, sources)
    assert picture.version == sources.live.snapshot().version
    assert found.counts == {"unknown": 6} and found.fault
    assert {one.verdict.reason for one in found.verdicts} == {"source_down"}
    case.proxy.mode = "pass"


def test_the_last_look_reads_raw_samples_and_the_job_again(case: Case) -> None:
    case.write(UTIL, idle_on(1))
    case.write(POWER, lambda node, gpu: [110.0] * COUNT, nodes=[1])
    sources = case.sources()
    one = named(verdicts(STAFF, sources))[1]
    act = Act(one.job, one.verdict, "idle", 1, 3, StepAction.CANCEL, one.time, "1001")
    assert recheck(sources, act, sources.clock()).may_act
    asked = sources.scheduler
    assert isinstance(asked, FakeScheduler)
    rows = list(asked.job_rows)
    for change, why in (
        ({"state": "COMPLETING"}, "it is COMPLETING"),
        ({"restart_count": 1}, "started anew"),
        ({"user": "mallory"}, "another user's"),
    ):
        asked.job_rows = [replace(job, **change) if job.job_id == 1001 else job for job in rows]  # type: ignore[arg-type]
        assert why in recheck(sources, act, sources.clock()).why
    asked.job_rows = rows
    busy = replace(act, job=named(verdicts(STAFF, sources))[2].job)
    assert "it is ok now" in recheck(sources, busy, sources.clock()).why
