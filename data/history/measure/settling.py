"""Spread a total over cells so that it is met exactly and no cell holds more than it has room for."""

from __future__ import annotations

import numpy as np

from data.history.measure.use import Floats, Ints, per_owner


def settle(wanted: Floats, room: Floats, total: Floats, owner: Ints) -> Floats:
    """Change `wanted` as little as that takes; `owner` names the total that each cell is a part of.

    Samples come a little early or late, so an hour may show one more than fits into it: what is too much in one cell
    goes to those of the same owner that have room. Where all are full, the total still counts.
    """
    count = len(total)
    parts = np.clip(wanted, 0.0, room)
    sums = per_owner(owner, parts, count)
    parts *= np.where(sums > total, total / np.maximum(sums, 1e-300), 1.0)[owner]
    missing = total - per_owner(owner, parts, count)
    slack = np.maximum(0.0, room - parts)
    free = per_owner(owner, slack, count)
    parts += slack * np.where(free > 0, np.clip(missing / np.maximum(free, 1e-300), 0.0, 1.0), 0.0)[owner]
    rest = total - per_owner(owner, parts, count)
    weight = per_owner(owner, wanted, count)
    is_left = (rest > 1e-12 * np.maximum(total, 1.0)) & (weight > 0)
    parts += wanted * np.where(is_left, rest / np.maximum(weight, 1e-300), 0.0)[owner]
    return parts
