"""From where on a number is low, and a finding is made."""

from __future__ import annotations

from pydantic import Field

from configuration.checks import Ratio, Seconds
from configuration.section import Section


class JudgementSettings(Section):
    """Limits of the job report: below the first = bad, below the second = low."""

    gpu_bad: Ratio = Field(0.15, description="GPU utilization below this is bad (ratio).")
    gpu_low: Ratio = Field(0.25, description="GPU utilization below this is low (ratio).")
    cpu_bad: Ratio = Field(0.65, description="CPU utilization below this is bad (ratio).")
    cpu_low: Ratio = Field(0.80, description="CPU utilization below this is low (ratio).")
    memory_low: Ratio = Field(0.70, description="Host memory use below this is low (ratio).")
    time_bad: Ratio = Field(0.10, description="Share of the time limit used below this is bad (ratio).")
    time_low: Ratio = Field(0.60, description="Share of the time limit used below this is low (ratio).")
    min_seconds: Seconds = Field(300.0, description="Jobs shorter than this are not judged, in seconds.")
    max_cores_per_gpu: float | None = Field(
        None, gt=0, description="Cores per GPU above this are too many; empty = from the node."
    )
    max_memory_per_gpu_gib: float | None = Field(
        None, gt=0, description="GiB of host memory per GPU above this are too much; empty = from the node."
    )


class FindingLimits(Section):
    """Limits at which a finding about a job fires."""

    min_coverage: Ratio = Field(0.8, description="Devices and hosts measured less than this are not judged (ratio).")
    max_coverage: float = Field(
        1.05, ge=1, description="More samples than this share of the expected ones means that the mapping disagrees."
    )
    max_suspended_share: Ratio = Field(
        0.05, description="GPU use of a job suspended for more than this share of its time is not judged (ratio)."
    )
    mostly_idle: Ratio = Field(0.50, description="Mostly idle: share of idle samples at or above this (ratio).")
    input_utilization: Ratio = Field(0.50, description="Input-bound: UTIL below this (ratio).")
    input_cpu: Ratio = Field(0.90, description="Input-bound: CPU utilization of the job at or above this (ratio).")
    swing_low: Ratio = Field(0.05, description="Input-bound: a sample at or below this UTIL is low (ratio).")
    swing_high: Ratio = Field(0.80, description="Input-bound: a sample at or above this UTIL is high (ratio).")
    swing_share: Ratio = Field(
        0.20, description="Input-bound: share of low and of high samples that is a swing (ratio)."
    )
    busy_utilization: Ratio = Field(0.70, description="UTIL at or above this looks busy (ratio).")
    small_kernels_sm: Ratio = Field(0.40, description="Small kernels: SM below this while UTIL looks busy (ratio).")
    occupancy_sm: Ratio = Field(0.60, description="Low occupancy: SM at or above this (ratio).")
    occupancy_low: Ratio = Field(0.20, description="Low occupancy: OCC below this (ratio).")
    tensor_unused: Ratio = Field(0.02, description="No tensor cores: TENSOR below this while UTIL looks busy (ratio).")
    tensor_fp64: Ratio = Field(0.05, description="No tensor cores: FP64 below this (ratio).")
    double_precision: Ratio = Field(0.10, description="Double precision: FP64 at or above this (ratio).")
    memory_bound_dram: Ratio = Field(0.60, description="Memory-bound: DRAM at or above this (ratio).")
    memory_bound_tensor: Ratio = Field(0.20, description="Memory-bound: TENSOR below this (ratio).")
    communication_sm: Ratio = Field(0.40, description="Communication-bound: SM below this (ratio).")
    communication_link: Ratio = Field(
        0.50, description="Communication-bound: NVLINK or PCIE at or above this share of the model's peak (ratio)."
    )
    active_signal: Ratio = Field(
        0.01, description="GR, SM, TENSOR or memory copy above this contradict a UTIL of 0 (ratio)."
    )
    active_power: float = Field(
        0.25, ge=0, description="Power above idle by more than this share contradicts a UTIL of 0."
    )
    powerful_utilization: Ratio = Field(0.15, description="Too powerful: mean UTIL at or below this (ratio).")
    powerful_gpu_memory_gib: float = Field(
        10.0, gt=0, description="Too powerful: peak GPU memory at most this, in GiB."
    )
    powerful_memory_per_gpu_gib: float = Field(
        32.0, gt=0, description="Too powerful: host memory per GPU at most this, in GiB."
    )
    powerful_seconds: Seconds = Field(3660.0, description="Too powerful: a run of at least this, in seconds.")
    slice_cores: float | None = Field(
        None, gt=0, description="Cores that come with a MIG slice; empty = the slice's share of the node."
    )
    memory_margin: float = Field(0.2, ge=0, description="Margin over the peak in a suggested --mem (share).")
    memory_unused_gib: float = Field(
        4.0, ge=0, description="Memory over-ask: at least this much was asked for and not used, in GiB."
    )
    oom_factor: float = Field(1.5, gt=1, description="After out of memory: --mem suggested as this times the ask.")
    time_margin: float = Field(0.25, ge=0, description="Margin over the run time in a suggested --time (share).")
    time_unused_seconds: Seconds = Field(
        1800.0, description="Time-limit over-ask: at least this much of the limit was not used, in seconds."
    )
    timeout_factor: float = Field(1.5, gt=1, description="After a time-out: --time suggested as this times the limit.")
    serial_low: Ratio = Field(0.85, description="Serial job: at least this many cores busy on average.")
    serial_high: float = Field(1.1, ge=1, description="Serial job: at most this many cores busy on average.")
    node_idle_cpu: Ratio = Field(0.001, description="CPU utilization of a node at or below this means unused (ratio).")
    memory_per_gpu_used: Ratio = Field(
        0.80, description="Too much memory per GPU: less than this of the memory was used (ratio)."
    )
    fragment_cores: Ratio = Field(
        0.80, description="Fragmented CPU job: less than this share of each node's cores was asked for (ratio)."
    )
