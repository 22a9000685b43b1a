"""When each exporter is scraped: every 30 s, each node with a phase of its own, and never quite on time."""

from __future__ import annotations

import numpy as np

from data.simulation.chance import Floats, Ints, Keys, mix, units

INTERVAL = 30.0
JITTER = 0.2  # seconds, either way


def phases(keys: Keys) -> Floats:
    """The phase of each node's scrapes in 0..30 s, in whole milliseconds."""
    return np.floor(units(keys, 201) * INTERVAL * 1000) / 1000


def sample_times(keys: Keys, phase: Floats, number: Ints) -> Floats:
    """The time (seconds) of each node's scrape `number`."""
    late = np.round((units(mix(keys, 202), number) * 2 - 1) * JITTER * 1000) / 1000
    result: Floats = number * INTERVAL + phase + late
    return result


def numbers_between(start: Floats, end: Floats, phase: Floats) -> tuple[Ints, Ints]:
    """First and last-but-one scrape numbers that can lie in [start, end); times at the edges must be looked at."""
    first = np.ceil((start - phase - JITTER) / INTERVAL).astype(np.int64)
    last = np.floor((end - phase + JITTER) / INTERVAL).astype(np.int64) + 1
    return first, np.maximum(first, last)
