"""Samples of all devices over a chunk of time: raw for some metrics, in steps added up by the server for others.

The steps are `*_over_time` of raw ranges that begin at the step and end a millisecond before the next one. Whether a
range includes its first moment differs between servers (Prometheus 2 and 3), so the server is asked how it does it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.errors import BadRequest
from data.metrics.devices import Sighting, sight
from data.metrics.dialects import BoundDialect
from data.metrics.grid import GridRun
from data.metrics.prometheus_answers import Labels, matrix
from data.metrics.prometheus_arms import MARK, joined, marked, over_time
from data.metrics.prometheus_http import Connection
from data.metrics.prometheus_latest import all_labels
from data.metrics.prometheus_raw import RawReader, Run, Span, put_together
from data.metrics.prometheus_selectors import host_choices, nodes_matcher, series_of
from data.metrics.prometheus_site import Site
from data.metrics.prometheus_stats import can_be_summed
from data.metrics.registry import METRICS, Metric
from data.metrics.samples import Samples, millis
from data.metrics.values import Bools, Floats, bounds, is_blank
from data.model import Scope

_STATS = ("sum", "count", "maximum")
# A counter's first increase in a chunk needs the sample before it.
_BEFORE = 2
Exporter = tuple[BoundDialect, float | None]


@dataclass(frozen=True, slots=True)
class Steps(Samples):
    """Samples added up per step; `values` are the sums, `times` the begins."""

    counts: Floats | None = None
    minima: Floats | None = None
    maxima: Floats | None = None


class GridReader:
    """Reads one chunk; `dropped` and `warnings` tell what happened on the way. `is_open` = a range leaves its first
    moment out."""

    def __init__(self, connection: Connection, site: Site, *, step_ms: int, is_open: bool) -> None:
        self.dropped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self.spacing: float | None = None
        self._connection = connection
        self._site = site
        self._step = step_ms
        self._range = step_ms if is_open else step_ms - 1

    def runs(
        self, exporters: Sequence[Exporter], samples: Sequence[str], steps: Sequence[str], span: Span, scope: Scope
    ) -> list[GridRun]:
        """All runs of a span that begins and ends at whole steps."""
        found = [
            (bound, self._of_exporter(bound, interval, samples, steps, span, scope)) for bound, interval in exporters
        ]
        return [_grid_run(run) for run in put_together(found) if len(run.samples.times)]

    def _of_exporter(
        self,
        bound: BoundDialect,
        interval: float | None,
        samples: Sequence[str],
        steps: Sequence[str],
        span: Span,
        scope: Scope,
    ) -> list[Run]:
        mine = [name for name in (*samples, *steps) if name in bound.formulas]
        runs = self._raw(bound, [n for n in mine if n in samples and not METRICS[n].is_counter], span, scope, interval)
        for name in mine:
            if METRICS[name].is_counter:
                runs += self._increases(bound, name, span, scope, interval)
            elif name not in samples and can_be_summed(bound, METRICS[name]):
                runs += self._stepped(bound, name, span, scope, interval)
            elif name not in samples:
                runs += [_binned(run, self._step) for run in self._raw(bound, [name], span, scope, interval)]
        return runs

    def _raw(
        self, bound: BoundDialect, names: Sequence[str], span: Span, scope: Scope, interval: float | None
    ) -> list[Run]:
        reader = RawReader(self._connection, self._site, self.dropped)
        runs = reader.runs(bound, names, span, scope, interval) if names else []
        self.spacing = self.spacing or reader.spacing
        self._warn(reader.warnings)
        return runs

    def _increases(self, bound: BoundDialect, name: str, span: Span, scope: Scope, interval: float | None) -> list[Run]:
        wide = Span(span.start - int(_BEFORE * 1000 * (interval or 60.0)), span.end)
        runs = self._raw(bound, [name], wide, scope, interval)
        return [Run(run.metric, run.node, run.device, run.job, _increase(run.samples, span.start)) for run in runs]

    def _stepped(self, bound: BoundDialect, name: str, span: Span, scope: Scope, interval: float | None) -> list[Run]:
        """The server's sums, with nodes that have an impossible value read again sample by sample."""
        metric, term = METRICS[name], bound.formulas[name][0]
        runs, doubtful = [], set()
        for who, found in self._sums(bound, metric, span, scope).items():
            steps = _steps(found, term.scale, self._step)
            if steps is None or who.device is None or not len(steps.times):
                continue
            if who.device.slice_id is not None and name in bound.dialect.not_on_slices:
                continue
            if _is_doubtful(steps, term.scale, metric):
                doubtful.add(who.node)
            runs.append(Run(name, who.node, who.device, who.job, steps))
        if not doubtful:
            return runs
        again = self._raw(bound, [name], span, Scope(nodes=frozenset(doubtful)), interval)
        return [run for run in runs if run.node not in doubtful] + [_binned(run, self._step) for run in again]

    def _sums(
        self, bound: BoundDialect, metric: Metric, span: Span, scope: Scope
    ) -> dict[Sighting, dict[str, tuple[Floats, Floats]]]:
        """Begins and values of each statistic, by who was measured."""
        answer = self._connection.query_range(
            self._query(bound, metric, scope),
            (span.start + self._step - 1) / 1000.0,
            (span.end - 1) / 1000.0,
            self._step / 1000.0,
        )
        self._warn(answer.warnings)
        found: dict[Sighting, dict[str, tuple[Floats, Floats]]] = defaultdict(dict)
        for labels, times, values in matrix(answer.data, self.dropped):
            who, stat = self._who(bound, labels), labels.get(MARK, "")
            known = found[who].get(stat) if who else None
            if who and (known is None or len(known[0]) < len(times)):
                found[who][stat] = (times, values)
        return found

    def _who(self, bound: BoundDialect, labels: Labels) -> Sighting | None:
        who = sight(bound.dialect, self._site, labels)
        return None if who is None else Sighting(who.node, who.device, who.job, None)

    def _query(self, bound: BoundDialect, metric: Metric, scope: Scope) -> str:
        term, arms = bound.formulas[metric.name][0], []
        for host, matchers in host_choices(bound, self._site):
            more = [*matchers, nodes_matcher(host, scope.nodes)] if scope.nodes else matchers
            series = series_of(bound, self._site, [term.name], more)
            labels = all_labels(bound, self._site, host)
            for stat in _STATS:
                arms.append(marked(f"max by ({labels}) ({over_time(stat, series, self._range / 1000)})", stat))
        return joined(arms)

    def _warn(self, texts: Sequence[str]) -> None:
        self.warnings += [text for text in texts if text not in self.warnings]


