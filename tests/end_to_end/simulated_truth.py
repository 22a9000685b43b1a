"""The simulated cluster in a real Prometheus, and the generator's truth of it, cut and summed by numpy alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from data.cache import MemoryCache
from data.live import LiveCluster
from data.metrics.prometheus import PrometheusSource
from data.model import Job, Window
from data.protocols import MetricsSource
from data.simulation import World
from data.simulation.exposition import FAMILIES, Samples, exported, samples
from data.slurm.simulated import SimulatedScheduler
from data.sources import Sources
from settings import MetricsSettings, Settings
from tests.services.prometheus import STALE, PrometheusServer

INTERVAL = 30.0
Place = tuple[str, str, str]
SCALE = {family.metric: (family.scale, family.digits) for family in FAMILIES}


def host_of(one: Samples) -> str:
    return one.labels.get("Hostname") or one.labels["instance"].split(":")[0]


def place_of(one: Samples) -> Place:
    """(node, GPU, slice) as the exporter calls them."""
    return (host_of(one), one.labels.get("gpu", ""), one.labels.get("GPU_I_ID", ""))


def write(
    server: PrometheusServer, world: World, window: Window, metrics: Collection[str], nodes: Collection[str], run: str
) -> int:
    """Send the samples of some nodes (none named: all), with the staleness marker at a series' end, and count them."""
    written = 0

    def series() -> Iterator[tuple[Mapping[str, str], list[float], list[float]]]:
        nonlocal written
        for family, every in exported(world, window, metrics):
            for one in every:
                if nodes and host_of(one) not in nodes:
                    continue
                times, values = one.times.tolist(), one.values.tolist()
                written += len(times)
                if one.ended_at is not None:
                    times, values = [*times, times[-1] + INTERVAL], [*values, STALE]
                yield {"__name__": family.name, **one.labels}, times, values

    server.write(series(), run=run)
    return written


def source(server: PrometheusServer, run: str, **settings: object) -> PrometheusSource:
    fields = {"url": server.url, "selector": f'run="{run}"', "timeout_seconds": 60, **settings}
    return PrometheusSource(MetricsSettings.model_validate(fields))


def sources_at(world: World, metrics: MetricsSource, moment: datetime) -> Sources:
    """The product over the simulated Slurm and these metrics, with its clock standing still."""
    scheduler = SimulatedScheduler(world, lambda: moment)
    live = LiveCluster(scheduler, metrics, MemoryCache(), lambda: moment, limits=(60.0, 60.0))
    return Sources(Settings(), scheduler, metrics, live, lambda: moment)


@dataclass(repr=False)
class Truth:
    """Samples of a window by job label, as the generator made them (registry units) and as exporters show them."""

    world: World
    window: Window
    _known: dict[str, dict[str | None, list[Samples]]] = field(default_factory=dict)

    def series(self, metric: str, label: str | None) -> list[Samples]:
        if metric not in self._known:
            found: dict[str | None, list[Samples]] = defaultdict(list)
            for one in samples(self.world, metric, self.window):
                found[one.labels.get("hpc_job", one.labels.get("jobid"))].append(one)
            self._known[metric] = found
        return self._known[metric].get(label, [])

    def of_job(self, metric: str, job: Job) -> dict[Place, np.ndarray]:
        """The values of each of the job's devices (or nodes) from its start to before its end, as exporters show
        them: scaled, rounded, and scaled back."""
        assert job.start_time is not None
        end = (job.end_time or self.window.end).timestamp()
        scale, digits = SCALE[metric]
        found: dict[Place, list[np.ndarray]] = defaultdict(list)
        for one in self.series(metric, str(job.job_id)):
            inside = (one.times >= job.start_time.timestamp()) & (one.times < end)
            if inside.any():
                found[place_of(one)].append(np.round(one.values[inside] * scale, digits) / scale)
        return {place: np.concatenate(parts) for place, parts in found.items()}

    def raw_mean(self, metric: str, job: Job) -> float:
        """The plain mean over the devices' means of the generator's own values, not rounded."""
        assert job.start_time is not None
        end = (job.end_time or self.window.end).timestamp()
        means = []
        for one in self.series(metric, str(job.job_id)):
            inside = (one.times >= job.start_time.timestamp()) & (one.times < end)
            means += [float(one.values[inside].mean())] if inside.any() else []
        return sum(means) / len(means)


def kinds(jobs: Iterable[Job], window: Window) -> dict[str, list[Job]]:
    """Jobs that ran whole within the window and at least 5 minutes, by what is special about them."""
    found: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        if job.start_time is None or job.end_time is None or job.het_offset:
            continue
        if job.start_time < window.start or job.end_time > window.end or (job.elapsed_seconds or 0) < 300:
            continue
        for kind in _kinds_of(job):
            found[kind].append(job)
    return found


def _kinds_of(job: Job) -> Iterator[str]:
    gpus = job.allocated.gpus or 0
    if gpus and job.suspended_seconds:
        yield "suspended"
    if any("g." in name for name in job.allocated.gpus_by_type):
        yield "slice"
    elif gpus:
        yield "one GPU" if gpus == 1 else "several GPUs"
    if job.allocated.shards:
        yield "shared"
    if job.array_job_id and gpus:
        yield "array"
    if job.het_job_id:
        yield "het"
    if not gpus and not job.allocated.shards:
        yield "no GPU"
