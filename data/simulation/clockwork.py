"""Time inside the simulation: whole and fractional seconds since 1970 in UTC, cut into epochs of fixed length.

No calendar of any country is used, so midnight and summer time change nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from data.errors import BadRequest
from data.simulation.chance import Floats, Ints

MAINTENANCE_SHOWN = 15 * 86400.0
HOUR = 3600
DAY = 86400
BEGIN = 1735689600  # 2025-01-01 00:00 UTC, a Wednesday: job ids count from here
EARLIEST = BEGIN + 14 * DAY
_MONDAY = 1735516800  # 2024-12-30


def seconds(moment: datetime, *, must_exist: bool = True) -> float:
    """Seconds since 1970. Raises BadRequest for a time without a zone and, with `must_exist`, for one before the
    cluster existed."""
    if moment.tzinfo is None:
        raise BadRequest(f"{moment.isoformat()} has no time zone", hint="Use aware UTC times.")
    value = moment.timestamp()
    if must_exist and value < EARLIEST:
        raise BadRequest(
            f"the simulated cluster knows nothing before {utc(EARLIEST):%Y-%m-%d}, and {moment:%Y-%m-%d} was asked",
            hint="Choose a later time.",
        )
    return value


def utc(value: float) -> datetime:
    return datetime.fromtimestamp(value, UTC)


def workload(times: Ints | Floats) -> Floats:
    """How many people are at work, 0..1: high on weekdays by day, lower in the evening, at night, at weekends."""
    since = np.asarray(times, dtype=np.float64) - _MONDAY
    day = np.floor(since / DAY).astype(np.int64) % 7
    hour = (since % DAY) / HOUR
    by_day = np.interp(hour, [0, 5, 7, 9, 17, 20, 24], [0.7, 0.6, 0.85, 1.0, 1.0, 0.9, 0.7])
    result: Floats = np.where(day >= 5, 0.05 + 0.3 * by_day, by_day)
    return result
