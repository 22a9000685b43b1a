"""From samples by hour to the GPU-hours of each attempt by hour. Hours sum to the attempt's totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from data.history.columns import HOURS, RATIO_METRICS
from data.history.measure.clock import Clock
from data.history.measure.settling import settle
from data.history.measure.spans import HOUR
from data.history.measure.sums import HourSums
from data.history.measure.tracks import NOWHERE, Tracks, measured_shares
from data.history.measure.use import Bools, Floats, Hours, Ints, per_owner
from data.report import JobReport

_HOUR_NAMES = tuple(column.name for column in HOURS)
_MEMORY = "gpu_memory_used_bytes"
_POWER, _ENERGY = "power_watts", "energy_joules"


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read: samples by hour and metric, and the time of which they are. `interval` by attempt, NaN = not
    known; `pairs` is the number of pairs."""

    sums: Mapping[str, HourSums]
    pairs: int
    seconds: Floats
    interval: Floats


@dataclass(frozen=True, slots=True)
class _Cells:
    """One row per (device, hour) of its attempt: row of `Tracks`, cell of the `Clock`, and the GPU-hours given."""

    track: Ints
    cell: Ints
    room: Floats
    offset: Ints

    def total(self, values: Floats, count: int) -> Floats:
        return per_owner(self.track, values, count)


class Hourly:
    """Works out the hours of attempts and their devices. `energy` is joules by row of `Tracks`, NaN = not measured."""

    def __init__(self, clock: Clock, tracks: Tracks, read: Readings) -> None:
        self._clock, self._tracks, self._read = clock, tracks, read
        self._cells = _cells_of(clock, tracks)
        self._parts = self._gpu_hours()
        self.energy = np.full(len(tracks.attempt), np.nan)
        self._values = self._metric_hours()

    def hours(self, reports: Mapping[int, JobReport]) -> dict[int, Hours]:
        """Hours by attempt."""
        clock, count = self._clock, len(self._clock.attempt)
        columns = {name: per_owner(self._cells.cell, part, count) for name, part in self._parts.items()}
        _blank(columns)
        values = {name: per_owner(self._cells.cell, part, count) for name, part in self._values.items()}
        energy = per_owner(self._cells.cell, ~np.isnan(self.energy[self._cells.track]), count)
        values[_ENERGY] = np.where(energy > 0, values[_ENERGY], np.nan)
        nodes = self._by_node()
        found = {}
        for attempt, report in reports.items():
            mine = clock.of(attempt)
            own = {name: column[mine] for name, column in (*columns.items(), *values.items())}
            if report.hours is None:
                own |= {name: np.full(len(own[name]), np.nan) for name in _HOUR_NAMES}
            own |= _of_job(report, clock.seconds[mine])
            found[attempt] = Hours(clock.hour[mine] * int(HOUR), own, nodes.get(attempt, {}))
        return found

    def _gpu_hours(self) -> dict[str, Floats]:
        """The five GPU-hours of each (device, hour)."""
        tracks, cells = self._tracks, self._cells
        pair = tracks.utilization_pairs(self._read.sums, self._read.pairs)
        names = {gpu.utilization_metric for gpu in tracks.gpus} - {None}
        sums, counts, idle = (np.zeros(len(cells.cell)) for _ in range(3))
        for name in names:
            mine = np.where([gpu.utilization_metric == name for gpu in tracks.gpus], pair, NOWHERE)
            for into, values in zip((sums, counts, idle), self._scattered(str(name), mine), strict=True):
                into += values
        even = (pair == NOWHERE)[cells.track]
        weight = np.where(even, cells.room, counts)
        wanted = self._spread(weight, tracks.measured)
        measured = settle(wanted, cells.room, tracks.measured, cells.track)
        mean, share = (np.where(counts > 0, each / np.maximum(counts, 1.0), 0.0) for each in (sums, idle))
        of_track = (tracks.used, np.nan_to_num(tracks.idle))
        flat_mean, flat_share = (_ratio(each, tracks.measured)[cells.track] for each in of_track)
        used = settle(measured * np.where(even, flat_mean, mean), measured, tracks.used, cells.track)
        left = np.maximum(0.0, measured - used)
        rest = settle(measured * np.where(even, flat_share, share), left, of_track[1], cells.track)
        is_idle_known = ~np.isnan(tracks.idle)[cells.track]
        return dict(
            zip(_HOUR_NAMES, (cells.room, measured, used, rest, np.where(is_idle_known, measured, 0.0)), strict=True)
        )

    def _metric_hours(self) -> dict[str, Floats]:
        """value x hours, and measured hours, of each metric of each (device, hour)."""
        values: dict[str, Floats] = {}
        for name in RATIO_METRICS:
            values[f"{name}_hours"], values[f"{name}_measured_hours"] = self._metric(name)
        values["gpu_memory_used_byte_hours"], values["gpu_memory_used_measured_hours"] = self._metric(_MEMORY)
        power, measured = self._metric(_POWER)
        known = self._cells.total(measured, len(self.energy)) > 0
        counter, seen = self._counter()
        joules = np.where(known[self._cells.track], power * HOUR, counter)
        is_known = known | seen
        self.energy = np.where(is_known, self._cells.total(joules, len(self.energy)), np.nan)
        values[_ENERGY] = joules
        return values

    def _metric(self, name: str) -> tuple[Floats, Floats]:
        tracks, cells = self._tracks, self._cells
        pair = tracks.pairs(name, self._read.sums, self._read.pairs)
        sums, counts, _ = self._scattered(name, pair)
        samples = cells.total(counts, len(pair))
        given = cells.total(cells.room, len(pair))
        share = measured_shares(samples, self._read.seconds[tracks.attempt], self._read.interval[tracks.attempt])
        mean = _ratio(cells.total(sums, len(pair)), samples)
        flat = np.array([np.nan if (known := gpu.mean(name)) is None else known for gpu in tracks.gpus])
        is_flat = (pair == NOWHERE) & ~np.isnan(flat)
        mean = np.where(is_flat, np.nan_to_num(flat), mean)
        hours = np.where(is_flat, tracks.measured, given * share)
        even = is_flat[cells.track]
        measured = settle(self._spread(np.where(even, cells.room, counts), hours), cells.room, hours, cells.track)
        here = np.where(even, mean[cells.track], _ratio(sums, counts))
        value = here * measured
        factor = _ratio(mean * hours, cells.total(value, len(pair)))
        return value * factor[cells.track], measured

    def _counter(self) -> tuple[Floats, Bools]:
        """Joules of each (device, hour) by the cards' energy counters, by the slice's share of the card."""
        tracks = self._tracks
        pair = tracks.pairs(_ENERGY, self._read.sums, self._read.pairs)
        sums, _, _ = self._scattered(_ENERGY, pair)
        return sums * tracks.weight[self._cells.track], pair != NOWHERE

    def _scattered(self, name: str, pair: Ints) -> tuple[Floats, Floats, Floats]:
        """Sums, counts and idle counts of a metric by (device, hour); `pair` names each device's samples."""
        size, tracks = len(self._cells.cell), self._tracks
        found = self._read.sums.get(name)
        if found is None:
            return np.zeros(size), np.zeros(size), np.zeros(size)
        track_of = np.full(self._read.pairs + 1, NOWHERE, dtype=np.int64)
        track_of[pair] = np.arange(len(pair))
        track_of[NOWHERE] = NOWHERE
        track = track_of[found.pair]
        kept = track != NOWHERE
        track, hour = track[kept], found.hour[kept]
        attempt = tracks.attempt[track]
        cell = self._clock.cells(attempt, hour) - self._clock.offset[attempt]
        where = self._cells.offset[track] + cell
        sums, counts, idle = (per_owner(where, each[kept], size) for each in (found.sums, found.counts, found.idle))
        return sums, counts, idle

    def _spread(self, weight: Floats, total: Floats) -> Floats:
        """The totals of the tracks over their cells, in proportion to the weights."""
        return weight * _ratio(total, self._cells.total(weight, len(total)))[self._cells.track]

    def _by_node(self) -> dict[int, dict[str, dict[str, Floats]]]:
        """The GPU-hours of each node, by attempt and node."""
        clock, tracks, cells = self._clock, self._tracks, self._cells
        names: dict[tuple[int, str], int] = {}
        key = np.array(
            [
                names.setdefault((a, gpu.node), len(names))
                for a, gpu in zip(tracks.attempt.tolist(), tracks.gpus, strict=True)
            ],
            dtype=np.int64,
        )
        owner = np.array([attempt for attempt, _ in names], dtype=np.int64)
        size = clock.offset[owner + 1] - clock.offset[owner] if len(owner) else owner
        offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        where = offset[key[cells.track]] + cells.cell - clock.offset[tracks.attempt[cells.track]]
        columns = {name: per_owner(where, part, int(offset[-1])) for name, part in self._parts.items()}
        _blank(columns)
        found: dict[int, dict[str, dict[str, Floats]]] = {}
        for place, (attempt, node) in enumerate(names):
            mine = slice(int(offset[place]), int(offset[place + 1]))
            found.setdefault(attempt, {})[node] = {name: column[mine] for name, column in columns.items()}
        return found