def _steps(found: dict[str, tuple[Floats, Floats]], scale: float, step_ms: int) -> Steps | None:
    """The statistics of one device side by side; None where the server gave only some of them."""
    if not all(stat in found for stat in _STATS):
        return None
    ends = [millis(times) for times, _ in found.values()]
    if any(len(each) != len(ends[0]) or (each != ends[0]).any() for each in ends[1:]):
        return None
    sums, counts, maxima = (found[stat][1] for stat in _STATS)
    return Steps(ends[0] - (step_ms - 1), sums * scale, counts=counts, maxima=maxima * scale)


def _is_doubtful(steps: Steps, scale: float, metric: Metric) -> bool:
    """Whether a blank, a text or an implausible sample was added up."""
    low, high = bounds(metric)
    assert steps.maxima is not None and steps.counts is not None
    sound: Bools = np.isfinite(steps.values) & (steps.maxima <= high) & (steps.values >= low * steps.counts)
    return not sound.all() or is_blank(float(steps.maxima.max()) / scale)


def _binned(run: Run, step_ms: int) -> Run:
    """Raw samples added up per step, as the server would."""
    times, values = run.samples.times, run.samples.values
    begins = times // step_ms * step_ms
    first = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
    counts = np.diff(np.append(first, len(times))).astype(np.float64)
    steps = Steps(
        begins[first],
        np.add.reduceat(values, first),
        counts=counts,
        minima=np.minimum.reduceat(values, first),
        maxima=np.maximum.reduceat(values, first),
    )
    return Run(run.metric, run.node, run.device, run.job, steps)


def _increase(samples: Samples, start_ms: int) -> Samples:
    """The increase up to each sample but the first; after a reset the new value counts whole."""
    steps = np.diff(samples.values)
    added = np.where(steps < 0, samples.values[1:], steps)
    inside = samples.times[1:] >= start_ms
    return Samples(samples.times[1:][inside], added[inside])


def _grid_run(run: Run) -> GridRun:
    steps = run.samples if isinstance(run.samples, Steps) else Steps(run.samples.times, run.samples.values)
    times = steps.times / 1000.0
    return GridRun(
        run.metric, run.node, run.device, run.job, times, steps.values, steps.counts, steps.minima, steps.maxima
    )


def whole_steps(span: Span, step_seconds: float) -> tuple[Span, int]:
    """The span and the step in milliseconds; BadRequest when the span does not begin and end at whole steps."""
    step = round(step_seconds * 1000)
    if step < 1000 or span.start % step or span.end % step:
        raise BadRequest(
            f"{span.seconds:g} s from {span.start / 1000:.3f} on cannot be cut into steps of {step_seconds:g} s",
            hint="Begin and end the window at whole steps.",
        )
    return span, step
