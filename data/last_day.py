"""The last 24 hours of the whole cluster: GPU-hours that jobs wasted, and how its totals went. It names nobody."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from data.model import Device, Gpu, Scope, Series, Window, WindowReading
from data.open_gpus import gone_by_step, lines, open_counts

if TYPE_CHECKING:
    from data.sources import Sources


SPAN = timedelta(hours=24)
LEAST_STEP, MOST_POINTS = 900.0, 400_000
LEAST_SEEN = 0.98
Card = tuple[object, ...]  # its node, then what tells it apart there
UTILIZATION, ENGINE, POWER = "gpu_utilization", "graphics_engine_activity", "power_watts"


@dataclass(frozen=True, slots=True)
class DayOfUse:
    """`wasted` and `measured` are GPU-hours of jobs (slices weighted), None = not known, and `why` says so.

    `trends` by name (allocated, busy, idle, wasted, power; free, gone where node states of the past are known): values
    at even steps; None = too little was measured, or nothing recorded then. `wasted` is in GPU-hours per hour.
    """

    until: datetime
    wasted: float | None = None
    measured: float | None = None
    why: str = ""
    trends: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        return self.until.isoformat()


def day_of_use(sources: Sources, now: datetime) -> DayOfUse:
    """Ask for sums and series of the day. Raises SourceError."""
    window = Window(now - SPAN, now)
    gpus = sources.live.snapshot().gpus
    reading = sources.metrics.window((UTILIZATION, ENGINE), window)
    step = max(LEAST_STEP, math.ceil(2 * len(gpus) * SPAN.total_seconds() / MOST_POINTS / 300) * 300)
    series = sources.metrics.series((UTILIZATION, POWER), window, Scope(), step)
    wasted, measured, why = hours(reading, gpus)
    size = _steps(window, step)
    counts = open_counts(sources, window, size)
    made = trends(series, window, step, gone_by_step(counts, window, size)) | lines(counts, window, size)
    return DayOfUse(now, wasted, measured, why, made)


def hours(reading: WindowReading, gpus: Iterable[Gpu]) -> tuple[float | None, float | None, str]:
    """Wasted and measured GPU-hours of samples that carry a job; or None twice and why."""
    if reading.interval_seconds is None:
        return None, None, "the scrape interval is not known"
    weights = {gpu.device.key: gpu.weight for gpu in gpus}
    by_device: dict[tuple[str, str, str], tuple[int, float]] = {}
    for stat in reading.stats:
        device = stat.device
        if device is None or stat.job_label is None or stat.metric != (ENGINE if device.is_slice else UTILIZATION):
            continue
        count, total = by_device.get(device.key, (0, 0.0))
        by_device[device.key] = (count + stat.count, total + stat.sum)
    measured = used = 0.0
    most = reading.window.seconds / reading.interval_seconds + 1
    for key, (count, total) in by_device.items():
        # Jobs that share a device repeat its samples: it has no more of them than fit into the window.
        share = weights.get(key, 1.0) * reading.interval_seconds / 3600 * min(1.0, most / count) if count else 0.0
        measured += count * share
        used += total * share
    if not measured:
        return None, None, "no sample carries a job"
    return measured - used, measured, ""


def trends(
    series: Iterable[Series], window: Window, step: float, gone: Sequence[frozenset[str]] = ()
) -> dict[str, tuple[float | None, ...]]:
    """Whole GPUs with a job, of them busy and idle, what they waste, and the power of all cards, step by step.

    A step in which fewer devices than usual were seen has no value: a gap is not a fall. Those of nodes that Slurm
    knew to be `gone` in the step (down or drained) are not missed: what they held is lost, which is a fall.
    """
    size = _steps(window, step)
    start = window.start.timestamp()
    seen: list[set[Card]] = [set() for _ in range(size)]
    held: list[dict[Card, float]] = [{} for _ in range(size)]
    watts: list[dict[Card, float]] = [{} for _ in range(size)]
    for one in series:
        if one.device is None:
            continue
        card = _card(one.device)
        for time, value in zip(one.times, one.values, strict=True):
            at = min(size - 1, max(0, math.ceil((time - start) / step) - 1))
            if one.metric == POWER:
                watts[at][card] = value
            elif not one.device.is_slice:
                seen[at].add(card)
                if one.job_label is not None:
                    held[at][card] = max(value, held[at].get(card, 0.0))
    is_seen, is_powered = (_are_whole(cards, gone) for cards in (seen, [set(power) for power in watts]))
    return _lines(is_seen, held, is_powered, watts)


def _steps(window: Window, step: float) -> int:
    return max(1, round(window.seconds / step))


def _card(device: Device) -> Card:
    return (device.node, *((device.index,) if device.index is not None else device.key))


def _are_whole(seen: Sequence[set[Card]], gone: Sequence[frozenset[str]]) -> list[bool]:
    """Whether enough of the cards were seen in each step: of the most in any, less those that nobody could see."""
    known, usual = set().union(*seen), max(map(len, seen), default=0)
    found = []
    for at, cards in enumerate(seen):
        absent = gone[at] if gone else frozenset()
        excused = sum(card[0] in absent for card in known - cards)
        found.append(bool(cards) and len(cards) >= min(usual, len(known) - excused) * LEAST_SEEN)
    return found


def _lines(
    is_seen: Sequence[bool],
    held: Sequence[Mapping[Card, float]],
    is_powered: Sequence[bool],
    watts: Sequence[Mapping[Card, float]],
) -> dict[str, tuple[float | None, ...]]:
    found: dict[str, list[float | None]] = defaultdict(list)
    for is_whole, jobs, has_power, power in zip(is_seen, held, is_powered, watts, strict=True):
        busy = sum(value > 0 for value in jobs.values())
        unused = sum(1.0 - value for value in jobs.values())
        counts = {"allocated": len(jobs), "busy": busy, "idle": len(jobs) - busy, "wasted": unused}
        for name, count in counts.items():
            found[name].append(float(count) if is_whole else None)
        found["power"].append(sum(power.values()) if has_power else None)
    labelled = any(held)
    return {
        name: tuple(values)
        for name, values in found.items()
        if any(value is not None for value in values) and (labelled or name == "power")
    }