def _cells_of(clock: Clock, tracks: Tracks) -> _Cells:
    size = clock.offset[tracks.attempt + 1] - clock.offset[tracks.attempt]
    offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    track = np.repeat(np.arange(len(size)), size)
    cell = np.arange(int(offset[-1])) - offset[track] + clock.offset[tracks.attempt[track]]
    return _Cells(track, cell, tracks.weight[track] * clock.seconds[cell] / HOUR, offset)


def _blank(columns: dict[str, Floats]) -> None:
    """Nothing measured is null, not 0."""
    _, measured, used, idle, idle_measured = _HOUR_NAMES
    columns[used] = np.where(columns[measured] > 0, columns[used], np.nan)
    columns[idle] = np.where(columns[idle_measured] > 0, columns[idle], np.nan)


def _of_job(report: JobReport, seconds: Floats) -> dict[str, Floats]:
    """What an hour has of the job as a whole."""
    cores, count = report.job.allocated.cpus, report.gpu_count
    total, used = float(seconds.sum()), report.cpu.used
    return {
        "seconds": seconds,
        "device_hours": seconds * (np.nan if count is None else count / HOUR),
        "core_seconds": seconds * (np.nan if cores is None else cores),
        "cpu_seconds": seconds * (np.nan if used is None or not total else used / total),
    }


def _ratio(part: Floats, whole: Floats) -> Floats:
    found: Floats = np.where(whole > 0, part / np.maximum(whole, 1e-300), 0.0)
    return found
