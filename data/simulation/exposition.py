"""The simulated cluster as exporters show it: names, labels and units of dcgm-exporter and a cgroup exporter.

`samples` is the truth that a reader of the written series must arrive at; `exported` is what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from data.errors import BadRequest
from data.model import Window
from data.simulation.chance import Floats
from data.simulation.clockwork import seconds
from data.simulation.hosts import HOST_METRICS, HostSpan, host_samples, host_spans, host_values
from data.simulation.plots import series_points, series_spans
from data.simulation.signals import ENERGY, SIGNALS
from data.simulation.spans import Span
from data.simulation.world import World

DRIVER = "580.95.05"
FREE_MEMORY = "gpu_memory_free_bytes"
_MIB = 1 / (1 << 20)


@dataclass(frozen=True, slots=True)
class Samples:
    """One series: labels, times (seconds since 1970, to the millisecond) and values, in time order.

    `ended_at` is when its job let the device go, None while it goes on beyond the window.
    """

    labels: Mapping[str, str]
    times: Floats
    values: Floats
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """One exported metric: the registry metric it shows and how its value is written."""

    name: str
    metric: str
    scale: float
    type: str = "gauge"
    digits: int = 6


FAMILIES: tuple[Family, ...] = (
    Family("DCGM_FI_DEV_GPU_UTIL", "gpu_utilization", 100, digits=0),
    Family("DCGM_FI_DEV_MEM_COPY_UTIL", "memory_copy_utilization", 100, digits=0),
    Family("DCGM_FI_DEV_FB_USED", "gpu_memory_used_bytes", _MIB, digits=0),
    Family("DCGM_FI_DEV_FB_FREE", FREE_MEMORY, _MIB, digits=0),
    Family("DCGM_FI_DEV_POWER_USAGE", "power_watts", 1, digits=3),
    Family("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", ENERGY, 1000, "unknown", 0),
    Family("DCGM_FI_DEV_GPU_TEMP", "temperature_celsius", 1, digits=0),
    Family("DCGM_FI_DEV_SM_CLOCK", "sm_clock_hertz", 1e-6, digits=0),
    Family("DCGM_FI_DEV_XID_ERRORS", "xid", 1, digits=0),
    Family("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "graphics_engine_activity", 1),
    Family("DCGM_FI_PROF_SM_ACTIVE", "sm_activity", 1),
    Family("DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy", 1),
    Family("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_activity", 1),
    Family("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "fp64_activity", 1),
    Family("DCGM_FI_PROF_PIPE_FP32_ACTIVE", "fp32_activity", 1),
    Family("DCGM_FI_PROF_PIPE_FP16_ACTIVE", "fp16_activity", 1),
    Family("DCGM_FI_PROF_DRAM_ACTIVE", "dram_activity", 1),
    Family("DCGM_FI_PROF_NVLINK_TX_BYTES", "nvlink_tx_bytes_per_second", 1, digits=0),
    Family("DCGM_FI_PROF_NVLINK_RX_BYTES", "nvlink_rx_bytes_per_second", 1, digits=0),
    Family("DCGM_FI_PROF_PCIE_TX_BYTES", "pcie_tx_bytes_per_second", 1, digits=0),
    Family("DCGM_FI_PROF_PCIE_RX_BYTES", "pcie_rx_bytes_per_second", 1, digits=0),
    Family("cgroup_cpu_total_seconds", "cpu_seconds", 1, digits=3),
    Family("cgroup_memory_rss_bytes", "memory_used_bytes", 1, digits=0),
    Family("cgroup_memory_total_bytes", "memory_allocated_bytes", 1, digits=0),
    Family("cgroup_cpus", "allocated_cores", 1, digits=0),
)


def samples(world: World, metric: str, window: Window) -> Iterator[Samples]:
    """The truth: all raw samples of one metric in the window, in the registry's units, with the exporters' labels.

    A device that several jobs share comes once per job, with the same values. Raises BadRequest for a metric that
    the simulated cluster does not measure.
    """
    if metric not in SIGNALS and metric != ENERGY and metric not in HOST_METRICS and metric != FREE_MEMORY:
        raise BadRequest(f"the simulated cluster does not measure {metric!r}", hint="Use a name of the metric table.")
    start, end = seconds(window.start), seconds(window.end)
    if metric in HOST_METRICS:
        for host in host_spans(world, start, end):
            times = host_samples(world, host)
            if len(times):
                yield Samples(_host_labels(host), times, host_values(host, metric, times), _end(host.end, end))
        return
    is_free_memory = metric == FREE_MEMORY
    source = "gpu_memory_used_bytes" if is_free_memory else metric
    for spans, times, values in series_points(world, series_spans(world, start, end, None, None), source):
        shown = spans[0].unit.memory_bytes - values if is_free_memory else values
        yield Samples(_device_labels(spans[0]), times, shown, _end(spans[-1].end, end))


def exported(
    world: World, window: Window, metrics: Collection[str] | None = None
) -> Iterator[tuple[Family, Iterator[Samples]]]:
    """Family after family, each with its series, values scaled and rounded as the exporters write them.

    With `metrics` (names of the metric table), only those; GPU memory in use comes with the free memory.
    """
    for family in FAMILIES:
        asked = "gpu_memory_used_bytes" if family.metric == FREE_MEMORY else family.metric
        if metrics is not None and asked not in metrics:
            continue
        yield family, map(_writer(family), samples(world, family.metric, window))


def _writer(family: Family) -> Callable[[Samples], Samples]:
    def write(raw: Samples) -> Samples:
        return Samples(raw.labels, raw.times, (raw.values * family.scale).round(family.digits), raw.ended_at)

    return write


def _end(at: float, window_end: float) -> float | None:
    return at if at < window_end else None


def _device_labels(span: Span) -> dict[str, str]:
    device = span.unit.device
    labels = {
        "gpu": str(device.index),
        "UUID": "GPU" + (device.uuid or "")[3:],
        "pci_bus_id": (device.bus_id or "").upper(),
        "device": f"nvidia{device.minor}",
        "modelName": device.model or "",
        "Hostname": device.node,
        "DCGM_FI_DRIVER_VERSION": DRIVER,
        "instance": f"{device.node}:9400",
        "job": "dcgm-exporter",
    }
    if device.slice_id is not None:
        labels |= {"GPU_I_PROFILE": device.slice_profile or "", "GPU_I_ID": device.slice_id}
    return labels | ({"hpc_job": span.label} if span.label is not None else {})


def _host_labels(span: HostSpan) -> dict[str, str]:
    return {"jobid": span.label, "instance": f"{span.machine.name}:9306", "job": "cgroup-exporter"}
