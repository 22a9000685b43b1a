"""The whole simulated cluster at one moment: over its own metrics, and over the same samples in a real Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from data.metrics.prometheus import PrometheusSource
from data.metrics.registry import SNAPSHOT_METRICS
from data.metrics.simulated import SimulatedMetrics
from data.model import ClusterSnapshot, Gpu, Window
from data.simulation import World
from data.totals import totals
from tests.end_to_end.simulated_truth import SCALE, source, sources_at, write
from tests.services.prometheus import PrometheusServer

MOMENT = datetime(2026, 11, 24, 10, 47, 13, tzinfo=UTC)


@pytest.fixture(scope="module")
def pair(prometheus_server: PrometheusServer) -> Iterator[tuple[ClusterSnapshot, ClusterSnapshot]]:
    """(simulated metrics, Prometheus): both over the simulated Slurm, as it was at the moment."""
    world = World(7)
    window = Window(MOMENT - timedelta(minutes=4), MOMENT + timedelta(seconds=1))
    assert write(prometheus_server, world, window, SNAPSHOT_METRICS, (), "whole") > 20_000
    reading: PrometheusSource = source(prometheus_server, "whole")
    later = MOMENT + timedelta(seconds=2)
    own = SimulatedMetrics(world, lambda: later)
    yield sources_at(world, own, later).live.at(MOMENT), sources_at(world, reading, later).live.at(MOMENT)
    reading.close()


def by_key(snapshot: ClusterSnapshot) -> dict[tuple[str, str, str], Gpu]:
    return {gpu.device.key: gpu for gpu in snapshot.gpus}


def test_every_device_has_the_same_identity_state_and_jobs(pair: tuple[ClusterSnapshot, ClusterSnapshot]) -> None:
    own, read = (by_key(one) for one in pair)
    assert own.keys() == read.keys()
    assert len(own) == len(pair[0].gpus) > 380
    for key, gpu in own.items():
        other = read[key]
        assert (gpu.state, gpu.job_ids, gpu.join, gpu.weight, gpu.is_shared, gpu.slurm_index) == (
            other.state,
            other.job_ids,
            other.join,
            other.weight,
            other.is_shared,
            other.slurm_index,
        ), key


def test_values_differ_by_the_exporters_rounding_alone(pair: tuple[ClusterSnapshot, ClusterSnapshot]) -> None:
    own, read = (by_key(one) for one in pair)
    for key, gpu in own.items():
        for name, value in gpu.values.items():
            if name == "gpu_memory_total_bytes":  # written as the sum of used and free, each rounded to MiB
                assert read[key].values[name] == pytest.approx(value, abs=2 << 20)
                continue
            scale, digits = SCALE[name]
            assert read[key].values[name] == pytest.approx(value, abs=0.51 * 10**-digits / scale), (key, name)
        assert read[key].values.keys() == gpu.values.keys(), key


def test_totals_are_the_same(pair: tuple[ClusterSnapshot, ClusterSnapshot]) -> None:
    own, read = (totals(one) for one in pair)
    assert own.by_state == read.by_state
    assert own.queue == read.queue
    for mine, other in (
        (own.use, read.use),
        *((a.use, b.use) for a, b in zip(own.by_partition, read.by_partition, strict=True)),
    ):
        assert (mine.gpus, mine.slices, mine.weighted) == (other.gpus, other.slices, other.weighted)
        assert (mine.utilization_devices, mine.held_devices) == (other.utilization_devices, other.held_devices)
        assert (mine.power_cards, mine.cards) == (other.power_cards, other.cards)
        if mine.utilization is not None:
            assert other.utilization == pytest.approx(mine.utilization, abs=0.005)
        if mine.power_watts is not None:
            assert other.power_watts == pytest.approx(mine.power_watts, rel=1e-5)


def test_notes_on_what_does_not_add_up_are_the_same(pair: tuple[ClusterSnapshot, ClusterSnapshot]) -> None:
    own, read = ({(note.kind, note.subject, note.count) for note in one.notes} for one in pair)
    assert own == read
