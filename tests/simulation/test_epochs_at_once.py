"""Epochs are decoded many at once: that changes nothing about any of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import datetime

import numpy as np
import pytest

from data.simulation import World
from data.simulation.columns import Columns
from data.simulation.epochs import decode


def test_an_epoch_is_the_same_decoded_alone_or_beside_others(now: datetime) -> None:
    at = now.timestamp()
    together = list(World(7).epochs(at, at + 144 * 3600))
    alone = World(7)
    for epoch in together:
        (other,) = alone._epochs([(epoch.group.number, epoch.number)])
        assert other.lanes == epoch.lanes
        for field in fields(Columns):
            assert np.array_equal(getattr(other.jobs, field.name), getattr(epoch.jobs, field.name)), field.name


def test_threads_that_ask_together_decode_an_epoch_once(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def counted(wanted, faults, numbers):  # type: ignore[no-untyped-def]
        asked.extend((group.number, number) for group, number in wanted)
        return decode(wanted, faults, numbers)

    monkeypatch.setattr("data.simulation.world.decode", counted)
    world, at = World(7), now.timestamp()
    with ThreadPoolExecutor(4) as threads:
        sizes = set(threads.map(lambda _: sum(1 for _ in world.epochs(at, at + 144 * 3600)), range(4)))
    assert sizes == {len(asked)}
    assert len(asked) == len(set(asked))
