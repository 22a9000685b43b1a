"""The picture over real sockets: what one refresh costs, and what faults on the wire do to it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from data.cache import MemoryCache
from data.live import LiveCluster
from data.metrics.prometheus import PrometheusSource
from data.model import ClusterSnapshot, SourceCondition
from data.slurm.rest import RestSource
from settings import MetricsSettings, SlurmSettings
from tests.services.fault_proxy import FaultProxy
from tests.services.prometheus import PrometheusServer, metric
from tests.services.recorded_slurmrestd import RecordedSlurmrestd

MODES = ("refuse", "cut", "garbage", "noise", "half", "500", "delay", "drip")
NAMES = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_SM_ACTIVE")


class ManyNodes(RecordedSlurmrestd):
    """The recorded cluster with as many nodes as wanted, each with 8 GPUs of which a job holds two."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(folder)
        self._bodies = {
            "slurm-nodes": self._multiplied("slurm-nodes", "nodes", count, _node),
            "slurm-jobs": self._multiplied("slurm-jobs", "jobs", count, _job),
        }

    def _multiplied(self, name: str, key: str, count: int, change: Any) -> bytes:
        body = json.loads((self.folder / f"{name}.json").read_text())
        body[key] = [change(dict(body[key][0]), number) for number in range(count)]
        return json.dumps(body).encode()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        body = self._bodies.get(self.file_of(path.partition("?")[0]))
        return super().answer(path) if body is None else (200, "application/json", body)


def _node(node: dict[str, Any], number: int) -> dict[str, Any]:
    name = f"n{number:04d}"
    gpus = {"gres": "gpu:h100:8", "gres_used": "gpu:h100:2(IDX:0-1)", "tres": "cpu=8,mem=8G,gres/gpu=8"}
    return (
        node | gpus | {"name": name, "hostname": name, "address": name, "state": ["MIXED"], "tres_used": "gres/gpu=2"}
    )


def _job(job: dict[str, Any], number: int) -> dict[str, Any]:
    held = {"tres_alloc_str": "cpu=8,node=1,gres/gpu=2", "gres_detail": ["gpu:h100:2(IDX:0-1)"]}
    return job | held | {"job_id": 1000 + number, "nodes": f"n{number:04d}", "job_state": ["RUNNING"]}


@dataclass
class Wired:
    live: LiveCluster
    slurm: FaultProxy
    metrics: FaultProxy
    clock: list[datetime]

    def refreshed(self) -> ClusterSnapshot:
        """Let half a minute pass by the picture's clock and wait for the picture of then."""
        self.clock[0] = datetime.fromtimestamp(self.clock[0].timestamp() + 31, UTC)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            snapshot = self.live.snapshot()
            if snapshot.made_at == self.clock[0]:
                return snapshot
            time.sleep(0.02)
        raise AssertionError("no refresh came")


def fill(server: PrometheusServer, nodes: int, run: str) -> None:
    """Three scrapes of 8 GPUs on every node."""
    now = time.time()
    series = (
        (
            metric(name, Hostname=f"n{node:04d}", gpu=str(gpu), UUID=f"GPU-{node}-{gpu}", modelName="NVIDIA H100"),
            (now - 60, now - 30, now),
            (0.5, 0.5, 0.5),
        )
        for name in NAMES
        for node in range(nodes)
        for gpu in range(8)
    )
    server.write(series, run=run)


@pytest.fixture
def wired(request: pytest.FixtureRequest, reference: Path, prometheus_server: PrometheusServer) -> Iterator[Wired]:
    nodes = getattr(request, "param", 4)
    run = f"wire-{nodes}-{time.time_ns()}"
    fill(prometheus_server, nodes, run)
    clock = [datetime.now(UTC)]
    with (
        ManyNodes(reference / "data" / "slurmrestd" / "25.11" / "0.0.44", nodes) as slurmrestd,
        FaultProxy("127.0.0.1", slurmrestd.port) as slurm,
        FaultProxy("127.0.0.1", prometheus_server.port) as metrics,
    ):
        patient = nodes > 100
        limit = 20.0 if patient else 4.0
        asked = SlurmSettings.model_validate({"kind": "rest", "url": slurm.url, "timeout_seconds": limit})
        measured = MetricsSettings.model_validate(
            {
                "url": metrics.url,
                "selector": f'run="{run}"',
                "scrape_interval_seconds": 30,
                "timeout_seconds": limit,
                "retries": 1,
            }
        )
        live = LiveCluster(
            RestSource(asked, ""),
            PrometheusSource(measured),
            MemoryCache(),
            lambda: clock[0],
            limits=(limit * 2, limit * 2),
        )
        yield Wired(live, slurm, metrics, clock)


@pytest.mark.parametrize("wired", [10, 1000], indirect=True)
def test_a_refresh_costs_the_same_few_requests_at_any_size(wired):
    first = wired.live.snapshot()
    wired.live.associations()
    slurm, metrics = wired.slurm.requests, wired.metrics.requests
    assert metrics <= 8, wired.metrics.paths
    second = wired.refreshed()
    assert wired.slurm.requests - slurm <= 4
    assert wired.metrics.requests - metrics <= 8
    assert {state.condition for state in second.sources} == {SourceCondition.OK}
    assert len(second.gpus) == 8 * len(first.nodes)
    assert sum(bool(gpu.job_ids) for gpu in second.gpus) == 2 * len(first.nodes)
    assert all(gpu.utilization is not None for gpu in second.gpus)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["slurm", "metrics"])
def test_a_fault_on_the_wire_leaves_the_last_good_state_and_heals(wired, name, mode):
    first = wired.live.snapshot()
    proxy = wired.slurm if name == "slurm" else wired.metrics
    proxy.delay_seconds = 30.0
    proxy.mode = mode
    broken = wired.refreshed()
    states = {state.name: state for state in broken.sources}
    assert states[name].condition is SourceCondition.STALE
    assert states[name].failing_since == broken.made_at
    assert states[name].error
    assert states["metrics" if name == "slurm" else "slurm"].condition is SourceCondition.OK
    assert [gpu.device for gpu in broken.gpus] == [gpu.device for gpu in first.gpus]
    assert [gpu.values for gpu in broken.gpus] == [gpu.values for gpu in first.gpus]
    assert broken.jobs == first.jobs
    proxy.mode = "pass"
    assert {state.condition for state in wired.refreshed().sources} == {SourceCondition.OK}
