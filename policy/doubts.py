"""Why data do not suffice, and what speaks against a low verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from data.efficiency import coverage
from data.efficiency.signals import contradiction
from data.gpu_models import gpu_model
from data.words import of, percent
from policy.model import DeviceUse, Doubt, Evidence, Trouble
from policy.rules import Rule
from settings import PolicySettings, RuleKind, Settings

Reason = tuple[Doubt, str]

LINKS = (
    "nvlink_tx_bytes_per_second",
    "nvlink_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
    "pcie_rx_bytes_per_second",
)
ACTIVITIES = (
    "gpu_utilization",
    "graphics_engine_activity",
    "sm_activity",
    "tensor_activity",
    "memory_copy_utilization",
)
SIGNALS = (*ACTIVITIES, "power_watts", *LINKS)
_MOST, _LEAST = 1.001, -0.001
# A low mean of SM or TENSOR beside a busy UTIL is what such a rule looks for: only what implies it contradicts.
_OF_MEAN: dict[str, tuple[str, ...]] = {"sm_activity": ("tensor_activity",), "tensor_activity": ()}


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on a signal speaks against low use (ratio, share above idle power, bytes per second), and the
    largest coverage that is no fault."""

    active_signal: float = 0.01
    active_power: float = 0.25
    active_link: float = 100e6
    max_coverage: float = 1.05


def limits_of(settings: Settings) -> Limits:
    policy: PolicySettings = settings.policy
    found = settings.findings
    return Limits(found.active_signal, found.active_power, policy.active_link_bytes_per_second, found.max_coverage)


def data_doubt(rule: Rule, evidence: Evidence, limits: Limits) -> Reason | None:
    """The first reason why the data of the rule's first window do not suffice; None = they do."""
    count = evidence.gpu_count
    if evidence.fault:
        return Doubt.SOURCE, evidence.fault
    if count is None or count < 1:
        return Doubt.GPU_COUNT, "Slurm does not say how many GPUs the job has"
    if not any(use.count for device in evidence.devices for use in device.uses.values()):
        return Doubt.NOT_MEASURED, "none of its GPUs is measured"
    if evidence.is_estimate:
        return Doubt.ESTIMATE, "only its nodes are known, not which GPUs of them it has"
    if evidence.disagrees:
        return Doubt.MAPPING, "mapping disagrees: the exporter names other GPUs than Slurm does"
    if (differ := _differ(evidence, count)) is not None:
        return Doubt.DEVICES, differ
    if evidence.is_shared and not rule.settings.allow_shared:
        return Doubt.SHARED, "it shares a GPU with another job"
    if evidence.interval_seconds is None:
        return Doubt.INTERVAL, "the scrape interval is not known"
    return _coverage_doubt(rule, evidence, limits) or _implausible(rule, evidence)


def _differ(evidence: Evidence, count: int) -> str | None:
    if len(evidence.devices) != count:
        return f"{len(evidence.devices)} GPUs are seen and {count} allocated"
    seen = Counter(device.node for device in evidence.devices)
    for node, told in evidence.by_node.items():
        if seen[node] != told:
            return f"{seen[node]} GPUs are seen on {node} and {told} allocated there"
    strangers = sorted(set(seen) - set(evidence.job.nodes))
    return f"a GPU is seen on {strangers[0]}, which is no node of the job" if strangers else None


def _coverage_doubt(rule: Rule, evidence: Evidence, limits: Limits) -> Reason | None:
    window = rule.windows[0]
    shares = []
    for device in evidence.devices:
        use = device.uses.get((rule.metric, window))
        share = coverage(use.count if use else 0, window, evidence.interval_seconds)
        if share is None:
            return Doubt.INTERVAL, "the window is shorter than two scrape intervals"
        shares.append(share)
    if max(shares) > limits.max_coverage:
        return Doubt.MAPPING, f"mapping disagrees: {percent(max(shares))} of the expected samples"
    least = rule.settings.min_coverage
    few = sum(share < least for share in shares)
    if few:
        return Doubt.COVERAGE, f"{of(few, len(shares), 'GPU')} measured for less than {percent(least)} of the window"
    return None


def _implausible(rule: Rule, evidence: Evidence) -> Reason | None:
    """Impossible samples are left out where they are read: one that got here makes the sums worthless."""
    for device in evidence.devices:
        use = device.uses.get((rule.metric, rule.windows[0]))
        bounds = () if use is None else (use.low, use.high, use.mean)
        if not all(bound is None or _LEAST <= bound <= _MOST for bound in bounds):
            return Doubt.IMPLAUSIBLE, f"{device.label} has impossible values"
    return None


def contradicted(rule: Rule, device: DeviceUse, stretch: float, limits: Limits) -> str | None:
    """The signal that speaks against low use of a device in any window up to `stretch`; None = none does."""
    for window, values in sorted(device.signals.items()):
        if window <= stretch and (signal := _against(rule, device, values, limits)) is not None:
            return signal
    return None


def _against(rule: Rule, device: DeviceUse, values: Mapping[str, float], limits: Limits) -> str | None:
    is_mean = rule.kind is RuleKind.MEAN
    considered = _OF_MEAN.get(rule.metric, SIGNALS) if is_mean else SIGNALS
    judged = {rule.metric, "graphics_engine_activity"} if device.is_slice else {rule.metric}
    shown = {name: value for name, value in values.items() if name in considered and name not in judged}
    active = max(limits.active_signal, rule.settings.threshold or 0.0) if is_mean else limits.active_signal
    margin = limits.active_power if rule.settings.power_margin is None else rule.settings.power_margin
    if shown.get("gpu_utilization", 0.0) > active:
        return "UTIL"
    model = gpu_model(device.model) if "power_watts" in shown else None
    found = contradiction(shown, model, active_signal=active, active_power=margin, is_slice=device.is_slice)
    if found is not None or device.is_slice:
        return found
    busy = next((name for name in LINKS if shown.get(name, 0.0) > limits.active_link), None)
    return None if busy is None else "NVLINK" if busy.startswith("nvlink") else "PCIE"


def trouble_of(rule: Rule, evidence: Evidence, stretch: float) -> Trouble | None:
    """What happened on a node of the job within the window that was judged; None = nothing that counts."""
    window = max(stretch, rule.windows[0])
    for one in evidence.troubles:
        excused = one.doubt is Doubt.NODE_ZERO and one.is_one_jobs and rule.settings.single_job_nodes
        reaches = one.doubt is Doubt.NODE_ZERO or one.window_seconds <= window
        if reaches and not excused:
            return one
    return None
