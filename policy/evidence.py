"""What a verdict stands on: each device of one job over time, with the numbers that were judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from data.efficiency import coverage
from data.errors import SourceError
from data.idle_stretches import idle_stretches
from data.metrics.registry import METRICS
from data.model import ClusterSnapshot, Gpu, Scope, Series, SumAsk, Viewer, Window
from data.sources import Sources
from policy.asks import GR, STAND_INS, UTIL
from policy.gather import Sums, Whole, devices_of, running_jobs, sums_of
from policy.model import DeviceUse, JobVerdict, Verdict
from policy.queries import verdict
from policy.rules import Rule, rules_of

MOST_DEVICES = 16
_LEAST_SHOWN = timedelta(hours=1)
_POINTS = 360
_LEAST_STEP = 30.0


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """One device. `mean`, `highest`, `samples` and `coverage` are of raw samples in the verdict's window; None or 0 =
    not measured. `times` are seconds since the shown window's start, `idle` the stretches (from, to) without use."""

    name: str
    metric: str
    mean: float | None = None
    highest: float | None = None
    samples: int = 0
    coverage: float | None = None
    times: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    idle: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class JobEvidence:
    """A job's verdicts, and its devices (the least used first, at most `MOST_DEVICES` of `total`) over `window`, the
    end of which is `window_seconds` of the verdict. `fault` says why there are no samples."""

    one: JobVerdict
    window: Window
    window_seconds: float | None
    step_seconds: float
    devices: tuple[DeviceEvidence, ...] = ()
    total: int = 0
    fault: str = ""

    @property
    def verdict(self) -> Verdict:
        return self.one.verdict


def job_evidence(viewer: Viewer, sources: Sources, job_id: str) -> JobEvidence:
    """Answer for one running job: two questions to the metrics about its nodes alone, kept for half a minute.

    Raises NotFound as `verdict`, and SourceError when there is no picture at all.
    """
    one = verdict(viewer, sources, job_id)
    rule = next(rule for rule in rules_of(sources.settings.policy) if rule.name == one.verdict.rule)
    snapshot = sources.live.snapshot()
    whole = next((each for each in running_jobs(snapshot) if each.job.job_id == one.job.job_id), None)
    window = _window(one, rule, snapshot.time)
    seconds = one.verdict.window_seconds
    gpus = whole.gpus if whole is not None else ()
    if whole is None or not gpus:
        return JobEvidence(one, window, seconds, _LEAST_STEP, total=len(gpus))
    key = ("evidence", snapshot.version, one.job.key, rule.name)
    try:
        step, devices = sources.recent.get(key, lambda: _devices(sources, snapshot, whole, rule, window))
    except SourceError:
        return JobEvidence(one, window, seconds, _LEAST_STEP, total=len(gpus), fault="no answer")
    shown = sorted(devices, key=lambda device: (device.mean is None, device.mean or 0.0, device.name))
    return JobEvidence(one, window, seconds, step, tuple(shown[:MOST_DEVICES]), len(gpus))


def _window(one: JobVerdict, rule: Rule, now: datetime) -> Window:
    """What the rule looks at and half as much before it, within the run."""
    longest = timedelta(seconds=max(rule.windows) * 1.5)
    begin = now - max(longest, _LEAST_SHOWN)
    if one.job.start_time is not None:
        begin = max(begin, one.job.start_time)
    return Window(min(begin, now - timedelta(minutes=1)), now)


def _devices(
    sources: Sources, snapshot: ClusterSnapshot, whole: Whole, rule: Rule, window: Window
) -> tuple[float, tuple[DeviceEvidence, ...]]:
    """The step of the series, and the devices in the order of the picture."""
    nodes = frozenset(gpu.device.node for gpu in whole.gpus)
    names = [rule.metric, *([STAND_INS[rule.metric]] if rule.metric in STAND_INS else [])]
    stats = ("sum", "count", "maximum")
    asks = [SumAsk(name, rule.windows[0], stats, "" if name == rule.metric else rule.metric) for name in names]
    sums = sums_of(snapshot.gpus, sources.metrics.sums(asks, snapshot.time, nodes))
    step = max(sums.interval_seconds or _LEAST_STEP, window.seconds / _POINTS)
    series = tuple(sources.metrics.series(tuple(names), window, Scope(nodes=nodes), step))
    uses = devices_of(whole, (rule,), sums)
    several = len(nodes) > 1
    pairs = zip(whole.gpus, uses, strict=True)
    return step, tuple(
        _device(gpu, use, rule, sums, series, whole, window, step, several=several) for gpu, use in pairs
    )


def _device(
    gpu: Gpu,
    use: DeviceUse,
    rule: Rule,
    sums: Sums,
    series: Iterable[Series],
    whole: Whole,
    window: Window,
    step: float,
    *,
    several: bool,
) -> DeviceEvidence:
    device = gpu.device
    place = "?" if device.index is None else str(device.index)
    name = (f"{device.node} " if several else "") + f"GPU {place}" + (f"/{device.slice_id}" if device.slice_id else "")
    metric = GR if device.is_slice and rule.metric == UTIL else rule.metric
    seen = use.uses.get((rule.metric, rule.windows[0]))
    points = _points(gpu, metric, series, whole.labels, window)
    times, values = tuple(time for time, _ in points), tuple(value for _, value in points)
    return DeviceEvidence(
        name,
        METRICS[metric].label,
        None if seen is None else seen.mean,
        None if seen is None else seen.high,
        0 if seen is None else seen.count,
        coverage(0 if seen is None else seen.count, rule.windows[0], sums.interval_seconds),
        times,
        values,
        idle_stretches(times, values, rule.epsilon_of(device.is_slice), step),
    )


def _points(
    gpu: Gpu, metric: str, series: Iterable[Series], labels: frozenset[str], window: Window
) -> Sequence[tuple[float, float]]:
    """The points of the device under the job's own label or under none; never those of another job."""
    start, found = window.start.timestamp(), dict[float, float]()
    for one in series:
        is_it = one.device is not None and one.device.key == gpu.device.key and one.metric == metric
        if is_it and (one.job_label in labels or not one.job_label):
            found.update(zip(one.times, one.values, strict=True))
    return [(time - start, value) for time, value in sorted(found.items()) if time >= start]
