"""Raw values and labels of exporters: what is a number, what is a blank, what cannot be true."""

from __future__ import annotations

import ipaddress
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from data.metrics.registry import Metric

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# DCGM's blanks for int32, int64 and double with their neighbors (not found, not supported, no permission),
# NVML's unset 32-bit field, and the double blank after an exporter made it a percentage.
_BLANKS = np.array(
    [
        *(2147483632.0 + offset for offset in range(4)),
        *(140737488355328.0 + offset for offset in range(4)),
        9223372036854775794.0,
        4294967295.0,
        14073748835532800.0,
    ]
)
# Ratios such as 1.0000001 are rounding; anything further out is a wrong unit or a broken sensor.
_HAIR = 1e-3
_LOWEST_CELSIUS = -40.0
_JOB_ID = re.compile(r"[0-9]+(?:[_+.].*)?|s[0-9A-Z]{13}")
_UUID_KINDS = ("gpu-", "mig-")


def prom_value(pair: Sequence[object]) -> float | None:
    """Read one [time, "value"] of the HTTP API; None for NaN, infinities, text and half pairs."""
    if len(pair) != 2:
        return None
    try:
        value = float(str(pair[1]))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def screen(raw: Floats, scale: float, metric: Metric, dropped: Counter[str]) -> tuple[Floats, Bools]:
    """Convert raw values and say which of them are real; the others are counted in `dropped` by reason."""
    values = raw * scale
    finite = np.isfinite(raw)
    blank = finite & np.isin(raw, _BLANKS)
    low, high = bounds(metric)
    with np.errstate(invalid="ignore"):
        implausible = finite & ~blank & ((values < low) | (values > high))
    for reason, mask in (("not a number", ~finite), ("blank", blank), ("implausible", implausible)):
        count = int(np.count_nonzero(mask))
        if count:
            dropped[f"{reason}: {metric.name}"] += count
    if metric.unit == "ratio":
        values = np.clip(values, 0.0, 1.0)
    return values, finite & ~blank & ~implausible


def is_blank(raw: float) -> bool:
    return bool(np.isin(raw, _BLANKS))


def bounds(metric: Metric) -> tuple[float, float]:
    """The lowest and highest plausible value, a rounding hair included."""
    low = _LOWEST_CELSIUS if metric.unit == "celsius" else 0.0
    high = math.inf if metric.maximum is None else metric.maximum
    return (-_HAIR, high + _HAIR) if metric.unit == "ratio" else (low, high)


def job_label(text: str, pattern: re.Pattern[str] | None = None) -> str | None:
    """The job id in an exporter's label; None for "", "0" and whatever is no job id ("no job known").

    `pattern` finds the id (group 1) in labels that hold more than the id, such as a cgroup path.
    """
    label = text.strip()
    if pattern is not None and not _JOB_ID.fullmatch(label):
        found = pattern.search(label)
        label = found.group(1) if found else ""
    return label if _JOB_ID.fullmatch(label) and label.strip("0") else None


@lru_cache(maxsize=65536)
def device_uuid(text: str) -> str | None:
    """A UUID in one spelling: lower case, with its kind ("gpu-", "mig-") in front."""
    uuid = text.strip().lower()
    if not uuid:
        return None
    return uuid if uuid.startswith(_UUID_KINDS) else f"gpu-{uuid}"


def bus_id(text: str) -> str | None:
    """A PCI address in one spelling: lower case, four digits of domain."""
    address = text.strip().lower()
    domain, colon, rest = address.partition(":")
    if not colon:
        return address or None
    return f"{domain[-4:].rjust(4, '0')}:{rest}" if ":" in rest else f"0000:{address}"


@lru_cache(maxsize=65536)
def short_host(text: str, strip_domain: bool = True) -> str:
    """A host name without port and domain, as Slurm names its nodes; an address stays whole."""
    host = text.strip()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.partition(".")[0] if strip_domain else host
    return host
