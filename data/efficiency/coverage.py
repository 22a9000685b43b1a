"""How much of a job's time was measured."""

from __future__ import annotations

import math
from enum import StrEnum

MIN_INTERVALS = 2
# Below this share of what was allocated a figure is shown as resting on a part only.
PARTLY_MEASURED = 0.8


class CoverageState(StrEnum):
    UNKNOWN = "unknown"  # the interval or the duration is not known
    TOO_SHORT = "too short"  # under two intervals: nothing can be said, and nothing is missing
    PARTIAL = "partial"
    WHOLE = "whole"
    DISAGREES = "mapping disagrees"  # more samples than time allows: the series are of other devices, too


def expected_samples(duration_seconds: float | None, interval_seconds: float | None) -> int | None:
    """Count the samples of one device in `duration_seconds` (s); None without a duration or interval."""
    if interval_seconds is None or not 0 < interval_seconds < math.inf:
        return None
    if duration_seconds is None or not math.isfinite(duration_seconds / interval_seconds):
        return None
    return max(0, math.floor(duration_seconds / interval_seconds))


def is_too_short(duration_seconds: float | None, interval_seconds: float | None) -> bool:
    """Whether less than two intervals have passed."""
    expected = expected_samples(duration_seconds, interval_seconds)
    return expected is not None and expected < MIN_INTERVALS


def coverage(samples: int | None, duration_seconds: float | None, interval_seconds: float | None) -> float | None:
    """Share of the expected samples that were seen (ratio, may exceed 1); one more or less than expected is 1.

    None when the job is too short, or the interval is not known.
    """
    expected = expected_samples(duration_seconds, interval_seconds)
    if samples is None or expected is None or expected < MIN_INTERVALS:
        return None
    if abs(samples - expected) <= 1:
        return 1.0
    return max(0, samples) / expected


def coverage_state(share: float | None, *, minimum: float, maximum: float, too_short: bool = False) -> CoverageState:
    """Name a coverage. `minimum` and `maximum` are the ratios between which the data count as whole."""
    if too_short:
        return CoverageState.TOO_SHORT
    if share is None:
        return CoverageState.UNKNOWN
    if share > maximum:
        return CoverageState.DISAGREES
    return CoverageState.WHOLE if share >= minimum else CoverageState.PARTIAL
