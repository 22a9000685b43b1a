"""The metric table: one row per measured or derived number. To add a metric, add a row (and its dialect names)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """`unit` is the unit inside (ratio = 0..1); `label` the name on screen; `help` one line in words.

    `is_counter` metrics are summed as increases. `is_host` metrics belong to a (job, node), not to a device.
    `idle_epsilon` is the largest value of an idle sample (None = the metric says nothing of idleness);
    `tells_idle` = its idle share is read (reports take it from UTIL, or GR in its place): it is dear to ask for.
    `stands_in_for` names the metric whose place it takes on MIG slices, which lack that one.
    `is_whole_card` values are repeated on every MIG slice and count once.
    """

    name: str
    label: str
    unit: str
    help: str
    maximum: float | None = None
    idle_epsilon: float | None = None
    tells_idle: bool = False
    stands_in_for: str = ""
    is_counter: bool = False
    is_host: bool = False
    is_whole_card: bool = False
    is_derived: bool = False


def _ratio(
    name: str, label: str, help: str, epsilon: float = 0.001, *, tells_idle: bool = False, stands_in_for: str = ""
) -> Metric:
    return Metric(
        name, label, "ratio", help, 1.0, idle_epsilon=epsilon, tells_idle=tells_idle, stands_in_for=stands_in_for
    )


_ROWS = (
    _ratio(
        "gpu_utilization",
        "UTIL",
        "Share of time in which at least one kernel ran; not how much of the GPU it used.",
        0.0,
        tells_idle=True,
    ),
    _ratio(
        "graphics_engine_activity",
        "GR",
        "Share of time the compute engine was busy; stands in for UTIL on MIG slices.",
        tells_idle=True,
        stands_in_for="gpu_utilization",
    ),
    _ratio("sm_activity", "SM", "Share of cycles in which an SM had at least one warp, averaged over the SMs."),
    Metric(
        "utilization_gap",
        "UTIL-SM",
        "ratio",
        "UTIL minus SM: a large gap is a GPU that looks busy and is mostly empty (many small kernels).",
        maximum=1.0,
        is_derived=True,
    ),
    _ratio("sm_occupancy", "OCC", "Resident warps as a share of the most that fit."),
    _ratio("tensor_activity", "TENSOR", "Share of cycles in which the tensor pipe was active."),
    _ratio("fp64_activity", "FP64", "Share of cycles in which the FP64 pipe was active."),
    _ratio("fp32_activity", "FP32", "Share of cycles in which the FP32 pipe was active."),
    _ratio("fp16_activity", "FP16", "Share of cycles in which the FP16 pipe was active."),
    _ratio("dram_activity", "DRAM", "Share of cycles in which the GPU memory interface moved data."),
    _ratio("memory_copy_utilization", "MEM COPY", "Share of time in which GPU memory was read or written.", 0.0),
    Metric("gpu_memory_used_bytes", "GPU MEM", "bytes", "GPU memory in use."),
    Metric("gpu_memory_total_bytes", "GPU MEM TOTAL", "bytes", "GPU memory of the device."),
    Metric(
        "power_watts",
        "W",
        "watts",
        "Power of the whole card, also when it is cut into MIG slices.",
        maximum=5000.0,
        is_whole_card=True,
    ),
    Metric(
        "energy_joules",
        "kWh",
        "joules",
        "Energy used by the whole card.",
        is_counter=True,
        is_whole_card=True,
    ),
    Metric("temperature_celsius", "°C", "celsius", "Temperature of the GPU.", maximum=200.0, is_whole_card=True),
    Metric("sm_clock_hertz", "CLOCK", "hertz", "Clock of the SMs.", is_whole_card=True),
    Metric("xid", "XID", "code", "Last XID error code of the driver; 0 = none.", is_whole_card=True),
    Metric("nvlink_tx_bytes_per_second", "NVLINK TX", "bytes/s", "NVLink traffic sent."),
    Metric("nvlink_rx_bytes_per_second", "NVLINK RX", "bytes/s", "NVLink traffic received."),
    Metric("pcie_tx_bytes_per_second", "PCIE TX", "bytes/s", "PCIe traffic sent by the GPU."),
    Metric("pcie_rx_bytes_per_second", "PCIE RX", "bytes/s", "PCIe traffic received by the GPU."),
    Metric(
        "cpu_seconds",
        "CPU",
        "seconds",
        "CPU time used by the job on the node.",
        is_counter=True,
        is_host=True,
    ),
    Metric(
        "memory_used_bytes",
        "MEM",
        "bytes",
        "Host memory used by the job on the node (rss + shmem).",
        is_host=True,
    ),
    Metric(
        "memory_allocated_bytes",
        "MEM LIMIT",
        "bytes",
        "Host memory given to the job on the node.",
        is_host=True,
    ),
    Metric("allocated_cores", "CORES", "cores", "CPU cores given to the job on the node.", is_host=True),
)

METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}

SNAPSHOT_METRICS = (
    "gpu_utilization",
    "graphics_engine_activity",
    "gpu_memory_used_bytes",
    "gpu_memory_total_bytes",
    "power_watts",
    "temperature_celsius",
    "sm_activity",
    "tensor_activity",
    "xid",
)
