"""Chance as a pure function: the same words give the same number in every process, on every numpy.

Numpy's generators carry state and may change their streams between versions; a hash does neither, and any element
can be had without drawing those before it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

_MASK = (1 << 64) - 1
_GOLD = 0x9E3779B97F4A7C15
_M1 = 0xBF58476D1CE4E5B9
_M2 = 0x94D049BB133111EB
_U_GOLD, _U_M1, _U_M2 = np.uint64(_GOLD), np.uint64(_M1), np.uint64(_M2)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_TO_UNIT = 2.0**-53


def key_of(*parts: int) -> int:
    """Mix integers (negative ones too) into one 64-bit key."""
    value = 0x243F6A8885A308D3
    for part in parts:
        value = (value + (part & _MASK) * _GOLD + _GOLD) & _MASK
        value = ((value ^ (value >> 30)) * _M1) & _MASK
        value = ((value ^ (value >> 27)) * _M2) & _MASK
        value ^= value >> 31
    return value


@lru_cache(maxsize=8192)
def word(text: str) -> int:
    """A number for a name, to be mixed with others."""
    return key_of(*text.encode())


def unit_of(*parts: int) -> float:
    """One number in 0..1 (1 left out)."""
    return (key_of(*parts) >> 11) * _TO_UNIT


def pick(count: int, *parts: int) -> int:
    """One of 0 .. count-1."""
    return min(count - 1, int(unit_of(*parts) * count))


def mix(keys: Keys, channel: int | Ints | Keys) -> Keys:
    """Mix every key with a channel number (or an array of numbers of the same shape)."""
    if isinstance(channel, int):
        salt = np.uint64((channel * _GOLD + _GOLD) & _MASK)
        value = keys + salt
    else:
        value = keys + channel.astype(np.uint64) * _U_GOLD + _U_GOLD
    value = (value ^ (value >> _S30)) * _U_M1
    value = (value ^ (value >> _S27)) * _U_M2
    mixed: Keys = value ^ (value >> _S31)
    return mixed


def units(keys: Keys, channel: int | Ints | Keys = 0) -> Floats:
    """Numbers in 0..1 (1 left out), one per key."""
    return (mix(keys, channel) >> _S11).astype(np.float64) * _TO_UNIT


def bells(keys: Keys, channel: int | Ints | Keys = 0) -> Floats:
    """Numbers of mean 0 and deviation 1, bell-shaped between -3.5 and 3.5: four 16-bit parts of one hash summed."""
    mixed = mix(keys, channel)
    low = np.uint64(0xFFFF)
    total = np.zeros(mixed.shape)
    for shift in (0, 16, 32, 48):
        total += (mixed >> np.uint64(shift)) & low
    return (total / 65535.0 - 2.0) * 1.7320508


def waves(keys: Keys, channel: int, position: Floats) -> Floats:
    """A smooth curve in 0..1 along `position`, with a new random level at every whole number."""
    base = np.floor(position)
    step = base.astype(np.int64)
    part = position - base
    own = mix(keys, channel)
    before, after = units(own, step), units(own, step + 1)
    result: Floats = before + (after - before) * part * part * (3.0 - 2.0 * part)
    return result


def choose(weights: Floats, numbers: Floats) -> Ints:
    """The index of the weight into which each number (0..1) falls."""
    edges = np.cumsum(weights) / float(np.sum(weights))
    return np.minimum(np.searchsorted(edges, numbers, side="right"), len(weights) - 1).astype(np.int64)
