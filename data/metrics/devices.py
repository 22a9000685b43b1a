"""From an exporter's labels to devices, and one device out of what several exporters say about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from data.metrics.dialects import Dialect
from data.metrics.prometheus_site import Site
from data.metrics.values import bus_id, device_uuid, job_label, short_host
from data.model import Device


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one series says of itself. `device` is None for host metrics of a (job, node)."""

    node: str
    device: Device | None
    job: str | None
    user: str | None


def sight(dialect: Dialect, site: Site, labels: Mapping[str, str]) -> Sighting | None:
    """Read the labels of a series; None when they name no host (or are no texts)."""
    if not all(isinstance(text, str) for text in labels.values()):
        return None
    node = short_host(first_label(labels, site.host_labels(dialect)), site.strip_domain)
    if not node:
        return None
    job = job_label(first_label(labels, site.job_labels(dialect)), dialect.job_pattern)
    device = None if dialect.scope == "host" else _device(dialect, labels, node, job)
    return Sighting(node, device, job, _role(dialect, labels, "user") or None)


def identity(dialect: Dialect, site: Site, labels: Mapping[str, str]) -> str:
    """node/index, or node/index/slice, of a series' device."""
    seen = sight(dialect, site, labels)
    return seen.device.label if seen and seen.device else ""


def _device(dialect: Dialect, labels: Mapping[str, str], node: str, job: str | None) -> Device | None:
    index_text = _role(dialect, labels, "index")
    uuid = device_uuid(_role(dialect, labels, "uuid"))
    bus = bus_id(_role(dialect, labels, "bus_id"))
    index = int(index_text) if index_text.isdecimal() else None
    if dialect.scope == "job":
        if index_text[:4].lower() in ("gpu-", "mig-"):
            uuid = device_uuid(index_text)
        elif index_text and job:
            # the number counts the devices within the job, not those of the node
            bus, index = f"{job}:{index_text}", None
    if uuid is None and bus is None and index is None:
        return None
    return Device(
        node=node,
        index=index,
        uuid=uuid,
        bus_id=bus,
        minor=_minor(dialect, labels),
        slice_id=_slice(dialect, labels),
        slice_profile=_role(dialect, labels, "slice_profile") or None,
        model=_role(dialect, labels, "model") or None,
    )


def _slice(dialect: Dialect, labels: Mapping[str, str]) -> str | None:
    kind = _role(dialect, labels, "slice_kind").lower()
    if dialect.whole_kinds and kind in dialect.whole_kinds:
        return None
    return _role(dialect, labels, "slice") or None


def _minor(dialect: Dialect, labels: Mapping[str, str]) -> int | None:
    text = _role(dialect, labels, "minor") or _role(dialect, labels, "device").removeprefix("nvidia")
    return int(text) if text.isdecimal() else None


def _role(dialect: Dialect, labels: Mapping[str, str], role: str) -> str:
    return first_label(labels, dialect.labels.get(role, ()))


def first_label(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """The first of these labels that has a value; "" when none has."""
    for name in names:
        value = labels.get(name)
        if value:
            return value
    return ""


class Fleet:
    """Devices as several exporters see them, each one known by the best identity that any of them gives.

    Add the devices of the exporter that counts first, first. UUIDs join, else PCI addresses, else indices; the
    latter two only where one side has no UUID of the same kind (a slice is "gpu-" of its card for one exporter
    and "mig-" of its own for another).
    """

    def __init__(self) -> None:
        self._devices: list[Device] = []
        self._ids: dict[Device, int] = {}
        self._by: dict[tuple[str, str, object, str | None], int] = {}
        self._nodes: set[str] = set()
        self._slices: dict[int, tuple[int, ...]] | None = None

    def add(self, device: Device, is_job_scoped: bool = False) -> int | None:
        """The number of the device; None when it cannot be told from those that are there already."""
        known = self._ids.get(device)
        if known is not None:
            return known
        number = self._find(device)
        if number is None:
            if is_job_scoped and device.node in self._nodes:
                return None
            number = len(self._devices)
            self._devices.append(device)
        else:
            self._devices[number] = _completed(self._devices[number], device)
        if not is_job_scoped:
            self._nodes.add(device.node)
        self._ids[device] = number
        for key in _keys(device):
            self._by.setdefault(key, number)
        return number

    def __getitem__(self, number: int) -> Device:
        return self._devices[number]

    def slices(self, number: int) -> Sequence[int]:
        """The slices of a whole GPU that is cut; () for others. Ask when all devices are added."""
        if self._slices is None:
            self._slices = self._find_slices()
        return self._slices.get(number, ())

    def _find(self, device: Device) -> int | None:
        for key in _keys(device):
            number = self._by.get(key)
            if number is not None and (key[0] == "uuid" or _may_be_same(self._devices[number], device)):
                return number
        return None

    def _find_slices(self) -> dict[int, tuple[int, ...]]:
        parents: dict[tuple[str, str, object], int] = {}
        for number, device in enumerate(self._devices):
            if device.slice_id is None:
                parents.update(((kind, node, value), number) for kind, node, value, _ in _keys(device))
        slices: dict[int, list[int]] = defaultdict(list)
        for number, device in enumerate(self._devices):
            if device.slice_id is not None:
                found = (parents.get((kind, node, value)) for kind, node, value, _ in _keys(device))
                parent = next((p for p in found if p is not None), None)
                if parent is not None:
                    slices[parent].append(number)
        return {parent: tuple(numbers) for parent, numbers in slices.items()}


def _keys(device: Device) -> list[tuple[str, str, object, str | None]]:
    values = (("uuid", device.uuid), ("bus", device.bus_id), ("index", device.index))
    return [(kind, device.node, value, device.slice_id) for kind, value in values if value is not None]


def _may_be_same(known: Device, other: Device) -> bool:
    if known.uuid is None or other.uuid is None:
        return True
    return known.uuid[:4] != other.uuid[:4]


def _completed(known: Device, other: Device) -> Device:
    missing = {
        field.name: getattr(other, field.name)
        for field in fields(Device)
        if getattr(known, field.name) is None and getattr(other, field.name) is not None
    }
    return replace(known, **missing) if missing else known
