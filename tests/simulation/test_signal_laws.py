"""Sums made from the laws of the signals are those of their samples."""

from __future__ import annotations

import numpy as np
import pytest

from data.simulation import World
from data.simulation.archetypes import COLUMNS as TRAITS
from data.simulation.archetypes import HIGH
from data.simulation.laws import LAWS, law_sums, memory_peaks
from data.simulation.sampling import evaluate, sampled
from data.simulation.spans import NO_SPELL, device_spans

DAY = 1_774_000_000.0
MOST_NOISE = 4 * 0.5 * 1.7320508
MEMORY = "gpu_memory_used_bytes"


@pytest.fixture(scope="module")
def seen() -> tuple[World, list]:  # type: ignore[type-arg]
    world = World(7)
    spans = device_spans(world, DAY, DAY + 7200.0)
    return world, [span for span in spans if not span.unit.device.is_slice and span.hot == NO_SPELL]


def test_sums_by_law_are_those_of_the_samples(seen) -> None:  # type: ignore[no-untyped-def]
    world, spans = seen
    at, time = sampled(world, spans)
    first = np.flatnonzero(np.diff(at, prepend=-1) | (np.floor(time / 1800) != np.floor(np.roll(time, 1) / 1800)))
    now = evaluate(world, spans, at, time)
    assert len({span.archetype for span in spans}) > 9
    sums = law_sums(now, first)
    assert set(sums) == {*LAWS, MEMORY}
    for name, found in sums.items():
        assert np.allclose(found, np.add.reduceat(now.value(name), first), rtol=1e-11, atol=1e-9), name
    assert memory_peaks(now, first).tolist() == np.maximum.reduceat(now.value(MEMORY), first).tolist()


@pytest.mark.parametrize(("trait", "amounts"), [("sm", [0.04]), ("dram", [0.05])])
def test_no_kind_of_job_reaches_the_bounds_at_which_a_sum_would_no_longer_follow(
    trait: str, amounts: list[float]
) -> None:
    most = HIGH[:, TRAITS.index(trait)].max() * np.prod([1 + amount * MOST_NOISE for amount in amounts])
    assert most < 1
    assert min(1 - amount * MOST_NOISE for amount in (0.04, 0.05, 0.1)) > 0


def test_no_share_of_sm_reaches_them_either() -> None:
    shares = [HIGH[:, TRAITS.index(name)].max() for name in ("occupancy", "tensor", "fp64", "fp32", "fp16")]
    assert HIGH[:, TRAITS.index("sm")].max() * max(shares) * (1 + 0.04 * MOST_NOISE) ** 2 < 1
