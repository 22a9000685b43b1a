"""Nodes on which everything turned idle at once: a sign of a broken sensor or exporter, not of idle jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from policy.model import Doubt, Trouble

Bracket = tuple[float, float]
"""Between how many and how many seconds ago the last busy sample was."""

# Application errors that a driver keeps showing long after the process is gone: only new ones count.
OLD_XIDS = frozenset({13, 31, 43, 45})
# Two brackets of one moment may lie apart by the rounding of sample times.
_SLACK = 1.0


@dataclass(frozen=True, slots=True)
class NodeDevice:
    """A measured device of a node, held or not. `turned` None = no busy sample is known of it, or it is busy now."""

    label: str
    job_ids: frozenset[int]
    is_idle: bool
    turned: Bracket | None = None


def bracket(highs: Sequence[tuple[float, float | None]], epsilon: float) -> tuple[bool, Bracket | None]:
    """Whether a device is idle, and when it turned so, from the largest value in windows of growing length."""
    before = 0.0
    for window, high in highs:
        if high is not None and high > epsilon:
            return before > 0, (before, window) if before > 0 else None
        before = window
    return before > 0 and any(high is not None for _, high in highs), None


def is_suspicious(devices: Sequence[NodeDevice]) -> bool:
    """Whether all devices of the node, or all of several jobs on it, are idle: then it matters when they turned so."""
    held = [device for device in devices if device.job_ids]
    jobs = {job_id for device in held for job_id in device.job_ids}
    everything = len(devices) > 1 and all(device.is_idle for device in devices)
    return everything or (len(jobs) > 1 and all(device.is_idle for device in held))


def zero_trouble(
    node: str, devices: Sequence[NodeDevice], own_ids: frozenset[int], run_seconds: float, interval_seconds: float
) -> Trouble | None:
    """What to say when all devices, or all jobs, of a node turned idle within one interval while the job ran.

    `own_ids` are the job's raw ids.
    """
    jobs = {one for device in devices for one in device.job_ids}
    own = _last(device for device in devices if device.job_ids & own_ids)
    if own is None or own[0] >= run_seconds or not is_suspicious(devices):
        return None
    every = [device.turned for device in devices]
    by_job = [_last(device for device in devices if one in device.job_ids) for one in sorted(jobs)]
    if len(devices) > 1 and _at_once(every, interval_seconds):
        text = f"all GPUs of {node} turned idle at once"
    elif len(jobs) > 1 and _at_once(by_job, interval_seconds):
        text = f"all jobs on {node} turned idle at once"
    else:
        return None
    return Trouble(Doubt.NODE_ZERO, node, text, own[0], is_one_jobs=jobs <= own_ids)


def xid_trouble(node: str, label: str, low: float | None, high: float | None, window: float) -> Trouble | None:
    """An XID error in the window: a new one, or one that speaks of the hardware however old it is."""
    if high is None or high <= 0:
        return None
    is_new = low is not None and low != high
    if not is_new and int(high) in OLD_XIDS:
        return None
    return Trouble(Doubt.XID, node, f"XID {int(high)} on {label}", window)


def _last(devices: Iterable[NodeDevice]) -> Bracket | None:
    """When the last of these devices turned idle; None = one is busy, or none was ever seen busy."""
    found: list[Bracket] = []
    for device in devices:
        if not device.is_idle:
            return None
        if device.turned is not None:
            found.append(device.turned)
    return (min(low for low, _ in found), min(high for _, high in found)) if found else None


def _at_once(brackets: Sequence[Bracket | None], interval: float) -> bool:
    known = [one for one in brackets if one is not None]
    if len(known) < len(brackets):
        return False
    return max(low for low, _ in known) - min(high for _, high in known) <= interval + _SLACK
