"""Metrics: does the server answer, with which exporters, labels and fields?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from data.check.result import Check, Verdict, not_carried, some
from data.metrics.registry import METRICS
from data.model import Reading, SourceHealth
from settings import MetricsSettings

SUBJECT = "Metrics"
COUNTERS = {
    "sm_activity": "DCGM_FI_PROF_SM_ACTIVE, gauge, SM activity",
    "sm_occupancy": "DCGM_FI_PROF_SM_OCCUPANCY, gauge, SM occupancy",
    "tensor_activity": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE, gauge, tensor pipe activity",
    "fp64_activity": "DCGM_FI_PROF_PIPE_FP64_ACTIVE, gauge, FP64 pipe activity",
    "fp32_activity": "DCGM_FI_PROF_PIPE_FP32_ACTIVE, gauge, FP32 pipe activity",
    "fp16_activity": "DCGM_FI_PROF_PIPE_FP16_ACTIVE, gauge, FP16 pipe activity",
    "dram_activity": "DCGM_FI_PROF_DRAM_ACTIVE, gauge, memory interface activity",
    "graphics_engine_activity": "DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, compute engine activity",
    "gpu_utilization": "DCGM_FI_DEV_GPU_UTIL, gauge, GPU utilization (percent)",
    "gpu_memory_used_bytes": "DCGM_FI_DEV_FB_USED, gauge, GPU memory used (MiB)",
    "gpu_memory_total_bytes": "DCGM_FI_DEV_FB_FREE, gauge, GPU memory free (MiB)",
    "power_watts": "DCGM_FI_DEV_POWER_USAGE, gauge, power (W)",
    "temperature_celsius": "DCGM_FI_DEV_GPU_TEMP, gauge, temperature (C)",
    "xid": "DCGM_FI_DEV_XID_ERRORS, gauge, last XID error",
    "nvlink_tx_bytes_per_second": "DCGM_FI_PROF_NVLINK_TX_BYTES, counter, NVLink bytes sent",
    "nvlink_rx_bytes_per_second": "DCGM_FI_PROF_NVLINK_RX_BYTES, counter, NVLink bytes received",
    "pcie_tx_bytes_per_second": "DCGM_FI_PROF_PCIE_TX_BYTES, counter, PCIe bytes sent",
    "pcie_rx_bytes_per_second": "DCGM_FI_PROF_PCIE_RX_BYTES, counter, PCIe bytes received",
    "memory_copy_utilization": "DCGM_FI_DEV_MEM_COPY_UTIL, gauge, memory copy utilization (percent)",
    "sm_clock_hertz": "DCGM_FI_DEV_SM_CLOCK, gauge, SM clock (MHz)",
    "energy_joules": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, energy (mJ)",
}
ESSENTIAL = {"gpu_utilization", "gpu_memory_used_bytes"}
JOB_MAPPING = (
    "on every GPU node, start dcgm-exporter with: --hpc-job-mapping-dir /run/dcgm-job-map",
    "in Slurm's Prolog: for gpu in ${SLURM_JOB_GPUS//,/ }; do echo $SLURM_JOB_ID > /run/dcgm-job-map/$gpu; done",
    "in Slurm's Epilog: for gpu in ${SLURM_JOB_GPUS//,/ }; do rm -f /run/dcgm-job-map/$gpu; done",
)
SCRAPE = (
    "in prometheus.yml, under scrape_configs:",
    "  - job_name: dcgm",
    "    static_configs: [{targets: ['gpu01:9400', 'gpu02:9400']}]",
)


def answers(kind: str, health: SourceHealth) -> Check:
    """Whether the server answers, with its version; else its own words and what to do."""
    if not health.reachable:
        fix = (health.hint,) if health.hint else ()
        return Check(SUBJECT, Verdict.PROBLEM, f"no usable answer through {kind}: {health.error or 'unknown'}", fix)
    speed = "" if health.latency_seconds is None else f" in {health.latency_seconds:.2f} s"
    who = kind if health.version == kind else f"{kind} {health.version or '(version not told)'}"
    return Check(SUBJECT, Verdict.OK, f"{who} answers{speed}")


def exporters(health: SourceHealth, cluster: str, settings: MetricsSettings) -> Iterator[Check]:
    """Whether any known exporter's series are there, and under this cluster's label."""
    wanted = settings.cluster_value or cluster
    if settings.cluster_label and wanted not in health.cluster_labels:
        yield _other_cluster(wanted, health.cluster_labels, settings.cluster_label)
        return
    if not settings.cluster_label and len(health.cluster_labels) > 1:
        yield _several_clusters(cluster, health.cluster_labels)
    if not health.dialects:
        yield Check(SUBJECT, Verdict.PROBLEM, "no series of a known GPU exporter", SCRAPE)
        return
    every = "" if health.interval_seconds is None else f", a sample every {health.interval_seconds:g} s"
    yield Check(SUBJECT, Verdict.OK, f"found {', '.join(health.dialects)}{every}")


def _other_cluster(wanted: str, found: Sequence[str], label: str) -> Check:
    seen = f"; the series say {some(found)}" if found else f"; no series has the label {label}"
    fix = f'in fullwarp.toml, under [metrics]: cluster_value = "{sorted(found)[0]}"' if found else ""
    without = 'or, when the server holds only this cluster: cluster_label = ""'
    text = f"no series for cluster {wanted or '(no name)'} in the label {label}{seen}"
    return Check(SUBJECT, Verdict.PROBLEM, text, (fix, without) if fix else (without,))


def _several_clusters(cluster: str, found: Sequence[str]) -> Check:
    value = cluster if cluster in found else sorted(found)[0]
    lines = ("in fullwarp.toml, under [metrics]:", '  cluster_label = "cluster"', f'  cluster_value = "{value}"')
    return Check(
        SUBJECT, Verdict.PROBLEM, f"the server holds several clusters ({some(found)}) and none is chosen", lines
    )


def fields(missing: Sequence[str], dialects: Sequence[str]) -> Iterator[Check]:
    """Metrics that no exporter gives, with the lines for dcgm-exporter's counters file."""
    absent = [name for name in missing if name in METRICS and not METRICS[name].is_host]
    if absent:
        labels = ", ".join(METRICS[name].label for name in absent)
        verdict = Verdict.PROBLEM if ESSENTIAL & set(absent) else Verdict.NOTE
        yield Check(SUBJECT, verdict, f"not measured: {labels}", _counter_lines(absent, dialects))
    if hosts := [METRICS[name].label for name in missing if name in METRICS and METRICS[name].is_host]:
        fix = ("Run a cgroup exporter on the nodes; without it these come from Slurm's step rows after a job's end.",)
        yield Check(SUBJECT, Verdict.NOTE, f"not measured for running jobs: {', '.join(hosts)}", fix)


