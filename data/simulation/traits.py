"""The values that one job drew from its archetype: the same for every question about the job."""

from __future__ import annotations

import numpy as np

from data.simulation.archetypes import COLUMNS, HIGH, LOW
from data.simulation.chance import Floats, Ints, Keys, mix, units

_PLACE = {name: i for i, name in enumerate(COLUMNS)}


def trait(name: str, archetype: Ints, key: Keys) -> Floats:
    """One value per job between the archetype's low and high."""
    column = _PLACE[name]
    low, high = LOW[archetype, column], HIGH[archetype, column]
    result: Floats = low + (high - low) * units(key, 100 + column)
    return result


def core_share(key: Keys) -> Floats:
    """Which share of the lane's cores the job asked for."""
    return np.array([1.0, 1.0, 0.75, 0.5, 0.25])[(units(key, 91) * 5).astype(np.int64)]


def memory_share(key: Keys) -> Floats:
    """Which share of the lane's host memory the job asked for."""
    return np.array([1.0, 0.75, 0.5, 0.5, 0.25])[(units(key, 92) * 5).astype(np.int64)]


def one(key: int | np.uint64) -> Keys:
    """A key as an array of one."""
    return mix(np.array([key], dtype=np.uint64), 0)
