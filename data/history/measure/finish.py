"""From what was added up to each attempt's use: report, findings, hours, shape and profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from data.collection import without_collection
from data.history.measure.accumulate import Accumulated
from data.history.measure.clock import clock_of
from data.history.measure.flags import flags_of
from data.history.measure.hourly import Hourly, Readings
from data.history.measure.reports import Reporter, Statistics, statistics_of, window_of
from data.history.measure.tracks import NOWHERE, Tracks, tracks_of
from data.history.measure.use import AttemptUse, Floats, Ints
from data.report import JobReport, Swing, UseSource


def uses_of(read: Accumulated, reporter: Reporter) -> list[AttemptUse]:
    """One per attempt, in their order."""
    with without_collection():
        return _uses_of(read, reporter)


def _uses_of(read: Accumulated, reporter: Reporter) -> list[AttemptUse]:
    spans, sums = read.spans, read.sums.total()
    left_out = spans.suspended_seconds()
    read_of = statistics_of(sums, read.pairs, read.shapes.swing)
    reports: dict[int, JobReport] = {}
    for attempt, job in enumerate(spans.jobs):
        known = read.interval[attempt]
        interval = None if np.isnan(known) else float(known)
        window = window_of(spans, attempt)
        reports[attempt] = reporter.report(
            job, read_of.get(attempt, Statistics()), window, interval, float(left_out[attempt])
        )
    clock = clock_of(spans, _elapsed(read, reports))
    tracks = tracks_of(reports, read.pairs)
    seconds = np.maximum(0.0, spans.end - spans.start) - left_out
    hourly = Hourly(clock, tracks, Readings(sums, len(read.pairs.attempt), seconds, read.interval))
    hours = hourly.hours(reports)
    pairs = tracks.utilization_pairs(sums, len(read.pairs.attempt))
    chosen = _chosen(tracks, pairs, read)
    shapes = read.shapes.shapes(chosen, clock.total(len(spans.jobs)))
    profiles = read.shapes.profiles(chosen, {attempt: report.gpu_count or 0 for attempt, report in reports.items()})
    energy = _energy(tracks, hourly.energy)
    swings = _swings(tracks, pairs, read)
    return [
        AttemptUse(
            report=report,
            source=str(report.gpu_source),
            hours=hours[attempt],
            is_apportioned=report.gpu_source in (UseSource.JS1, UseSource.SLURM),
            profile=profiles.get(attempt),
            shape=shapes.get(attempt),
            energy=energy.get(attempt, {}),
            findings=reporter.findings(_with(report, swings.get(attempt))) if spans.is_over[attempt] else (),
            flags=flags_of(report),
        )
        for attempt, report in reports.items()
    ]


def _elapsed(read: Accumulated, reports: Mapping[int, JobReport]) -> Floats:
    """Run time within what was read; NaN = not known."""
    spans = read.spans
    whole = np.array([np.nan if one.elapsed_seconds is None else one.elapsed_seconds for one in reports.values()])
    wall = spans.end - spans.begin
    share = np.where(wall > 0, (spans.end - spans.start) / np.maximum(wall, 1e-9), 0.0)
    return np.where(spans.start > spans.begin, np.nan, whole * share)


def _chosen(tracks: Tracks, pairs: Ints, read: Accumulated) -> dict[int, list[int]]:
    """Pairs of the utilization of each ended attempt's devices."""
    chosen: dict[int, list[int]] = defaultdict(list)
    for attempt, pair in zip(tracks.attempt.tolist(), pairs.tolist(), strict=True):
        if pair != NOWHERE and read.spans.is_over[attempt]:
            chosen[attempt].append(pair)
    return chosen


def _swings(tracks: Tracks, pairs: Ints, read: Accumulated) -> dict[int, dict[int, Swing]]:
    """How each device's utilization swung, by attempt and place in its report."""
    found: dict[int, dict[int, Swing]] = defaultdict(dict)
    rows = zip(tracks.attempt.tolist(), tracks.place.tolist(), pairs.tolist(), strict=True)
    for row, (attempt, place, pair) in enumerate(rows):
        swing = read.shapes.swing(pair)
        if swing is not None and tracks.gpus[row].swing is None:
            found[attempt][place] = Swing(*swing)
    return found


def _with(report: JobReport, swings: Mapping[int, Swing] | None) -> JobReport:
    if not swings:
        return report
    gpus = (replace(gpu, swing=swings.get(place, gpu.swing)) for place, gpu in enumerate(report.gpus))
    return replace(report, gpus=tuple(gpus))


def _energy(tracks: Tracks, joules: Floats) -> dict[int, dict[int, float]]:
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for attempt, place, energy in zip(tracks.attempt.tolist(), tracks.place.tolist(), joules.tolist(), strict=True):
        if not np.isnan(energy):
            found[attempt][place] = energy
    return found
