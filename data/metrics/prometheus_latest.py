"""The newest value of every device, in three queries whatever their number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from data.metrics.devices import Fleet, Sighting
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels
from data.metrics.prometheus_columns import Cell, Columns
from data.metrics.prometheus_selectors import host_choices, series_of
from data.metrics.prometheus_site import Site
from data.metrics.promql import milliseconds, quoted
from data.metrics.registry import METRICS
from data.model import DeviceReading

INVENTORY = "fullwarp_inventory"
VALUE_QUERIES = 2
_IDENTITY = ("index", "uuid", "bus_id", "device", "minor", "model", "slice", "slice_profile", "slice_kind", "user")


Aged = Sequence[tuple[BoundDialect, float]]


def inventory_query(dialects: Aged, site: Site, metrics: Sequence[str]) -> str:
    """One row per device and job with the full identity; its value is the time of the newest sample.

    It comes from an instant selector, which (other than ranges) heeds staleness marks, and so says which job labels
    are still alive.
    """
    parts = []
    for bound, _ in dialects:
        for host, matchers in host_choices(bound, site) if _names(bound, metrics) else ():
            known = series_of(bound, site, [bound.inventory], matchers)
            newest = f"max by ({all_labels(bound, site, host)}) (timestamp({known}))"
            parts.append(f'label_replace({newest}, "{INVENTORY}", {quoted(bound.id)}, "", "")')
    return " or ".join(parts)


def value_queries(dialects: Aged, site: Site, metrics: Sequence[str]) -> list[str]:
    """At most `VALUE_QUERIES` queries that together give all values, each with the oldest age in seconds at which one
    still counts.

    Values come by `last_over_time`, so that none is older than that; labels are trimmed to what tells devices and
    jobs apart. A server works on one query with one core: two at once take it half the time.
    """
    queries: list[list[str]] = [[] for _ in range(VALUE_QUERIES)]
    for bound, age in dialects:
        for number, query in enumerate(queries):
            names = sorted(_names(bound, metrics))[number::VALUE_QUERIES]
            for host, matchers in host_choices(bound, site) if names else ():
                values = series_of(bound, site, names, matchers)
                newest = f"last_over_time({values}[{milliseconds(age)}])"
                query.append(f"max by ({_row_labels(bound, site, host)}) ({newest})")
    return [" or ".join(query) for query in queries if query]


@dataclass(slots=True)
class Latest:
    """What one answer said; `newest` is the time of the newest sample."""

    devices: tuple[DeviceReading, ...]
    newest: float | None
    at: float | None
    measured: frozenset[str]


def read_latest(
    rows: Iterable[tuple[Labels, float, float]],
    dialects: Aged,
    site: Site,
    metrics: Sequence[str],
    dropped: Counter[str],
) -> Latest:
    """Sort the rows of `inventory_query`, and after them those of `value_queries`, into devices."""
    columns = {bound.id: Columns(bound, site) for bound, _ in dialects}
    ages = {bound.id: age for bound, age in dialects}
    cells = _cells_by_name(columns.values(), metrics)
    newest = at = None
    for labels, time, value in rows:
        at = time
        owner = labels.get(INVENTORY)
        if owner is None:
            column, wanted = cells.get(labels.pop("__name__", ""), (None, []))
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

    def add(self, column: Columns, dropped: Counter[str]) -> None:
        column.take_indices()
        numbers = [self._number(column, sighting) for sighting in column.sightings]
        by_value = column.jobs_by_value()
        for own, number in enumerate(numbers):
            jobs = column.jobs(own) or by_value.get(own, ())
            if number is not None and jobs and number not in self._jobs:
                self._jobs[number], self._users[number] = jobs, column.users(own)
        for metric in self._metrics:
            for number, value in zip(numbers, column.values(metric, dropped).tolist(), strict=True):
                if number is not None and value == value:  # NaN = not measured
                    self._values[number].setdefault(metric, value)

    def _number(self, column: Columns, sighting: Sighting) -> int | None:
        if sighting.device is None:
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


def _cells_by_name(columns: Iterable[Columns], metrics: Sequence[str]) -> dict[str, tuple[Columns, list[Cell]]]:
    cells: dict[str, tuple[Columns, list[Cell]]] = {}
    for column in columns:
        formulas = [column.bound.formulas[metric] for metric in metrics if metric in column.bound.formulas]
        wanted = dict.fromkeys(term for formula in formulas for term in formula)
        wanted |= dict.fromkeys(Term(name) for name in column.bound.told_by_value)
        for term in wanted:
            owner, listed = cells.setdefault(term.name, (column, []))
            listed.append(owner.cell(term))
    return cells


def _names(bound: BoundDialect, metrics: Sequence[str]) -> set[str]:
    names = {term.name for metric in metrics for term in bound.formulas.get(metric, ())}
    return names | bound.told_by_value if names else names


def _row_labels(bound: BoundDialect, site: Site, host: str) -> str:
    labels = bound.dialect.labels
    matched = (label for formula in bound.formulas.values() for term in formula for label, _ in term.match)
    key = (*labels.get(bound.dialect.key, ()), *labels.get("slice", ()), *labels.get("slice_kind", ()))
    return _listed("__name__", host, *key, *site.job_labels(bound.dialect), *matched)


def all_labels(bound: BoundDialect, site: Site, host: str) -> str:
    """Labels that tell a device and its job in full, for `by (...)`."""
    labels = (label for role in _IDENTITY for label in bound.dialect.labels.get(role, ()))
    return _listed(host, *labels, *site.job_labels(bound.dialect))


def _listed(*labels: str) -> str:
    return ", ".join(dict.fromkeys(labels))


def missing_metrics(metrics: Sequence[str], measured: Iterable[str]) -> Iterator[str]:
    seen = set(measured)
    return (metric for metric in metrics if metric not in seen)
