"""Counting many groups at once gives each the numbers that it has alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from data.gpu_columns import gpu_columns
from data.model import Device, Gpu, GpuState
from data.uses import Counts, use_of, uses

MEASURED = st.none() | st.floats(0.0, 1.0)


@st.composite
def gpus(draw: st.DrawFn) -> Gpu:
    """A GPU or a slice, measured or not, on one of three nodes."""
    is_slice = draw(st.booleans())
    device = Device(
        draw(st.sampled_from(("n1", "n2", "n3"))),
        draw(st.none() | st.integers(0, 3)),
        slice_id=draw(st.sampled_from("12")) if is_slice else None,
    )
    name = "graphics_engine_activity" if is_slice else "gpu_utilization"
    found = {name: draw(MEASURED), "power_watts": draw(st.none() | st.floats(0.0, 900.0))}
    return Gpu(
        device,
        draw(st.sampled_from(("H100", "A100", None))),
        draw(st.sampled_from(GpuState)),
        values={key: value for key, value in found.items() if value is not None},
        is_shared=draw(st.booleans()),
        weight=1 / 7 if is_slice else 1.0,
        slurm_index=draw(st.none() | st.integers(0, 3)),
    )


@given(st.lists(gpus(), max_size=30))
def test_each_group_counts_as_it_does_alone(found: list[Gpu]) -> None:
    columns = gpu_columns(found)
    together = uses(columns, columns.node, len(columns.nodes))
    alone = [use_of(gpu for gpu in found if gpu.device.node == name) for name in columns.nodes]
    assert together == alone


@given(st.lists(gpus(), max_size=30))
def test_states_add_up_and_the_sums_of_the_nodes_are_those_of_the_cluster(found: list[Gpu]) -> None:
    columns, whole = gpu_columns(found), use_of(found)
    nodes = uses(columns, columns.node, len(columns.nodes))
    assert whole.gpus.total + whole.slices.total == len(found)
    for counts in (whole.gpus, whole.slices):
        open_ones = counts.unknown + counts.free + counts.drained + counts.down
        assert counts.allocated + open_ones == counts.total
    for name in ("held_devices", "utilization_devices", "power_cards", "cards"):
        assert getattr(whole, name) == sum(getattr(node, name) for node in nodes)


@given(st.lists(gpus(), max_size=30), st.sets(st.integers(0, 29)))
def test_what_is_elsewhere_counts_as_nothing_else(found: list[Gpu], away: set[int]) -> None:
    columns = gpu_columns(found)
    elsewhere = np.array([number in away for number in range(len(found))], np.bool_)
    (use,) = uses(columns, np.zeros_like(columns.node), 1, elsewhere)
    rest = use_of(gpu for number, gpu in enumerate(found) if number not in away)
    assert use.gpus.elsewhere + use.slices.elsewhere == elsewhere.sum()
    assert replace(use.gpus, total=0, elsewhere=0) == replace(rest.gpus, total=0)
    assert (use.utilization, use.held_devices) == (rest.utilization, rest.held_devices)


def test_no_device_is_no_number() -> None:
    use = use_of(())
    assert (use.gpus, use.utilization, use.power_watts, use.cards) == (Counts(), None, None, 0)
