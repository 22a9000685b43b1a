"""Used of given, as a ratio that is never silently impossible."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """`used` of `given` in one unit. `value` may exceed 1: then it is marked and left out of means."""

    used: float | None
    given: float | None

    @property
    def value(self) -> float | None:
        """used / given; None where either is not known, or nothing was given."""
        if self.used is None or self.given is None or self.given <= 0:
            return None
        return self.used / self.given

    @property
    def is_implausible(self) -> bool:
        """Whether more was used than given."""
        return self.value is not None and self.value > 1.0

    @property
    def countable(self) -> float | None:
        """The value for means; None where it is not measured or implausible."""
        return None if self.is_implausible else self.value


UNMEASURED = Share(None, None)


def share(used: float | None, given: float | None) -> Share:
    """Make a Share; a negative or infinite number is not measured."""
    return Share(_sound(used), _sound(given))


def cpu_efficiency(
    cpu_seconds: float | None, cores: float | None, elapsed_seconds: float | None, *, slack_seconds: float = 1.0
) -> Share:
    """CPU seconds of cores x elapsed seconds.

    `slack_seconds` is how far the elapsed time itself may be off: 1 s where Slurm cuts it to whole seconds, an
    interval where a counter was read at its edges. Within it, a job that kept all cores busy is at 1 and not above.
    """
    if cores is None or elapsed_seconds is None:
        return share(cpu_seconds, None)
    given = cores * elapsed_seconds
    if cpu_seconds is not None and given < cpu_seconds <= given + cores * slack_seconds and elapsed_seconds > 0:
        return share(given, given)
    return share(cpu_seconds, given)


def memory_efficiency(peak_bytes: float | None, allocated_bytes: float | None) -> Share:
    """Peak memory used of the memory given, in bytes."""
    return share(peak_bytes, allocated_bytes)


def total_share(parts: Iterable[Share]) -> Share:
    """Add up the parts of which both numbers are known; UNMEASURED when there is none."""
    known = [part for part in parts if part.used is not None and part.given is not None]
    if not known:
        return UNMEASURED
    return Share(sum(part.used or 0.0 for part in known), sum(part.given or 0.0 for part in known))


def time_share(elapsed_seconds: float | None, limit_seconds: float | None) -> Share:
    """Elapsed of the time limit; no share of an unlimited one."""
    return share(elapsed_seconds, limit_seconds)


def _sound(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value >= 0 else None
