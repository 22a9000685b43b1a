"""The rows of one exporter in columns: raw values by term, devices and live job labels by number.

Tens of thousands of rows pass here, so what the labels mean is read once per device and job, and the rest is
numpy.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from data.metrics.devices import Sighting, first_label, sight
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels
from data.metrics.prometheus_site import Site
from data.metrics.registry import METRICS
from data.metrics.values import Floats, job_label, prom_value, screen

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Cell:
    """The raw values of one term: value n is of origin n."""

    term: Term
    origins: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


class Columns:
    """`sightings[n]` tells who device n is; an origin is one (device, job label) as value rows name it."""

    def __init__(self, bound: BoundDialect, site: Site) -> None:
        dialect = bound.dialect
        self.bound = bound
        self.sightings: list[Sighting] = []
        self._site = site
        self._roles = (
            tuple(site.host_labels(dialect)),
            tuple(dialect.labels.get(dialect.key, ())),
            tuple(dialect.labels.get("slice", ())),
        )
        self._job_labels = tuple(site.job_labels(dialect))
        self._devices: dict[_Key, int] = {}
        self._origins: dict[tuple[tuple[str, str], ...], int] = {}
        self._origin_device: list[int] = []
        self._origin_job: list[str] = []
        self._alive: dict[int, dict[str, Sighting]] = defaultdict(dict)
        self._cells: dict[Term, Cell] = {}
        self._value_jobs: dict[int, tuple[str, ...]] | None = None

    def cell(self, term: Term) -> Cell:
        """Where the values of a term go."""
        return self._cells.setdefault(term, Cell(term))

    def add_value(self, labels: Labels, value: float, cells: Sequence[Cell]) -> None:
        """Take a value row (its labels without the name)."""
        texts = tuple(labels.items())
        origin = self._origins.get(texts)
        if origin is None:
            origin = self._origins[texts] = self._new_origin(labels)
        for cell in cells:
            match = cell.term.match
            if not match or all(labels.get(label) == wanted for label, wanted in match):
                cell.origins.append(origin)
                cell.values.append(value)

    def add_device(self, labels: Labels) -> None:
        """Take a row that tells a device in full, and a job label of it that is alive."""
        sighting = sight(self.bound.dialect, self._site, labels)
        if sighting is not None and sighting.device is not None:
            job = first_label(labels, self._job_labels)
            number = self._number(labels, job, sighting)
            self.sightings[number] = sighting
            self._alive[number][job] = sighting

    def values(self, metric: str, dropped: Counter[str]) -> Floats:
        """The metric by device number, NaN = not measured: terms screened one by one, then added."""
        total: Floats | None = None
        for term in self.bound.formulas.get(metric, ()):
            values = self._term_values(term, metric, dropped)
            total = values if total is None else total + (np.nan_to_num(values) if term.optional else values)
        return np.full(len(self.sightings), np.nan) if total is None else total

    def jobs(self, number: int) -> tuple[str, ...]:
        """Live jobs; of a device that no full row tells, those of its values."""
        if number in self._alive:
            return tuple(sorted({each.job for each in self._alive[number].values() if each.job}))
        return self._jobs_of_values().get(number, ())

    def users(self, number: int) -> tuple[str, ...]:
        return tuple(sorted({each.user for each in self._alive.get(number, {}).values() if each.job and each.user}))

    def jobs_by_value(self) -> dict[int, tuple[str, ...]]:
        """Job ids that the exporter gives as the value of a series of its own."""
        return {number: (str(job),) for number, job in self._told(self.bound.job_value).items() if job}

    def take_indices(self) -> None:
        """Give devices whose labels tell no index the one that a series of its own tells."""
        for number, index in self._told(self.bound.index_value).items():
            sighting = self.sightings[number]
            if sighting.device is not None and sighting.device.index is None:
                self.sightings[number] = replace(sighting, device=replace(sighting.device, index=index))

    def _told(self, name: str) -> dict[int, int]:
        """The values of a series by device, as whole numbers."""
        cell = self.cell(Term(name))
        pairs = zip(cell.origins, cell.values, strict=True)
        told = ((self._origin_device[origin], prom_value((0, value))) for origin, value in pairs)
        return {number: int(value) for number, value in told if value is not None and number >= 0}

    def _jobs_of_values(self) -> dict[int, tuple[str, ...]]:
        if self._value_jobs is None:
            found: dict[int, set[str]] = defaultdict(set)
            for number, text in zip(self._origin_device, self._origin_job, strict=True):
                job = job_label(text, self.bound.dialect.job_pattern) if number >= 0 else None
                if job:
                    found[number].add(job)
            self._value_jobs = {number: tuple(sorted(jobs)) for number, jobs in found.items()}
        return self._value_jobs

    def _term_values(self, term: Term, metric: str, dropped: Counter[str]) -> Floats:
        """The largest value of each device over the rows that count: jobs that share it repeat the same one."""
        cell = self.cell(term)
        values, kept = screen(np.array(cell.values, np.float64), term.scale, METRICS[metric], dropped)
        origin = np.array(cell.origins, np.intp)
        device = np.array(self._origin_device, np.intp)[origin] if len(origin) else origin
        kept &= device >= 0
        if len(origin) and self.sightings:
            kept &= self._living()[origin]
            void = self._void(metric)[device]
            kept &= ~void if self._is_ignored_on_slices(metric) else ~void | (values != 0.0)
        found = np.full(len(self.sightings), np.nan)
        np.fmax.at(found, device[kept], values[kept])
        return found

    def _living(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """By origin: whether its job label is one that the device still has."""
        pairs = zip(self._origin_device, self._origin_job, strict=True)
        return np.array([number not in self._alive or job in self._alive[number] for number, job in pairs], np.bool_)

    def _void(self, metric: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """By device: whether zeros (or all values) of this metric are only fillers there."""
        dialect = self.bound.dialect
        slices = [each.device.slice_id if each.device else None for each in self.sightings]
        if self._is_ignored_on_slices(metric):
            return np.array([slice_id is not None for slice_id in slices], np.bool_)
        if dialect.zero_unreported_on_slices:
            return np.array([slice_id not in (None, "0") for slice_id in slices], np.bool_)
        return np.zeros(len(slices), np.bool_)

    def _is_ignored_on_slices(self, metric: str) -> bool:
        return metric in self.bound.dialect.not_on_slices

    def _new_origin(self, labels: Labels) -> int:
        job = first_label(labels, self._job_labels)
        self._origin_device.append(self._number(labels, job))
        self._origin_job.append(job)
        return len(self._origin_job) - 1

    def _number(self, labels: Labels, job: str, known: Sighting | None = None) -> int:
        """The number of the device (`known` if it was read already), -1 when the labels name none."""
        host, index, piece = (first_label(labels, names) for names in self._roles)
        key = (host, index, piece, job if self.bound.dialect.scope == "job" else "")
        number = self._devices.get(key)
        if number is None:
            sighting = known or sight(self.bound.dialect, self._site, labels)
            number = self._devices[key] = self._new_device(sighting)
        return number

    def _new_device(self, sighting: Sighting | None) -> int:
        if sighting is None or sighting.device is None:
            return -1
        self.sightings.append(sighting)
        return len(self.sightings) - 1