def _counter_lines(absent: Sequence[str], dialects: Sequence[str]) -> tuple[str, ...]:
    lines = tuple(f"  {COUNTERS[name]}" for name in absent if name in COUNTERS)
    if not lines or (dialects and not any("dcgm" in name for name in dialects)):
        return ("This exporter does not give them; dcgm-exporter does.",)
    start = "add to dcgm-exporter's counters file (given with -f), then restart it; before Hopper, not while profiling:"
    return (start, *lines)


def job_labels(reading: Reading, gpu_jobs: int, job_label: str = "") -> Iterator[Check]:
    """Whether the exporter says which job a GPU works for. `job_label` as set."""
    labeled = sum(1 for device in reading.devices if device.job_labels)
    if labeled:
        yield Check(SUBJECT, Verdict.OK, f"{labeled} of {len(reading.devices)} devices carry a job label")
    elif reading.devices and gpu_jobs:
        text = f"no device carries a job label while {gpu_jobs} jobs hold GPUs; they are joined by Slurm's GPU indices"
        fix = not_carried("job_label", job_label) if job_label else JOB_MAPPING
        yield Check(SUBJECT, Verdict.NOTE, text, fix)


def recording(recorded: Sequence[str] | None, wanted: Collection[str]) -> Iterator[Check]:
    """Whether the recording rules of `fullwarp rules` are loaded, and those that today's settings would write."""
    if recorded is None:
        return
    absent, others = sorted(set(wanted) - set(recorded)), sorted(set(recorded) - set(wanted))
    fix = ("fullwarp rules > fullwarp.rules.yml", "load it under rule_files in prometheus.yml, then reload the server")
    if not recorded:
        yield Check(SUBJECT, Verdict.NOTE, "no recording rules of ours are loaded; only Grafana would need them", fix)
    elif absent or others:
        parts = [f"not there: {some(absent)}"] if absent else []
        parts += [f"of other settings: {some(others)}"] if others else []
        yield Check(SUBJECT, Verdict.NOTE, f"recording rules are loaded, not those of today; {'; '.join(parts)}", fix)
    else:
        yield Check(SUBJECT, Verdict.OK, f"recording rules are loaded, {len(recorded)} names")


def dropped(reading: Reading) -> Iterator[Check]:
    """Values that cannot be true and were left out."""
    if reading.dropped:
        parts = ", ".join(f"{reason}: {number}" for reason, number in sorted(reading.dropped.items()))
        yield Check(SUBJECT, Verdict.NOTE, f"values left out as blank or implausible ({parts})")
