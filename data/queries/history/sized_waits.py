"""The wait of a job and its size as one whole number, so that a group can keep both of each of its jobs in one list.

A group for each size beside it would cost a report a tenth: there are six times as many groups, each with all sums.
"""

from __future__ import annotations

from typing import Any

from data.queries.history.groups import SIZE_UNKNOWN, SIZES
from data.queries.history.narrowing import by_size

Expression = Any
_SIZES = (*SIZES, SIZE_UNKNOWN)
_PER_SECOND, _SIZE_BITS = 1000, 3


def sized(wait: Expression, gpu_count: Expression) -> Expression:
    """Of a wait in seconds, kept to the millisecond; null where the wait is."""
    return (wait * _PER_SECOND).round().cast("int64") * 2**_SIZE_BITS + by_size(gpu_count, range(len(_SIZES)))


def wait_in(code: Expression) -> Expression:
    """Seconds."""
    return (code // 2**_SIZE_BITS) / _PER_SECOND


def size_in(code: Expression) -> Expression:
    """One of SIZES, or SIZE_UNKNOWN."""
    import ibis

    number = code % 2**_SIZE_BITS
    return ibis.cases(*((number == place, name) for place, name in enumerate(_SIZES[:-1])), else_=_SIZES[-1])
