"""The newest value of every device, in one query whatever their number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.metrics.devices import Fleet, Sighting, first_label, sight
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels
from data.metrics.prometheus_selectors import host_choices, series_of
from data.metrics.prometheus_site import Site
from data.metrics.promql import milliseconds, quoted
from data.metrics.registry import METRICS
from data.metrics.values import prom_value, screen
from data.model import DeviceReading

INVENTORY = "fullwarp_inventory"
_IDENTITY = ("index", "uuid", "bus_id", "device", "minor", "model", "slice", "slice_profile", "slice_kind", "user")
Key = tuple[str, str, str, str]


def latest_query(dialects: Sequence[tuple[BoundDialect, float]], site: Site, metrics: Sequence[str]) -> str:
    """One query for all exporters, each with the oldest age in seconds at which a value still counts.

    Values come by `last_over_time`, so that none is older than that; labels are trimmed to what tells devices
    and jobs apart. One more row per device and job tells the full identity, and its value is the time of the
    newest sample: it comes from an instant selector, which (other than ranges) heeds staleness marks, and so
    says which job labels are still alive.
    """
    parts = []
    for bound, age in dialects:
        names = _names(bound, metrics)
        if not names:
            continue
        for host, matchers in host_choices(bound.dialect, site):
            values = series_of(bound, site, names, matchers)
            known = series_of(bound, site, [bound.inventory], matchers)
            parts.append(f"max by ({_row_labels(bound, site, host)}) (last_over_time({values}[{milliseconds(age)}]))")
            newest = f"max by ({_all_labels(bound, site, host)}) (timestamp({known}))"
            parts.append(f'label_replace({newest}, "{INVENTORY}", {quoted(bound.id)}, "", "")')
    return " or ".join(parts)


class _Columns:
    """The rows of one exporter: raw values by term, sightings and live job labels by device.

    Tens of thousands of rows pass here, so devices are told apart by the bare label texts (`key`); what the
    texts mean is read once per device.
    """

    def __init__(self, bound: BoundDialect, site: Site) -> None:
        dialect = bound.dialect
        self.bound = bound
        self.values: dict[Term, tuple[list[Key], list[float], list[str]]] = {}
        self.seen: dict[Key, Sighting | None] = {}
        self.alive: dict[Key, dict[str, Sighting]] = defaultdict(dict)
        self._site = site
        self._hosts = tuple(site.host_labels(dialect))
        self._jobs = tuple(site.job_labels(dialect))
        self._keys = tuple(dialect.labels.get(dialect.key, ()))
        self._slices = tuple(dialect.labels.get("slice", ()))
        self._is_job_scoped = dialect.scope == "job"

    def key(self, labels: Labels) -> tuple[Key, str]:
        """What tells the device apart, and the job label."""
        job = first_label(labels, self._jobs)
        key = (
            first_label(labels, self._hosts),
            first_label(labels, self._keys),
            first_label(labels, self._slices),
            job if self._is_job_scoped else "",
        )
        return key, job

    def add_value(self, labels: Labels, value: float, terms: Sequence[Term]) -> None:
        key, job = self.key(labels)
        if key not in self.seen:
            self.seen[key] = self._device(labels)
        for term in terms:
            if not term.match or all(labels.get(label) == wanted for label, wanted in term.match):
                keys, raw, jobs = self.values.setdefault(term, ([], [], []))
                keys.append(key)
                raw.append(value)
                jobs.append(job)

    def add_device(self, labels: Labels) -> None:
        key, job = self.key(labels)
        sighting = self._device(labels)
        if sighting is not None:
            self.seen[key] = sighting
            self.alive[key][job] = sighting

    def jobs(self, key: Key) -> tuple[str, ...]:
        return tuple(sorted({each.job for each in self.alive.get(key, {}).values() if each.job}))

    def users(self, key: Key) -> tuple[str, ...]:
        return tuple(sorted({each.user for each in self.alive.get(key, {}).values() if each.job and each.user}))

    def jobs_by_value(self) -> dict[Key, tuple[str, ...]]:
        """Job ids that the exporter gives as the value of a series of its own."""
        keys, raw, _ = self.values.get(Term(self.bound.job_value), ([], [], []))
        ids = ((key, prom_value((0, value))) for key, value in zip(keys, raw, strict=True))
        return {key: (str(int(job)),) for key, job in ids if job}

    def _device(self, labels: Labels) -> Sighting | None:
        sighting = sight(self.bound.dialect, self._site, labels)
        return sighting if sighting is not None and sighting.device is not None else None


@dataclass(slots=True)
class Latest:
    """What one answer said; `newest` is the time of the newest sample."""

    devices: tuple[DeviceReading, ...]
    newest: float | None
    at: float | None
    measured: frozenset[str]


def read_latest(
    rows: Iterable[tuple[Labels, float, float]],
    dialects: Sequence[tuple[BoundDialect, float]],
    site: Site,
    metrics: Sequence[str],
    dropped: Counter[str],
) -> Latest:
    """Sort the rows of `latest_query` into devices."""
    columns = {bound.id: _Columns(bound, site) for bound, _ in dialects}
    ages = {bound.id: age for bound, age in dialects}
    terms = _terms_by_name(columns.values(), metrics)
    newest = at = None
    for labels, time, value in rows:
        at = time
        owner = labels.get(INVENTORY)
        if owner is None:
            column, wanted = terms.get(labels.get("__name__", ""), (None, []))
            if column is not None:
                column.add_value(labels, value, wanted)
        elif owner in columns and time - value <= ages[owner]:
            newest = value if newest is None else max(newest, value)
            columns[owner].add_device(labels)
    readings = _Readings(metrics)
    for column in columns.values():
        readings.add(column, dropped)
    devices = readings.finish()
    measured = frozenset(metric for device in devices for metric in device.values)
    return Latest(devices, newest, at, measured)


class _Readings:
    """Puts the exporters together, the one that counts first first."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self._metrics = metrics
        self._fleet = Fleet()
        self._values: dict[int, dict[str, float]] = defaultdict(dict)
        self._jobs: dict[int, tuple[str, ...]] = {}
        self._users: dict[int, tuple[str, ...]] = {}

    def add(self, column: _Columns, dropped: Counter[str]) -> None:
        numbers = {key: self._number(column, key) for key in column.seen}
        by_value = column.jobs_by_value()
        for key, number in numbers.items():
            jobs = column.jobs(key) or by_value.get(key, ())
            if number is not None and jobs:
                self._jobs.setdefault(number, jobs)
                self._users.setdefault(number, column.users(key))
        for metric in self._metrics:
            for key, value in _metric_values(column, metric, dropped).items():
                number = numbers.get(key)
                if number is not None:
                    self._values[number].setdefault(metric, value)

    def _number(self, column: _Columns, key: Key) -> int | None:
        sighting = column.seen[key]
        if sighting is None or sighting.device is None:
            return None
        return self._fleet.add(sighting.device, column.bound.dialect.scope == "job")

    def finish(self) -> tuple[DeviceReading, ...]:
        for number in list(self._values):
            for piece in self._fleet.slices(number):
                for metric, value in self._values[number].items():
                    if METRICS[metric].is_whole_card:
                        self._values[piece].setdefault(metric, value)
        return tuple(
            DeviceReading(self._fleet[number], values, self._jobs.get(number, ()), self._users.get(number, ()))
            for number, values in sorted(self._values.items())
            if values and not self._fleet.slices(number)
        )


