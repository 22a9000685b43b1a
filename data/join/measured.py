"""The devices that the exporters of one node show, each once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from data.metrics.registry import METRICS
from data.model import Device, DeviceReading

_WHOLE_CARD = frozenset(name for name, metric in METRICS.items() if metric.is_whole_card)


def leaves(readings: list[DeviceReading]) -> tuple[list[DeviceReading], int]:
    """Give each device once, parents of slices left out, and how many of those parents carried a job label.

    A GPU that is cut into slices is still exported beside them; its values for the whole card go to the slices,
    its job label is ambiguous and goes nowhere.
    """
    unique = _each_once(readings)
    slices = [reading for reading in unique if reading.device.is_slice]
    if not slices:
        return sorted(unique, key=_order), 0
    parents = {name for reading in slices for name in _parent_names(reading.device)}
    whole, cut = [], {}
    for reading in unique:
        if reading.device.is_slice:
            continue
        names = parents.intersection(_own_names(reading.device))
        if names:
            cut.update(dict.fromkeys(names, reading))
        else:
            whole.append(reading)
    full = [_with_card_values(reading, cut) for reading in slices]
    ambiguous = len({id(parent) for parent in cut.values() if parent.job_labels})
    return sorted(whole + full, key=_order), ambiguous


def minor_or_index(device: Device) -> int | None:
    """The number that Slurm's order follows: /dev/nvidiaN where known, else the exporter's own."""
    return device.index if device.minor is None else device.minor


def _each_once(readings: list[DeviceReading]) -> list[DeviceReading]:
    """Merge what two exporters say of one device: by identity, and by index where one of them has no identity."""
    found: dict[tuple[str, str, str], DeviceReading] = {}
    for reading in readings:
        key = reading.device.key
        found[key] = _merged(found[key], reading) if key in found else reading
    if len({bool(reading.device.uuid or reading.device.bus_id) for reading in found.values()}) < 2:
        return list(found.values())
    named = {_place(r.device): k for k, r in found.items() if r.device.uuid or r.device.bus_id}
    for key, reading in list(found.items()):
        twin = None if key[1] != str(reading.device.index) else named.get(_place(reading.device))
        if twin is not None and twin != key:
            found[twin] = _merged(found[twin], found.pop(key))
    return list(found.values())


def _place(device: Device) -> tuple[int | None, str | None]:
    return (device.index, device.slice_id)


def _merged(first: DeviceReading, second: DeviceReading) -> DeviceReading:
    labels = tuple(dict.fromkeys(first.job_labels + second.job_labels))
    return replace(first, values={**second.values, **first.values}, job_labels=labels)


def _parent_names(device: Device) -> Iterable[object]:
    """A slice names its parent by the parent's UUID, or has a UUID of its own and only the parent's index."""
    return _own_names(replace(device, uuid=None) if (device.uuid or "").startswith("mig-") else device)


def _own_names(device: Device) -> list[object]:
    """UUID and index are names of different kinds, so that a bus id never equals an index."""
    names: list[object] = [name for name in (device.uuid, device.bus_id) if name]
    return names if device.index is None else [*names, device.index]


def _with_card_values(reading: DeviceReading, cut: dict[object, DeviceReading]) -> DeviceReading:
    parent = next((cut[name] for name in _parent_names(reading.device) if name in cut), None)
    if parent is None:
        return reading
    card = {name: value for name, value in parent.values.items() if name in _WHOLE_CARD}
    device = reading.device if reading.device.model else replace(reading.device, model=parent.device.model)
    return replace(reading, device=device, values={**card, **reading.values})


def _order(reading: DeviceReading) -> tuple[float, str, float, str, int]:
    device = reading.device
    number = minor_or_index(device)
    slice_id = device.slice_id or ""
    part = float(slice_id) if slice_id.isdecimal() else float("inf")
    first = float("inf") if number is None else number
    return (first, device.bus_id or device.uuid or "", part, slice_id, -1 if device.index is None else device.index)
