"""Bring the configured slots of a node and its measured devices together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from data.inventory import Inventory, Known, Place
from data.join.hardware import mig_profile
from data.join.measured import minor_or_index
from data.join.slots import Slot
from data.model import Device, DeviceReading

Key = tuple[str, str, str]
Proof = Mapping[int, DeviceReading]


def match(
    node: str, slots: list[Slot], measured: list[DeviceReading], inventory: Inventory, proof: Proof
) -> list[DeviceReading]:
    """Fill `reading` and `device` of every slot; give back the devices that no slot was configured for.

    Known pairs first, the rest by order where the numbers of slots and devices agree, else by index.
    """
    extra: list[DeviceReading] = []
    for group, readings in _groups(slots, measured):
        extra += _match_group(node, group, readings, inventory, proof)
    _name_unmeasured(node, slots, inventory)
    return extra


def learned(node: str, slots: Iterable[Slot], proof: Proof) -> list[tuple[Place, Known]]:
    """Give the pairs to remember: measured devices whose place is certain."""
    return [
        ((node, slot.index), Known(slot.device, slot.index in proof))
        for slot in slots
        if slot.device is not None and slot.reading is not None and slot.is_certain
    ]


def _groups(slots: list[Slot], measured: list[DeviceReading]) -> list[tuple[list[Slot], list[DeviceReading]]]:
    """Slices of one profile belong to slots of that profile, whole GPUs to the others.

    Where Slurm's types do not say that they are slices, all belong together.
    """
    profiles = {slot.profile for slot in slots if slot.profile}
    if not profiles:
        whole = [reading for reading in measured if not reading.device.is_slice]
        uncut = len(measured) != len(slots) and len(whole) == len(slots)
        rest = [reading for reading in measured if reading.device.is_slice] if uncut else []
        return [(slots, whole if uncut else measured), ([], rest)]
    groups: dict[str | None, tuple[list[Slot], list[DeviceReading]]] = {}
    for slot in slots:
        groups.setdefault(slot.profile, ([], []))[0].append(slot)
    for reading in measured:
        profile = _profile_of(reading, profiles)
        groups.setdefault(profile, ([], []))[1].append(reading)
    return list(groups.values())


def _profile_of(reading: DeviceReading, profiles: set[str]) -> str | None:
    if not reading.device.is_slice:
        return None
    named = mig_profile(reading.device.slice_profile)
    return next(iter(profiles)) if named is None and len(profiles) == 1 else named or "?"


def _match_group(
    node: str, slots: list[Slot], readings: list[DeviceReading], inventory: Inventory, proof: Proof
) -> list[DeviceReading]:
    equal = len(slots) == len(readings)
    left = {reading.device.key: reading for reading in readings}
    open_slots = _take_known(node, slots, left, inventory, proof)
    if equal:
        is_only = len(left) == 1
        for slot, reading in zip(open_slots, list(left.values()), strict=True):
            _take(slot, left.pop(reading.device.key))
            slot.is_certain = is_only or _has_order(reading.device)
        return []
    if any(reading.device.is_slice for reading in readings):
        for slot, reading in zip(open_slots, list(left.values()), strict=False):
            _take(slot, left.pop(reading.device.key))
            slot.is_certain = False
        return list(left.values())
    by_number = _by_number(left.values())
    for slot in open_slots:
        found = by_number.get(slot.index)
        if found is not None:
            _take(slot, left.pop(found.device.key))
    return list(left.values())


def _has_order(device: Device) -> bool:
    """Whether anything but a UUID, which is random, says which of a node's devices it is."""
    return minor_or_index(device) is not None or device.bus_id is not None


def _by_number(readings: Collection[DeviceReading]) -> dict[int | None, DeviceReading]:
    """Each device by its number; one that two devices claim names neither."""
    found: dict[int | None, DeviceReading] = {}
    numbers = Counter(minor_or_index(reading.device) for reading in readings)
    for reading in readings:
        number = minor_or_index(reading.device)
        if numbers[number] == 1:
            found[number] = reading
    return found


def _take_known(
    node: str, slots: list[Slot], left: dict[Key, DeviceReading], inventory: Inventory, proof: Proof
) -> list[Slot]:
    """Pair what labels prove now, then what was proven before, then what fitted before; give the open slots."""
    before = [(slot, inventory.known(node, slot.index)) for slot in slots]
    wanted = [(slot, proof[slot.index].device.key) for slot in slots if slot.index in proof]
    wanted += [(slot, known.device.key) for slot, known in before if known is not None and known.is_proven]
    wanted += [(slot, known.device.key) for slot, known in before if known is not None and not known.is_proven]
    for slot, key in wanted:
        if slot.reading is None and key in left:
            _take(slot, left.pop(key))
    return [slot for slot in slots if slot.reading is None]


def _take(slot: Slot, reading: DeviceReading) -> None:
    slot.reading, slot.device = reading, reading.device


def _name_unmeasured(node: str, slots: list[Slot], inventory: Inventory) -> None:
    """Name slots without a measured device: as remembered, else by a number that nobody on the node has."""
    open_slots = [slot for slot in slots if slot.device is None]
    if not open_slots:
        return
    used = {slot.device.key for slot in slots if slot.device is not None}
    numbers = {slot.device.index for slot in slots if slot.device is not None}
    for slot in open_slots:
        known = inventory.known(node, slot.index)
        if known is not None and known.device.key not in used and known.device.is_slice == bool(slot.profile):
            slot.device = known.device
        else:
            slot.device = _placeholder(node, slot, numbers)
        used.add(slot.device.key)
        numbers.add(slot.device.index)


def _placeholder(node: str, slot: Slot, numbers: set[int | None]) -> Device:
    if slot.profile:
        return Device(node, slice_id=f"slot{slot.index}", slice_profile=slot.profile)
    number = slot.index
    while number in numbers:
        number += 1
    return Device(node, index=number)