def _metric_values(column: _Columns, metric: str, dropped: Counter[str]) -> dict[Key, float]:
    """The metric by device: terms screened one by one, then added; a device without one of them has none."""
    total: dict[Key, float] | None = None
    for term in column.bound.formulas.get(metric, ()):
        values = _term_values(column, term, metric, dropped)
        if total is None:
            total = values
        elif term.optional:
            total = {key: value + values.get(key, 0.0) for key, value in total.items()}
        else:
            total = {key: value + values[key] for key, value in total.items() if key in values}
    return total or {}


def _term_values(column: _Columns, term: Term, metric: str, dropped: Counter[str]) -> dict[Key, float]:
    keys, raw, jobs = column.values.get(term, ([], [], []))
    values, kept = screen(np.array(raw, np.float64), term.scale, METRICS[metric], dropped)
    found: dict[Key, float] = {}
    for key, job, value, is_real in zip(keys, jobs, values.tolist(), kept.tolist(), strict=True):
        if not is_real or value <= found.get(key, -1e30) or not _counts(column, metric, key, job, value):
            continue
        found[key] = value
    return found


def _counts(column: _Columns, metric: str, key: Key, job: str, value: float) -> bool:
    """Whether the row's job label still lives, and the exporter means what it says on a slice."""
    alive = column.alive.get(key)
    if alive is not None and job not in alive:
        return False
    sighting = column.seen[key]
    slice_id = sighting.device.slice_id if sighting and sighting.device else None
    return slice_id is None or not is_void_on_slice(column.bound, metric, slice_id, value)


def is_void_on_slice(bound: BoundDialect, metric: str, slice_id: str, value: float) -> bool:
    """Whether an exporter's value on a slice is only a filler."""
    dialect = bound.dialect
    if metric in dialect.not_on_slices:
        return True
    return dialect.zero_unreported_on_slices and slice_id != "0" and value == 0.0


def _terms_by_name(columns: Iterable[_Columns], metrics: Sequence[str]) -> dict[str, tuple[_Columns, list[Term]]]:
    terms: dict[str, tuple[_Columns, list[Term]]] = {}
    for column in columns:
        formulas = [column.bound.formulas[metric] for metric in metrics if metric in column.bound.formulas]
        wanted = dict.fromkeys(term for formula in formulas for term in formula)
        if column.bound.job_value:
            wanted[Term(column.bound.job_value)] = None
        for term in wanted:
            terms.setdefault(term.name, (column, []))[1].append(term)
    return terms


def _names(bound: BoundDialect, metrics: Sequence[str]) -> set[str]:
    names = {term.name for metric in metrics for term in bound.formulas.get(metric, ())}
    return names | {bound.job_value} - {""} if names else names


def _row_labels(bound: BoundDialect, site: Site, host: str) -> str:
    labels = bound.dialect.labels
    matched = (label for formula in bound.formulas.values() for term in formula for label, _ in term.match)
    key = (*labels.get(bound.dialect.key, ()), *labels.get("slice", ()), *labels.get("slice_kind", ()))
    return _listed("__name__", host, *key, *site.job_labels(bound.dialect), *matched)


def _all_labels(bound: BoundDialect, site: Site, host: str) -> str:
    labels = (label for role in _IDENTITY for label in bound.dialect.labels.get(role, ()))
    return _listed(host, *labels, *site.job_labels(bound.dialect))


def _listed(*labels: str) -> str:
    return ", ".join(dict.fromkeys(labels))


def missing_metrics(metrics: Sequence[str], measured: Iterable[str]) -> Iterator[str]:
    seen = set(measured)
    return (metric for metric in metrics if metric not in seen)
