"""Short ways to write series and to ask about them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from data.metrics.prometheus import PrometheusSource
from data.model import DeviceReading, Reading, Scope, Window, WindowStat
from settings import MetricsSettings
from tests.services.prometheus import PrometheusServer, metric

# A whole minute, so little in the past that a server which also holds samples of now takes these in order.
T0 = time.time() // 60 * 60 - 2400.0
STEP = 30.0
_numbers = itertools.count()


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def span(start: float, end: float) -> Window:
    return Window(moment(start), moment(end))


def grid(count: int, start: float = T0, step: float = STEP) -> list[float]:
    return [start + step * n for n in range(count)]


def dcgm(name: str, gpu: int = 0, node: str = "gpu001", host: str = "Hostname", **more: str) -> dict[str, str]:
    labels = {"gpu": str(gpu), "UUID": f"GPU-{node}-{gpu}", "device": f"nvidia{gpu}", "modelName": "H100", host: node}
    return metric(name, **labels, instance=f"{node}.cluster.example:9400", **more)


class Case:
    """Series of one test on the shared server, and a source that sees only them."""

    def __init__(self, server: PrometheusServer) -> None:
        self.server = server
        self.label = f"case{next(_numbers)}"

    def write(self, labels: Mapping[str, str], times: Sequence[float], values: Sequence[float]) -> None:
        self.server.write([(labels, times, values)], test=self.label)

    def source(self, **settings: Any) -> PrometheusSource:
        settings = {"url": self.server.url, "selector": f'test="{self.label}"', **settings}
        return PrometheusSource(MetricsSettings(**settings))

    def stats(self, metrics: Sequence[str], window: Window, scope: Scope | None = None) -> list[WindowStat]:
        return list(self.source().window(metrics, window, scope).stats)


def only(reading: Reading) -> DeviceReading:
    (device,) = reading.devices
    return device
