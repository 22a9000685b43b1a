"""Answers that no sane server gives: rows are dropped and counted, never a crash, never a zero."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from data.errors import FullwarpError
from data.metrics.prometheus import PrometheusSource
from data.metrics.registry import SNAPSHOT_METRICS
from data.model import Scope, Window
from settings import MetricsSettings
from tests.metrics.answering_server import AnsweringServer

NAMES = ["DCGM_FI_DEV_GPU_UTIL", "nvidia_gpu_duty_cycle", "cgroup_cpus"]
UTIL = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0", "Hostname": "a"}
WINDOW = Window(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 1, tzinfo=UTC))
START = 1767225600

VECTORS: list[Any] = [
    {"metric": None, "value": [1, "1"]},
    {"metric": {}, "value": [1e30, "1"]},
    {"metric": UTIL, "value": [1, None]},
    {"metric": UTIL, "value": [1]},
    {"metric": UTIL, "histogram": {}},
    {"metric": {**UTIL, "Hostname": ""}, "value": [1, "5"]},
    {"metric": {**UTIL, "gpu": 5, "Hostname": 7}, "value": [1, "5"]},
    {"metric": {"fullwarp_inventory": "dcgm_exporter", "gpu": 5, "Hostname": 7}, "value": [1, "1"]},
    {"metric": {"fullwarp_inventory": "dcgm_exporter", "gpu": "٣", "Hostname": "b"}, "value": [1, "nan"]},
    {"metric": {"fullwarp_inventory": "another", "gpu": "1", "Hostname": "b"}, "value": [1, "1"]},
    17,
    None,
]
MATRICES: list[Any] = [
    {"metric": UTIL, "values": [[1]]},
    {"metric": {}, "values": "abc"},
    {"metric": UTIL, "values": []},
    {"metric": UTIL, "values": [[START, "x"]]},
    {"metric": UTIL, "values": [["x", "4"]]},
    {"metric": {**UTIL, "gpu": 5}, "values": [[START, "4"]]},
    None,
]


def _server(kind: str, row: Any) -> AnsweringServer:
    data = {"resultType": kind, "result": [row]}
    answers = {"/api/v1/label/__name__/values": NAMES, "/api/v1/query": data}
    return AnsweringServer(bodies={p: orjson.dumps({"status": "success", "data": d}) for p, d in answers.items()})


def _source(server: AnsweringServer) -> PrometheusSource:
    return PrometheusSource(MetricsSettings(url=server.url, scrape_interval_seconds=30))


@pytest.mark.parametrize("row", VECTORS, ids=str)
def test_an_odd_row_gives_no_device(row: Any) -> None:
    with _server("vector", row) as server:
        try:
            reading = _source(server).latest(SNAPSHOT_METRICS)
        except FullwarpError as err:
            assert str(err)
        else:
            assert reading.devices == ()
            assert set(reading.missing) == set(SNAPSHOT_METRICS)


@pytest.mark.parametrize("row", MATRICES, ids=str)
def test_an_odd_series_gives_no_statistic_and_no_point(row: Any) -> None:
    scope = Scope(nodes=frozenset({"a"}))
    with _server("matrix", row) as server:
        mine = _source(server)
        assert mine.window(["gpu_utilization", "allocated_cores"], WINDOW, scope).stats == ()
        assert tuple(mine.series(["gpu_utilization"], WINDOW, scope)) == ()
